"""Which learning to undo, and what that means for each memory."""

from dataclasses import dataclass

from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Whose learning to undo; what is empty does not narrow."""

    session: str = ""
    source: str = ""
    """A file, as it stands in a memory's sources."""
    agent: str = ""
    batch: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a rollback means for one memory."""

    memory_id: MemoryId
    undone: tuple[EventId, ...]
    before: Memory | None
    after: Memory | None
