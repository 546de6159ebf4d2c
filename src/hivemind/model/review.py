"""Why a memory waits for a person, and what a rollback selects and changes."""

from dataclasses import dataclass
from enum import StrEnum

from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Memory


class ReviewReason(StrEnum):
    """The kinds of reason, the weightiest first."""

    DISPUTED = "disputed"
    """Another memory contradicts it, or two people edited it at once."""
    STALE = "stale"
    """The code it is about has changed."""
    OVERDUE = "overdue"
    """It was to be verified by now."""
    PROPOSED = "proposed"
    """Nobody has approved it yet."""

    @property
    def asks_for_verification(self) -> bool:
        """Whether the memory stands, and the question is only whether it is still correct."""
        return self in (ReviewReason.STALE, ReviewReason.OVERDUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """A memory that waits for a person, why, and what it conflicts with."""

    memory: Memory
    reason: ReviewReason
    why: str
    """The reason in words, for people alone."""
    against: tuple[Memory, ...] = ()


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
