"""The facts that can be logged, and the envelope they travel in.

A fact is something that happened. Nobody edits it; a later fact corrects it. The meaning of a fact
never changes: a new meaning is a new fact, and a program that does not know it keeps it unread.
"""

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, cast, get_args, get_origin, get_type_hints

from hivemind.model.code import Anchor
from hivemind.model.erasure import Place
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel, Kind, Source, Trace
from hivemind.model.metadata import NO_METADATA, Metadata, is_valid
from hivemind.model.moments import is_written
from hivemind.model.plain import as_json, revived
from hivemind.model.scope import Scope
from hivemind.model.session import Observed
from hivemind.model.untrusted import parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class OfMemory:
    """What is said of one memory, and why."""

    memory_id: MemoryId
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRemembered:
    """Someone found something worth knowing next time."""

    memory_id: MemoryId
    kind: Kind
    text: str
    owner: str
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    links: tuple[str, ...] = ()
    subject: str = ""
    confidence: float = 1.0
    valid_from: str = ""
    valid_to: str = ""
    expires_at: str = ""
    verify_by: str = ""
    supersedes: tuple[MemoryId, ...] = ()
    derived_from: tuple[str, ...] = ()
    trace: Trace | None = None
    proposed: bool = False
    """Its writer asks for review. What a low-trust channel brings is proposed anyway."""
    metadata: Metadata = NO_METADATA


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRevised:
    """A memory says something else from now on; what is empty stays as it was."""

    memory_id: MemoryId
    base: int
    """The version the writer had read."""
    text: str = ""
    kind: Kind | None = None
    subject: str = ""
    confidence: float | None = None
    valid_from: str = ""
    valid_to: str = ""
    expires_at: str = ""
    verify_by: str = ""
    links: tuple[str, ...] = ()
    reason: str = ""
    head: str = ""
    """The entry that gave that version; where another came first, the two are a dispute."""
    settles: tuple[EventId, ...] = ()
    """Rival edits the writer had read, and decided about by this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTagged:
    """Labels were put on a memory or taken off."""

    memory_id: MemoryId
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAnnotated:
    """Metadata of a memory was set or removed; what is not named stays as it was."""

    memory_id: MemoryId
    metadata: Metadata = NO_METADATA
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAnchored:
    """It was tied to code as that is now, in place of what it was tied to before."""

    memory_id: MemoryId
    anchors: tuple[Anchor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySuperseded(OfMemory):
    """Another memory took its place."""

    by: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCorroborated:
    """The same was said again, from another source."""

    memory_id: MemoryId
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDisputed(OfMemory):
    """It was found to contradict another memory."""

    against: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeSettled:
    """It no longer stands against another memory."""

    memory_id: MemoryId
    against: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryApproved(OfMemory):
    """A reviewer confirmed it, or the settings let it pass."""

    settles: tuple[EventId, ...] = ()
    """Rival edits the reviewer had read, and decided against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVerified(OfMemory):
    """Somebody looked and it still holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRetracted(OfMemory):
    """It was taken back; it can be restored."""

    value: str = ""
    """The keyed digest of what it says, where a person took it back: only a person says it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRejected(OfMemory):
    """A reviewer said no: taken back, and its value is refused from now on."""

    value: str
    """The keyed digest of what it says; see ``model/values.py``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRestored(OfMemory):
    """It stands again as before it was taken back or replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRolledBack(OfMemory):
    """Some of its events count as if they had never happened."""

    rollback: str
    """Names the rollback, so that the whole of it can be undone."""
    undone: tuple[EventId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackUndone:
    """What a rollback took away counts again."""

    memory_id: MemoryId
    rollback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErased(OfMemory):
    """Its content was destroyed everywhere we keep it; only this remains."""

    values: tuple[str, ...] = ()
    """Keyed digests of what it said, so that it stays out."""
    imprints: tuple[str, ...] = ()
    """By which what it said is found inside longer texts; see ``model/imprint.py``."""
    bodies: tuple[EventId, ...] = ()
    """Other entries of the log whose content went with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureFinished:
    """The places of an erasure were swept and looked at again; the newest of these is its receipt."""

    at: str
    """When the erasure was asked for."""
    memories: tuple[MemoryId, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPublished:
    """A copy of it was given to the team."""

    memory_id: MemoryId
    copy: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesRefused:
    """The hub did not let entries count; they stay in their chain without content."""

    bodies: tuple[EventId, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRefused:
    """Somebody tried what a rule forbids; what they wrote is not kept."""

    what: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One line of a receipt."""

    memory_id: MemoryId
    rank: int
    score: float
    tokens: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoriesRecalled:
    """Memories were put before somebody: the receipt, filed under the person's own scope."""

    query: str
    shown: tuple[Shown, ...]
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationMade(Observed):
    """An agent did or said something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationCompleted:
    """An agent's transcript told how a command ended, which its hook had not."""

    session_id: str
    observation: EventId
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationsDropped:
    """Observations were let go: they were old, took too much room, or repeated what was erased."""

    bodies: tuple[EventId, ...]
    """The entries of the log whose content went."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesLost:
    """A damaged store was repaired, and these entries could not be saved."""

    gaps: tuple[str, ...] = ()
    """Whole entries: the device, the first and the last number."""
    bodies: tuple[EventId, ...] = ()
    """Entries of which only the content is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySeen:
    """A working tree was met under a name; later it may have a better one."""

    repo: str
    root: str
    tree: str = ""
    """The mark of the working tree, which stays when its remote changes; empty in older entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownFact:
    """A fact that a newer program wrote: kept as it is, read by nobody here."""

    name: str
    body: str


Fact = (
    MemoryRemembered
    | MemoryRevised
    | MemoryTagged
    | MemoryAnnotated
    | MemoryAnchored
    | MemorySuperseded
    | MemoryCorroborated
    | MemoryDisputed
    | DisputeSettled
    | MemoryApproved
    | MemoryVerified
    | MemoryRetracted
    | MemoryRejected
    | MemoryRestored
    | MemoryRolledBack
    | RollbackUndone
    | MemoryErased
    | ErasureFinished
    | MemoryPublished
    | EntriesRefused
    | WriteRefused
    | MemoriesRecalled
    | ObservationMade
    | ObservationCompleted
    | ObservationsDropped
    | EntriesLost
    | RepositorySeen
    | UnknownFact
)

FACTS: dict[str, type[Any]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", shape.__name__).lower().replace("_", ".", 1): shape
    for shape in get_args(Fact)
    if shape is not UnknownFact
}
"""Facts by name: ``MemoryRolledBack`` is ``memory.rolled_back`` in the log, for ever."""
NAMES = {shape: name for name, shape in FACTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact, and when, where, how and by whom it came."""

    id: EventId
    at: str
    actor: str
    channel: Channel
    scope: Scope
    repo: str
    fact: Fact
    session: str = ""
    """The session it was said in."""
    batch: str = ""
    """The learning run it was part of."""

    @classmethod
    def read(
        cls, content: str, id: str, at: str, actor: str, channel: str, scope: str, repo: str, session: str, batch: str,
        fact: str,
    ) -> Self:  # fmt: skip
        """The event that the words of an entry tell of."""
        return cls(
            id=EventId(id), at=at, actor=actor, channel=Channel(channel), scope=Scope(scope), repo=repo,
            session=session, batch=batch, fact=decode(fact, content),
        )  # fmt: skip

    @property
    def about(self) -> str:
        """The memory or session the fact is about."""
        return cast(str, getattr(self.fact, "memory_id", getattr(self.fact, "session_id", "")))

    @property
    def moment(self) -> tuple[str, str]:
        """Total order of events, the same on every device: later wins."""
        return self.at, self.id


def encode(fact: Fact) -> tuple[str, str]:
    """A fact as its name and its JSON."""
    if isinstance(fact, UnknownFact):
        return fact.name, fact.body
    return NAMES[type(fact)], as_json(fact, terse=True)


def decode(name: str, body: str) -> Fact:
    """The fact that ``encode`` wrote; fields that a newer program added are left aside."""
    shape = FACTS.get(name)
    if shape is None:
        return UnknownFact(name=name, body=body)
    return cast(Fact, revived(shape, parse_json(body)))


def ill_shaped(fact: Fact) -> str:
    """What is wrong with a fact that somebody else made; nothing if all its values are what they should be."""
    return _ill_shaped(fact, type(fact), "fact")


def _ill_shaped(held: Any, wanted: Any, name: str) -> str:
    if get_origin(wanted) is tuple:
        wrong = [_ill_shaped(one, get_args(wanted)[0], name) for one in held] if isinstance(held, tuple) else [name]
        return next(filter(None, wrong), "")
    kinds = {getattr(one, "__supertype__", one) for one in get_args(wanted) or (wanted,)}
    if type(held) not in kinds | ({int} if float in kinds else set()):
        return f"{name} is a {type(held).__name__}"
    if name in MOMENTS and held and not is_written(held):
        return f"{name} is no moment"
    if isinstance(held, Anchor) and (not FINGERPRINT.fullmatch(held.fingerprint) or OUTSIDE.search(held.path)):
        return "an anchor does not hold on to code of the repository"
    if isinstance(held, Metadata) and not is_valid(held):
        return "metadata has a value that is no string, number or boolean"
    if not dataclasses.is_dataclass(held):
        return ""
    hints = get_type_hints(type(held))
    fields = [_ill_shaped(getattr(held, one.name), hints[one.name], one.name) for one in dataclasses.fields(held)]
    return next(filter(None, fields), "")


MOMENTS = {"valid_from", "valid_to", "expires_at", "verify_by"}
FINGERPRINT = re.compile(r"\d{1,4}(?::[\w-]*){5}:\d{1,9}:(?:[\w-]{4})*", re.ASCII)
OUTSIDE = re.compile(r"\A/|(?:\A|/)\.\.(?:/|\Z)")


def strings_changed(fact: Fact, change: Callable[[str], str]) -> Fact:
    """The same fact with each piece of free text in it changed; ids and enumerations stay."""
    return cast(Fact, _changed(fact, change))


NOT_FREE_TEXT = {
    "memory_id", "by", "against", "supersedes", "session_id", "event", "agent", "at", "value", "values", "bodies",
    "undone", "rollback", "expires_at", "verify_by", "valid_from", "valid_to", "fingerprint", "head", "settles", "copy",
    "gaps", "imprints", "memories", "state",
}  # fmt: skip


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.name not in NOT_FREE_TEXT]
        return dataclasses.replace(value, **{name: _changed(getattr(value, name), change) for name in fields})
    if isinstance(value, Metadata):
        return value.with_text_changed(change)
    if isinstance(value, tuple):
        return tuple(_changed(item, change) for item in value)
    return change(value) if type(value) is str else value
