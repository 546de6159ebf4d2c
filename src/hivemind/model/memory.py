"""What is worth knowing next time, what it rests on, and how far it may be believed."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Literal

from hivemind.model.code import Anchor
from hivemind.model.ids import EventId, MemoryId, SessionId
from hivemind.model.metadata import NO_METADATA, Metadata
from hivemind.model.scope import Choice, Scope


class Kind(Choice):
    """What sort of claim it is; how long it lives and how it ranks follow."""

    FACT = "fact"
    DECISION = "decision"
    CONVENTION = "convention"
    PREFERENCE = "preference"
    PROCEDURE = "procedure"
    REQUIREMENT = "requirement"
    FIX = "fix"
    TRACE = "trace"
    SUMMARY = "summary"

    @property
    def plural(self) -> str:
        """Several of this kind, as a person asks for them."""
        return "fixes" if self is Kind.FIX else "summaries" if self is Kind.SUMMARY else f"{self}s"

    @property
    def bucket(self) -> "Bucket":
        """The sort of memory this is, in four."""
        return BUCKETS[self]


Bucket = Literal["project", "episodic", "procedural", "user"]

BUCKETS: dict[Kind, Bucket] = {
    Kind.FACT: "project",
    Kind.DECISION: "project",
    Kind.CONVENTION: "project",
    Kind.REQUIREMENT: "project",
    Kind.PREFERENCE: "user",
    Kind.PROCEDURE: "procedural",
    Kind.FIX: "procedural",
    Kind.TRACE: "episodic",
    Kind.SUMMARY: "episodic",
}


class Channel(StrEnum):
    """How something came to us. A writer cannot choose it; the door does."""

    PERSON = "person"
    FILE = "file"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"
    DERIVED = "derived"

    @property
    def trust(self) -> "Trust":
        """How far this channel is believed."""
        return TRUST_IN[self]

    @property
    def needs_review(self) -> bool:
        """Whether what comes this way starts as a proposal."""
        return self.trust is Trust.LOW


class Trust(IntEnum):
    """How far a memory may be believed. It falls through derivation; only a reviewer raises it."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3

    def __str__(self) -> str:
        return self.name.lower()


TRUST_IN = {
    Channel.PERSON: Trust.HIGH,
    Channel.FILE: Trust.HIGH,
    Channel.AGENT: Trust.MEDIUM,
    Channel.TOOL: Trust.LOW,
    Channel.IMPORT: Trust.LOW,
    Channel.DERIVED: Trust.LOW,
}


class Status(StrEnum):
    """Where a memory stands."""

    PROPOSED = "proposed"
    ACTIVE = "active"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    ERASED = "erased"


STANDING = (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)
"""Neither replaced nor taken back."""


@dataclass(frozen=True, slots=True)
class Period:
    """When something holds: from its start until the earlier of two ends; an empty end is none."""

    start: str
    valid_to: str = ""
    expires_at: str = ""

    @property
    def end(self) -> str:
        """The earlier end."""
        return min(filter(None, (self.valid_to, self.expires_at)), default="")

    def overlaps(self, other: "Period") -> bool:
        """Whether both hold at some moment."""
        return (not self.end or other.start < self.end) and (not other.end or self.start < other.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a memory rests on; empty where nothing is known."""

    channel: Channel
    actor: str = ""
    """The person or agent that said so."""
    model: str = ""
    session_id: str = ""
    event: str = ""
    """The log entry of the observation it was read from."""
    file: str = ""
    lines: str = ""
    commit: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What was done, why, and how it ended."""

    agent: str
    action: str
    reasoning: str = ""
    result: str = ""

    @property
    def text(self) -> str:
        """The trace as one passage that can be searched and read."""
        outcome = f" [{self.result}]" if self.result else ""
        return f"{self.action}{outcome}" + (f": {self.reasoning}" if self.reasoning else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """An edit of a version that was no longer the newest; it waits for somebody to decide."""

    id: EventId
    by: str
    at: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A claim worth knowing next time, with its sources and its standing."""

    id: MemoryId
    kind: Kind
    text: str
    scope: Scope
    repo: str
    """The repository it holds in; empty where it holds everywhere."""
    owner: str
    channel: Channel
    trust: Trust
    status: Status
    recorded_at: str
    revised_at: str
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    links: tuple[str, ...] = ()
    """Code it is about, as written: ``path::symbol``."""
    anchors: tuple[Anchor, ...] = ()
    """The same as it was found, with what it looked like then."""
    subject: str = ""
    """One current value per scope and subject, such as ``deploy-target`` or ``REQ-12``."""
    confidence: float = 1.0
    valid_from: str = ""
    valid_to: str = ""
    expires_at: str = ""
    verify_by: str = ""
    last_verified_at: str = ""
    supersedes: tuple[MemoryId, ...] = ()
    superseded_by: MemoryId | None = None
    contradicts: tuple[MemoryId, ...] = ()
    """Memories that say otherwise, until somebody settles it."""
    derived_from: tuple[str, ...] = ()
    batch: str = ""
    trace: Trace | None = None
    version: int = 1
    head: str = ""
    """The entry of the log that gave this version."""
    rivals: tuple[Rival, ...] = ()
    """What others made of an older version, until somebody settles it."""
    metadata: Metadata = NO_METADATA

    @property
    def about(self) -> tuple[str, ...]:
        """Code it is about, by name."""
        return tuple(anchor.label for anchor in self.anchors) or self.links

    @property
    def session_id(self) -> SessionId | None:
        """The session it was learned in."""
        named = [source.session_id for source in self.sources if source.session_id]
        return SessionId(named[0]) if named else None

    @property
    def agent(self) -> str:
        """The agent it came through, if one did."""
        if self.trace:
            return self.trace.agent
        named = [s.actor for s in self.sources if s.channel is not Channel.PERSON and s.actor]
        return named[0] if named else ""

    @property
    def period(self) -> Period:
        """When it holds; from when it was recorded, if nobody said."""
        return Period(self.valid_from or self.recorded_at, self.valid_to, self.expires_at)

    def is_expired(self, now: str) -> bool:
        """Whether its own date has taken it out of recall."""
        return bool(self.expires_at) and self.expires_at <= now

    def is_overdue(self, now: str) -> bool:
        """Whether somebody promised to look at it again before now."""
        return bool(self.verify_by) and self.verify_by <= now and self.last_verified_at < self.verify_by
