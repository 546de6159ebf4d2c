"""Log: who did what, whether the record holds, and undoing a whole batch of learning."""

from starlette.responses import Response

from hivemind.entrypoints.viewer.pages.memory import SAID
from hivemind.entrypoints.viewer.request import Visit
from hivemind.model.events import FACTS
from hivemind.model.review import Selection

PAGE, PREVIEWED = 60, 200
SEEN = ("memories.recalled", "observation.made", "repository.seen")
SORTS = {
    "changes": tuple(name for name in FACTS if name not in SEEN),
    "recalls": ("memories.recalled",),
    "observed": ("observation.made",),
    "refused": ("write.refused",),
    "erased": ("memory.erased", "erasure.finished", "observations.dropped"),
    "rollbacks": ("memory.rolled_back", "rollback.undone"),
    "all": (),
}
PARTS = ("session", "source", "agent", "batch", "since")


def page(visit: Visit) -> Response:
    """The audit, newest first; with ``verify``, whether the chain holds."""
    sort = visit.asked.get("sort", "changes")
    kept = {name: visit.asked.get(name, "").strip() for name in ("memory", "actor", "batch")}
    facts = (sort,) if sort in FACTS else SORTS.get(sort, ())
    entries = visit.mind.history.log(
        kept["memory"], facts=facts, actor=kept["actor"], batch=kept["batch"],
        before=visit.number("before"), limit=PAGE, everywhere=visit.everywhere,
    )  # fmt: skip
    across = {"everywhere": "1"} if visit.everywhere else {}
    more = {"sort": sort, **kept, **across, "before": str(entries[-1].position)} if len(entries) == PAGE else {}
    return visit.page(
        "log.html",
        entries=entries,
        sort=sort,
        sorts=[*SORTS],
        kept=kept,
        more=more,
        broken=visit.mind.maintenance.audit() if visit.asked.get("verify") else None,
        total=visit.mind.history.log_length(),
        said=SAID.get(visit.asked.get("did", ""), ""),
    )


def preview(visit: Visit) -> Response:
    """What a rollback would change; nothing is changed."""
    chosen = {name: visit.asked.get(name, "").strip() for name in PARTS}
    changes = visit.mind.review.rollback(Selection(**chosen), dry_run=True)[1] if any(chosen.values()) else None
    shown = changes[:PREVIEWED] if changes else ()
    return visit.page("rollback.html", chosen=chosen, changes=changes, shown=shown)


def apply(visit: Visit) -> Response:
    """Roll back, and say how to undo it."""
    chosen = Selection(**{name: visit.form.get(name, "").strip() for name in PARTS})
    name, changes = visit.mind.review.rollback(chosen, reason=visit.form.get("reason", "").strip())
    return visit.go("/log", sort="rollbacks", did="rollback" if changes else "", rollback=name if changes else "")


def undo(visit: Visit) -> Response:
    """Let what a rollback took away count again."""
    visit.mind.review.undo_rollback(visit.form.get("rollback", ""))
    return visit.go("/log", sort="rollbacks", did="undo")
