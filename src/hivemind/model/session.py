"""Sessions of agents and their observations."""

from enum import StrEnum

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import ForeignId, SessionId, Timestamp

MAX_RAW_CHARACTERS = 72 * 1024
"""Characters of unreadable input that are kept for the quarantine."""
FEWEST_REQUEST_WORDS = 3
"""Words of a prompt that says what to do; shorter ones, such as "go ahead", only answer the agent."""


def list_diff_lines(diff: str, sign: str) -> list[str]:
    """The lines that a unified diff adds or removes, by their sign."""
    # Three signs begin a file name in its header.
    return [line[1:] for line in diff.splitlines() if line.startswith(sign) and not line.startswith(sign * 3)]


class ObservationKind(StrEnum):
    """The kind of an observation."""

    STARTED = "started"
    PROMPT = "prompt"
    REPLY = "reply"
    TOOL = "tool"
    SUBAGENT = "subagent"
    COMPACTED = "compacted"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
# Shared by inheritance, because the log stores exactly these fields.
class ObservationFields:
    """The fields that an observation and its fact share."""

    agent: str
    session_id: ForeignId
    seen: ObservationKind
    directory: str = ""
    text: str = ""
    tool: str = ""
    """The agent's own name of the tool; for a subagent, its type."""
    input: str = ""
    output: str = ""
    command: str = ""
    """The command line if the tool was a shell, whatever the agent calls its shell tool."""
    exit_code: int | None = None
    failed: bool = False
    """The agent reported that the call failed."""
    file: str = ""
    diff: str = ""
    """The change of the file, as a unified diff."""
    before: str = ""
    """Git's blob id of the file before the edit; empty if the agent does not report it."""
    after: str = ""
    """Git's blob id of the file after the edit."""
    subagent: str = ""
    """The subagent that took this step, if any; its prompts are written by an agent, never by a person."""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(ObservationFields):
    """One step of a session. The observations of a session, in order, are its trace."""

    source_id: str
    """The agent's own id of this step, so that a step seen twice is recorded once."""
    at: Timestamp = ""
    turn: str = ""
    """The agent's id of the turn, if its messages have no ids; then their text is part of the source id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedInput:
    """Input that could not be read, and why."""

    reason: str
    where: str = ""
    raw: str = ""
    """The input, up to ``MAX_RAW_CHARACTERS``; empty if it was readable but of an unknown kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A summary of one run of an agent."""

    id: SessionId
    agent: str
    repo: str
    directory: str
    started_at: Timestamp
    last_seen_at: Timestamp
    observations: int
    task: str
    """The first request of a person that says what to do; else their first words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedFile:
    """A file that a session edited."""

    file: str
    edits: int
    added: int
    """Lines added over all edits; ``removed`` likewise."""
    removed: int
    why: str
    """The agent's last message before its last edit, or the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """A command, its exit code, and the end of its output."""

    command: str
    exit_code: int | None
    failed: bool
    at: Timestamp
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """The current state of a session: its task, edits and last commands."""

    session: Session
    task: str
    last_request: str
    """The last such request; empty if it is the task."""
    edited: tuple[EditedFile, ...]
    """The most recently edited first."""
    outputs: tuple[CommandRun, ...]
    """The last commands, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRun:
    """A command that failed and later passed, and what was done in between."""

    failure: CommandRun
    commands: tuple[str, ...]
    """Other commands that passed in between, without those that only look around."""
    files: tuple[str, ...]
    """Files that were changed in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What another agent needs to continue a session."""

    session: Session
    task: str
    asked: tuple[str, ...]
    """What the task became: the last requests after it, in order."""
    commits: tuple[str, ...]
    """The subjects of the commits it made, in order."""
    edited: tuple[EditedFile, ...]
    failed: tuple[CommandRun, ...]
    """Commands whose last run failed."""
    fixed: tuple[FixedRun, ...]
    """Commands that failed and passed later."""
    open: tuple[str, ...]
    """Planned steps that were not done, and questions that were not answered."""
    last_said: str
    """The agent's last message."""
    text: str = ""
    """The whole handover as text for an agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillReport:
    """The result of importing past transcripts."""

    batch: str
    """The id of the import, for a rollback."""
    learned: int
    """Proposals made from the imported data."""
    transcripts: int = 0
    sessions: int = 0
    observations: int = 0
    new: int = 0
    """How many of the observations were not yet stored."""
    skipped: tuple[tuple[str, int], ...] = ()
    """Reasons why lines could not be read, and how many lines each."""
    quarantined: int = 0
    """How many of these lines are in the quarantine; the others were read and have no use."""
    sessions_off: int = 0
    """How many sessions were left out, in part or whole, because memory is off in their repository."""
