"""What becomes of a claim: it is read and checked, then refused, counted as another source of a memory, or stored.

``parse_claim`` and ``read_claim`` take what a caller gave, ``make_fact`` makes the fact to record, and ``accept_claim``
compares it with the memories there are. Whoever calls it records the events, which ``record_claim`` does.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from hivemind.context import Context
from hivemind.errors import InvalidInput, Refused
from hivemind.memory.comparison import ConflictingMemory, compare_claim
from hivemind.memory.kinds import guess_kind, tell_kind
from hivemind.memory.verdicts import end_disputes, may_name
from hivemind.model.claim import Claim
from hivemind.model.code import Anchor
from hivemind.model.events import (
    Event,
    MemoryAnchored,
    MemoryAnnotated,
    MemoryCorroborated,
    MemoryDisputed,
    MemoryRemembered,
    MemorySuperseded,
    WriteRefused,
)
from hivemind.model.ids import EventId, MemoryId, Timestamp, new_memory_id
from hivemind.model.memory import FORBIDS, Channel, Kind, Memory, Source, Writer
from hivemind.model.metadata import Metadata, MetadataValue, check_mapping, validate_metadata
from hivemind.model.scope import Scope
from hivemind.model.timestamps import When, format_date, format_timestamp, parse_date, parse_deadline
from hivemind.store.event_factory import EventFactory
from hivemind.store.exclusion import ExclusionGate
from hivemind.store.projections import memories
from hivemind.store.store import Store
from hivemind.text.clean import check_text, list_texts, parse_tags, validate_label, validate_text

MOST_DERIVED_SOURCES = 20
"""More sources from detectors add nothing to a memory that has so many."""


def read_claim(claim: Claim) -> Claim:
    """Return a claim with its values as the rest of the program expects them, whatever a caller's program gave."""
    text = validate_text(claim.text)
    return replace(
        claim,
        text=text,
        scope=Scope.parse(claim.scope),
        kind=Kind.parse(claim.kind) if claim.kind else tell_kind(text),
        tags=parse_tags(claim.tags),
        replaces=list_texts(claim.replaces, "id"),
        links=list_texts(claim.links, "link"),
        sources=list_texts(claim.sources, "source"),
        forbids=list_texts(claim.forbids, "forbidden call"),
    )


def make_fact(
    claim: Claim, *, writer: Writer, owner: str, now: datetime, commit: str, replaces: list[MemoryId]
) -> MemoryRemembered:
    """Make the fact that a claim is recorded as, once ``read_claim`` has read it; raises InvalidInput."""
    return MemoryRemembered(
        memory_id=new_memory_id(),
        kind=claim.kind or tell_kind(claim.text),
        text=claim.text,
        owner=owner,
        tags=tuple(claim.tags),
        sources=(
            *([claim.quotation] if claim.quotation else []),
            _make_speaker_source(claim, writer),
            *(_make_file_source(text, commit) for text in claim.sources),
        ),
        links=tuple(check_link(text) for text in claim.links),
        subject=validate_label(claim.subject, "the subject") if claim.subject else "",
        confidence=check_confidence(claim.confidence),
        valid_from=parse_date(claim.valid_from) if claim.valid_from else "",
        valid_to=parse_date(claim.valid_to) if claim.valid_to else "",
        expires_at=_parse_expiry(claim.expires, now) if claim.expires else "",
        verify_by=parse_deadline(claim.verify_by, now) if claim.verify_by else "",
        supersedes=tuple(replaces),
        trace=claim.trace,
        proposed=claim.propose,
        metadata=validate_metadata(_join_metadata(claim)),
    )


def _join_metadata(claim: Claim) -> Mapping[str, MetadataValue]:
    return {**check_mapping(claim.metadata), FORBIDS: ", ".join(claim.forbids)} if claim.forbids else claim.metadata


def _parse_expiry(expires: When, now: datetime) -> Timestamp:
    """Parse when a memory expires; raises InvalidInput if nobody would ever see it."""
    expires_at = parse_deadline(expires, now)
    if expires_at <= format_timestamp(now):
        raise InvalidInput(f"it would have expired on {format_date(expires_at)}; give a later date or a span (4w)")
    return expires_at


