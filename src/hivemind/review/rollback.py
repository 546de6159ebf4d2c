"""Plans a rollback, and makes its events and those that undo it.

Events that are rolled back count as if they had never happened, until the rollback is undone.
"""

from hivemind.errors import AmbiguousId, InvalidInput, NotFound
from hivemind.model.events import Event, MemoryRemembered, MemoryRolledBack, RollbackUndone
from hivemind.model.fold import find_rolled_back, fold_memory
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Status
from hivemind.model.review import MemoryChange, Selection
from hivemind.model.scope import Visibility
from hivemind.store import log
from hivemind.store.event_factory import EventFactory
from hivemind.store.store import Store


def plan_rollback(store: Store, selection: Selection, sight: Visibility) -> list[MemoryChange]:
    """List what would change for each memory in sight, without changing it."""
    if selection == Selection():
        raise InvalidInput("nothing is selected to roll back; give --session, --source, --agent, --batch or --since")
    changes = []
    for memory_id, selected_ids in log.select_events(store.db, selection, sight):
        events = log.read_events_about(store.db, memory_id)
        # Events that an earlier rollback undid are not undone twice.
        undone_ids = tuple(event_id for event_id in selected_ids if event_id not in find_rolled_back(events))
        if undone_ids:
            before, after = fold_memory(events), fold_memory(event for event in events if event.id not in undone_ids)
            changes.append(
                MemoryChange(
                    memory_id=MemoryId(memory_id),
                    undone=undone_ids,
                    before=before,
                    after=after,
                    is_approved=after is None and _was_approved(events, undone_ids),
                )
            )
    return changes


def _was_approved(events: list[Event], undone_ids: tuple[EventId, ...]) -> bool:
    """Whether a person approved a memory by an event that the rollback does not undo itself."""
    remaining = [event for event in events if event.id not in undone_ids or isinstance(event.fact, MemoryRemembered)]
    memory = fold_memory(remaining)
    # Only a person's approval raises the trust of a memory above that of the channel it came through.
    return memory is not None and memory.trust > memory.channel.trust and memory.status is not Status.RETRACTED


def make_rollback_events(factory: EventFactory, changes: list[MemoryChange], rollback: str, reason: str) -> list[Event]:
    """Make the events that carry out a plan."""
    return [
        factory.about(
            memory,
            MemoryRolledBack(memory_id=change.memory_id, rollback=rollback, undone=change.undone, reason=reason),
        )
        for change in changes
        if (memory := change.before or change.after)
    ]


def make_undo_events(store: Store, factory: EventFactory, rollback: str) -> list[Event]:
    """Make the events that undo a rollback."""
    rollbacks = log.find_rollback_events(store.db, rollback)
    if not rollbacks:
        raise NotFound(f"there is no rollback {rollback!r}; 'hivemind log' shows them")
    if len(names := {name for name, _ in rollbacks}) > 1:
        raise AmbiguousId(rollback, sorted(names))
    return [
        factory.event(RollbackUndone(memory_id=MemoryId(event.about), rollback=name), event.scope, event.repo)
        for name, event in rollbacks
    ]
