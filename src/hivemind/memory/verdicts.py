"""Makes the events of a verdict on a memory, and of its disputes with others."""

from collections.abc import Collection, Sequence

from hivemind.errors import InvalidInput
from hivemind.memory.comparison import is_same_statement
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
from hivemind.model.memory import CURRENT_STATUSES, Channel, Memory, Status
from hivemind.model.scope import Scope, Visibility
from hivemind.store.database import Database
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories
from hivemind.store.store import Store
from hivemind.text.excluded_text import digest_value


def approve(store: Store, factory: EventFactory, memory: Memory, reason: str, sight: Visibility) -> list[Event]:
    """Approve a memory in this version; it supersedes what contradicts it in sight, which ends the dispute."""
    losers = find_other_sides(store.db, memory, sight)
    # Also sides that are gone or out of sight: nobody could settle the dispute with them here.
    over = dict.fromkeys([*memory.contradicts, *(other.id for other in losers if may_name(memory.scope, other.scope))])
    rival_ids = tuple(rival.id for rival in memory.rivals)
    approval = MemoryApproved(memory_id=memory.id, reason=reason, settles=rival_ids, over=tuple(over))
    events = [factory.about(memory, approval)]
    decided_ids = {memory.id, *(loser.id for loser in losers)}
    for loser in losers:
        # The team's log cannot say that a private memory is better, so for the team its own one stands.
        if not may_name(loser.scope, memory.scope):
            continue
        events.append(_supersede(factory, loser, memory, reason))
        events += end_disputes(store.db, factory, loser, except_ids=decided_ids)
        for twin in find_other_sides(store.db, loser, sight):
            if twin.id not in decided_ids and _is_twin_proposal(twin, memory):
                decided_ids.add(twin.id)
                events.append(_supersede(factory, twin, memory, "says the same"))
    return events


def _supersede(factory: EventFactory, memory: Memory, winner: Memory, reason: str) -> Event:
    fact = MemorySuperseded(memory_id=memory.id, by=winner.id, reason=reason, is_verdict=True)
    return factory.about(memory, fact)


def _is_twin_proposal(memory: Memory, winner: Memory) -> bool:
    """Whether a proposal says what was just approved, so that nobody need be asked again."""
    is_proposal = memory.status is Status.PROPOSED and may_name(memory.scope, winner.scope)
    return is_proposal and is_same_statement(memory.text, winner.text)


def retract(store: Store, factory: EventFactory, memory: Memory, reason: str) -> list[Event]:
    """Retract a memory and settle its disputes; if a person retracts it, its value is refused from then on."""
    # Only a person's word keeps a value out.
    by_person = factory.writer.channel is Channel.PERSON
    tombstone = digest_value(memory.text, store.get_key_for(memory.scope)) if by_person else ""
    return _withdraw(store, factory, memory, MemoryRetracted(memory_id=memory.id, value=tombstone, reason=reason))


def reject(store: Store, factory: EventFactory, memory: Memory, reason: str) -> list[Event]:
    """Reject a memory, settle its disputes and refuse its value from then on."""
    tombstone = digest_value(memory.text, store.get_key_for(memory.scope))
    return _withdraw(store, factory, memory, MemoryRejected(memory_id=memory.id, value=tombstone, reason=reason))


def restore(store: Store, factory: EventFactory, memory: Memory, reason: str) -> list[Event]:
    """Restore a memory; what it contradicts is disputed again, as far as it still stands."""
    standing = [other for other in memories.get_all(store.db, memory.contradicts) if other.status in CURRENT_STATUSES]
    gone_ids = set(memory.contradicts) - {other.id for other in standing}
    disputes = [
        factory.about(other, MemoryDisputed(memory_id=other.id, against=memory.id))
        for other in standing
        if may_name(other.scope, memory.scope)
    ]
    settlements = [factory.about(memory, DisputeSettled(memory_id=memory.id, against=other)) for other in gone_ids]
    return [*settlements, factory.about(memory, MemoryRestored(memory_id=memory.id, reason=reason)), *disputes]


def dispute(factory: EventFactory, memory: Memory, other: Memory, reason: str) -> list[Event]:
    """Dispute two memories that a person says cannot both be true."""
    if memory.id == other.id:
        raise InvalidInput("a memory cannot contradict itself; name two memories")
    return [
        factory.about(disputed_memory, MemoryDisputed(memory_id=disputed_memory.id, against=rival.id, reason=reason))
        for disputed_memory, rival in ((memory, other), (other, memory))
        if may_name(disputed_memory.scope, rival.scope)
    ]


def settle(factory: EventFactory, memory: Memory, others: Sequence[Memory], reason: str) -> list[Event]:
    """End the disputes of a memory with others that are true as well; a proposal among them is approved."""
    events = [
        factory.about(side, DisputeSettled(memory_id=side.id, against=against.id))
        for other in others
        for side, against in ((memory, other), (other, memory))
        if against.id in side.contradicts
    ]
    proposals = [side for side in (memory, *others) if side.status is Status.PROPOSED]
    approvals = [factory.about(side, MemoryApproved(memory_id=side.id, reason=reason)) for side in proposals]
    return [*events, *approvals] if events else []


def _withdraw(store: Store, factory: EventFactory, memory: Memory, fact: Fact) -> list[Event]:
    return [factory.about(memory, fact), *end_disputes(store.db, factory, memory)]


def may_name(about: Scope, other: Scope) -> bool:
    """Whether an event about one memory may name another; team events must not name private memories."""
    return about is not Scope.TEAM or other is Scope.TEAM


def find_other_sides(db: Database, memory: Memory, sight: Visibility) -> list[Memory]:
    """Find the standing memories in sight that a memory contradicts or that contradict it, newest first."""
    ids = [other.id for other in _find_opponents(db, memory)]
    standing = [other for other in memories.get_visible(db, ids, sight) if other.status in CURRENT_STATUSES]
    return sorted(standing, key=lambda other: (other.recorded_at, other.id), reverse=True)


def _find_opponents(db: Database, memory: Memory) -> list[Memory]:
    # A proposal casts no doubt on what it contradicts, and the team's memories name no private ones, so one of the two
    # may not name the other.
    opponents = (*memories.get_all(db, memory.contradicts), *memories.find_opposed(db, memory.id))
    return list({other.id: other for other in opponents if other.id != memory.id}.values())


def end_disputes(
    db: Database, factory: EventFactory, memory: Memory, *, except_ids: Collection[str] = ()
) -> list[Event]:
    """Make the events that end every dispute with a memory that no longer stands."""
    return [
        factory.about(other, DisputeSettled(memory_id=other.id, against=memory.id))
        for other in _find_opponents(db, memory)
        if other.id not in except_ids and memory.id in other.contradicts and may_name(other.scope, memory.scope)
    ]
