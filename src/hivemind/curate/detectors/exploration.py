"""Detects which files were changed together for a task, and which were read for it."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hivemind.curate.session_view import SessionView, make_source
from hivemind.model.claim import Proposal
from hivemind.model.memory import Kind
from hivemind.model.session import Observation, ObservationKind
from hivemind.text.clean import first_line

FEWEST_FILES, MOST_FILES, MOST_READ_FILES = 2, 6, 4
SHORTEST_TASK, LONGEST_TASK = 60, 1500
SCRATCH_FILE = re.compile(
    r"(?:^|/)(?:\.claude|\.cursor|\.codex|node_modules|tmp|plans?)/|\.lock$|(?:^|/)(?:TODO|PLAN|NOTES)\b"
)
FILE_EXTENSION = re.compile(r"\.\w+\Z")
NOT_A_TASK = re.compile(
    r"\A(?:<|\[|https?:|caveat:|this session is being|base directory|continue\b|yes\b|yeah\b|ok\b|go\b|let'?s\b|lets\b"
    r"|now\b|just\b|fix (?:them|it|all)|address|please please|but\b|and\b|so\b|is\b|do we\b|what\b|why\b|hmm|things\b)",
    re.IGNORECASE,
)
"""Answers, questions and links: out of context they do not say what the task was."""


def exploration(view: SessionView) -> Iterator[Proposal]:
    """Propose, for each task that changed a few files, those files and the ones read for it."""
    for task, steps in _split_tasks(view.steps):
        if not SHORTEST_TASK <= len(task.text) <= LONGEST_TASK or NOT_A_TASK.match(task.text):
            continue
        edits = [step for step in steps if step.diff and not step.failed]
        changes = [file for file in view.list_files(edits) if not SCRATCH_FILE.search(file)]
        if FEWEST_FILES <= len(changes) <= MOST_FILES:
            reads = [step for step in steps if FILE_EXTENSION.search(step.file) and not step.diff and not step.failed]
            read_files = [
                file for file in view.list_files(reads) if not SCRATCH_FILE.search(file) and file not in changes
            ][:MOST_READ_FILES]
            note = f" Read for it: {', '.join(read_files)}." if read_files else ""
            yield Proposal(
                detector="exploration",
                kind=Kind.SUMMARY,
                text=f"For “{first_line(task.text, 160)}” these changed together: {', '.join(changes)}.{note}",
                sources=(make_source(task, first_line(task.text)), *(make_source(step) for step in edits[:MOST_FILES])),
                tags=("files",),
                links=tuple(changes),
            )


def _split_tasks(steps: Sequence[Observation]) -> Iterator[tuple[Observation, Sequence[Observation]]]:
    prompts = [index for index, step in enumerate(steps) if step.seen is ObservationKind.PROMPT and not step.subagent]
    for begin, end in pairwise([*prompts, len(steps)]):
        yield steps[begin], steps[begin + 1 : end]
