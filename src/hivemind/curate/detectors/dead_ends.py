"""Detects approaches that were tried and reverted, with what the agent said about them."""

import re
from collections.abc import Iterator

from hivemind.curate.session_view import SessionView, make_source, split_sentences
from hivemind.model.claim import Proposal
from hivemind.model.memory import Kind
from hivemind.model.session import Observation, ObservationKind

REVERT = re.compile(r"\bgit (?:checkout (?:HEAD )?(?:-- )?(?=\S*[./])|restore (?!--staged)|reset --hard|stash drop)")
REASON = re.compile(
    r"\b(?:because|can't|cannot|(?:doesn't|didn't|won't|not) work|circular|breaks?|broke|too (?:slow|strict|broad|many)"
    r"|caus(?:es|ed|ing)|turns? out)\b|\bsince\b",
    re.IGNORECASE,
)
LONGEST = 300


def dead_ends(view: SessionView) -> Iterator[Proposal]:
    """Propose edits that were reverted, by an edit back to the old content or by git."""
    edits: list[Observation] = []
    reply = ""
    for step in view.steps:
        if step.seen is ObservationKind.REPLY and not step.subagent:
            reply = step.text
        elif step.seen is ObservationKind.PROMPT:
            # What the agent said before a new prompt does not explain what comes after it.
            reply = ""
        elif step.diff and step.file:
            # By git's object names the file has the content from before an earlier edit.
            undone_edits = [
                edit for edit in edits if edit.before and edit.file == step.file and edit.before == step.after
            ]
            yield from _propose(view, undone_edits, step, reply)
            edits = [*edits, step] if not undone_edits else [edit for edit in edits if edit.file != step.file]
        elif step.command and not step.failed and REVERT.search(step.command):
            reverted_edits = [edit for edit in edits if edit.file.rsplit("/", 1)[-1] in step.command]
            yield from _propose(view, reverted_edits, step, reply)
            edits = [edit for edit in edits if edit not in reverted_edits]


def _propose(view: SessionView, edits: list[Observation], revert: Observation, reply: str) -> Iterator[Proposal]:
    files = view.list_files(edits)
    why = " ".join(sentence for sentence in split_sentences(reply) if REASON.search(sentence))[:LONGEST]
    if files and why:
        yield Proposal(
            detector="dead_ends",
            kind=Kind.FACT,
            text=f"Tried in {', '.join(files)} and taken back: {why}",
            sources=(make_source(revert, why), *(make_source(edit) for edit in edits[:3])),
            tags=("dead-end",),
            links=tuple(files),
        )
