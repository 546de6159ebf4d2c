"""Values that stay out: what was rejected or erased, as keyed digests. A tombstone is not a memory."""

from hivemind.model.events import (
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
            db.execute("DELETE FROM tombstones WHERE memory_id = ?", event.about)
            _put_up(db, log.about(db, event.about))
        case _:
            return


def refusal(db: Database, value: str, repo: str) -> str | None:
    """Why a value is refused in a repository, or nothing."""
    row = db.one("SELECT reason FROM tombstones WHERE value = ? AND repo IN ('', ?)", value, repo)
    return row[0] if row else None


def _put_up(db: Database, events: list[Event]) -> None:
    stones: list[tuple[str, str, str, str]] = []
    away = rolled_back(events)
    for event in (one for one in events if one.id not in away):
        match event.fact:
            case MemoryErased() as fact:
                stones = [(value, event.about, "", "erased") for value in fact.values]
                break
            case MemoryRejected() as fact:
                stones.append((fact.value, event.about, event.repo, "rejected"))
            case MemoryRestored():
                stones = []
            case _:
                continue
    db.many("INSERT INTO tombstones VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", stones)