MEMORY_TYPE = "memory_type"
"""The metadata key that keeps the other program's word unchanged."""
ALIASES = {"content": "text", "type": MEMORY_TYPE, "repository": "repo"}


def parse_claim(item: object, place: int, root: str = "") -> Claim:
    """Make a claim from a text or a program's dictionary; errors name the item's position and the key."""
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        raise InvalidInput(f"items[{place}] is {item!r}; give a text, a dictionary or a Claim")
    fields: dict[str, Any] = {}
    for key, value in item.items():
        name = ALIASES.get(key, key)
        if name not in READERS or name in fields:
            problem = "is given twice" if name in fields else f"is not a key; use {', '.join((*ALIASES, *READERS))}"
            raise InvalidInput(f"items[{place}][{key!r}] {problem}")
        if value is None:
            continue
        try:
            fields[name] = READERS[name](value)
        except InvalidInput as error:
            raise InvalidInput(f"items[{place}][{key!r}]: {error}") from None
    if "text" not in fields:
        raise InvalidInput(f"items[{place}] has no 'content'; add the text of the memory")
    # An absolute path would mean nothing on another machine.
    file, memory_type = _make_relative(fields.pop("file_path", ""), root), fields.pop(MEMORY_TYPE, "")
    timestamp, metadata = fields.pop("timestamp", ""), dict(fields.pop("metadata", {}))
    given_sources, given_links = fields.pop("sources", ()), fields.pop("links", ())
    kind = fields.pop("kind", None) or guess_kind(memory_type)
    return Claim(
        **{"valid_from": timestamp} | fields,
        kind=kind,
        sources=[*given_sources, *([file] if file else ())],
        links=[*given_links, *([file] if _is_link(file) else ())],
        metadata=metadata | ({MEMORY_TYPE: memory_type} if memory_type else {}),
    )


def _check_label(value: str) -> str:
    return validate_label(value, "the value")


def _parse_time(value: Any) -> str:
    """Parse a date or time given as text, as a Python date, or as seconds since 1970."""
    match value:
        case bool():
            # A bool is an int in Python; without this case True would be one second after 1970.
            raise InvalidInput(f"{value!r} is not a time")
        case date():
            return parse_date(value.isoformat())
        case int() | float():
            try:
                return parse_date(datetime.fromtimestamp(value, UTC).isoformat())
            except (ValueError, OverflowError, OSError):
                raise InvalidInput(f"{value!r} is not a time in seconds since 1970") from None
        case _:
            return parse_date(check_text(value, "the time"))


def _check_when(value: Any) -> Any:
    """Return a date or span as it is, or raise InvalidInput; what it counts from is known later."""
    parse_deadline(value, datetime.now(UTC))
    return value


def check_confidence(value: float) -> float:
    """Return a confidence, or raise InvalidInput if it is not between 0 and 1."""
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{value!r} is not a confidence; give a number from 0 to 1")
    return value


READERS: dict[str, Callable[[Any], Any]] = {
    "text": lambda value: validate_text(value, "the value"),
    MEMORY_TYPE: _check_label,
    "repo": _check_label,
    "file_path": lambda value: _check_label(os.fspath(value) if isinstance(value, os.PathLike) else value),
    "session_id": _check_label,
    "timestamp": _parse_time,
    "tags": parse_tags,
    "scope": Scope.parse,
    "metadata": validate_metadata,
    "kind": Kind.parse,
    "subject": lambda value: validate_label(value, "the subject"),
    "links": lambda value: list_texts(value, "link"),
    "sources": lambda value: list_texts(value, "source"),
    "replaces": lambda value: list_texts(value, "id"),
    "forbids": lambda value: list_texts(value, "forbidden call"),
    "propose": bool,
    "expires": _check_when,
    "verify_by": _check_when,
    "valid_from": _parse_time,
    "valid_to": _parse_time,
    "confidence": check_confidence,
}
"""Keys of a dictionary: those of the first programs that wrote any, and the parameters of ``remember``."""
"""The keys of a dictionary that becomes a claim, and the function that checks each value."""


