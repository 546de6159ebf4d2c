"""Why a memory waits for a person, what happened to it, and what a rollback selects and changes."""

from collections.abc import Iterable
from enum import StrEnum

from hivemind.model.code import Staleness
from hivemind.model.dataclass import dataclass
from hivemind.model.fold import HistoryStep
from hivemind.model.ids import EventId, MemoryId, Timestamp
from hivemind.model.memory import ConflictingEdit, Kind, Memory, Status
from hivemind.model.outcomes import TellingRecord
from hivemind.model.recall import Receipt


class ReviewReason(StrEnum):
    """The kinds of reason, the weightiest first."""

    DISPUTED = "disputed"
    """Another memory contradicts it, or two people edited it at once."""
    STALE = "stale"
    """The code it is about has changed."""
    OVERDUE = "overdue"
    """It was to be verified by now."""
    UNHEEDED = "unheeded"
    """It was told in several sessions, and agents ran against it or the person had to correct them."""
    PROPOSED = "proposed"
    """Nobody has approved it yet."""

    @property
    def asks_for_verification(self) -> bool:
        """Whether the memory stands, and the question is only whether it is still correct."""
        return self in (ReviewReason.STALE, ReviewReason.OVERDUE, ReviewReason.UNHEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeSide:
    """One side of a dispute: a memory, or an edit of it that waits for a decision."""

    memory: Memory
    edit: ConflictingEdit | None = None

    @property
    def text(self) -> str:
        """What this side says."""
        return self.edit.text if self.edit else self.memory.text

    @property
    def at(self) -> Timestamp:
        """When this side said it."""
        return self.edit.at if self.edit else self.memory.recorded_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """A memory that waits for a person, why, and what it conflicts with."""

    memory: Memory
    reason: ReviewReason
    why: str
    """The reason in words, for people alone."""
    against: tuple[Memory, ...] = ()
    detector: str = ""
    """The detector that proposed it; empty if none did, or if it is no longer known."""

    @property
    def sides(self) -> tuple[DisputeSide, ...]:
        """Those between whom a person has to decide, newest first; empty if nothing contradicts the memory."""
        # An edit of other fields than the text has no words to choose.
        edits = [DisputeSide(memory=self.memory, edit=edit) for edit in self.memory.rivals if edit.text]
        others = [DisputeSide(memory=memory) for memory in self.against]
        sides = [DisputeSide(memory=self.memory), *edits, *others] if edits or others else []
        return tuple(sorted(sides, key=lambda side: side.at, reverse=True))

    @property
    def is_plain_proposal(self) -> bool:
        """Whether it can be decided unseen with others: one that contradicts a memory needs a look of its own."""
        return self.reason is ReviewReason.PROPOSED and not self.against

    def select_group(self, queue: Iterable["ReviewItem"]) -> tuple["ReviewItem", ...]:
        """Select what a person may decide together with it: itself, and plain proposals of its origin and kind."""
        if not self.is_plain_proposal:
            return (self,)
        return tuple(other for other in queue if other.is_plain_proposal and other._likeness == self._likeness)

    @property
    def _likeness(self) -> tuple[str, Kind]:
        return self.detector or self.memory.channel.value, self.memory.kind


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
    is_approved: bool = False
    """Whether it would remove a memory that a person approved since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleMemory:
    """A memory whose code changed, and how."""

    memory: Memory
    became: tuple[Staleness, ...]

    @property
    def changes(self) -> tuple[tuple[str, str], ...]:
        """The labels of its code and what became of each; overloads that became the same are one."""
        return tuple(dict.fromkeys((change.anchor.label, change.text) for change in self.became))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A memory, and a newer one that contradicts or replaces it."""

    memory: Memory
    by: Memory
    is_replaced: bool
    """Whether a person or agent put the newer one in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDiff:
    """What a branch taught, and what it does to the memories there were."""

    base_name: str
    tip_name: str
    base: str
    """The last commit that both branches have."""
    tip: str
    files: int
    """Files that the branch changes."""
    taught: tuple[Memory, ...] = ()
    stale: tuple[StaleMemory, ...] = ()
    """Memories to verify, because the branch changes or deletes their code."""
    moved: tuple[StaleMemory, ...] = ()
    """Memories whose code is the same at another place."""
    contradicted: tuple[Contradiction, ...] = ()
    guarded: tuple[MemoryId, ...] = ()
    """Those of the stale ones that have a guard, which then steps back."""
    hidden: int = 0
    """Memories of the person that are left out."""

    @property
    def memory_ids(self) -> frozenset[MemoryId]:
        """The memories that it is about."""
        items = (*(item.memory for item in (*self.stale, *self.moved)), *(item.memory for item in self.contradicted))
        return frozenset(memory.id for memory in (*self.taught, *items))

    @property
    def needs_attention(self) -> bool:
        """Whether a memory is stale, other than a proposal, or contradicted."""
        return bool(self.contradicted) or any(item.memory.status is not Status.PROPOSED for item in self.stale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A memory with its history and the receipts of who saw it."""

    memory: Memory
    history: tuple[HistoryStep, ...]
    receipts: tuple[Receipt, ...]
    record: TellingRecord
    """How often it was told, and what followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyStats:
    """Statistics of one day."""

    date: str
    learned: int
    memories: tuple[tuple[str, int], ...]
    """Current status and count of all memories recorded by the end of the day."""
    recalls: int
    to_verify: int
    """How many of the recalls showed a memory whose code changed."""
    briefs: int
    brief_tokens: int
