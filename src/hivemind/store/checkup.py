"""Looks whether the store is what it should be."""

from collections.abc import Iterator
from dataclasses import dataclass

import apsw

from hivemind.store import Store, log
from hivemind.store.sqlite import Sqlite


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    is_well: bool
    detail: str
    remedy: str = ""


def examine(store: Store) -> Iterator[Finding]:
    """Look at the file, the chain and what is derived from it."""
    db = store.db
    if isinstance(db, Sqlite):
        yield Finding(what="store", is_well=True, detail=str(store.directory))
        yield _finding("file", _damage(db), "every page reads", "restore a backup")
    broken = [f"{place.why} (device {place.device[:8]}, entry {place.device_seq})" for place in log.verify(db)]
    yield _finding(
        "log", broken, f"{log.end(db):,} entries, the chain verifies", "restore a backup; the log was changed"
    )
    if isinstance(db, Sqlite):
        yield _finding("word index", _index_damage(db), "agrees with the memories", "hivemind rebuild")


def _finding(what: str, problems: list[str], when_well: str, remedy: str) -> Finding:
    detail = "; ".join(problems[:3]) if problems else when_well
    return Finding(what=what, is_well=not problems, detail=detail, remedy=remedy if problems else "")


def _damage(db: Sqlite) -> list[str]:
    rows = [str(row[0]) for row in db.execute("PRAGMA integrity_check(10)")]
    return [] if rows == ["ok"] else rows


def _index_damage(db: Sqlite) -> list[str]:
    try:
        db.connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError as error:
        return [str(error)]
    lost = db.value(
        "SELECT count(*) FROM memories m WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.memory = m.key)"
    )
    return [f"{lost} memories cannot be found by words"] if lost else []