def _make_relative(file: str, root: str) -> str:
    """Make a path relative to the repository; one outside stays unchanged."""
    is_inside = bool(root) and Path(file).is_absolute() and Path(file).is_relative_to(root)
    return Path(file).relative_to(root).as_posix() if is_inside else file


def _is_link(file: str) -> bool:
    """Whether a path can be a link: it lies in the repository and names no lines."""
    return bool(file) and not Path(file).is_absolute() and ".." not in file.split("/") and ":" not in file


def check_link(text: str) -> str:
    """Return a link into the repository's code, or raise InvalidInput if it points elsewhere."""
    name = validate_label(text, "a link")
    if name.startswith("/") or ".." in name.split("::")[0].split("/"):
        raise InvalidInput(f"{name!r} does not point into the repository; write it like 'auth/service.py::login'")
    return name


def _make_speaker_source(claim: Claim, writer: Writer) -> Source:
    session = claim.session_id or writer.session_id
    return Source(channel=writer.channel, actor=writer.actor, model=writer.model, session_id=session)


def _make_file_source(text: str, commit: str) -> Source:
    file, _, lines = validate_label(text, "the source").partition(":")
    return Source(channel=Channel.FILE, file=file, lines=lines, commit=commit)


class ClaimResult(NamedTuple):
    """The memory that says what a claim says, and the events that make it so."""

    memory_id: MemoryId
    events: list[Event]
    refusal: str = ""
    """Why the claim was refused, if it was; then the events are the record of that."""


class ClaimRefused(Refused):
    """A claim was refused; ``events`` record that, and must be stored after the transaction has ended."""

    def __init__(self, message: str, events: Sequence[Event]) -> None:
        super().__init__(message)
        self.events = events


def record_claim(context: Context, result: ClaimResult) -> MemoryId:
    """Record the events of a claim and return the memory that says it; raises ``ClaimRefused``."""
    if result.refusal:
        raise ClaimRefused(result.refusal, result.events)
    context.record(result.events)
    return result.memory_id


def accept_claim(
    store: Store,
    factory: EventFactory,
    fact: MemoryRemembered,
    scope: Scope,
    repo: str,
    *,
    channel: Channel | None = None,
    id: EventId | None = None,
    anchors: tuple[Anchor, ...] = (),
    said_by_person: bool = False,
    gate: ExclusionGate | None = None,
) -> ClaimResult:
    """Return the events of a claim and its consequences; the caller records them."""
    gate = gate or store.load_gate()
    # An erased text must not come back as the quotation of a source.
    cut_erased = gate.text_filter.replace_erased_texts
    fact = replace(fact, sources=tuple(replace(source, quote=cut_erased(source.quote)) for source in fact.sources))
    if refusal := gate.find_claim_refusal(fact, repo, by_person=said_by_person):
        # The refusal is recorded for this person only, even if the text was meant for the team.
        scope = Scope.PROJECT if repo else Scope.USER
        record = factory.event(WriteRefused(what="a memory", rule=refusal.rule), scope, repo)
        return ClaimResult(fact.memory_id, [record], f"a memory was refused: {refusal.rule}")
    old_memories = memories.get_all(store.db, fact.supersedes)
    fact = strip_local_references(fact, old_memories) if scope is Scope.TEAM else fact
    if scope is not Scope.TEAM and any(old.scope is Scope.TEAM for old in old_memories):
        raise InvalidInput("a memory of the team can only be replaced by one of the team; set its scope to team")
    event = factory.event(fact, scope, repo, channel=channel, id=id)
    comparison = compare_claim(store.db, fact, scope, repo, event.at)
    if same := comparison.same:
        # Repeating a memory does not mean that its code was checked again, so existing anchors stay. A less trusted
        # writer adds none, because they decide whether a memory is stale.
        may_link = not same.anchors and event.channel.trust >= same.trust
        anchor_events = _anchor_memory(factory, same.id, anchors, event) if may_link else ()
        repetition = _corroborate(factory, same, fact, event.channel)
        return ClaimResult(same.id, [*repetition, *anchor_events, *_annotate(factory, same, event)])
    events = [event, *_anchor_memory(factory, fact.memory_id, anchors, event)]
    for old in old_memories:
        events.append(factory.about(old, MemorySuperseded(memory_id=old.id, by=fact.memory_id)))
        if event.channel.trust >= old.trust:
            events += end_disputes(store.db, factory, old, except_ids=fact.supersedes)
        else:
            # A less trusted channel does not replace it, so both are disputed.
            dispute = MemoryDisputed(memory_id=fact.memory_id, against=old.id, reason="may not replace it")
            events.append(factory.event(dispute, scope, repo))
    is_proposal = event.channel.needs_review or fact.proposed
    for conflict in comparison.conflicts:
        events += _dispute(factory, event, conflict, is_mutual=not is_proposal)
    return ClaimResult(fact.memory_id, events)


