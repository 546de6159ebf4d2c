"""Who is speaking to us, and by which channel."""

from dataclasses import dataclass

from hivemind.model.memory import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The one on whose behalf something is written; a door says who it is, never the text."""

    actor: str
    channel: Channel
    session_id: str = ""
    model: str = ""
