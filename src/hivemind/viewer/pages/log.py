"""Log: who did what, whether the chain verifies, and rolling back a whole batch."""

from starlette.responses import Response

from hivemind.model.events import CHANGES, FACTS
from hivemind.model.review import Selection
from hivemind.viewer.pages.memory import CONFIRMATIONS
from hivemind.viewer.request import PageRequest

PAGE_ENTRIES, PREVIEW_CHANGES = 60, 200
# The names are part of URLs.
SORTS = {
    "changes": CHANGES,
    "recalls": ("memories.recalled",),
    "observed": ("observation.made",),
    "refused": ("write.refused",),
    "erased": ("memory.erased", "erasure.finished", "observations.dropped"),
    "rollbacks": ("memory.rolled_back", "rollback.undone"),
    "all": (),
}
SELECTION_FIELDS = ("session", "source", "agent", "batch", "since")


def show(request: PageRequest) -> Response:
    """Show entries of the log, newest first; with ``verify``, also whether the chain verifies."""
    sort = request.query.get("sort", "changes")
    filters = {name: request.query.get(name, "").strip() for name in ("memory", "actor", "batch")}
    facts = (sort,) if sort in FACTS else SORTS.get(sort, ())
    entries = request.mind.history.log(
        filters["memory"], facts=facts, actor=filters["actor"], batch=filters["batch"],
        before=request.read_number("before"), limit=PAGE_ENTRIES, everywhere=request.everywhere,
    )  # fmt: skip
    is_full = len(entries) == PAGE_ENTRIES
    return request.render(
        "log.html",
        entries=entries,
        sort=sort,
        sorts=[*SORTS],
        filters=filters,
        more={"sort": sort, **filters, **request.across, "before": str(entries[-1].position)} if is_full else {},
        broken=request.mind.maintenance.audit() if request.query.get("verify") else None,
        total=request.mind.history.log_length(),
        confirmation=CONFIRMATIONS.get(request.query.get("did", ""), ""),
    )


def preview(request: PageRequest) -> Response:
    """Show what a rollback would change, without changing it."""
    fields = {name: request.query.get(name, "").strip() for name in SELECTION_FIELDS}
    changes, elsewhere_count = None, 0
    if any(fields.values()):
        selection, review = Selection(**fields), request.mind.review
        changes = review.rollback(selection, dry_run=True, everywhere=request.everywhere)[1]
        _, elsewhere_count = review.count_kept_by_rollback(selection, everywhere=request.everywhere)
    return request.render(
        "rollback.html",
        fields=fields,
        changes=changes,
        preview=(changes or ())[:PREVIEW_CHANGES],
        elsewhere_count=elsewhere_count,
    )


def apply(request: PageRequest) -> Response:
    """Roll back, and offer to undo it."""
    selection = Selection(**{name: request.form.get(name, "").strip() for name in SELECTION_FIELDS})
    name, changes = request.mind.review.rollback(
        selection, reason=request.form.get("reason", "").strip(), everywhere=request.everywhere
    )
    return request.redirect(
        "/log", sort="rollbacks", did="rollback" if changes else "", rollback=name if changes else ""
    )


def undo(request: PageRequest) -> Response:
    """Undo a rollback."""
    request.mind.review.undo_rollback(request.form.get("rollback", ""))
    return request.redirect("/log", sort="rollbacks", did="undo")