def strip_local_references(fact: MemoryRemembered, old_memories: list[Memory]) -> MemoryRemembered:
    """Remove from a claim for the team what refers to anything that stays on this machine."""
    return replace(
        fact,
        sources=tuple(_strip_source(source) for source in fact.sources),
        supersedes=tuple(old.id for old in old_memories if may_name(Scope.TEAM, old.scope)),
        derived_from=(),
    )


def _strip_source(source: Source) -> Source:
    # A note of an agent lies in the home directory of one person; files of the repository are everybody's.
    file, lines = ("", "") if source.file.startswith("~/") else (source.file, source.lines)
    return replace(source, session_id="", event="", quote="", file=file, lines=lines)


def _anchor_memory(
    factory: EventFactory, memory_id: MemoryId, anchors: tuple[Anchor, ...], event: Event
) -> list[Event]:
    if not anchors:
        return []
    fact = MemoryAnchored(memory_id=memory_id, anchors=anchors)
    return [factory.event(fact, event.scope, event.repo, channel=event.channel, at=event.at)]


def _corroborate(factory: EventFactory, memory: Memory, fact: MemoryRemembered, channel: Channel) -> list[Event]:
    """Count another source once; the same source repeating itself does not count."""
    source = fact.sources[0]
    if source in memory.sources or (channel is Channel.DERIVED and len(memory.sources) >= MOST_DERIVED_SOURCES):
        return []
    corroboration = MemoryCorroborated(memory_id=memory.id, source=source)
    return [factory.event(corroboration, memory.scope, memory.repo, channel=channel)]


def _annotate(factory: EventFactory, memory: Memory, event: Event) -> list[Event]:
    """Add metadata that came with the repetition, unless its writer is less trusted than the memory."""
    assert isinstance(event.fact, MemoryRemembered)
    new_metadata = {name: value for name, value in event.fact.metadata.items() if memory.metadata.get(name) != value}
    if not new_metadata or event.channel.trust < memory.trust:
        return []
    validate_metadata(memory.metadata.with_changes(new_metadata))
    annotation = MemoryAnnotated(memory_id=memory.id, metadata=Metadata(new_metadata))
    return [factory.event(annotation, memory.scope, memory.repo, channel=event.channel)]


def _dispute(factory: EventFactory, event: Event, conflict: ConflictingMemory, *, is_mutual: bool) -> list[Event]:
    """Dispute the new memory, and with ``is_mutual`` the old one too; a mere proposal casts no doubt on a memory."""
    memory, new_id = conflict.memory, MemoryId(event.about)
    dispute = MemoryDisputed(memory_id=new_id, against=memory.id, reason=conflict.reason)
    events = [factory.event(dispute, event.scope, event.repo)] if may_name(event.scope, memory.scope) else []
    if is_mutual and may_name(memory.scope, event.scope):
        events.append(factory.about(memory, replace(dispute, memory_id=memory.id, against=new_id)))
    return events
