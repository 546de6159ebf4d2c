"""What a rollback selects, and what it changes."""

from dataclasses import dataclass

from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which changes to undo; empty fields do not restrict the selection."""

    session: str = ""
    source: str = ""
    """A file, as named in a memory's sources."""
    agent: str = ""
    batch: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """The effect of a rollback on one memory."""

    memory_id: MemoryId
    undone: tuple[EventId, ...]
    before: Memory | None
    after: Memory | None
