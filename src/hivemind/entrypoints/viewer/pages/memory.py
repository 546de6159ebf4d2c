"""Memory: what it says, what it rests on, what became of it, whom it reached, and what can be done about it."""

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from hivemind.entrypoints.viewer.request import Right, Visit
from hivemind.entrypoints.viewer.templating import unified
from hivemind.errors import NotFound
from hivemind.model.memory import Kind
from hivemind.model.review import Selection
from hivemind.model.scope import Scope, label_other_repository
from hivemind.text.clean import parse_tags

Act = tuple[Right, Callable[[Visit, str], object]]


def _revised(visit: Visit, memory: str) -> None:
    """Only what differs, so that saving an untouched form changes nothing."""
    known, form = visit.mind.show(memory, everywhere=visit.everywhere), visit.form
    text = form.get("text", "").replace("\r\n", "\n").strip()
    kind = Kind.parse(form["kind"]) if form.get("kind", known.kind) != known.kind else None
    wanted = parse_tags(form.get("tags", ""))
    added, removed = set(wanted) - set(known.tags), set(known.tags) - set(wanted)
    if (text and text != known.text) or kind:
        visit.mind.edit(
            memory, text if text != known.text else "", kind=kind, reason=form.get("reason", ""),
            everywhere=visit.everywhere,
        )  # fmt: skip
    if added or removed:
        visit.mind.tag(memory, sorted(added), sorted(removed), everywhere=visit.everywhere)


def _promoted(visit: Visit, memory: str) -> None:
    path, _, after = visit.mind.review.promote(memory, visit.form.get("file", ""))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(after)


ACTS: dict[str, Act] = {
    "approve": (Right.REVIEW, lambda visit, memory: visit.mind.approve(memory, **_given(visit))),
    "prefer": (Right.REVIEW, lambda visit, memory: visit.mind.approve(memory, over=True, **_given(visit))),
    "reject": (Right.REVIEW, lambda visit, memory: visit.mind.reject(memory, **_given(visit))),
    "restore": (Right.REVIEW, lambda visit, memory: visit.mind.restore(memory, **_given(visit))),
    "retract": (Right.WRITE, lambda visit, memory: visit.mind.forget(memory, **_given(visit))),
    "verify": (Right.WRITE, lambda visit, memory: visit.mind.review.verify(memory, **_given(visit))),
    "dispute": (
        Right.WRITE,
        lambda visit, memory: visit.mind.review.dispute(memory, visit.form.get("other", ""), **_given(visit)),
    ),
    "revise": (Right.WRITE, _revised),
    "promote": (Right.FILES, _promoted),
    "publish": (Right.SHARE, lambda visit, memory: visit.machine.team.publish([memory])),
}
SAID = {
    "approve": "Approved.", "prefer": "Approved in place of what contradicts it.", "reject": "Rejected; it stays out.",
    "restore": "It stands again.", "retract": "Taken back.", "verify": "Verified as it is now.",
    "dispute": "Disputed.", "revise": "Saved.", "promote": "Written to the file.", "undo": "Undone.",
    "publish": "The team has a copy once this machine has synced.",
    "rollback": "Rolled back.",
}  # fmt: skip
FINAL = ("promote", "publish")
"""What a rollback here would not bring back from where it went."""


def page(visit: Visit) -> Response:
    """One memory."""
    known = visit.mind.explain(visit.named("id"), everywhere=visit.everywhere)
    memory = known.memory
    versions = [
        (step, before.after.text if before else "")
        for before, step in zip((None, *known.history), known.history, strict=False)
    ]
    return visit.page(
        "memory.html",
        memory=memory,
        versions=versions,
        receipts=known.receipts,
        against=visit.mind.browse.get_all(memory.contradicts, everywhere=visit.everywhere),
        elsewhere=label_other_repository(memory.repo) if visit.mind.checkout.is_elsewhere(memory.repo) else "",
        behind=visit.mind.code.behind(memory) if Right.FILES in visit.visitor.may else (),
        said=SAID.get(visit.asked.get("did", ""), ""),
    )


def perform(visit: Visit, memory: str, name: str) -> str:
    """Do one of the acts as a batch of its own; return the batch, by which it can be undone."""
    if name not in ACTS:
        raise NotFound(f"there is no act {name!r}")
    right, act = ACTS[name]
    visit.must(right)
    with visit.mind.review.batch("viewer") as batch:
        act(visit, memory)
    return "" if name in FINAL else batch


def act(visit: Visit) -> Response:
    """Do what was asked, and show the memory again."""
    memory, name = visit.named("id"), visit.named("act")
    across = "1" if visit.everywhere else ""
    return visit.go(f"/memory/{memory}", did=name, batch=perform(visit, memory, name), everywhere=across)


def erase(visit: Visit) -> Response:
    """Destroy it; the answer is the receipt."""
    given = _given(visit)
    memory = visit.mind.show(visit.named("id"), everywhere=given["everywhere"])
    receipt = visit.mind.erase(memory.id, **given)
    # A hub's own copy is the team's: there is nowhere to carry it.
    if memory.scope is Scope.TEAM and not visit.visitor.is_member:
        receipt = visit.machine.team.carry(receipt)
    return visit.page("erased.html", receipt=receipt)


def undo(visit: Visit) -> Response:
    """Undo one act and go back to where it was done."""
    visit.mind.review.rollback(Selection(batch=visit.form.get("batch", "")), reason="undone in the viewer")
    return visit.go(visit.form.get("back", "/"), did="undo")


def promotion(visit: Visit) -> Response:
    """What an instruction file would say."""
    memory, file = visit.named("id"), visit.asked.get("file") or "AGENTS.md"
    _, before, after = visit.mind.review.promote(memory, file)
    return visit.page("promote.html", memory=visit.mind.show(memory), file=file, lines=unified(before, after))


def publication(visit: Visit) -> Response:
    """What the team would get to see, and what stays here."""
    (planned,) = visit.machine.team.publish([visit.named("id")], dry_run=True)
    return visit.page("publish.html", planned=planned)


def file(visit: Visit) -> Response:
    """A file at a commit, with the lines a memory rests on."""
    path, commit = visit.asked.get("path", ""), visit.asked.get("commit", "")
    first, _, last = visit.asked.get("lines", "").partition("-")
    begin = int(first) if first.isdecimal() else 0
    end = int(last) if last.isdecimal() else begin
    lines = visit.mind.code.file_at(path, commit).splitlines()
    return visit.page("file.html", file=path, commit=commit, lines=lines, begin=begin, end=end)


def _given(visit: Visit) -> dict[str, Any]:
    """What every act takes from its form."""
    return {"reason": visit.form.get("reason", "").strip(), "everywhere": visit.everywhere}
