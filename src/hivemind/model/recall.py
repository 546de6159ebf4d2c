"""Queries, hits, answers and receipts."""

from collections.abc import Iterator
from enum import StrEnum
from typing import overload

from hivemind.model.code import Callers, RelatedFile, SharedSession
from hivemind.model.dataclass import dataclass
from hivemind.model.digest import DigestLine
from hivemind.model.events import Event
from hivemind.model.ids import Digest, EventId, MemoryId, ReceiptId, SessionId, Timestamp
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.metadata import NO_METADATA, Metadata
from hivemind.model.scope import Choice, Scope, Visibility
from hivemind.model.timestamps import format_date

SHIPPED_MODEL = "hivemind-embedding-3"
"""The name of the embedding model in the package. Vectors carry it, so another model gets another name."""


CLOSEST, NO_MATCH_CLOSEST = "Closest, less certain:", "No confident match. Closest:"
"""Stand before hits that may not answer the question, after answers and without any."""
CONCLUSION = "conclusion"
"""What a session hit quotes that nobody asked for."""
CODE_BEHIND = "The code is being read in the background: notes about changed code may not be labelled yet."
"""What an answer says about itself in that case."""


class Occasion(StrEnum):
    """The moment at which an agent is told something unasked; the names are those of the setting ``actions``."""

    EDIT = "edits"
    COMMAND = "commands"
    FAILURE = "failures"
    SUBAGENT = "subagents"
    COMPACTION = "compactions"
    GUARD_ASK = "guard-ask"
    """A guard let the client ask the person; not a name of the setting, nor is the next."""
    GUARD_DENY = "guard-deny"
    """A guard refused the call."""


class Detail(Choice):
    """How much of each memory an answer shows."""

    HEADLINE = "headline"
    STANDARD = "standard"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search: text, visibility, time, filters and limits."""

    text: str
    sight: Visibility
    now: Timestamp
    limit: int
    max_tokens: int
    as_of: Timestamp = ""
    """Search the memories as they were stored at this time."""
    true_at: Timestamp = ""
    """Search for what was valid at this time, by what is known today."""
    detail: Detail = Detail.STANDARD
    scope: Scope | None = None
    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    agent: str = ""
    """Only memories that this agent brought."""
    since: Timestamp = ""
    """Only memories recorded at or after this time, and before ``until``."""
    until: Timestamp = ""
    statuses: tuple[Status, ...] = (Status.ACTIVE, Status.DISPUTED)
    wants_more: bool = False
    """Whether the caller has set the limit, and so asks for all that is near up to it."""
    where: Metadata = NO_METADATA
    """Only memories whose metadata has these values."""

    @property
    def fits_sessions(self) -> bool:
        """Whether passages of sessions can match: they have no scope, kind, tags, status, validity or metadata."""
        has_memory_filter = self.scope or self.kinds or self.tags or self.true_at or self.where
        has_status_filter = self.statuses and not {Status.ACTIVE, Status.DISPUTED} <= set(self.statuses)
        return not has_memory_filter and not has_status_filter

    @property
    def moment(self) -> str:
        """The time that the answer is about."""
        return self.as_of or self.now

    def is_valid(self, memory: Memory) -> bool:
        """Whether what a memory says is true at the time that the answer is about."""
        return memory.is_valid(self.true_at or self.moment)


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
    sides: tuple[MemoryId, ...] = ()
    """The other sides of its dispute that are told with it: all of them, or the newest of very many."""
    tokens: int = 0
    is_sure: bool = True
    """Whether it answers the question; otherwise it is only one of the closest matches."""
    confidence: float | None = None
    """How sure it is that it answers the question, from 0 to 1; none where nobody asked."""
    is_valid: bool = True
    """Whether it is true at the time that the question is about, by its own account."""
    is_in_doubt: bool = False
    """Whether the code at hand asks for a look before acting on it."""

    @property
    def id(self) -> MemoryId:
        """The id of the memory."""
        return self.memory.id

    @property
    def text(self) -> str:
        """The text of the memory; ``passage`` is the part that matches."""
        return self.memory.text


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """A passage of a past session that matches a query; nobody has reviewed it."""

    session_id: SessionId
    observation: EventId
    """The step of the session."""
    agent: str
    repo: str
    at: Timestamp
    what: str
    """What it quotes: a prompt, a reply, a command, a failed command, or the name of an edited file."""
    text: str
    """The passage that matches; empty where only conclusions are told."""
    score: float
    is_sure: bool = True
    """Whether it is to the point; otherwise it is only one of the closest."""
    labels: tuple[str, ...] = ()
    """What a reader must know: that it is from another repository."""
    tokens: int = 0
    conclusions: tuple[DigestLine, ...] = ()
    """What the session concluded about the question, best first."""
    amends: Timestamp = ""
    """When an earlier session concluded what this one changed; empty if none did."""

    @property
    def all_labels(self) -> tuple[str, ...]:
        """All that a reader must know of it."""
        return (*self.labels, *([f"amends {format_date(self.amends)}"] if self.amends else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitHit:
    """A commit of the repository whose message says why; nobody has reviewed it."""

    commit_id: Digest
    author: str
    at: Timestamp
    text: str
    tokens: int = 0


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
    session_hits: tuple[SessionHit, ...] = ()
    """Passages of past sessions that match; they come after the memories."""
    commits: tuple[CommitHit, ...] = ()
    """Commits that match, after memories and sessions; or those that made the lines which an edit changes."""
    hint: str = ""
    """Why the answer is empty and what to try; empty if it is not."""
    is_code_behind: bool = False
    """Whether code was still being read, so that hits may lack labels about changes of it."""

    def __str__(self) -> str:
        return self.text or self.hint

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    @property
    def notes(self) -> int:
        """How many memories, conclusions and commits it tells."""
        return len(self.hits) + len(self.commits) + sum(len(hit.conclusions) for hit in self.session_hits)

    @property
    def answers(self) -> tuple[Hit, ...]:
        """The hits that answer the question, without those that are only close matches."""
        return tuple(hit for hit in self.hits if hit.is_sure)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedContext:
    """Memories, files and callers related to code or to a task."""

    recall: Recall
    callers: Callers | None
    """Callers of a single symbol; none for anything else."""

    @property
    def files(self) -> tuple[RelatedFile, ...]:
        """The related files, and why."""
        return self.recall.files


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof that a memory was shown to somebody."""

    id: ReceiptId
    memory_id: MemoryId
    at: Timestamp
    actor: str
    session_id: str
    query: str
    rank: int
    score: float
    tokens: int
    why: str
    occasion: str = ""
    """The ``Occasion`` at which it was told; empty for briefs, prompts and questions."""

    @property
    def moment(self) -> str:
        """When it was shown, for people: at a question, a call or an error, or in a brief."""
        match self.occasion:
            case Occasion.GUARD_ASK:
                return f"asked before: {self.query}"
            case Occasion.GUARD_DENY:
                return f"refused: {self.query}"
            case _:
                return self.query or "in a brief"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSession:
    """What the spool has of a session, because nobody could write to the store."""

    receipts: tuple[Event, ...] = ()
    last_compaction: str = ""
    """When its context was last compacted or cleared; empty if the spool does not say."""
    last_prompt: str = ""


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
    actions: int = 0
    """How often it was told something at an action: before an edit or a command, after a failure, to a subagent."""
