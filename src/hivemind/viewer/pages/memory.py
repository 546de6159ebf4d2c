"""Memory: its text, sources, code, history and recalls, and what can be done with it."""

from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import Response

from hivemind.errors import NotFound
from hivemind.model.memory import Kind
from hivemind.model.review import Selection
from hivemind.text.clean import parse_tags
from hivemind.viewer.request import PageRequest, Right
from hivemind.viewer.templating import diff_lines

Act = tuple[Right, Callable[[PageRequest, str], object]]


def _edit(request: PageRequest, memory_id: str) -> None:
    """Apply only what differs, so that saving an unchanged form records nothing."""
    memory, form = request.mind.show(memory_id, everywhere=request.everywhere), request.form
    # Browsers send line breaks as CRLF.
    text = form.get("text", "").replace("\r\n", "\n").strip()
    kind = Kind.parse(form["kind"]) if form.get("kind", memory.kind) != memory.kind else None
    if (text and text != memory.text) or kind:
        request.mind.edit(
            memory_id, text if text != memory.text else "", kind=kind, reason=form.get("reason", ""),
            everywhere=request.everywhere,
        )  # fmt: skip
    old_tags, new_tags = set(memory.tags), set(parse_tags(form.get("tags", "")))
    if old_tags != new_tags:
        request.mind.tag(
            memory_id, sorted(new_tags - old_tags), sorted(old_tags - new_tags), everywhere=request.everywhere
        )


def _promote(request: PageRequest, memory_id: str) -> None:
    request.mind.review.write(request.mind.review.promote(memory_id, request.form.get("file", "")))


def _take_edit(request: PageRequest, memory_id: str) -> None:
    """Settle the edits of a memory that wait for a decision in favour of the one that the form names."""
    memory = request.mind.show(memory_id, everywhere=request.everywhere)
    texts = {str(edit.id): edit.text for edit in memory.rivals}
    edit_id = request.form.get("edit", "")
    if edit_id not in texts:
        raise NotFound("somebody has decided about this edit; reload the page")
    request.mind.edit(memory_id, texts[edit_id], **read_options(request))


def _settle(request: PageRequest, memory_id: str) -> None:
    request.mind.review.settle(memory_id, *request.form.get("others", "").split(), **read_options(request))


ACTS: dict[str, Act] = {
    "approve": (Right.REVIEW, lambda request, memory_id: request.mind.approve(memory_id, **read_options(request))),
    "take": (Right.REVIEW, _take_edit),
    "settle": (Right.REVIEW, _settle),
    "reject": (Right.REVIEW, lambda request, memory_id: request.mind.reject(memory_id, **read_options(request))),
    "restore": (Right.REVIEW, lambda request, memory_id: request.mind.restore(memory_id, **read_options(request))),
    "retract": (Right.WRITE, lambda request, memory_id: request.mind.forget(memory_id, **read_options(request))),
    "verify": (Right.WRITE, lambda request, memory_id: request.mind.review.verify(memory_id, **read_options(request))),
    "dispute": (
        Right.WRITE,
        lambda request, memory_id: request.mind.review.dispute(
            memory_id, request.form.get("other", ""), **read_options(request)
        ),
    ),
    "revise": (Right.WRITE, _edit),
    "promote": (Right.FILES, _promote),
    "publish": (Right.SHARE, lambda request, memory_id: request.machine.team.publish([memory_id])),
}
CONFIRMATIONS = {
    "approve": "Approved; anything that contradicts it is superseded.", "take": "The edit was taken.",
    "settle": "Settled; both stand.",
    "reject": "Rejected; the same text will be refused.", "restore": "Restored.",
    "retract": "Forgotten; Restore brings it back.",
    "verify": "Marked as still correct.", "dispute": "Marked as disputed.", "revise": "Saved.",
    "promote": "Written to the file.", "publish": "Published; the next sync sends it to the team.", "undo": "Undone.",
    "rollback": "Rolled back.", "guard": "The guard is set.", "unguard": "The guard was removed.",
}  # fmt: skip
FINAL_ACTS = ("promote", "publish")
"""A rollback cannot undo these: a file was written, or the team may have its copy."""


def show(request: PageRequest) -> Response:
    """Show one memory."""
    explanation = request.mind.explain(request.read_path("id"), everywhere=request.everywhere)
    memory, history = explanation.memory, explanation.history
    has_machine = Right.FILES in request.visitor.may
    return request.render(
        "memory.html",
        memory=memory,
        versions=[
            (step, previous.after.text if previous else "")
            for previous, step in zip((None, *history), history, strict=False)
        ],
        receipts=explanation.receipts,
        record=explanation.record,
        against=request.mind.review.find_other_sides(memory, everywhere=request.everywhere),
        elsewhere=request.mind.checkout.label_elsewhere(memory.repo),
        behind=request.mind.code.behind(memory) if has_machine else (),
        guard=request.machine.guards.get(memory.id, everywhere=request.everywhere) if has_machine else None,
        confirmation=CONFIRMATIONS.get(request.query.get("did", ""), ""),
    )


def perform(request: PageRequest, memory_ids: Sequence[str], name: str) -> str:
    """Perform an act on memories as a batch of its own; return the batch if a rollback can undo it."""
    if name not in ACTS:
        raise NotFound(f"no action {name!r} on a memory; go back and use a button")
    right, run = ACTS[name]
    request.require(right)
    with request.mind.review.batch("viewer") as batch:
        for memory_id in memory_ids:
            run(request, memory_id)
    return "" if name in FINAL_ACTS else batch


def act(request: PageRequest) -> Response:
    """Perform an act and show the memory again."""
    memory_id, name = request.read_path("id"), request.read_path("act")
    batch = perform(request, [memory_id], name)
    return request.redirect(f"/memory/{memory_id}", did=name, batch=batch, **request.across)


def undo(request: PageRequest) -> Response:
    """Undo one act and go back to its page."""
    request.mind.review.rollback(Selection(batch=request.form.get("batch", "")), reason="undone in the viewer")
    return request.redirect(request.form.get("back", "/"), did="undo")


def preview_promotion(request: PageRequest) -> Response:
    """Show how a promotion would change an instruction file."""
    memory_id, file = request.read_path("id"), request.query.get("file") or "AGENTS.md"
    changes = request.mind.review.promote(memory_id, file)
    lines = [line for change in changes for line in diff_lines(change.before or "", change.after or "")]
    return request.render("promote.html", memory=request.mind.show(memory_id), file=file, lines=lines)


def preview_publication(request: PageRequest) -> Response:
    """Show what the team would get, and what stays here."""
    (publication,) = request.machine.team.publish([request.read_path("id")], dry_run=True)
    return request.render("publish.html", publication=publication)


def show_file(request: PageRequest) -> Response:
    """Show a file at a commit, with the lines of a source highlighted."""
    path, commit = request.query.get("path", ""), request.query.get("commit", "")
    first, _, last = request.query.get("lines", "").partition("-")
    begin = int(first) if first.isdecimal() else 0
    end = int(last) if last.isdecimal() else begin
    lines = request.mind.code.file_at(path, commit).splitlines()
    return request.render("file.html", file=path, commit=commit, lines=lines, begin=begin, end=end)


def read_options(request: PageRequest) -> dict[str, Any]:
    """Return what every act takes from its form."""
    return {"reason": request.form.get("reason", "").strip(), "everywhere": request.everywhere}
