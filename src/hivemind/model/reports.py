"""What the verbs report back about what they did or found."""

from dataclasses import dataclass

from hivemind.model.life import Step
from hivemind.model.memory import Memory
from hivemind.model.recall import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a memory is believed, what became of it, and whom it reached."""

    memory: Memory
    history: tuple[Step, ...]
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import brought."""

    new: int
    known: int
    refused: int
    batch: str
    """Names it for a rollback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What instruction files said, and what of it was new or gone."""

    said: int
    new: int
    gone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A memory that waits for a person, with what it rests on and what it conflicts with."""

    memory: Memory
    why: str
    against: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What memory cost a session."""

    actor: str
    session_id: str
    briefs: int
    prompts: int
    recalls: int
    memories: int
    """How many were put before it, each time counted."""
    told_before: int
    """How many of them an earlier session had been told: found out once, and not again."""
    unasked_tokens: int
    asked_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How much there is."""

    memories: tuple[tuple[str, str, str, int], ...]
    """Scope, kind, status, count."""
    sessions: int
    observations: int
    events: int
    bytes: int
