"""What a reviewer decides about a memory, and what follows for those it stood against."""

from hivemind.curate.learn import may_name
from hivemind.curate.pen import Pen
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
from hivemind.model.values import value
from hivemind.store import Store
from hivemind.store.projections import memories


def approve(store: Store, pen: Pen, memory: Memory, reason: str, *, over: bool) -> list[Event]:
    """It holds, in this version. With ``over``, what contradicts it is replaced by it; else they stay disputed."""
    settles = tuple(rival.id for rival in memory.rivals)
    events = [pen.about(memory, MemoryApproved(memory_id=memory.id, reason=reason, settles=settles))]
    for other in _standing(store, memory.contradicts):
        may_be_told = may_name(other.scope, memory.scope)
        if over and may_be_told:
            events.append(pen.about(other, MemorySuperseded(memory_id=other.id, by=memory.id, reason=reason)))
        if over:
            events.append(pen.about(memory, DisputeSettled(memory_id=memory.id, against=other.id)))
        elif may_be_told and memory.id not in other.contradicts:
            events.append(pen.about(other, MemoryDisputed(memory_id=other.id, against=memory.id)))
    return events


def retract(store: Store, pen: Pen, memory: Memory, reason: str) -> list[Event]:
    """Taken back; what it contradicted no longer stands against anything here. What a person took back stays out."""
    by_person = pen.writer.channel is Channel.PERSON
    stone = value(memory.text, store.key_for(memory.scope)) if by_person else ""
    return _taken_back(store, pen, memory, MemoryRetracted(memory_id=memory.id, value=stone, reason=reason))


def reject(store: Store, pen: Pen, memory: Memory, reason: str) -> list[Event]:
    """Taken back, and its value stays out."""
    stone = value(memory.text, store.key_for(memory.scope))
    return _taken_back(store, pen, memory, MemoryRejected(memory_id=memory.id, value=stone, reason=reason))


def restore(store: Store, pen: Pen, memory: Memory, reason: str) -> list[Event]:
    """It stands again; what it contradicts is disputed again."""
    against = [
        pen.about(other, MemoryDisputed(memory_id=other.id, against=memory.id))
        for other in _standing(store, memory.contradicts)
        if may_name(other.scope, memory.scope)
    ]
    return [pen.about(memory, MemoryRestored(memory_id=memory.id, reason=reason)), *against]


def dispute(pen: Pen, one: Memory, other: Memory, reason: str) -> list[Event]:
    """A person says that two memories cannot both hold."""
    return [
        pen.about(a, MemoryDisputed(memory_id=a.id, against=b.id, reason=reason))
        for a, b in ((one, other), (other, one))
        if may_name(a.scope, b.scope)
    ]


def _taken_back(store: Store, pen: Pen, memory: Memory, fact: Fact) -> list[Event]:
    settled = [
        pen.about(other, DisputeSettled(memory_id=other.id, against=memory.id))
        for other in memories.get_all(store.db, memory.contradicts)
        if may_name(other.scope, memory.scope)
    ]
    return [pen.about(memory, fact), *settled]


def _standing(store: Store, ids: tuple[MemoryId, ...]) -> list[Memory]:
    gone = (Status.RETRACTED, Status.SUPERSEDED)
    return [memory for memory in memories.get_all(store.db, ids) if memory.status not in gone]
