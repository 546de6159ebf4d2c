"""Tombstones: keyed digests of values that a person rejected, erased or retracted, so that they are not stored again.

A tombstone is not a memory. A retracted value is refused only if it arrives automatically; a person may enter it again.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
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
from hivemind.model.fold import filter_effective
from hivemind.model.scope import Scope
from hivemind.store import log
from hivemind.store.database import Database
from hivemind.store.projections import repositories
from hivemind.text.excluded_text import ErasedTextFilter

TABLES = ("tombstones", "erased_texts")
DECIDING_FACTS = (
    "memory.erased", "memory.rejected", "memory.retracted", "memory.restored", "memory.rolled_back", "rollback.undone",
    "entries.refused", "device.joined",
)  # fmt: skip
"""Facts that change what is excluded, or by which keys it is recognised."""
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


class Exclusion(StrEnum):
    """Why a value is refused."""

    ERASED = "erased"
    REJECTED = "rejected"
    RETRACTED = "retracted"


def apply(db: Database, event: Event) -> None:
    """Rebuild the tombstones of a memory: permanent after an erasure, until it is restored after a rejection."""
    match event.fact:
        case (
            MemoryErased() | MemoryRejected() | MemoryRetracted() | MemoryRestored() | MemoryRolledBack()
            | RollbackUndone()
        ):  # fmt: skip
            _rebuild(db, event.about)
        case EntriesRefused() as fact:
            for memory_id in log.find_memories_of_entries(db, fact.bodies):
                _rebuild(db, memory_id)


def find_refusal(
    db: Database, values: Iterable[str], repo: str, *, by_person: bool, besides: str = ""
) -> Exclusion | None:
    """The reason why one of these digests is refused, or None.

    A value without a repository would apply in each of them, so it is refused if any repository refuses it. Tombstones
    of the memory ``besides`` do not count.
    """
    row = db.one(
        "SELECT reason FROM tombstones WHERE value IN (SELECT value FROM json_each(:values))"
        " AND (:repo = '' OR repo IN (SELECT value FROM json_each(:repos)))"
        " AND NOT (:by_person AND reason = 'retracted') AND memory_id <> :besides ORDER BY reason LIMIT 1",
        {
            "values": json.dumps(list(values)), "repo": repo, "by_person": by_person, "besides": besides,
            "repos": json.dumps(["", repo, *repositories.find_other_names(db, repo)]),
        },
    )  # fmt: skip
    return Exclusion(row[0]) if row else None


def is_empty(db: Database) -> bool:
    """Whether nothing is refused."""
    return not db.one("SELECT 1 FROM tombstones UNION ALL SELECT 1 FROM erased_texts LIMIT 1")


def load_text_filter(db: Database, keys: Mapping[Scope, Sequence[bytes]]) -> ErasedTextFilter:
    """A matcher that finds texts erased in these scopes inside other texts; each scope has its keys."""
    imprints_by_key: dict[bytes, list[str]] = {}
    for scope, imprint in db.execute("SELECT scope, imprint FROM erased_texts ORDER BY memory_id, place"):
        # An imprint does not say which of a person's machines made it.
        for key in keys.get(Scope(scope), ()):
            imprints_by_key.setdefault(key, []).append(imprint)
    return _make_text_filter(tuple((key, tuple(imprints)) for key, imprints in imprints_by_key.items()))


@lru_cache(maxsize=8)
def _make_text_filter(imprints_by_key: tuple[tuple[bytes, tuple[str, ...]], ...]) -> ErasedTextFilter:
    """Cached, because an import asks for every line."""
    return ErasedTextFilter(dict(imprints_by_key))


def _rebuild(db: Database, memory_id: str) -> None:
    # Rebuilt from all events each time, because events can arrive in any order.
    db.execute("DELETE FROM tombstones WHERE memory_id = ?", memory_id)
    db.execute("DELETE FROM erased_texts WHERE memory_id = ?", memory_id)
    reversible_rows: list[tuple[str, str, str, str]] = []
    erased_rows: list[tuple[str, str, str, str]] = []
    texts: list[tuple[str, str]] = []
    for event in filter_effective(log.read_events_about(db, memory_id)):
        match event.fact:
            case MemoryErased() as fact:
                # In every repository, whichever the memory was in.
                erased_rows += [(value, memory_id, "", Exclusion.ERASED) for value in fact.values]
                texts += [(event.scope, imprint) for imprint in fact.imprints]
            case MemoryRejected() as fact:
                reversible_rows.append((fact.value, memory_id, event.repo, Exclusion.REJECTED))
            case MemoryRetracted() as fact if fact.value:
                reversible_rows.append((fact.value, memory_id, event.repo, Exclusion.RETRACTED))
            case MemoryRestored():
                # Restoring lifts a rejection or retraction, but not an erasure.
                reversible_rows = []
    db.many(
        "INSERT INTO tombstones (value, memory_id, repo, reason) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [*erased_rows, *reversible_rows],
    )
    text_rows = [(memory_id, place, *text) for place, text in enumerate(dict.fromkeys(texts))]
    db.many("INSERT INTO erased_texts (memory_id, place, scope, imprint) VALUES (?, ?, ?, ?)", text_rows)
