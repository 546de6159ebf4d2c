"""Looks whether the store is what it should be."""

import hashlib
import re
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import apsw

from hivemind.errors import StoreError
from hivemind.store import FILE, Store, ballast, log, projector
from hivemind.store.database import Database
from hivemind.store.projections import memories, vectors
from hivemind.store.sqlite import Sqlite

DERIVED = {
    "memories": f"SELECT {memories.COLUMNS} FROM memories ORDER BY id",
    "passages": "SELECT m.id, p.ordinal, p.since, p.until, w.text FROM passages p JOIN memories m ON m.key = p.memory"
    " JOIN words w ON w.rowid = p.key ORDER BY 1, 2, 3",
    "observations": "SELECT * FROM observations ORDER BY id",
    "sessions": "SELECT * FROM sessions ORDER BY id",
    "receipts": "SELECT * FROM receipts ORDER BY id, rank",
    "tombstones": "SELECT * FROM tombstones ORDER BY value, memory_id",
    "erased_texts": "SELECT * FROM erased_texts ORDER BY memory_id, place",
    "repositories": "SELECT * FROM repositories ORDER BY repo, root",
}
"""What each table says, apart from the numbers of its rows."""

STRAY = re.compile(rb"(?<=\0{16})[\x01\x02\x04\x08\x10\x20\x40\x80](?=\0{16})")
"""One bit where all else is blank. What deleting leaves behind is never so lonely."""
INTERIOR = (2, 5)
MEND = "hivemind repair, or hivemind backup restore"
UNREADABLE = (ValueError, TypeError, KeyError, struct.error, zlib.error)
"""What comes of reading a damaged row, which may hold anything or be no text at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    is_well: bool
    detail: str
    remedy: str = ""


def examine(store: Store, *, quick: bool = False) -> Iterator[Finding]:
    """Look at the disk, the file, the chain and what is derived from it; quickly, without deriving it again."""
    db = store.db
    if isinstance(db, Sqlite) and store.directory:
        yield Finding(what="store", is_well=True, detail=str(store.directory))
        room = "free some space; erasing still works"
        is_full = ballast.is_needed(store.directory)
        yield _looked("disk", lambda: ["the disk is full"] * is_full, "there is room", room)
        file = store.directory / FILE
        yield _looked("file", lambda: damage(db) or stray_bits(store, file), "every page reads", MEND)
    yield _looked("log", partial(_broken, db), f"{log.end(db):,} entries, the chain verifies", MEND)
    if isinstance(db, Sqlite) and store.directory:
        yield _looked("word index", partial(_index_damage, db), "agrees with the memories", "hivemind rebuild")
        yield _looked("vectors", partial(_vector_damage, db), "every one is as it was made", "hivemind rebuild")
        if not quick:
            derive = partial(_derived_damage, db, store.directory)
            yield _looked("tables", derive, "say what the log says", "hivemind rebuild")


def damage(db: Sqlite) -> list[str]:
    """What the engine itself finds wrong with its file."""
    rows = [str(row[0]) for row in db.execute("PRAGMA integrity_check(10)")]
    return [] if rows == ["ok"] else rows


def stray_bits(store: Store, file: Path) -> list[str]:
    """Pages with a bit set where nothing is stored: the disk or the memory changed it, nobody else."""
    if not store.fold_in_log():
        return []
    with store.db.transaction():
        if file.with_name(f"{FILE}-wal").stat().st_size:
            return []
        size = store.db.value("PRAGMA page_size")
        pages = store.db.execute("SELECT pageno, pagetype, payload FROM dbstat")
        with file.open("rb") as raw:
            strays = [number for number, kind, payload in pages if _is_stray(raw, number, size, kind, payload)]
    return [f"a bit was flipped in the free space of page {number}" for number in strays]


def _looked(what: str, look: Callable[[], list[str]], when_well: str, remedy: str) -> Finding:
    try:
        problems = look()
    except (StoreError, *UNREADABLE) as error:
        problems = [str(error)]
    detail = "; ".join(problems[:3]) if problems else when_well
    return Finding(what=what, is_well=not problems, detail=detail, remedy=remedy if problems else "")


def _broken(db: Database) -> list[str]:
    return [f"{place.why} (device {place.device[:8]}, entry {place.device_seq})" for place in log.verify(db)]


def _is_stray(raw: BinaryIO, number: int, size: int, kind: str, payload: int) -> bool:
    raw.seek((number - 1) * size)
    page = raw.read(size)
    return any(STRAY.search(page, low, high) for low, high in _free_space(page, number, kind, payload))


def _free_space(page: bytes, number: int, kind: str, payload: int) -> Iterator[tuple[int, int]]:
    """Where a page holds nothing, by the description of the file format."""
    if kind == "overflow":
        yield 4 + payload, len(page)
        return
    start = 100 if number == 1 else 0
    flags, free, cells, content = struct.unpack_from(">BHHH", page, start)
    yield start + (12 if flags in INTERIOR else 8) + 2 * cells, content
    while free:
        following, length = struct.unpack_from(">HH", page, free)
        yield free + 4, free + length
        free = following if following > free else 0


def _index_damage(db: Sqlite) -> list[str]:
    try:
        db.connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError as error:
        return [str(error)]
    lost = db.value(
        "SELECT count(*) FROM memories m WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.memory = m.key)"
    )
    return [f"{lost} memories cannot be found by words"] if lost else []


def _vector_damage(db: Sqlite) -> list[str]:
    changed = sum(
        vectors.checksum(scale, numbers) != checksum
        for scale, numbers, checksum in db.stream("SELECT scale, numbers, checksum FROM vectors")
    )
    return [f"{changed} are not as they were made"] if changed else []


def _derived_damage(db: Sqlite, directory: Path) -> list[str]:
    """Derives all tables again in a copy, and compares."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="checkup-") as folder:
        db.copy_to(Path(folder) / FILE)
        with Sqlite.open(Path(folder) / FILE) as copy:
            before = {table: _digest(copy, sql) for table, sql in DERIVED.items()}
            projector.rebuild(copy)
            changed = [table for table, sql in DERIVED.items() if _digest(copy, sql) != before[table]]
    return [f"{table} do not say what the log says" for table in changed]


def _digest(db: Sqlite, sql: str) -> str:
    seen = hashlib.sha256()
    for row in db.stream(sql):
        seen.update(repr(row).encode("utf-8", "surrogatepass"))
    return seen.hexdigest()
