"""Turns a claim into the events to record: refused, counted as another source, or added with its conflicts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from hivemind.context import Context
from hivemind.errors import InvalidInput, Refused
from hivemind.memory.reconcile import ConflictingMemory, reconcile
from hivemind.memory.verdicts import end_disputes, may_name
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
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel, Memory, Source
from hivemind.model.metadata import Metadata, validate_metadata
from hivemind.model.scope import Scope
from hivemind.store.event_factory import EventFactory
from hivemind.store.exclusion import ExclusionGate
from hivemind.store.projections import memories
from hivemind.store.store import Store

MOST_DERIVED_SOURCES = 20
"""More sources from detectors add nothing to a memory that has so many."""


class LearnResult(NamedTuple):
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


def record_claim(context: Context, result: LearnResult) -> MemoryId:
    """Record the events of a claim and return the memory that says it; raises ``ClaimRefused``."""
    if result.refusal:
        raise ClaimRefused(result.refusal, result.events)
    context.record(result.events)
    return result.memory_id


def learn(
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
) -> LearnResult:
    """Return the events of a claim and its consequences; the caller records them."""
    gate = gate or store.load_gate()
    # An erased text must not come back as the quotation of a source.
    cut_erased = gate.watch.replace_erased_texts
    fact = replace(fact, sources=tuple(replace(source, quote=cut_erased(source.quote)) for source in fact.sources))
    if refusal := gate.find_claim_refusal(fact, repo, by_person=said_by_person):
        # The refusal is recorded for this person only, even if the text was meant for the team.
        scope = Scope.PROJECT if repo else Scope.USER
        record = factory.event(WriteRefused(what="a memory", rule=refusal.rule), scope, repo)
        return LearnResult(fact.memory_id, [record], f"a memory was refused: {refusal.rule}")
    old_memories = memories.get_all(store.db, fact.supersedes)
    fact = strip_local_references(fact, old_memories) if scope is Scope.TEAM else fact
    if scope is not Scope.TEAM and any(old.scope is Scope.TEAM for old in old_memories):
        raise InvalidInput("a memory of the team can only be replaced by one of the team; set its scope to team")
    event = factory.event(fact, scope, repo, channel=channel, id=id)
    verdict = reconcile(store.db, fact, scope, repo, event.at)
    if verdict.same:
        # Repeating a memory does not mean that its code was checked again, so existing anchors stay.
        anchor_events = () if verdict.same.anchors else _anchor(factory, verdict.same.id, anchors, event)
        repetition = _corroborate(factory, verdict.same, fact, event.channel)
        return LearnResult(verdict.same.id, [*repetition, *anchor_events, *_annotate(factory, verdict.same, event)])
    events = [event, *_anchor(factory, fact.memory_id, anchors, event)]
    for old in old_memories:
        events.append(factory.about(old, MemorySuperseded(memory_id=old.id, by=fact.memory_id)))
        if event.channel.trust >= old.trust:
            events += end_disputes(store.db, factory, old, except_ids=fact.supersedes)
        else:
            # A less trusted channel does not replace it, so both are disputed.
            dispute = MemoryDisputed(memory_id=fact.memory_id, against=old.id, reason="may not replace it")
            events.append(factory.event(dispute, scope, repo))
    is_proposal = event.channel.needs_review or fact.proposed
    for conflict in verdict.conflicts:
        events += _dispute(factory, event, conflict, is_mutual=not is_proposal)
    return LearnResult(fact.memory_id, events)


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


def _anchor(factory: EventFactory, memory_id: MemoryId, anchors: tuple[Anchor, ...], event: Event) -> list[Event]:
    if not anchors:
        return []
    fact = MemoryAnchored(memory_id=memory_id, anchors=anchors)
    return [factory.event(fact, event.scope, event.repo, channel=event.channel, at=event.at)]


def _corroborate(factory: EventFactory, memory: Memory, fact: MemoryRemembered, channel: Channel) -> list[Event]:
    """Count another source once; the same source repeating itself does not count."""
    source = fact.sources[0]
    if source in memory.sources or (channel is Channel.DERIVED and len(memory.sources) >= MOST_DERIVED_SOURCES):
        return []
    corroboration = factory.event(
        MemoryCorroborated(memory_id=memory.id, source=source), memory.scope, memory.repo, channel=channel
    )
    return [corroboration]


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
    memory = conflict.memory
    new_id = MemoryId(event.about)
    dispute = MemoryDisputed(memory_id=new_id, against=memory.id, reason=conflict.reason)
    events = [factory.event(dispute, event.scope, event.repo)] if may_name(event.scope, memory.scope) else []
    if is_mutual and may_name(memory.scope, event.scope):
        events.append(
            factory.about(memory, MemoryDisputed(memory_id=memory.id, against=new_id, reason=conflict.reason))
        )
    return events
