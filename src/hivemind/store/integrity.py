"""Integrity checks of the store."""

import hashlib
import re
import struct
import tempfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import apsw

from hivemind.errors import StoreDamaged, StoreError
from hivemind.lazy import when_called
from hivemind.model.dataclass import dataclass
from hivemind.store import disk_space, log, projector
from hivemind.store.projections import memories, vectors
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import FILE, Store, create_tables
from hivemind.text.clean import plural

# NumPy, which only the vectors need.
pack_signs = when_called("store.binary_index", "pack_signs")

DERIVED_TABLES = {
    "memories": f"SELECT {memories.COLUMNS} FROM memories ORDER BY id",
    "passages": "SELECT m.id, p.ordinal, p.since, p.until, w.* FROM passages p JOIN memories m ON m.key = p.memory"
    " JOIN words w ON w.rowid = p.key ORDER BY 1, 2, 3",
    "observations": "SELECT * FROM observations ORDER BY id",
    "sessions": "SELECT * FROM sessions ORDER BY id",
    "session_passages": "SELECT * FROM session_passages ORDER BY key",
    "receipts": "SELECT * FROM receipts ORDER BY id, rank",
    "tombstones": "SELECT * FROM tombstones ORDER BY value, memory_id",
    "erased_texts": "SELECT * FROM erased_texts ORDER BY memory_id, place",
    "repositories": "SELECT * FROM repositories ORDER BY repo, root",
    "peers": "SELECT * FROM peers ORDER BY device",
}
"""The content of each derived table, without row keys, which a rebuild may assign differently."""

STRAY_BIT = re.compile(rb"(?<=\0{16})[\x01\x02\x04\x08\x10\x20\x40\x80](?=\0{16})")
"""A byte with a single bit set between zero bytes; deleting leaves such a pattern only in an old pointer."""
INTERIOR_PAGE_TYPES = (2, 5)
"""Flags of interior b-tree pages, whose header is four bytes longer; see https://sqlite.org/fileformat2.html."""
SCHEMA_PARTS = (
    "SELECT m.type || ' ' || m.name || coalesce('.' || c.name || ' ' || c.type || iif(c.pk, ' PRIMARY KEY', '')"
    """ || iif(c."notnull", ' NOT NULL', ''), '') FROM sqlite_schema m"""
    " LEFT JOIN pragma_table_xinfo(m.name) c ON m.type = 'table'"
    """ UNION SELECT m.name || ' REFERENCES ' || f."table" || ' ' || coalesce(f."to", '')"""
    " FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'"
)
"""Not compared as SQL, because in a store that was upgraded it reads differently."""
DISK = "disk"
MOST_NAMED = 3
REPAIR_COMMANDS = "hivemind repair, or hivemind backup restore"
DAMAGE_ERRORS = (ValueError, TypeError, LookupError, AttributeError, struct.error, zlib.error, apsw.ConstraintError)
"""Errors from reading a damaged row, which may hold anything, even invalid text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    what: str
    is_well: bool
    detail: str
    remedy: str = ""

    @classmethod
    def of(cls, what: str, problems: Sequence[str], ok_detail: str, remedy: str) -> "Finding":
        """The finding about some problems, of which the first are named; none is well."""
        rest = f"; and {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else ""
        detail = "; ".join(problems[:MOST_NAMED]) + rest if problems else ok_detail
        return cls(what=what, is_well=not problems, detail=detail, remedy=remedy if problems else "")


def examine(store: Store, *, quick: bool = False) -> Iterator[Finding]:
    """Check disk, file, log and derived tables; ``quick`` skips comparing the tables with a rebuild."""
    db = store.db
    # On a hub there is no file to check.
    if isinstance(db, Sqlite) and store.directory:
        yield Finding(what="store", is_well=True, detail=str(store.directory))
        # What is left to check writes: to the word index, or a copy of the store beside it.
        if not db.is_writable:
            remedy = "make the directory writable; until then, reading works and nothing new is stored"
            yield Finding(what="disk", is_well=False, detail="it is read-only", remedy=remedy)
            return
        disk_remedy = "free some space; erasing still works"
        is_full = disk_space.is_disk_full(store.directory)
        yield _check(DISK, lambda: ["the disk is full"] * is_full, "enough free space", disk_remedy)
        # Where the file is a link, SQLite keeps its write-ahead log beside the target.
        file = (store.directory / FILE).resolve()
        yield _check(
            "file",
            lambda: find_damage(db) or _find_missing_tables(db) or find_stray_bits(store, file),
            "every page is readable",
            REPAIR_COMMANDS,
        )
    yield _check(
        "log",
        lambda: [f"{place.why} (device {place.device[:8]}, entry {place.device_seq})" for place in log.verify(db)],
        lambda: f"{plural(log.read_last_position(db), 'entry')}, the chain verifies",
        REPAIR_COMMANDS,
    )
    if isinstance(db, Sqlite) and store.directory:
        yield _check("word index", partial(_find_index_damage, db), "matches the memories", "hivemind repair")
        yield _check("vectors", partial(_find_vector_damage, db), "checksums ok", "hivemind repair")
        # It copies the whole store and derives it again, which takes as long as a rebuild.
        if not quick:
            compare_tables = partial(_find_table_damage, db, store.directory)
            yield _check("tables", compare_tables, "match the log", "hivemind repair")


def describe_error(what: str, error: StoreError) -> Finding:
    """The finding about a store that cannot be used: damage can be repaired, any other error says what helps."""
    if isinstance(error, StoreDamaged):
        return Finding(what=what, is_well=False, detail=str(error), remedy=REPAIR_COMMANDS)
    problem, _, remedy = str(error).partition("; ")
    return Finding(what=what, is_well=False, detail=problem, remedy=remedy)


def find_damage(db: Sqlite) -> list[str]:
    """Problems that SQLite's integrity check finds in its file."""
    rows = [str(row[0]) for row in db.execute("PRAGMA integrity_check(10)")]
    return [] if rows == ["ok"] else rows


