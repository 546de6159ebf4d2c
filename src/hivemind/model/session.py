"""What an agent did, as it happened."""

from dataclasses import dataclass
from enum import StrEnum

from hivemind.model.ids import SessionId

LONGEST_RAW = 72 * 1024
"""Characters of what could not be read that are passed on."""


class Seen(StrEnum):
    """What sort of thing was observed."""

    STARTED = "started"
    PROMPT = "prompt"
    REPLY = "reply"
    TOOL = "tool"
    SUBAGENT = "subagent"
    COMPACTED = "compacted"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What is told of one thing seen in a session."""

    agent: str
    session_id: str
    seen: Seen
    directory: str = ""
    text: str = ""
    tool: str = ""
    """The tool as this agent calls it; for a subagent, its type."""
    input: str = ""
    output: str = ""
    command: str = ""
    """The command line, where the tool was a shell: the same field whatever the agent calls its shell."""
    exit_code: int | None = None
    failed: bool = False
    """The agent said that the call did not succeed."""
    file: str = ""
    diff: str = ""
    """What changed in the file, as a unified diff."""
    before: str = ""
    """Git's name for the file's content before the edit; empty where the agent does not tell it."""
    after: str = ""
    """Git's name for the file's content after the edit."""
    subagent: str = ""
    """Whose step it was, if not the session's own: words here are an agent's, never a person's."""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(Observed):
    """One thing seen in a session. The observations of a session, in order, are its trace."""

    source_id: str
    """The agent's own id for this, so that seeing it twice records it once."""
    at: str = ""
    turn: str = ""
    """The agent's own id of the turn, where what was said in it has none and its words are part of the id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that could not be read, and why."""

    reason: str
    where: str = ""
    raw: str = ""
    """What it said, or the first LONGEST_RAW characters of it; empty where it was read but is nothing we know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of an agent, as a line of a list."""

    id: SessionId
    agent: str
    repo: str
    directory: str
    started_at: str
    last_seen_at: str
    observations: int
    task: str
    """What a person first asked for in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A file that a session changed."""

    file: str
    edits: int
    added: int
    """Lines, over all edits; and removed."""
    removed: int
    why: str
    """What the agent last said before its last edit, or what it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command, how it ended, and the end of what it printed."""

    command: str
    exit_code: int | None
    failed: bool
    at: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """Where a session stands: the short-term memory beside the long-term one."""

    session: Session
    task: str
    """What a person asked for last."""
    edited: tuple[Edited, ...]
    """In the order in which they were last changed, the newest first."""
    outputs: tuple[Ran, ...]
    """The last commands, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What another agent needs to go on where this session stopped."""

    session: Session
    asked: tuple[str, ...]
    """What a person asked for, in order."""
    edited: tuple[Edited, ...]
    failed: tuple[Ran, ...]
    """Commands that failed when they were last run."""
    open: tuple[str, ...]
    """What was planned and not done, or asked and not answered."""
    last_said: str
    """How the agent ended."""
    text: str = ""
    """All of it as an agent reads it."""
