"""An approach that was tried and taken back, with what the agent said about it."""

import re
from collections.abc import Iterator

from hivemind.curate.trail import Trail, sentences, source
from hivemind.model.memory import Kind
from hivemind.model.proposal import Proposal
from hivemind.model.session import Observation, Seen

TAKEN_BACK = re.compile(
    r"\bgit (?:checkout (?:HEAD )?(?:-- )?(?=\S*[./])|restore (?!--staged)|reset --hard|stash drop)"
)
WHY = re.compile(
    r"\b(?:because|can't|cannot|(?:doesn't|didn't|won't|not) work|circular|breaks?|broke|too (?:slow|strict|broad|many)"
    r"|caus(?:es|ed|ing)|turns? out)\b|\bsince\b",
    re.IGNORECASE,
)
LONGEST = 300


def dead_ends(trail: Trail) -> Iterator[Proposal]:
    """Edits whose files went back to what they were before."""
    edits: list[Observation] = []
    said = ""
    for seen in trail.steps:
        if seen.seen is Seen.REPLY and not seen.subagent:
            said = seen.text
        elif seen.seen is Seen.PROMPT:
            said = ""
        elif seen.diff and seen.file:
            back = [edit for edit in edits if edit.before and edit.file == seen.file and edit.before == seen.after]
            yield from _dead_end(trail, back, seen, said)
            edits = [*edits, seen] if not back else [edit for edit in edits if edit.file != seen.file]
        elif seen.command and not seen.failed and TAKEN_BACK.search(seen.command):
            gone = [edit for edit in edits if edit.file.rsplit("/", 1)[-1] in seen.command]
            yield from _dead_end(trail, gone, seen, said)
            edits = [edit for edit in edits if edit not in gone]


def _dead_end(trail: Trail, edits: list[Observation], back: Observation, said: str) -> Iterator[Proposal]:
    files = trail.files(edits)
    why = " ".join(part for part in sentences(said) if WHY.search(part))[:LONGEST]
    if files and why:
        yield Proposal(
            detector="dead_ends",
            kind=Kind.FACT,
            text=f"Tried in {', '.join(files)} and taken back: {why}",
            sources=(source(back, why), *(source(edit) for edit in edits[:3])),
            tags=("dead-end",),
            links=tuple(files),
        )