def find_stray_bits(store: Store, file: Path) -> list[str]:
    """Problems where a bit is set in unused space, which only faulty disks or memory do."""
    # Pages are read from the file itself, so the write-ahead log must be empty and stay so.
    if not store.try_checkpoint():
        return []
    with store.db.transaction():
        if file.with_name(f"{file.name}-wal").stat().st_size:
            return []
        size = store.db.value("PRAGMA page_size")
        pages = store.db.execute("SELECT pageno, pagetype, payload FROM dbstat")
        with file.open("rb") as raw:
            damaged_pages = [
                number for number, kind, payload in pages if _has_stray_bit(raw, number, size, kind, payload)
            ]
    return [f"a bit was flipped in the free space of page {number}" for number in damaged_pages]


def _check(
    what: str, find_problems: Callable[[], list[str]], describe: Callable[[], str] | str, remedy: str
) -> Finding:
    ok_detail = ""
    try:
        problems = find_problems()
        ok_detail = describe if isinstance(describe, str) else describe()
    except (StoreDamaged, OSError, *DAMAGE_ERRORS) as error:
        problems = [str(error) or type(error).__name__]
    except StoreError as error:
        return describe_error(what, error)
    return Finding.of(what, problems, ok_detail, remedy)


def _find_missing_tables(db: Sqlite) -> list[str]:
    """Tables, columns and triggers that a new store has and this one lacks."""
    with Sqlite.open(Path(":memory:")) as new:
        create_tables(new)
        missing = {row[0] for row in new.execute(SCHEMA_PARTS)} - {row[0] for row in db.execute(SCHEMA_PARTS)}
    return [f"missing: {part}" for part in sorted(missing)]


def _has_stray_bit(raw: BinaryIO, number: int, size: int, kind: str, payload: int) -> bool:
    raw.seek((number - 1) * size)
    page = raw.read(size)
    matches = (
        (match, high)
        for low, high in _free_ranges(page, number, kind, payload)
        for match in STRAY_BIT.finditer(page, low, high)
    )
    return any(not _is_old_pointer(page, match.start(), end) for match, end in matches)


