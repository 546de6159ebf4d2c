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
    input: str = ""
    output: str = ""
    exit_code: int | None = None
    file: str = ""
    model: str = ""
