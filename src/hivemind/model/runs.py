"""The commands of a session that change or check something, which of them failed, and which passed later."""

import re
from collections.abc import Iterable, Iterator

from hivemind.model.dataclass import dataclass
from hivemind.model.session import Observation
from hivemind.text.commands import extract_command, is_inspection

STOPPED_CALL = re.compile(
    r"The user doesn't want to proceed|\[Request interrupted|This command requires approval|Permission to use"
    r"|was blocked|rejected by (?:the )?user|Cancelled:|tool_use_error",
    re.IGNORECASE,
)
"""A person or the agent stopped the call; that says nothing about the command."""
FAILURE = re.compile(
    r"^(?:FAIL\b|--- FAIL|✗|E  +\w|error(?:\[\w+\])?:|Error:(?! \(none\))|ERROR\b|npm (?:ERR!|error)|panic:"
    r"|\S*sh: (?:.*: )?(?:command )?not found|Traceback \(most recent|make: \*\*\*)"
    r"|\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|: error TS\d+|\(fail\)",
    re.MULTILINE,
)
"""What failing builds and tests print; needed where a pipe such as `| tail` hid their exit code."""
NO_FAILURES = re.compile(r"^\s*0 (?:fail(?:ed|ures?|ing)?|errors?)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRun:
    """A command that changes or checks something, and how it ended."""

    index: int
    """Position of its step in the session."""
    command: str
    """The command without its directory changes, variables and filters."""
    has_failed: bool
    step: Observation


def list_runs(steps: Iterable[Observation]) -> Iterator[SessionRun]:
    """List the commands of a session, without those that only look and those that somebody stopped."""
    for index, step in enumerate(steps):
        command = extract_command(step.command) if step.command else ""
        if command and not is_inspection(command) and not STOPPED_CALL.search(step.output[:200]):
            prints_failure = FAILURE.search(step.output) and not NO_FAILURES.search(step.output)
            yield SessionRun(index=index, command=command, has_failed=step.failed or bool(prints_failure), step=step)


def find_fixes(runs: Iterable[SessionRun]) -> Iterator[tuple[SessionRun, SessionRun]]:
    """Find each command that failed and passed later: its last failure, and the pass."""
    failing_runs: dict[str, SessionRun] = {}
    for run in runs:
        if run.has_failed:
            # A later failure replaces an earlier one: only what was done after the last one can have fixed it.
            failing_runs[run.command] = run
        elif run.command in failing_runs:
            yield failing_runs.pop(run.command), run