def _is_old_pointer(page: bytes, place: int, free_end: int) -> bool:
    """Whether two bytes may be where a deleted cell was: SQLite leaves those in the free space before the cells."""
    even_place = place - place % 2
    return free_end <= int.from_bytes(page[even_place : even_place + 2]) < len(page)


def _free_ranges(page: bytes, number: int, kind: str, payload: int) -> Iterator[tuple[int, int]]:
    """The unused byte ranges of a page, according to SQLite's file format."""
    if kind == "overflow":
        yield 4 + payload, len(page)
        return
    start = 100 if number == 1 else 0
    flags, free, cells, content = struct.unpack_from(">BHHH", page, start)
    yield start + (12 if flags in INTERIOR_PAGE_TYPES else 8) + 2 * cells, content
    while free:
        next_free, length = struct.unpack_from(">HH", page, free)
        yield free + 4, free + length
        # Free blocks are in ascending order; a damaged page must not send us in circles.
        free = next_free if next_free > free else 0


def _find_index_damage(db: Sqlite) -> list[str]:
    # FTS5 takes commands as inserts; rank 1 also compares the index with the texts.
    db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    # This one has no texts to compare with.
    db.execute("INSERT INTO session_words (session_words, rank) VALUES ('integrity-check', 0)")
    missing_count = db.value(
        "SELECT count(*) FROM memories m WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.memory = m.key)"
    )
    return [f"memories missing from it: {missing_count}"] if missing_count else []


def _find_vector_damage(db: Sqlite) -> list[str]:
    damaged_count = sum(
        vectors.checksum(scale, numbers) != checksum
        for scale, numbers, checksum in db.stream("SELECT scale, numbers, checksum FROM vectors")
    )
    if damaged_count:
        return [f"vectors with a wrong checksum: {damaged_count}"]
    lengths = [row[0] for row in db.execute("SELECT DISTINCT length(numbers) FROM vectors")]
    if len(lengths) > 1:
        return [f"vectors of different lengths: {', '.join(map(str, sorted(lengths)))}"]
    # From one snapshot, because others may fill a block meanwhile.
    with db.reading():
        blocks = db.execute("SELECT key, passages, signs FROM vector_blocks")
        damaged_count = sum(_differs(db, *block) for block in blocks)
    return [f"signs that differ from their vectors: in {plural(damaged_count, 'block')}"] if damaged_count else []


def _differs(db: Sqlite, block: int, passages: bytes, signs: bytes) -> bool:
    """Whether the signs in a block are not those of its vectors."""
    numbers: dict[int, bytes] = dict(db.execute("SELECT passage, numbers FROM vectors WHERE block = ?", block))
    keys = array("q", passages)
    width = len(signs) // len(keys)
    # The key of an erased vector is 0.
    expected = {key: pack_signs([numbers[key]]) for key in keys if key}
    return len(numbers) != len(expected) or any(
        signs[index * width : (index + 1) * width] != expected[key] for index, key in enumerate(keys) if key
    )


def _find_table_damage(db: Sqlite, directory: Path) -> list[str]:
    with tempfile.TemporaryDirectory(dir=directory, prefix="checkup-") as folder:
        db.copy_to(Path(folder) / FILE)
        with Sqlite.open(Path(folder) / FILE) as copy:
            before = {table: _hash_rows(copy, sql) for table, sql in DERIVED_TABLES.items()}
            projector.rebuild(copy)
            after = {table: _hash_rows(copy, sql) for table, sql in DERIVED_TABLES.items()}
    return [f"{table} differ from the log" for table in DERIVED_TABLES if before[table] != after[table]]


def _hash_rows(db: Sqlite, sql: str) -> str:
    checksum = hashlib.sha256()
    for row in db.stream(sql):
        checksum.update(repr(row).encode("utf-8", "surrogatepass"))
    return checksum.hexdigest()
