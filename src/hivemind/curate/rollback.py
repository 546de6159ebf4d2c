"""Rolls back a selection of events: they count as if they had never happened, until the rollback is undone."""

from hivemind.curate.event_factory import EventFactory
from hivemind.errors import InvalidInput, NotFound
from hivemind.model.events import Event, MemoryRolledBack, RollbackUndone
from hivemind.model.fold import find_rolled_back, fold_memory
from hivemind.model.ids import MemoryId
from hivemind.model.review import MemoryChange, Selection
from hivemind.store import Store, log


def plan_rollback(store: Store, selection: Selection) -> list[MemoryChange]:
    """List what would change for each memory, without changing it."""
    if selection == Selection():
        raise InvalidInput("nothing is selected to roll back; give --session, --source, --agent, --batch or --since")
    changes = []
    for memory_id, selected_ids in log.select_events(store.db, selection):
        events = log.read_events_about(store.db, memory_id)
        # Events that an earlier rollback undid are not undone twice.
        undone_ids = tuple(event_id for event_id in selected_ids if event_id not in find_rolled_back(events))
        if undone_ids:
            before, after = fold_memory(events), fold_memory(event for event in events if event.id not in undone_ids)
            changes.append(MemoryChange(memory_id=MemoryId(memory_id), undone=undone_ids, before=before, after=after))
    return changes


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
    return [
        factory.event(RollbackUndone(memory_id=MemoryId(event.about), rollback=name), event.scope, event.repo)
        for name, event in rollbacks
    ]
