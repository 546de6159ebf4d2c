"""Make the digest of a session from its log, by quotation alone: no sentence is ours, and no model is asked.

What followed the tellings of a session is found at the same time, when it rests.
"""

import re
from collections.abc import Container, Iterator, Sequence

from hivemind.context import Context, Progress, quietly
from hivemind.model.commands import SessionRun, find_fixes, is_inspection, list_runs
from hivemind.model.digest import Digest, DigestLine, Evidence, Part
from hivemind.model.ids import EventId
from hivemind.model.outcomes import Telling
from hivemind.model.scope import Visibility
from hivemind.model.session import Observation, ObservationKind, Session
from hivemind.sessions.conclusions import FilesByTurn, find_conclusions, is_aside
from hivemind.sessions.handover import LINE_CHARACTERS, MOST_REMEDIES, find_commits, find_open_points, find_requests
from hivemind.sessions.outcomes import judge_tellings
from hivemind.sessions.talk import read_talk
from hivemind.store.database import Database
from hivemind.store.projections import digests, memories, outcomes, receipts, sessions
from hivemind.text.clean import first_line
from hivemind.text.cues import find_error_lines
from hivemind.text.prose import split_typed

SYMBOL = re.compile(
    r"^[-+ ][ \t]*(?:export |pub(?:\(\w+\))? |async |static |public |private |default |abstract )*"
    r"(?:def|class|function|fn|func(?: \([^)]*\))?|interface|struct|enum|trait|type|impl) +(\w+)",
    re.MULTILINE,
)
"""A definition in a line of a diff."""
MOST_SYMBOLS, MOST_REQUESTS, MOST_LINES = 6, 5, 8
"""Symbols of a changed file, later requests, and lines of any other part: a digest is read at a glance."""
LONGEST_TASK = 600
LAST_STEPS = 8
"""Steps at the end of a session in which a plan must have been written to count as open."""
NO_ERROR = re.compile(
    r"^\s*(?:[✓✔√]|PASS\b|ok\b|\d+ \||\d+:\d+\s+warning|\[\d+/\d+\])|\bwarning\b|\[DEBUG\]"
    r"|task failed|={3,}|make: [*]{3}",
    re.IGNORECASE,
)
"""Lines that look like an error and are none: passing tests, warnings, excerpts of code, progress."""
FEWEST_ERROR_WORDS = 2
"""Of a line that says what went wrong."""
NOTHING_RUN = re.compile(
    r"\b(?:0 pass(?:ed)?\b(?!.*\b[1-9]\d* pass)|ran 0 tests|no tests? (?:found|ran|to run))", re.IGNORECASE
)
GIVEN_UP_RUNS = 2
"""A command that failed at least so often and never passed is a dead end; one that failed once may have been a slip."""
ARROW = " → "
MOST_TELLINGS = 10_000


def catch_up(context: Context, active: Container[str] = (), progress: Progress = quietly) -> int:
    """Make the digests of all sessions that wait for one and are not active; return how many were made."""
    db = context.store.db
    waiting = [session_id for session_id in digests.find_wanted(db) if session_id not in active]
    everything = Visibility.of(context.repository, everywhere=True)
    for number, session_id in enumerate(waiting, start=1):
        session = sessions.get(db, session_id, everything)
        steps = sessions.read_observations(db, session)
        digest, tellings = make_digest(session, steps), _list_tellings(db, session)
        with db.transaction():
            digests.put(db, digest)
            outcomes.put(db, session.id, judge_tellings(tellings, steps))
        progress(number, len(waiting))
    if waiting:
        # What sessions concluded about files is told when those are edited.
        context.store.discard_cues()
    return len(waiting)


def _list_tellings(db: Database, session: Session) -> list[Telling]:
    """Return what a session was told, with the memories as they were then; without what was retracted since."""
    lines = receipts.find_by_session(db, session.id, Visibility(repos=(), everywhere=True), MOST_TELLINGS)
    current = {memory.id: memory for memory in memories.get_all(db, {line.memory_id for line in lines})}
    tellings = []
    for line in reversed(lines):
        memory = current.get(line.memory_id)
        if memory and memory.revised_at > line.at:
            memory = memories.get_as_of(db, memory.id, line.at)
        tellings += [Telling(receipt=line, memory=memory)] if memory else []
    return tellings


def make_digest(session: Session, steps: Sequence[Observation]) -> Digest:
    """Return the digest of a session: task, conclusions, fixes, dead ends, changes, commits, open points."""
    talk = read_talk(steps)
    files = FilesByTurn(steps, [message.index for message in talk if message.is_persons], session.directory)
    runs = [*list_runs(steps)]
    parts = (
        [*_quote_requests(steps)],
        find_conclusions(steps, talk, files),
        [*_quote_fixes(steps, runs, files)][-MOST_LINES:],
        [*_quote_dead_ends(runs)][-MOST_LINES:],
        [*_quote_changes(steps, files)][-MOST_LINES:],
        [_quote(Part.COMMIT, step, subject) for step, subject in find_commits(steps)][-MOST_LINES:],
        [*_quote_open_points(steps)][:MOST_LINES],
    )
    return Digest(session_id=session.id, version=len(steps), lines=tuple(line for part in parts for line in part))


