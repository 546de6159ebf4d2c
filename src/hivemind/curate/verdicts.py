"""Makes the events of a reviewer's decision about a memory, and of what follows for the memories it contradicts."""

from hivemind.curate.event_factory import EventFactory
from hivemind.curate.learn import may_name
from hivemind.model.events import (
    DisputeSettled,
    Event,
    Fact,
    MemoryApproved,
    MemoryDisputed,
    MemoryRejected,
    MemoryRestored,
    MemoryRetracted,
    MemorySuperseded,
)
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Channel, Memory, Status
from hivemind.store import Store
from hivemind.store.projections import memories
from hivemind.text.normalise import digest_value


def approve(store: Store, factory: EventFactory, memory: Memory, reason: str, *, over: bool) -> list[Event]:
    """Approve a memory in this version; with ``over`` it supersedes what contradicts it, else both stay disputed."""
    rival_ids = tuple(rival.id for rival in memory.rivals)
    events = [factory.about(memory, MemoryApproved(memory_id=memory.id, reason=reason, settles=rival_ids))]
    for other in _load_standing(store, memory.contradicts):
        may_name_memory = may_name(other.scope, memory.scope)
        if over and may_name_memory:
            events.append(factory.about(other, MemorySuperseded(memory_id=other.id, by=memory.id, reason=reason)))
        if over:
            events.append(factory.about(memory, DisputeSettled(memory_id=memory.id, against=other.id)))
        # A proposal does not dispute others; now that it is approved, it does.
        elif may_name_memory and memory.id not in other.contradicts:
            events.append(factory.about(other, MemoryDisputed(memory_id=other.id, against=memory.id)))
    return events


def retract(store: Store, factory: EventFactory, memory: Memory, reason: str) -> list[Event]:
    """Retract a memory and settle its disputes; if a person retracts it, its value is refused from then on."""
    # Only a person's word keeps a value out.
    by_person = factory.writer.channel is Channel.PERSON
    tombstone = digest_value(memory.text, store.key_for(memory.scope)) if by_person else ""
    return _withdraw(store, factory, memory, MemoryRetracted(memory_id=memory.id, value=tombstone, reason=reason))


def reject(store: Store, factory: EventFactory, memory: Memory, reason: str) -> list[Event]:
    """Reject a memory, settle its disputes and refuse its value from then on."""
    tombstone = digest_value(memory.text, store.key_for(memory.scope))
    return _withdraw(store, factory, memory, MemoryRejected(memory_id=memory.id, value=tombstone, reason=reason))


def restore(store: Store, factory: EventFactory, memory: Memory, reason: str) -> list[Event]:
    """Restore a memory; what it contradicts is disputed again."""
    disputes = [
        factory.about(other, MemoryDisputed(memory_id=other.id, against=memory.id))
        for other in _load_standing(store, memory.contradicts)
        if may_name(other.scope, memory.scope)
    ]
    return [factory.about(memory, MemoryRestored(memory_id=memory.id, reason=reason)), *disputes]


def dispute(factory: EventFactory, memory: Memory, other: Memory, reason: str) -> list[Event]:
    """Dispute two memories that a person says cannot both be true."""
    return [
        factory.about(disputed_memory, MemoryDisputed(memory_id=disputed_memory.id, against=rival.id, reason=reason))
        for disputed_memory, rival in ((memory, other), (other, memory))
        if may_name(disputed_memory.scope, rival.scope)
    ]


def _withdraw(store: Store, factory: EventFactory, memory: Memory, fact: Fact) -> list[Event]:
    settlements = [
        factory.about(other, DisputeSettled(memory_id=other.id, against=memory.id))
        for other in memories.get_all(store.db, memory.contradicts)
        if may_name(other.scope, memory.scope)
    ]
    return [factory.about(memory, fact), *settlements]


def _load_standing(store: Store, ids: tuple[MemoryId, ...]) -> list[Memory]:
    excluded_statuses = (Status.RETRACTED, Status.SUPERSEDED)
    return [memory for memory in memories.get_all(store.db, ids) if memory.status not in excluded_statuses]
