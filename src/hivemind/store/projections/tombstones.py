"""Values that stay out: what was rejected or erased, as keyed digests. A tombstone is not a memory."""

import json
from collections.abc import Iterable

from hivemind.model.events import (
    EntriesRefused,
    Event,
    MemoryErased,
    MemoryRejected,
    MemoryRestored,
    MemoryRolledBack,
    RollbackUndone,
)
from hivemind.model.life import rolled_back
from hivemind.store import log
from hivemind.store.database import Database

TABLES = ("tombstones",)
SCHEMA = """
CREATE TABLE tombstones (
    value TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    repo TEXT NOT NULL,           -- where it is refused; empty for everywhere
    reason TEXT NOT NULL,
    PRIMARY KEY (value, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_memory ON tombstones (memory_id);
"""


def apply(db: Database, event: Event) -> None:
    """Put up the stones that a memory's life calls for: erasing for ever, rejecting until it is restored."""
    match event.fact:
        case MemoryErased() | MemoryRejected() | MemoryRestored() | MemoryRolledBack() | RollbackUndone():
            _put_up(db, event.about)
        case EntriesRefused() as fact:
            for memory_id in log.things(db, fact.bodies):
                _put_up(db, memory_id)
        case _:
            return


def refusal(db: Database, values: Iterable[str], repo: str) -> str | None:
    """Why one of the names of a value is refused in a repository, or nothing."""
    row = db.one(
        "SELECT reason FROM tombstones WHERE value IN (SELECT value FROM json_each(?)) AND repo IN ('', ?)",
        json.dumps(list(values)), repo,
    )  # fmt: skip
    return row[0] if row else None


def _put_up(db: Database, memory_id: str) -> None:
    db.execute("DELETE FROM tombstones WHERE memory_id = ?", memory_id)
    rejected: list[tuple[str, str, str, str]] = []
    erased: list[tuple[str, str, str, str]] = []
    events = log.about(db, memory_id)
    away = rolled_back(events)
    for event in (one for one in events if one.id not in away):
        match event.fact:
            case MemoryErased() as fact:
                erased += [(value, memory_id, "", "erased") for value in fact.values]
            case MemoryRejected() as fact:
                rejected.append((fact.value, memory_id, event.repo, "rejected"))
            case MemoryRestored():
                rejected = []
            case _:
                continue
    db.many("INSERT INTO tombstones VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", [*erased, *rejected])