def _quote(
    part: Part, step: Observation, text: str, evidence: Evidence = Evidence.OBSERVED, files: tuple[str, ...] = ()
) -> DigestLine:
    line = first_line(text, LONGEST_TASK if part is Part.TASK else 2 * LINE_CHARACTERS)
    return DigestLine(part=part, evidence=evidence, event=EventId(step.source_id), at=step.at, text=line, files=files)


def _quote_requests(steps: Sequence[Observation]) -> Iterator[DigestLine]:
    """Yield the task, and what it became: the last requests after it."""
    requests = find_requests(steps)
    for step in requests[:1]:
        yield _quote(Part.TASK, step, " ".join(step.text.split()), Evidence.SAID)
    for step in requests[1:][-MOST_REQUESTS:]:
        yield _quote(Part.REQUEST, step, step.text, Evidence.SAID)


def _quote_fixes(steps: Sequence[Observation], runs: Sequence[SessionRun], files: FilesByTurn) -> Iterator[DigestLine]:
    """Yield the commands that failed and passed later, each with its error and the commands that mended it."""
    for failure, success in find_fixes(runs):
        between = steps[failure.index + 1 : success.index]
        commands = dict.fromkeys(step.command.strip() for step in between if step.command and not step.failed)
        acts = [first_line(act, LINE_CHARACTERS) for act in commands if _is_remedy(act, failure.command)]
        error = _find_error(failure.step, success.step)
        # That an edit mended it says little without the edit, which the changes show.
        if error and acts and not NOTHING_RUN.search(success.step.output):
            text = ARROW.join([f"`{failure.command}`", error, "; ".join(acts[:MOST_REMEDIES])])
            yield _quote(Part.FIX, failure.step, text, files=files.find_between(failure.index, success.index))


def _is_remedy(command: str, failing: str) -> bool:
    """Whether a command can have mended another: it changes something, and is not the same tool again."""
    is_other = _name_program(command).split()[:1] != failing.split()[:1]
    return is_other and not is_inspection(command) and "|| true" not in command and "| tail" not in command


def _quote_dead_ends(runs: Sequence[SessionRun]) -> Iterator[DigestLine]:
    """Yield the commands that failed more than once, and none like them ever passed."""
    passing_programs = {_name_program(run.command) for run in runs if not run.has_failed}
    for command in dict.fromkeys(run.command for run in runs):
        own_runs = [run for run in runs if run.command == command]
        is_given_up = len(own_runs) >= GIVEN_UP_RUNS and all(run.has_failed for run in own_runs)
        error = _find_error(own_runs[-1].step)
        if is_given_up and error and _name_program(command) not in passing_programs:
            yield _quote(Part.DEAD_END, own_runs[-1].step, ARROW.join([f"`{command}`", error]))


def _name_program(command: str) -> str:
    """Return the program and the first word for it, without options."""
    return " ".join([word for word in command.split() if not word.startswith("-")][:2])


def _quote_open_points(steps: Sequence[Observation]) -> Iterator[DigestLine]:
    """Yield what is left of the agent's plan, and the last request, unless it only ends the talk."""
    late_ids = {step.source_id for step in steps[-LAST_STEPS:]}
    for step, text in find_open_points(steps):
        is_prompt = step.seen is ObservationKind.PROMPT
        # Agents seldom tick off the last points of a plan; one that was written long before the end says nothing.
        if is_prompt:
            typed = [sentence for sentence in split_typed(step.text) if not is_aside(sentence)]
            if typed:
                yield _quote(Part.OPEN, step, typed[0], Evidence.SAID)
        elif step.source_id in late_ids:
            yield _quote(Part.OPEN, step, text)


def _find_error(step: Observation, success: Observation | None = None) -> str:
    """Return the line that says what went wrong; it is not in the output of the run that passed."""
    passed_lines = set(success.output.splitlines()) if success else set()
    lines = (line for line in find_error_lines(step.output) if line not in passed_lines and not NO_ERROR.search(line))
    telling = (line for line in lines if len(line.split()) >= FEWEST_ERROR_WORDS)
    return first_line(next(telling, ""), LINE_CHARACTERS)


def _quote_changes(steps: Sequence[Observation], files: FilesByTurn) -> Iterator[DigestLine]:
    """Yield each changed file once, at its last edit, with the symbols that its diffs define."""
    edits: dict[str, list[Observation]] = {}
    for step in steps:
        if step.diff and step.file and not step.failed:
            # Taken out and put back, so that the file moves to the end.
            edits[step.file] = [*edits.pop(step.file, ()), step]
    for file, own_edits in edits.items():
        path = files.shorten(file)
        symbols = dict.fromkeys(name for step in own_edits for name in SYMBOL.findall(step.diff))
        names = f": {', '.join([*symbols][:MOST_SYMBOLS])}" if symbols else ""
        yield _quote(Part.CHANGE, own_edits[-1], f"{path}{names}", files=(path,))
