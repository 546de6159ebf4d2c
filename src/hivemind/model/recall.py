"""A question, what came back, and the proof of what was shown."""

from dataclasses import dataclass
from enum import StrEnum

from hivemind.model.code import Related, SharedSession
from hivemind.model.ids import MemoryId, ReceiptId
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.metadata import NO_METADATA, Metadata
from hivemind.model.scope import Scope, Sight

TO_VERIFY = ": verify before acting"
"""How what the code puts in doubt is marked, for its reader and on the receipt."""


class Detail(StrEnum):
    """How much of a memory is shown."""

    HEADLINE = "headline"
    STANDARD = "standard"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for, where, as of when, and how much of it fits."""

    text: str
    sight: Sight
    now: str
    limit: int
    max_tokens: int
    as_of: str = ""
    """Answer with what was believed then."""
    true_at: str = ""
    """Answer with what, as far as is known today, was true then."""
    detail: Detail = Detail.STANDARD
    scope: Scope | None = None
    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    agent: str = ""
    """The agent it came through."""
    since: str = ""
    """Only what was recorded at or after this moment, and ``until`` before that one."""
    until: str = ""
    statuses: tuple[Status, ...] = (Status.ACTIVE, Status.DISPUTED)
    where: Metadata = NO_METADATA
    """Only memories whose metadata has these values."""

    @property
    def moment(self) -> str:
        """The point in time the answer speaks of."""
        return self.as_of or self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One reason why a memory stands where it stands."""

    name: str
    score: float
    why: str
    """In plain words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that answers, the passage that does, and why."""

    memory: Memory
    passage: str
    score: float
    signals: tuple[Signal, ...]
    labels: tuple[str, ...] = ()
    """What a reader must know before using it: elsewhere, overdue, disputed."""
    may_conflict: tuple[MemoryId, ...] = ()
    """Other hits that may say otherwise; what certainly does is in ``memory.contradicts``."""
    tokens: int = 0
    is_sure: bool = True
    """Whether it answers the question, or is only among the closest there are."""
    is_in_doubt: bool = False
    """Whether the code at hand asks for a look before acting on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What to tell the reader, and the receipt for having told it."""

    query: Query
    hits: tuple[Hit, ...]
    text: str
    receipt: ReceiptId | None = None
    files: tuple[Related, ...] = ()
    """Files that bear on the code that was asked about."""
    sessions: tuple[SharedSession, ...] = ()
    """Sessions that touched files there together, the newest first."""

    @property
    def answers(self) -> tuple[Hit, ...]:
        """The hits that answer the question, without those that are only the closest."""
        return tuple(hit for hit in self.hits if hit.is_sure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof that a memory was put before somebody."""

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
