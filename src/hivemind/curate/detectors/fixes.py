"""A command failed, files were edited, the same command passed: what was wrong, and what mended it."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePath

from hivemind.curate.trail import Run, Trail, sentences, source
from hivemind.model.memory import Kind
from hivemind.model.proposal import Proposal
from hivemind.model.session import Observation
from hivemind.model.text import first_line

SLIP = re.compile(
    r"undefined\b|not used|unused|is not a type|no new variables|not enough arguments|too many arguments|SyntaxError"
    r"|syntax error|cannot use .* as|Cannot find name|has no (?:field|exported member)|missing return"
    r"|expected ['\"`;,)]|redeclared|already declared|Property '.*' does not exist|formatt|gofmt|not gofumpt",
    re.IGNORECASE,
)
"""What every half-finished edit makes a compiler say; gone a minute later, and worth nothing next time."""
PLANNED = re.compile(
    r"as expected|expected to fail|should fail|fails? correctly|red phase|confirm(?:s|ed) the (?:bug|failure)"
    r"|(?:update|adjust|fix|change|correct)\w* (?:\S+ ){0,3}(?:tests?|expect\w*|assertions?)\b|nolint|-ignore|-disable"
    r"|nosec|\bthe old\b|\bmy (?:new |own |earlier )?(?:change|edit|test|code)"
    r"|\b(?:i|we) (?:deleted|removed|renamed|changed)"
    r"|pre-existing|intentional|false positive|unrelated",
    re.IGNORECASE,
)
"""A test written to fail first, one brought into line with new behaviour, a check that was silenced."""
EXPLAINS = re.compile(
    r"\b(?:because|due to|needs?|must|requires?|has to|have to|should (?:be|only|not)|instead of|rather than|wants?"
    r"|only (?:when|if|added|applies|works)|expects? .+ but"
    r"|(?:issue|problem|cause|reason|fix|bug)(?: here)? (?:is|was))\b"
    r"|\bsince\b(?! the last)|found the (?:issue|problem|bug)",
    re.IGNORECASE,
)
"""How a cause or a remedy is put into words."""
ALSO = re.compile(
    r"\balso\b|\banother (?:failing|test|file|place)|\bother (?:files?|tests?|places?)\b"
    r"|\b(?:two|three|several) (?:categories|kinds|issues)\b",
    re.IGNORECASE,
)
"""Work that is left, not what was wrong."""
GUESS = re.compile(r"\b(?:might|may be|maybe|perhaps|possibly|let me (?:see|check|look)|not sure|i wonder)\b", re.I)
TALK = re.compile(
    r"\A(?:now|let me|let's|good|great|ok(?:ay)?|perfect|i'll|i need to (?:check|look|see)|next|first|i see"
    r"|looks? like)\b[^.]*[.:!]?\Z",
    re.I,
)
PLACE = re.compile(r"\A(?:\S+[/\\])?[\w.-]+\.\w+(?::\d+(?::\d+)?:?|\(\d+,\d+\):) +\S")
LABEL = re.compile(r"\A\[[\w:.-]+\] ")
TELLING = re.compile(
    r"fail|error|want|expect|\bgot\b|panic|cannot|can't|\bmust\b|should|\bnot\b|invalid|missing|mismatch|denied"
    r"|refused|exception|duplicate|\((?:[a-z]+)\)\Z",
    re.IGNORECASE,
)
RAISED = re.compile(r"(?:E +)?(?:panic|error\[\w+\]|[\w.]*(?:Error|Exception))\b[^:]*: \S")
NOISE = re.compile(
    r"\b(?:INFO|DEBUG|WARN)\b|\+0x[0-9a-f]+\Z|\A\s*at |output: |\AExit code|exited with code|task failed"
    r"|Error Context|\b\d+ \| "
)
COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
MOST_FILES, LONGEST = 3, 240


def fixes(trail: Trail) -> Iterator[Proposal]:
    """The failures of a session that were mended in it, with what the agent said was wrong."""
    failing: dict[str, Run] = {}
    for run in trail.runs:
        if run.failed:
            failing[run.what] = run
        elif run.what in failing:
            yield from _fix(trail, failing.pop(run.what), run)


def _fix(trail: Trail, failed: Run, passed: Run) -> Iterator[Proposal]:
    edits = trail.edits(failed.index, passed.index)
    files = trail.files(edits)
    error = signature(failed.seen.output)
    why = _explanation(trail, failed, edits)
    if not files or len(files) > MOST_FILES or not error or not why or SLIP.search(error):
        return
    text = f"`{first_line(failed.what, LONGEST)}` failed with: {error}\nMended in {', '.join(files)}: {why}"
    yield Proposal(
        detector="fixes",
        kind=Kind.FIX,
        text=text,
        sources=(source(failed.seen, error), source(passed.seen), *(source(edit) for edit in edits[:5])),
        tags=("fix",),
        links=tuple(files),
        edits=tuple(edits),
    )


def signature(output: str) -> str:
    """The line of an output that names the error best: with a place and a complaint, else with a complaint."""
    lines = [" ".join(LABEL.sub("", line).split()) for line in COLOUR.sub("", output).splitlines()]
    said = [line for line in lines if line and not NOISE.search(line)]
    placed = (line for line in said if PLACE.match(line) and TELLING.search(line))
    raised = (line for line in said if RAISED.match(line))
    return next(chain(placed, raised), "")[:LONGEST]


def _explanation(trail: Trail, failed: Run, edits: list[Observation]) -> str:
    """What the agent said was wrong between failure and last edit; if it spoke once in that turn, when it did."""
    if not edits:
        return ""
    meanwhile = trail.said(failed.index, trail.steps.index(edits[-1]))
    said = meanwhile or trail.only_said(failed.index)
    if PLANNED.search(said):
        return ""
    unfit = (TALK, GUESS, ALSO)
    told = [part for part in sentences(said) if EXPLAINS.search(part) and not any(one.search(part) for one in unfit)]
    if not meanwhile:
        # The report on a whole turn speaks of other things too.
        told = [part for part in told if any(PurePath(edit.file).name in part for edit in edits)]
    return " ".join(told)[:LONGEST]
