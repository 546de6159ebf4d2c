"""What an agent did, as it happened."""

from dataclasses import dataclass
from enum import StrEnum

from hivemind.model.ids import SessionId


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
class Observation:
    """One thing seen in a session. The observations of a session, in order, are its trace."""

    agent: str
    session_id: SessionId
    seen: Seen
    source_id: str
    """The agent's own id for this, so that seeing it twice records it once."""
    directory: str
    at: str = ""
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
class Skipped:
    """Something an agent left that could not be read, and why."""

    reason: str
    where: str = ""
