"""Undoing a whole batch of learning: its events count as if they had never happened, and can count again."""

from hivemind.curate.pen import Pen
from hivemind.errors import InvalidInput, NotFound
from hivemind.model.events import Event, MemoryRolledBack, RollbackUndone
from hivemind.model.ids import MemoryId
from hivemind.model.life import memory_from, rolled_back
from hivemind.model.rollback import Change, Selection
from hivemind.store import Store, log


def plan(store: Store, selection: Selection) -> list[Change]:
    """What would change for each memory, without changing it."""
    if selection == Selection():
        raise InvalidInput("say what to roll back: --session, --source, --agent, --batch or --since")
    changes = []
    for memory_id, chosen in log.selected(store.db, selection):
        events = log.about(store.db, memory_id)
        undone = tuple(one for one in chosen if one not in rolled_back(events))
        if undone:
            before, after = memory_from(events), memory_from(event for event in events if event.id not in undone)
            changes.append(Change(memory_id=MemoryId(memory_id), undone=undone, before=before, after=after))
    return changes


def apply(pen: Pen, changes: list[Change], rollback: str, reason: str) -> list[Event]:
    """The events that carry out a plan."""
    return [
        pen.about(
            memory,
            MemoryRolledBack(memory_id=change.memory_id, rollback=rollback, undone=change.undone, reason=reason),
        )
        for change in changes
        if (memory := change.before or change.after)
    ]


def undo(store: Store, pen: Pen, rollback: str) -> list[Event]:
    """The events that make a rollback's victims count again."""
    found = log.rollbacks(store.db, rollback)
    if not found:
        raise NotFound(f"there is no rollback {rollback!r}; 'hivemind log' shows them")
    return [
        pen.event(RollbackUndone(memory_id=MemoryId(event.about), rollback=name), event.scope, event.repo)
        for name, event in found
    ]
