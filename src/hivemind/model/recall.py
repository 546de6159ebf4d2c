"""Queries, hits, answers and receipts."""

from dataclasses import dataclass
from enum import StrEnum

from hivemind.model.code import RelatedFile, SharedSession
from hivemind.model.ids import MemoryId, ReceiptId
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.metadata import NO_METADATA, Metadata
from hivemind.model.scope import Scope, Visibility


class Detail(StrEnum):
    """How much of each memory an answer shows."""

    HEADLINE = "headline"
    STANDARD = "standard"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search: text, visibility, time, filters and limits."""

    text: str
    sight: Visibility
    now: str
    limit: int
    max_tokens: int
    as_of: str = ""
    """Search the memories as they were stored at this time."""
    true_at: str = ""
    """Search for what was valid at this time, by what is known today."""
    detail: Detail = Detail.STANDARD
    scope: Scope | None = None
    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    agent: str = ""
    """Only memories that this agent brought."""
    since: str = ""
    """Only memories recorded at or after this time, and before ``until``."""
    until: str = ""
    statuses: tuple[Status, ...] = (Status.ACTIVE, Status.DISPUTED)
    where: Metadata = NO_METADATA
    """Only memories whose metadata has these values."""

    @property
    def moment(self) -> str:
        """The time that the answer is about."""
        return self.as_of or self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One reason for a hit's rank."""

    name: str
    score: float
    why: str
    """An explanation for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that matches a query, the matching passage, and why it ranks there."""

    memory: Memory
    passage: str
    score: float
    signals: tuple[Signal, ...]
    labels: tuple[str, ...] = ()
    """What a reader must know before using it: other repository, overdue, disputed."""
    may_conflict: tuple[MemoryId, ...] = ()
    """Hits that may contradict this one; certain contradictions are in ``memory.contradicts``."""
    tokens: int = 0
    is_sure: bool = True
    """Whether it answers the question; otherwise it is only one of the closest matches."""
    is_in_doubt: bool = False
    """Whether the code at hand asks for a look before acting on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The answer to a query, and the id of its receipt."""

    query: Query
    hits: tuple[Hit, ...]
    text: str
    receipt: ReceiptId | None = None
    files: tuple[RelatedFile, ...] = ()
    """Files related to the code in question."""
    sessions: tuple[SharedSession, ...] = ()
    """Sessions that read or edited those files together, the newest first."""

    @property
    def answers(self) -> tuple[Hit, ...]:
        """The hits that answer the question, without those that are only close matches."""
        return tuple(hit for hit in self.hits if hit.is_sure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof that a memory was shown to somebody."""

    id: ReceiptId
    memory_id: MemoryId
    at: str
    actor: str
    session_id: str
    query: str
    rank: int
    score: float
    tokens: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
# Read by position from one statement in projections/receipts.py, so the order of fields matters.
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
    not_looked_up: int
    """Of those, how many came unasked and were not asked for in the session; what it would have read in files instead
    nobody knows."""
    unasked_tokens: int
    asked_tokens: int
