"""Which files turned out to matter for a task, and which are changed together."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hivemind.curate.trail import Trail, source
from hivemind.model.memory import Kind
from hivemind.model.proposal import Proposal
from hivemind.model.session import Observation, Seen
from hivemind.model.text import first_line

FEWEST, MOST, READ = 2, 6, 4
SHORTEST_TASK, LONGEST_TASK = 60, 1500
SCRATCH = re.compile(
    r"(?:^|/)(?:\.claude|\.cursor|\.codex|node_modules|tmp|plans?)/|\.lock$|(?:^|/)(?:TODO|PLAN|NOTES)\b"
)
NAMES_A_FILE = re.compile(r"\.\w+\Z")
NOT_A_TASK = re.compile(
    r"\A(?:<|\[|https?:|caveat:|this session is being|base directory|continue\b|yes\b|yeah\b|ok\b|go\b|let'?s\b|lets\b"
    r"|now\b|just\b|fix (?:them|it|all)|address|please please|but\b|and\b|so\b|is\b|do we\b|what\b|why\b|hmm|things\b)",
    re.IGNORECASE,
)
"""Answers, questions and links: out of their place they do not say what was being done."""


def exploration(trail: Trail) -> Iterator[Proposal]:
    """For each task that changed a few files: those files, and what was read for it."""
    for task, steps in _tasks(trail.steps):
        if not SHORTEST_TASK <= len(task.text) <= LONGEST_TASK or NOT_A_TASK.match(task.text):
            continue
        edits = [seen for seen in steps if seen.diff and not seen.failed]
        changed = [file for file in trail.files(edits) if not SCRATCH.search(file)]
        if FEWEST <= len(changed) <= MOST:
            looked = [seen for seen in steps if NAMES_A_FILE.search(seen.file) and not seen.diff and not seen.failed]
            others = [file for file in trail.files(looked) if not SCRATCH.search(file) and file not in changed]
            read = others[:READ]
            also = f" Read for it: {', '.join(read)}." if read else ""
            yield Proposal(
                detector="exploration",
                kind=Kind.SUMMARY,
                text=f"For “{first_line(task.text, 160)}” these changed together: {', '.join(changed)}.{also}",
                sources=(source(task, first_line(task.text)), *(source(seen) for seen in edits[:MOST])),
                tags=("files",),
                links=tuple(changed),
            )


def _tasks(steps: Sequence[Observation]) -> Iterator[tuple[Observation, Sequence[Observation]]]:
    begins = [index for index, seen in enumerate(steps) if seen.seen is Seen.PROMPT and not seen.subagent]
    for begin, end in pairwise([*begins, len(steps)]):
        yield steps[begin], steps[begin + 1 : end]
