"""Detects fixes: a command failed and passed later, by an installation, a service, another option or an edit."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import PurePath

from hivemind.learning.session_view import SessionView, make_source
from hivemind.model.claim import Proposal
from hivemind.model.commands import ASSIGNMENT, SessionRun, extract_command, find_fixes, find_purposes
from hivemind.model.memory import Kind
from hivemind.model.session import Observation
from hivemind.sessions.talk import split_reply
from hivemind.text import cues
from hivemind.text.clean import first_line

UNFINISHED_EDIT = re.compile(
    r"undefined\b|not used|unused|is not a type|no new variables|not enough arguments|too many arguments|SyntaxError"
    r"|syntax error|cannot use .* as|Cannot find name|has no (?:field|exported member)|missing return"
    r"|expected ['\"`;,)]|redeclared|already declared|Property '.*' does not exist|formatt|gofmt|not gofumpt",
    re.IGNORECASE,
)
"""Compiler errors of half-finished edits; they are gone a minute later and teach nothing."""
EXPECTED_FAILURE = re.compile(
    r"as expected|expected to fail|should fail|fails? correctly|red phase|confirm(?:s|ed) the (?:bug|failure)"
    r"|(?:update|adjust|fix|change|correct)\w* (?:\S+ ){0,3}(?:tests?|expect\w*|assertions?)\b|nolint|-ignore|-disable"
    r"|nosec|\bthe old\b|\bmy (?:new |own |earlier )?(?:change|edit|test|code)"
    r"|\b(?:i|we) (?:deleted|removed|renamed|changed)"
    r"|pre-existing|intentional|false positive|unrelated",
    re.IGNORECASE,
)
"""A test written to fail first, a test adapted to new behaviour, or a check that was silenced."""
EXPLANATION = re.compile(
    r"\b(?:because|due to|needs?|must|requires?|has to|have to|should (?:be|only|not)|instead of|rather than|wants?"
    r"|only (?:when|if|added|applies|works)|expects? .+ but"
    r"|(?:issue|problem|cause|reason|fix|bug)(?: here)? (?:is|was))\b"
    r"|\bsince\b(?! the last)|found the (?:issue|problem|bug)",
    re.IGNORECASE,
)
"""Words that introduce a cause or a remedy."""
FURTHER_WORK = re.compile(
    r"\balso\b|\banother (?:failing|test|file|place)|\bother (?:files?|tests?|places?)\b"
    r"|\b(?:two|three|several) (?:categories|kinds|issues)\b",
    re.IGNORECASE,
)
"""Sentences about remaining work, not about the error."""
GUESS = re.compile(r"\b(?:might|may be|maybe|perhaps|possibly|let me (?:see|check|look)|not sure|i wonder)\b", re.I)
LOCATION = re.compile(r"\A(?:\S+[/\\])?[\w.-]+\.\w+(?::\d+(?::\d+)?:?|\(\d+,\d+\):) +\S")
LABEL = re.compile(r"\A\[[\w:.-]+\] ")
COMPLAINT = re.compile(
    r"fail|error|want|expect|\bgot\b|panic|cannot|can't|\bmust\b|should|\bnot\b|invalid|missing|mismatch|denied"
    r"|refused|exception|duplicate|\((?:[a-z]+)\)\Z",
    re.IGNORECASE,
)
EXCEPTION = re.compile(r"(?:E +)?(?:panic|error\[\w+\]|[\w.]*(?:Error|Exception))\b[^:]*: \S")
NOISE = re.compile(
    r"\b(?:INFO|DEBUG|WARN)\b|\+0x[0-9a-f]+\Z|\A\s*at |output: |\AExit code|exited with code|task failed"
    r"|Error Context|\b\d+ \| "
)
ASSERTION = re.compile(r"\bassert|^--- FAIL|\bexpected\b.*\b(?:got|received|but)\b", re.IGNORECASE | re.MULTILINE)
"""A test that found a wrong value; where no file changed, it passes or fails by chance."""
COLOUR_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
MOST_FILES, LONGEST = 3, 240
CHECKS = {"test", "lint", "types"}
"""Purposes of commands that only look at the code; they change nothing that could make another command pass."""


PREPARATION = re.compile(
    r"\b(?:install|add|sync|tidy|restore|bootstrap|setup|migrate|upgrade|up|start|enable|login|init|pull|generate|chmod)\b"
)
"""Words of commands that prepare something: an installation, a service, a schema, generated code."""
EVASION = re.compile(r"--(?:no-verify|force|skip\S*|ignore\S*|exclude\S*|no-fail\S*)|\s-(?:f|k)\b")
"""Options that keep a check from looking; a command that passes because of one is not fixed."""


def fixes(view: SessionView) -> Iterator[Proposal]:
    """Propose each failure that was fixed in the session, with the command that fixed it or what the agent said."""
    for failure, success in (*find_fixes(view.runs), *_find_other_forms(view)):
        yield from _propose(view, failure, success)


def _find_other_forms(view: SessionView) -> Iterator[tuple[SessionRun, SessionRun]]:
    """Find each command that failed and whose next run, with another option and no edit in between, passed."""
    last_runs: dict[tuple[str, ...], SessionRun] = {}
    for run in view.runs:
        name = tuple(word for word in run.command.split() if not word.startswith("-"))
        before = last_runs.get(name)
        last_runs[name] = run
        if before and before.has_failed and not run.has_failed and before.command != run.command:
            # Options of a test or a linter choose what is looked at.
            is_check = EVASION.search(run.command) or CHECKS.intersection(find_purposes(run.command))
            is_longer = len(run.command) > len(before.command)
            if is_longer and not is_check and not view.list_edits(before.index, run.index):
                yield before, run


def _propose(view: SessionView, failure: SessionRun, success: SessionRun) -> Iterator[Proposal]:
    edits = view.list_edits(failure.index, success.index)
    if not edits or _find_preparation(view, failure, success):
        yield from _propose_remedy(view, failure, success)
        return
    files = view.list_files(edits)
    error = _find_error(failure.step.output) or _find_stated_error(failure.step.output)
    cause = _find_explanation(view, failure, edits)
    if not files or len(files) > MOST_FILES or not error or not cause or UNFINISHED_EDIT.search(error):
        return
    text = f"`{first_line(failure.command, LONGEST)}` failed with: {error}\nFixed in {', '.join(files)}: {cause}"
    yield Proposal(
        detector="fixes",
        kind=Kind.FIX,
        text=text,
        sources=(make_source(failure.step, error), make_source(success.step), *map(make_source, edits[:5])),
        tags=("fix",),
        links=tuple(files),
        edits=tuple(edits),
    )


def _propose_remedy(view: SessionView, failure: SessionRun, success: SessionRun) -> Iterator[Proposal]:
    """Propose the one command that ran between failure and success: an installation, a service that was started."""
    error = _find_error(failure.step.output) or _find_stated_error(failure.step.output)
    remedy = _find_remedy(view, failure, success)
    is_chance = bool(UNFINISHED_EDIT.search(error) or ASSERTION.search(failure.step.output))
    reply = view.find_first_reply(failure.index, success.index)
    if not error or not remedy or is_chance or EXPECTED_FAILURE.search(reply):
        return
    yield Proposal(
        detector="fixes",
        kind=Kind.FIX,
        text=f"`{first_line(failure.command, LONGEST)}` failed with: {error}\n"
        f"Fixed by `{first_line(remedy.command, LONGEST)}`.",
        sources=(make_source(failure.step, error), make_source(remedy.step), make_source(success.step)),
        tags=("fix",),
    )


def _find_preparation(view: SessionView, failure: SessionRun, success: SessionRun) -> SessionRun | None:
    """Return the command in between that installed, started or prepared something; none if there are several."""
    runs = [run for run in view.runs if failure.index < run.index < success.index and not run.has_failed]
    preparations = {run.command: run for run in runs if PREPARATION.search(run.command)}
    return next(iter(preparations.values())) if len(preparations) == 1 else None


def _find_remedy(view: SessionView, failure: SessionRun, success: SessionRun) -> SessionRun | None:
    """Return the command that made it pass: a preparation, another form of it, or the only one that ran in between."""
    if preparation := _find_preparation(view, failure, success):
        return preparation
    # The same command passed with an environment variable that it did not have before.
    has_new_variable = ASSIGNMENT.match(success.step.command) and not ASSIGNMENT.match(failure.step.command)
    if failure.command != success.command or has_new_variable:
        return replace(success, command=success.step.command.strip())
    runs = [run for run in view.runs if failure.index < run.index < success.index]
    # Several commands in one line are no run, and any of them may have been the remedy.
    lines = (step.command for step in view.steps[failure.index + 1 : success.index] if step.command)
    if len({run.command for run in runs}) != 1 or not all(map(extract_command, lines)):
        return None
    is_check = CHECKS.intersection(find_purposes(runs[-1].command))
    return None if runs[-1].has_failed or is_check else runs[-1]


def _find_stated_error(output: str) -> str:
    """Return the first line of an output by which the same error can be recognised next time; empty if none."""
    lines = (" ".join(COLOUR_CODE.sub("", line).split()) for line in cues.find_error_lines(output))
    errors = (line for line in lines if len(cues.find_signature_words(line)) >= cues.FEWEST_SIGNATURE_WORDS)
    return next((line for line in errors if not NOISE.search(line)), "")[:LONGEST]


def _find_error(output: str) -> str:
    """Return the first line of an output with a location and an error, else the first exception; empty if none."""
    lines = [" ".join(LABEL.sub("", line).split()) for line in COLOUR_CODE.sub("", output).splitlines()]
    messages = [line for line in lines if line and not NOISE.search(line)]
    located_errors = (line for line in messages if LOCATION.match(line) and COMPLAINT.search(line))
    exceptions = (line for line in messages if EXCEPTION.match(line))
    return next(chain(located_errors, exceptions), "")[:LONGEST]


def _find_explanation(view: SessionView, failure: SessionRun, edits: list[Observation]) -> str:
    """Return what the agent said was wrong between failure and last edit, else in the only reply of that turn."""
    early_reply = view.find_first_reply(failure.index, view.steps.index(edits[-1]))
    reply = early_reply or view.find_only_reply(failure.index)
    if EXPECTED_FAILURE.search(reply):
        return ""
    explanations = [
        sentence
        for sentence in split_reply(reply)
        if EXPLANATION.search(sentence) and not GUESS.search(sentence) and not FURTHER_WORK.search(sentence)
    ]
    if not early_reply:
        # A report on a whole turn covers other work too, so keep only sentences that name an edited file.
        explanations = [
            sentence for sentence in explanations if any(PurePath(edit.file).name in sentence for edit in edits)
        ]
    return " ".join(explanations)[:LONGEST]
