"""Who writes, and by which channel."""

from dataclasses import dataclass

from hivemind.model.memory import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The author of a write; the interface sets it, never the text."""

    actor: str
    channel: Channel
    session_id: str = ""
    model: str = ""
