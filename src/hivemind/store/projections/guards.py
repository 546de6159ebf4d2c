"""Guards: which memories ask or refuse before an agent acts, and at which calls."""

from hivemind.model.codec import from_plain, to_json
from hivemind.model.events import (
    EntriesRefused,
    Event,
    GuardLifted,
    GuardSet,
    MemoryErased,
    MemoryRolledBack,
    RollbackUndone,
)
from hivemind.model.fold import filter_effective
from hivemind.model.guard import MemoryGuard
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope, Visibility
from hivemind.store import log
from hivemind.store.conditions import VISIBLE, bind_sight
from hivemind.store.database import Database, Row
from hivemind.text.untrusted import parse_json

TABLES = ("guards",)
SCHEMA = """
CREATE TABLE guards (
    memory_id TEXT NOT NULL,
    is_own INTEGER NOT NULL,      -- whether the person set or accepted it, not a teammate
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    content TEXT NOT NULL,        -- the fact as JSON
    PRIMARY KEY (memory_id, is_own)
) STRICT, WITHOUT ROWID;
"""


def apply(db: Database, event: Event) -> None:
    """Set the guards of the memory that an event is about, if the event may change them."""
    match event.fact:
        case EntriesRefused(bodies=bodies):
            memory_ids = log.find_memories_of_entries(db, bodies)
        case GuardSet() | GuardLifted() | MemoryErased() | MemoryRolledBack() | RollbackUndone():
            memory_ids = [event.about]
        case _:
            return
    for memory_id in memory_ids:
        _refold(db, memory_id)


def _refold(db: Database, memory_id: str) -> None:
    """Store the newest guard of the person and of the team, whatever the order in which events arrive."""
    db.execute("DELETE FROM guards WHERE memory_id = ?", memory_id)
    events = filter_effective(log.read_events_about(db, memory_id))
    if any(isinstance(event.fact, MemoryErased) for event in events):
        return
    # Only a person sets a guard.
    verdicts = [event for event in events if event.channel is Channel.PERSON]
    guards = [event for event in verdicts if isinstance(event.fact, GuardSet | GuardLifted)]
    for event in {event.scope is Scope.TEAM: event for event in guards}.values():
        if isinstance(event.fact, GuardSet):
            values = (event.at, event.actor, to_json(event.fact, terse=True))
            db.execute(
                "INSERT INTO guards VALUES (?, ?, ?, ?, ?)", memory_id, int(event.scope is not Scope.TEAM), *values
            )


def list_guards(db: Database, sight: Visibility) -> list[MemoryGuard]:
    """The guards of visible memories, newest first; the person's own goes before a teammate's of the same memory."""
    rows = db.execute(
        "SELECT g.is_own, g.at, g.actor, g.content FROM guards g JOIN memories m ON m.id = g.memory_id"
        f" WHERE {VISIBLE} AND (g.is_own = 1 OR NOT EXISTS (SELECT 1 FROM guards o WHERE o.memory_id = g.memory_id"
        " AND o.is_own = 1)) ORDER BY g.at DESC",
        bind_sight(sight),
    ) if db.HAS_SESSIONS else []  # fmt: skip
    return [_parse(row) for row in rows]


def get(db: Database, memory_id: MemoryId) -> MemoryGuard | None:
    """The guard of a memory, the person's own before a teammate's; None if it has none."""
    row = db.one(
        "SELECT is_own, at, actor, content FROM guards WHERE memory_id = ? ORDER BY is_own DESC LIMIT 1",
        memory_id,
    ) if db.HAS_SESSIONS else None  # fmt: skip
    return _parse(row) if row else None


def _parse(row: Row) -> MemoryGuard:
    is_own, at, actor, content = row
    return from_plain(MemoryGuard, parse_json(content) | {"set_at": at, "set_by": actor, "is_own": bool(is_own)})
