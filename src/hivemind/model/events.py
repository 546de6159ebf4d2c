"""The facts of the log, and the event that carries each of them.

A fact is something that happened. It is never edited; a later fact corrects it. The meaning of a fact
never changes: a new meaning is a new fact, and a program that does not know a fact stores it unread.
"""

import dataclasses
import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints

from hivemind.model.code import Anchor
from hivemind.model.codec import PLAIN_TYPES, from_plain, to_json
from hivemind.model.dataclass import dataclass
from hivemind.model.erasure import ErasedLocation
from hivemind.model.guard import GuardAnswer, Trigger
from hivemind.model.ids import FOREIGN, Digest, EventId, ForeignId, MemoryId, OwnId, Timestamp
from hivemind.model.memory import Channel, Kind, Source, Trace, Trust
from hivemind.model.metadata import NO_METADATA, Metadata, is_valid_metadata
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationFields
from hivemind.model.timestamps import is_timestamp
from hivemind.text.untrusted import parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Base of all facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFact(Fact):
    """Base of facts about one memory."""

    memory_id: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVerdict(MemoryFact):
    """Base of facts about one memory that have a reason."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRemembered(MemoryFact):
    """A new memory was stored."""

    kind: Kind
    text: str
    owner: str
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    links: tuple[str, ...] = ()
    subject: str = ""
    confidence: float = 1.0
    valid_from: Timestamp = ""
    valid_to: Timestamp = ""
    expires_at: Timestamp = ""
    verify_by: Timestamp = ""
    supersedes: tuple[MemoryId, ...] = ()
    derived_from: tuple[str, ...] = ()
    trace: Trace | None = None
    proposed: bool = False
    """The writer asked for review. Memories from low-trust channels are always proposed."""
    metadata: Metadata = NO_METADATA


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRevised(MemoryFact):
    """A memory was edited; empty fields stay as they were."""

    base: int
    """The version that the writer had read."""
    text: str = ""
    kind: Kind | None = None
    subject: str = ""
    confidence: float | None = None
    valid_from: Timestamp = ""
    valid_to: Timestamp = ""
    expires_at: Timestamp = ""
    verify_by: Timestamp = ""
    links: tuple[str, ...] = ()
    reason: str = ""
    head: OwnId = ""
    """The log entry that made that version; if another edit came first, the two edits are a dispute."""
    settles: tuple[EventId, ...] = ()
    """Conflicting edits that the writer had read and that this edit settles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTagged(MemoryFact):
    """Tags were added to a memory or removed."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAnnotated(MemoryFact):
    """Metadata of a memory was set or removed; other metadata stays as it was."""

    metadata: Metadata = NO_METADATA
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAnchored(MemoryFact):
    """A memory was linked to code as it is now; earlier links are replaced."""

    anchors: tuple[Anchor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySuperseded(MemoryVerdict):
    """Another memory replaced it."""

    by: MemoryId
    is_verdict: bool = False
    """Whether a reviewer decided so between the two; otherwise a less trusted channel only disputes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCorroborated(MemoryFact):
    """Another source said the same."""

    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDisputed(MemoryVerdict):
    """It contradicts another memory."""

    against: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeSettled(MemoryFact):
    """It no longer contradicts another memory."""

    against: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryApproved(MemoryVerdict):
    """A reviewer approved it, or the settings approve such memories automatically."""

    settles: tuple[EventId, ...] = ()
    """Conflicting edits that the reviewer had read and decided against."""
    over: tuple[MemoryId, ...] = ()
    """Memories that contradict it and that the reviewer decided against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVerified(MemoryVerdict):
    """Somebody checked it and it is still correct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRetracted(MemoryVerdict):
    """It was withdrawn; it can be restored."""

    value: Digest = ""
    """The keyed digest of its text, set if a person retracted it: then only a person may store that text again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRejected(MemoryVerdict):
    """A reviewer rejected it: it is withdrawn, and the same text is refused from now on."""

    value: Digest
    """The keyed digest of its text; see ``text/excluded_text.py``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRestored(MemoryVerdict):
    """It counts again after it was retracted, rejected or replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRolledBack(MemoryVerdict):
    """Some of its events are ignored from now on."""

    rollback: OwnId
    """The id of the rollback, by which all of it can be undone."""
    undone: tuple[EventId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackUndone(MemoryFact):
    """The events that a rollback had removed count again."""

    rollback: OwnId


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErased(MemoryVerdict):
    """Its content was deleted everywhere Hivemind stores it; only this fact remains."""

    values: tuple[Digest, ...] = ()
    """Keyed digests of its texts, so that they cannot be stored again."""
    imprints: tuple[Digest, ...] = ()
    """Digests that find its text inside longer texts; see ``text/excluded_text.py``."""
    bodies: tuple[EventId, ...] = ()
    """Other log entries whose content was deleted with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureFinished(Fact):
    """The locations of an erasure were cleaned and checked; the newest of these facts is its receipt."""

    at: Timestamp
    """When the erasure was requested."""
    memories: tuple[MemoryId, ...]
    places: tuple[ErasedLocation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPublished(MemoryFact):
    """A copy of it was published to the team."""

    copy: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesRefused(Fact):
    """The hub refused entries; they stay in their chain without content."""

    bodies: tuple[EventId, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditHeld(MemoryFact):
    """The hub holds an edit of somebody else's memory until a reviewer agrees; the team has asked for that."""

    edit: EventId


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamAdministered(Fact):
    """An administrator changed a team; devices keep it, and bring it back to a hub that lost it."""

    action: str
    """An ``AdminAction``; as text, because a newer hub may know more of them."""
    subject: str
    """The id or name of what was changed."""
    detail: str = ""

    @property
    def summary(self) -> str:
        """The act in a few words."""
        return f"{self.action}: {self.subject}{f', {self.detail}' if self.detail else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRefused(Fact):
    """Somebody tried to write what a rule forbids; the text is not stored."""

    what: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSet(MemoryFact):
    """A person made a memory a guard, or changed its guard; the newest holds."""

    trigger: Trigger
    answer: GuardAnswer
    ends_at: Timestamp = ""
    paused_until: Timestamp = ""
    head: OwnId = ""
    """The log entry that made the version of the memory that the person had read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardLifted(MemoryFact):
    """A person took a memory's guard away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMemory:
    """One memory on a receipt."""

    memory_id: MemoryId
    rank: int
    score: float
    tokens: int
    why: str
    is_in_doubt: bool = False
    """Whether its code had changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSessionPassage:
    """One passage of a session on a receipt."""

    session_id: ForeignId
    observation: Annotated[EventId, FOREIGN]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCommit:
    """One commit of the repository on a receipt."""

    commit_id: Digest
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoriesRecalled(Fact):
    """Memories were shown to somebody: the receipt, stored in the person's own scope."""

    query: str
    shown: tuple[ShownMemory, ...]
    session_id: ForeignId = ""
    is_unasked: bool = False
    """Whether nobody asked for them."""
    sessions: tuple[ShownSessionPassage, ...] = ()
    """Passages of past sessions that were shown with them."""
    occasion: str = ""
    """The action at which they were told, as ``Occasion`` names it; empty for briefs, prompts and questions."""
    commits: tuple[ShownCommit, ...] = ()
    """Commits of the repository that were shown with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationMade(ObservationFields, Fact):
    """An agent did or said something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationCompleted(Fact):
    """An agent's transcript gave the exit code of a command, which its hook had not."""

    session_id: ForeignId
    observation: Annotated[EventId, FOREIGN]
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationsDropped(Fact):
    """Observations were deleted because they were old, took too much space, or repeated an erased text."""

    bodies: tuple[EventId, ...]
    """The log entries whose content was deleted."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConclusionVerdict(Fact):
    """Base of facts about a conclusion of a session, by the observation that it quotes."""

    session_id: ForeignId
    observation: Annotated[EventId, FOREIGN]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConclusionForgotten(ConclusionVerdict):
    """A person said that what a session concluded must not be told any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConclusionRestored(ConclusionVerdict):
    """A forgotten conclusion counts again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExamined(Fact):
    """The record of a session was sent to the person's own agent, to learn from it."""

    session_id: ForeignId
    agent: str
    characters: int
    proposed: int = 0
    dropped: int = 0
    """Lessons without words in the session that show them."""
    has_failed: bool = False
    """The agent gave no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAsked(Fact):
    """A note asked the agent of a session to remember something: the receipt, stored in the person's own scope."""

    session_id: ForeignId
    quotes: tuple[str, ...] = ()
    """What the person said that may be meant to last; empty if the note asked for what the agent found out."""
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesLost(Fact):
    """A damaged store was repaired, and these entries could not be recovered."""

    gaps: tuple[OwnId, ...] = ()
    """Ranges of lost entries: the device, the first and the last number."""
    bodies: tuple[EventId, ...] = ()
    """Entries that lost only their content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySeen(Fact):
    """A working tree was seen under a repository id; the id may improve later."""

    repo: str
    root: str
    tree: str = ""
    """The id of the working tree, which stays when its remote changes; empty in older entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceJoined(Fact):
    """A machine joined the others of its person; it is recorded on that machine and reaches only them."""

    device: OwnId
    name: str
    secret: Digest
    """The key of its digests of rejected and erased values, with which the others recognise these values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownFact(Fact):
    """A fact that a newer program wrote; it is stored unchanged and not interpreted."""

    name: str
    body: str


# Derived from the class names, so that a fact is named in one place.
FACTS: dict[str, type[Fact]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", shape.__name__).lower().replace("_", ".", 1): shape
    for shape in list(globals().values())
    if isinstance(shape, type) and issubclass(shape, Fact)
    if shape not in (Fact, MemoryFact, MemoryVerdict, ConclusionVerdict, UnknownFact)
}
"""Facts by name: ``MemoryRolledBack`` is ``memory.rolled_back`` in the log. These names must never change."""
READINGS = ("memories.recalled", "observation.made", "repository.seen", "agent.asked")
CHANGES = tuple(name for name in FACTS if name not in READINGS)
"""Facts that change something; the others tell what was read, seen or asked."""
NAME_BY_FACT = {shape: name for name, shape in FACTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact with its time, author, channel, scope and repository."""

    id: EventId
    at: Timestamp
    actor: str
    channel: Channel
    scope: Scope
    repo: str
    fact: Fact
    session: str = ""
    """The session it was written in."""
    batch: str = ""
    """The id of the import or learning run it belongs to."""

    @classmethod
    def read(
        cls, content: str, id: str, at: Timestamp, actor: str, channel: str, scope: str, repo: str, session: str,
        batch: str, fact: str,
    ) -> Self:  # fmt: skip
        """The event from the fields of a log entry."""
        return cls(
            id=EventId(id), at=at, actor=actor, channel=Channel(channel), scope=Scope(scope), repo=repo,
            session=session, batch=batch, fact=decode_fact(fact, content),
        )  # fmt: skip

    @property
    def about(self) -> str:
        """The memory or session the fact is about."""
        fact = self.fact
        return fact.memory_id if isinstance(fact, MemoryFact) else str(getattr(fact, "session_id", ""))

    @property
    def moment(self) -> tuple[str, str]:
        """Sort key of events, the same on every device; the later event wins."""
        return self.at, self.id


def encode_fact(fact: Fact) -> tuple[str, str]:
    """A fact as its name and its JSON."""
    if isinstance(fact, UnknownFact):
        return fact.name, fact.body
    return NAME_BY_FACT[type(fact)], to_json(fact, terse=True)


def decode_fact(name: str, body: str) -> Fact:
    """The fact that ``encode`` wrote; fields that a newer program added are ignored."""
    shape = FACTS.get(name)
    if shape is None:
        return UnknownFact(name=name, body=body)
    return from_plain(shape, parse_json(body))


def attribute(event: Event, member: str) -> Event:
    """Return an event in the name of the member whose device recorded it, whatever name the entry claims.

    Unchanged if the member is not known. The header keeps the name that the device claimed, as part of a hash chain.
    """
    if not member:
        return event
    # The actor of a less trusted channel is the agent or tool, which the member does not replace.
    actor = member if event.channel.trust is Trust.HIGH else event.actor
    fact = event.fact
    if isinstance(fact, MemoryRemembered):
        sources = tuple(_attribute_source(source, member) for source in fact.sources)
        fact = dataclasses.replace(fact, owner=member, sources=sources)
    elif isinstance(fact, MemoryCorroborated):
        fact = dataclasses.replace(fact, source=_attribute_source(fact.source, member))
    return dataclasses.replace(event, actor=actor, fact=fact)


def _attribute_source(source: Source, member: str) -> Source:
    return dataclasses.replace(source, actor=member) if source.channel is Channel.PERSON else source


def find_shape_error(fact: Fact) -> str:
    """The first field of a foreign fact with a wrong type or format, as a message; empty if all are valid."""
    return _find_shape_error(fact, type(fact), "fact")


def _find_shape_error(value: Any, expected_type: Any, name: str) -> str:
    if get_origin(expected_type) is tuple:
        if not isinstance(value, tuple):
            return name
        item_errors = [_find_shape_error(item, get_args(expected_type)[0], name) for item in value]
        return next(filter(None, item_errors), "")
    if type(value) not in _list_kinds(expected_type):
        return f"{name} is a {type(value).__name__}"
    if name in TIMESTAMP_FIELDS and value and not is_timestamp(value):
        return f"{name} is not a timestamp"
    # Most fields are plain; the checks below take most of the time of a first exchange between machines.
    if type(value) in PLAIN_TYPES:
        return ""
    if isinstance(value, Anchor) and (not FINGERPRINT.fullmatch(value.fingerprint) or OUTSIDE.search(value.path)):
        return "an anchor has an invalid fingerprint or a path outside the repository"
    if isinstance(value, Metadata) and not is_valid_metadata(value):
        return "metadata has a value that is not a string, number or boolean"
    if not dataclasses.is_dataclass(value):
        return ""
    # Parsing checks no types, so a foreign fact may hold anything here.
    for field, hint in _find_hints(type(value)).items():
        if error := _find_shape_error(getattr(value, field), hint, field):
            return error
    return ""


# Cached, because a machine that joins others checks every entry of theirs.
@cache
def _list_kinds(expected_type: Any) -> frozenset[Any]:
    """The types that a value of this type may have at run time."""
    # A NewType such as MemoryId is its supertype, and JSON writes 1.0 as 1.
    kinds = {getattr(kind, "__supertype__", kind) for kind in get_args(expected_type) or (expected_type,)}
    return frozenset(kinds | ({int} if float in kinds else set()))


# Cached, as above; facts and their parts have annotations for their fields alone.
_find_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)

TIMESTAMP_FIELDS = {"valid_from", "valid_to", "expires_at", "verify_by", "ends_at", "paused_until"}
# The format of str(Fingerprint).
FINGERPRINT = re.compile(r"\d{1,4}(?::[\w-]*){5}:\d{1,9}:(?:[\w-]{4})*", re.ASCII)
OUTSIDE = re.compile(r"\A/|(?:\A|/)\.\.(?:/|\Z)")
