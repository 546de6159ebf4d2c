"""Memories, their kinds, sources, trust and status."""

import re
from enum import IntEnum, StrEnum
from typing import Literal

from hivemind.model.code import Anchor
from hivemind.model.dataclass import dataclass
from hivemind.model.ids import EventId, ForeignId, MemoryId, SessionId, Timestamp
from hivemind.model.metadata import NO_METADATA, Metadata
from hivemind.model.scope import Choice, Scope


class Kind(Choice):
    """The kind of a memory; its lifetime and ranking depend on it."""

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
        """The plural form of the kind's name."""
        return "fixes" if self is Kind.FIX else "summaries" if self is Kind.SUMMARY else f"{self}s"

    @property
    def bucket(self) -> "Bucket":
        """The group of kinds this one belongs to."""
        return BUCKET_BY_KIND[self]


Bucket = Literal["project", "episodic", "procedural", "user"]

BUCKET_BY_KIND: dict[Kind, Bucket] = {
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
    """How something was written. The interface sets it; a writer cannot choose it."""

    PERSON = "person"
    FILE = "file"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"
    DERIVED = "derived"

    @property
    def trust(self) -> "Trust":
        """The trust in memories from this channel."""
        return TRUST_BY_CHANNEL[self]

    @property
    def needs_review(self) -> bool:
        """Whether memories from this channel start as proposals."""
        return self.trust is Trust.LOW


class Trust(IntEnum):
    """How far a memory is trusted. Derived memories get less; only a reviewer raises it."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3

    def __str__(self) -> str:
        return self.name.lower()


TRUST_BY_CHANNEL = {
    Channel.PERSON: Trust.HIGH,
    Channel.FILE: Trust.HIGH,
    Channel.AGENT: Trust.MEDIUM,
    Channel.TOOL: Trust.LOW,
    Channel.IMPORT: Trust.LOW,
    Channel.DERIVED: Trust.LOW,
}


class Status(Choice):
    """The state of a memory in its life cycle."""

    PROPOSED = "proposed"
    ACTIVE = "active"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    ERASED = "erased"


REDACTION = r"\[redacted:([a-z0-9-]{1,40})\]"
"""What stands in place of a secret, with its kind."""
FORBIDS = "forbids"
"""The metadata in which an agent names the commands and files that a rule forbids; a guard is proposed from it."""

CURRENT_STATUSES = (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)
"""The statuses of memories that were neither replaced nor retracted."""


@dataclass(frozen=True, slots=True)
class Period:
    """When a memory is valid: from its start to the earlier of two ends; an empty end means no end."""

    start: Timestamp
    valid_to: Timestamp = ""
    expires_at: Timestamp = ""

    @property
    def end(self) -> Timestamp:
        """The earlier of the two ends; empty if there is none."""
        return min(filter(None, (self.valid_to, self.expires_at)), default="")

    def overlaps(self, other: "Period") -> bool:
        """Whether both are valid at some moment."""
        return (not self.end or other.start < self.end) and (not other.end or self.start < other.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The evidence for a memory; unknown fields are empty."""

    channel: Channel
    actor: str = ""
    """The person or agent who said it."""
    model: str = ""
    session_id: ForeignId = ""
    event: ForeignId = ""
    """The log entry of the observation it was taken from."""
    file: str = ""
    lines: str = ""
    commit: str = ""
    quote: str = ""

    @property
    def is_quotation(self) -> bool:
        """Whether it quotes what a person typed in a session, at an observation where the words were found."""
        return self.channel is Channel.PERSON and bool(self.event and self.quote)

    @property
    def summary(self) -> str:
        """Who said it, by which way, and where it stands, in one line."""
        place = self.file + (f":{self.lines}" if self.lines else "") + (f" at {self.commit[:8]}" if self.commit else "")
        session = f"session {self.session_id}" if self.session_id else ""
        return " ".join(filter(None, [self.channel.value, self.actor, place, session]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """An action of an agent, its reasoning and its result."""

    agent: str
    action: str
    reasoning: str = ""
    result: str = ""

    @property
    def text(self) -> str:
        """The trace as one searchable text."""
        outcome = f" [{self.result}]" if self.result else ""
        return f"{self.action}{outcome}" + (f": {self.reasoning}" if self.reasoning else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictingEdit:
    """An edit based on an outdated version; it stays until somebody decides between the two."""

    id: EventId
    by: str
    at: Timestamp
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A claim with its sources, trust and status."""

    id: MemoryId
    kind: Kind
    text: str
    scope: Scope
    repo: str
    """The repository it applies to; empty if it applies everywhere."""
    owner: str
    channel: Channel
    trust: Trust
    status: Status
    recorded_at: Timestamp
    revised_at: Timestamp
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    links: tuple[str, ...] = ()
    """Code it is about, as written: ``path::symbol``."""
    anchors: tuple[Anchor, ...] = ()
    """The same code as it was found, with its fingerprints."""
    subject: str = ""
    """One current value per scope and subject, such as ``deploy-target`` or ``REQ-12``."""
    confidence: float = 1.0
    valid_from: Timestamp = ""
    valid_to: Timestamp = ""
    expires_at: Timestamp = ""
    verify_by: Timestamp = ""
    last_verified_at: Timestamp = ""
    supersedes: tuple[MemoryId, ...] = ()
    superseded_by: MemoryId | None = None
    contradicts: tuple[MemoryId, ...] = ()
    """Memories that contradict it, until somebody settles the dispute."""
    derived_from: tuple[str, ...] = ()
    batch: str = ""
    trace: Trace | None = None
    version: int = 1
    head: str = ""
    """The log entry that made this version."""
    rivals: tuple[ConflictingEdit, ...] = ()
    """Edits based on an older version, until somebody settles the dispute."""
    metadata: Metadata = NO_METADATA
    disputed_at: Timestamp = ""
    """Since when it is disputed; empty if it is not."""
    edited_by: str = ""
    """The person or agent of the last edit; empty if nobody edited it."""
    edited_through: Channel | None = None
    """The channel of the last edit."""

    @property
    def about(self) -> tuple[str, ...]:
        """Code it is about, by name."""
        # Overloads have one name.
        return tuple(dict.fromkeys(anchor.label for anchor in self.anchors)) or self.links

    @property
    def redacted(self) -> tuple[str, ...]:
        """The kinds of the secrets that were replaced in it, one for each."""
        texts = (self.text, self.subject, *self.tags, *self.links, *map(str, self.metadata.values()))
        return tuple(kind for text in texts for kind in re.findall(REDACTION, text))

    @property
    def session_id(self) -> SessionId | None:
        """The session it was learned in."""
        session_ids = [source.session_id for source in self.sources if source.session_id]
        return SessionId(session_ids[0]) if session_ids else None

    @property
    def agent(self) -> str:
        """The agent that brought it; empty if a person did."""
        if self.trace:
            return self.trace.agent
        # What comes from an instruction file has no actor.
        agents = [source.actor for source in self.sources if source.channel is not Channel.PERSON and source.actor]
        return agents[0] if agents else ""

    @property
    def is_said(self) -> bool:
        """Whether an agent wrote down what a person had said, and the words were found in what they typed."""
        is_quoted = any(source.is_quotation for source in self.sources)
        return self.channel is Channel.AGENT and is_quoted and not self.edited_by

    @property
    def author(self) -> str:
        """Who wrote it as it is now: the person or agent of the last edit, else who brought it."""
        return self.edited_by or self.agent or self.owner

    @property
    def author_channel(self) -> Channel:
        """The channel through which its author wrote it."""
        return self.edited_through or self.channel

    @property
    def stated_at(self) -> Timestamp:
        """When it was said: for a lesson from an old session that nobody edited, long before it was recorded."""
        is_dated = self.channel is Channel.DERIVED and self.valid_from and self.version == 1
        return self.valid_from if is_dated else self.revised_at

    @property
    def period(self) -> Period:
        """When it is valid; starts at the time of recording if nobody set a start."""
        return Period(self.valid_from or self.recorded_at, self.valid_to, self.expires_at)

    def is_expired(self, now: Timestamp) -> bool:
        """Whether it is past its expiry date, so that recall leaves it out."""
        return bool(self.expires_at) and self.expires_at <= now

    def is_valid(self, now: Timestamp) -> bool:
        """Whether what it says is true now, by its own account."""
        return self.valid_from <= now and (not self.valid_to or self.valid_to > now)

    def is_overdue(self, now: Timestamp) -> bool:
        """Whether its date for verification has passed without one."""
        return bool(self.verify_by) and self.verify_by <= now and self.last_verified_at < self.verify_by


def strip_heading(text: str) -> str:
    """Remove the heading before a text that came from an instruction file: ``Heading: text``."""
    return text.partition(": ")[2] or text


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The author of a write; the interface sets it, never the text."""

    actor: str
    channel: Channel
    session_id: str = ""
    model: str = ""
