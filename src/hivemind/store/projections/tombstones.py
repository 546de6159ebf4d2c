"""Values that stay out: what was rejected, erased or taken back by a person, as keyed digests.

A tombstone is not a memory. What a person took back stays out of what arrives by itself; a person may say it again.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache

from hivemind.model.events import (
    EntriesRefused,
    Event,
    MemoryErased,
    MemoryRejected,
    MemoryRestored,
    MemoryRetracted,
    MemoryRolledBack,
    RollbackUndone,
)
from hivemind.model.imprint import Watch
from hivemind.model.life import rolled_back
from hivemind.model.scope import Scope
from hivemind.store import log
from hivemind.store.database import Database
from hivemind.store.projections import repositories

TABLES = ("tombstones", "erased_texts")
SCHEMA = """
CREATE TABLE tombstones (
    value TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    repo TEXT NOT NULL,           -- where it is refused; empty for everywhere
    reason TEXT NOT NULL,
    PRIMARY KEY (value, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_memory ON tombstones (memory_id);
CREATE TABLE erased_texts (
    memory_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    scope TEXT NOT NULL,          -- says which key its imprint was made with
    imprint TEXT NOT NULL,
    PRIMARY KEY (memory_id, place)
) STRICT, WITHOUT ROWID;
"""


def apply(db: Database, event: Event) -> None:
    """Put up the stones that a memory's life calls for: erasing for ever, rejecting until it is restored."""
    match event.fact:
        case (
            MemoryErased() | MemoryRejected() | MemoryRetracted() | MemoryRestored() | MemoryRolledBack()
            | RollbackUndone()
        ):  # fmt: skip
            _put_up(db, event.about)
        case EntriesRefused() as fact:
            for memory_id in log.things(db, fact.bodies):
                _put_up(db, memory_id)
        case _:
            return


def refusal(db: Database, values: Iterable[str], repo: str, *, by_person: bool, besides: str = "") -> str | None:
    """Why one of the names of a value is refused, or nothing.

    What holds everywhere would hold in each repository, so it is refused where any of them refuses it. ``besides`` is a
    memory whose own verdict does not count.
    """
    row = db.one(
        "SELECT reason FROM tombstones WHERE value IN (SELECT value FROM json_each(:values))"
        " AND (:repo = '' OR repo IN (SELECT value FROM json_each(:repos)))"
        " AND NOT (:by_person AND reason = 'retracted') AND memory_id <> :besides ORDER BY reason LIMIT 1",
        {
            "values": json.dumps(list(values)), "repo": repo, "by_person": by_person, "besides": besides,
            "repos": json.dumps(["", repo, *repositories.other_names(db, repo)]),
        },
    )  # fmt: skip
    return row[0] if row else None


def watch(db: Database, keys: Mapping[Scope, bytes]) -> Watch:
    """Finds the texts inside others that were erased in these scopes, each of which has its key."""
    kept: dict[bytes, list[str]] = {}
    for scope, imprint in db.execute("SELECT scope, imprint FROM erased_texts ORDER BY memory_id, place"):
        if key := keys.get(Scope(scope)):
            kept.setdefault(key, []).append(imprint)
    return _watching(tuple((key, tuple(imprints)) for key, imprints in kept.items()))


@lru_cache(maxsize=8)
def _watching(kept: tuple[tuple[bytes, tuple[str, ...]], ...]) -> Watch:
    """The same for the same imprints: an import asks for each of its lines."""
    return Watch(dict(kept))


def _put_up(db: Database, memory_id: str) -> None:
    db.execute("DELETE FROM tombstones WHERE memory_id = ?", memory_id)
    db.execute("DELETE FROM erased_texts WHERE memory_id = ?", memory_id)
    taken_back: list[tuple[str, str, str, str]] = []
    erased: list[tuple[str, str, str, str]] = []
    texts: list[tuple[str, str]] = []
    events = log.about(db, memory_id)
    away = rolled_back(events)
    for event in (one for one in events if one.id not in away):
        match event.fact:
            case MemoryErased() as fact:
                erased += [(value, memory_id, "", "erased") for value in fact.values]
                texts += [(event.scope, imprint) for imprint in fact.imprints]
            case MemoryRejected() as fact:
                taken_back.append((fact.value, memory_id, event.repo, "rejected"))
            case MemoryRetracted() as fact if fact.value:
                taken_back.append((fact.value, memory_id, event.repo, "retracted"))
            case MemoryRestored():
                taken_back = []
            case _:
                continue
    db.many("INSERT INTO tombstones VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", [*erased, *taken_back])
    numbered = [(memory_id, place, *text) for place, text in enumerate(dict.fromkeys(texts))]
    db.many("INSERT INTO erased_texts VALUES (?, ?, ?, ?)", numbered)
