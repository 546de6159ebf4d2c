"""Who is on the other side of a dispute, and how a dispute ends."""

from collections.abc import Collection

from hivemind.curate.event_factory import EventFactory
from hivemind.model.events import DisputeSettled, Event
from hivemind.model.memory import CURRENT_STATUSES, Memory
from hivemind.model.scope import Scope, Visibility
from hivemind.store.database import Database
from hivemind.store.projections import memories


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
