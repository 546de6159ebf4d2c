"""Makes a damaged store whole again, from what it still gives: the entries whose chain and content verify."""

import secrets
import shutil
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivemind.errors import StoreDamaged, StoreError
from hivemind.model.events import EntriesLost, Event
from hivemind.model.ids import EventId
from hivemind.model.wire import START, Header, digest
from hivemind.store import FILE, ID_FILE, Store, checkup, identify, identity, log, name_beside, projector
from hivemind.store.database import Database, Row
from hivemind.store.log import unpacked
from hivemind.store.sqlite import Sqlite

FOLDER = "backups"
KEEPING_OUT = "e.fact IN ('memory.erased', 'observations.dropped', 'memory.rejected', 'memory.restored')"
ROWS_ON_A_PAGE = 100
LOST = (StoreDamaged, UnicodeDecodeError)
"""What comes of reading rows that a damaged file no longer gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What a repair found and did."""

    entries: int
    lost: int = 0
    """Entries that could not be saved at all."""
    without_content: int = 0
    """Entries of which only the header was saved."""
    before: str = ""
    """Where the damaged file is kept; empty if it was not damaged."""


def repair(directory: Path, stamp: str, lost: Callable[[EntriesLost], Event]) -> Repaired:
    """Derive again what is derived; if the log itself is damaged, save what verifies and record what is lost."""
    with suppress(StoreDamaged, *checkup.UNREADABLE), Store.open(directory) as store:
        if not all(finding.is_well for finding in checkup.examine(store)):
            store.rebuild()
        if all(finding.is_well for finding in checkup.examine(store)):
            return Repaired(entries=log.end(store.db))
    found = saved_from(directory)
    if found is None:
        raise StoreDamaged(
            f"nothing can be read from {directory / FILE}; 'hivemind backup list' shows what can be restored"
        )
    if (directory / ID_FILE).exists() and (directory / ID_FILE).read_text().strip() != found.store:
        raise StoreDamaged(f"{directory / FILE} is another store than {ID_FILE} names; put the right file back")
    before = set_aside(directory, stamp)
    with in_place_of(directory) as fresh:
        with fresh.db.transaction():
            take_over(fresh.db, found.tables)
            device = identify(fresh.db, found.store, found.secret)
            empty = hollow(fresh.db)
            if found.gaps or empty:
                log.append(fresh.db, device, [lost(EntriesLost(gaps=found.gaps, bodies=tuple(empty)))])
            projector.rebuild(fresh.db)
        entries = log.end(fresh.db)
    return Repaired(entries=entries, lost=found.lost, without_content=len(empty), before=before)


@contextmanager
def in_place_of(directory: Path) -> Iterator[Store]:
    """A new store that takes the place of a damaged one when all went well."""
    beside = directory / f"fresh-{secrets.token_hex(4)}"
    try:
        with Store.open(beside) as fresh:
            yield fresh
            name = identity(fresh.db)[0]
            fresh.fold_in_log()
            _put(fresh, beside / FILE, directory / FILE)
        (directory / ID_FILE).unlink(missing_ok=True)
        name_beside(directory, name)
    finally:
        shutil.rmtree(beside)


def keeping_out(db: Database) -> list[Event]:
    """What was destroyed or refused in a log, for another one to take over."""
    entries = log.sent(db.stream(f"{log.ENTRIES} WHERE {KEEPING_OUT} ORDER BY e.position"))
    return [entry.event for _, entry in entries if entry.event]


def take_over(db: Database, rows: Mapping[str, Iterable[Row]]) -> None:
    """Put the rows of another log in the place of all there is."""
    for table in reversed(log.TABLES):
        db.execute(f"DELETE FROM {table}")
    for table in log.TABLES:
        for row in rows[table]:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", *row)


def set_aside(directory: Path, stamp: str) -> str:
    """Keep a copy of the files as they are, however damaged."""
    aside = directory / FOLDER / f"{stamp}-damaged.db"
    aside.parent.mkdir(exist_ok=True, mode=0o700)
    for suffix in ("", "-wal"):
        file = directory / (FILE + suffix)
        if file.exists():
            shutil.copy2(file, aside.with_name(aside.name + suffix))
    return str(aside) if aside.exists() else ""


def _put(fresh: Store, made: Path, file: Path) -> None:
    """Under the locks of those who have the file open, or by its name where it is no database any more."""
    try:
        with Sqlite.open(file) as damaged:
            assert isinstance(fresh.db, Sqlite)
            damaged.overwrite_with(fresh.db)
    except StoreError:
        for suffix in ("-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        fresh.close()
        made.replace(file)


def hollow(db: Database) -> list[EventId]:
    """Entries whose content is gone, though nobody erased it."""
    erased = log.erased_bodies(db)
    rows = db.execute(
        "SELECT id FROM events e WHERE NOT EXISTS (SELECT 1 FROM bodies b WHERE b.position = e.position)"
        " AND NOT EXISTS (SELECT 1 FROM absent a WHERE a.position = e.position)"
    )
    return [EventId(row[0]) for row in rows if row[0] not in erased]


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """The rows that could be saved, and what could not."""

    store: str
    secret: bytes
    tables: dict[str, list[Row]]
    gaps: tuple[str, ...]
    """Whole entries: the device, the first and the last number."""
    lost: int
    """How many entries are lost whole."""


def saved_from(directory: Path) -> Salvage | None:
    """Everything that verifies in the store's file; nothing where it is no longer a store."""
    if not (directory / FILE).exists():
        return None
    try:
        with Sqlite.open(directory / FILE) as db:
            name, _, secret = identity(db)
            return _saved(db, name, secret)
    except (StoreError, *LOST):
        return None


def _saved(db: Sqlite, name: str, secret: bytes) -> Salvage:
    end = _end(db)
    devices = {row[0]: row for row in _rows(db, "devices", 0, end)}
    chains: dict[int, list[Row]] = defaultdict(list)
    for row in _rows(db, "events", 0, end):
        if row[2] in devices and isinstance(row[3], int):
            chains[row[2]].append(row)
    kept = {key: _vouched(sorted(chain, key=lambda row: row[3]), devices[key]) for key, chain in chains.items()}
    events = {row[0]: row for chain in kept.values() for row in chain}
    bodies = [row for row in _rows(db, "bodies", 0, end) if row[0] in events and _agrees(row, events[row[0]])]
    gaps = [gap for key, device in devices.items() for gap in _gaps(device, kept.get(key, []))]
    saved = {
        "devices": [_ended(device, kept.get(key, [])) for key, device in devices.items()],
        "events": sorted(events.values()),
        "bodies": bodies,
        "absent": [row for row in _rows(db, "absent", 0, end) if row[0] in events],
        "erased": _whole(db, "SELECT name FROM erased"),
    }
    lost = sum(last - first + 1 for _, first, last in gaps)
    told = tuple(f"{device} {first} {last}" for device, first, last in gaps)
    return Salvage(store=name, secret=secret, tables=saved, gaps=told, lost=lost)


def _rows(db: Sqlite, table: str, low: int, high: int) -> Iterator[Row]:
    """The rows between two keys that can be read; what cannot is halved until only that is left out."""
    try:
        yield from db.execute(
            f"SELECT * FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid", low, high
        )
    except LOST:
        if low < high:
            middle = (low + high) // 2
            yield from _rows(db, table, low, middle)
            yield from _rows(db, table, middle + 1, high)


def _end(db: Sqlite) -> int:
    """No key is greater than this."""
    known = [
        _whole(db, f"SELECT coalesce(max(position), 0) FROM {table}") for table in ("events", "bodies", "bookmarks")
    ]
    if all(known):
        return max(int(rows[0][0]) for rows in known)
    return int(db.value("PRAGMA page_count")) * ROWS_ON_A_PAGE


def _whole(db: Sqlite, sql: str) -> list[Row]:
    try:
        return db.execute(sql)
    except LOST:
        return []


def _vouched(chain: list[Row], device: Row) -> list[Row]:
    """The headers that the next one does not contradict; the newest answers to what the device recorded."""
    kept: list[Row] = []
    expected = device[3] if chain and chain[-1][3] == device[2] else None
    for place in range(len(chain) - 1, -1, -1):
        header = chain[place]
        if expected is not None and _hash(header, device[1]) != expected:
            expected = None
            continue
        kept.append(header)
        follows = place > 0 and chain[place - 1][3] == header[3] - 1
        expected = header[4] if follows else None
    return kept[::-1]


def _hash(header: Row, device: Any) -> str:
    try:
        return Header(header[1], device, *header[3:]).hash
    except (TypeError, ValueError):
        # A damaged field may be of another type, or no text at all.
        return ""


def _agrees(body: Row, header: Row) -> bool:
    try:
        return bool(digest(body[1], unpacked(body[2])) == header[-1])
    except (TypeError, AttributeError, ValueError, zlib.error):
        return False


def _gaps(device: Row, kept: list[Row]) -> list[tuple[str, int, int]]:
    """The runs of numbers that are missing between the entries that were kept, and after them."""
    numbers = [0, *(row[3] for row in kept)]
    ends = [*numbers[1:], max(device[2], numbers[-1]) + 1]
    return [(device[1], low + 1, high - 1) for low, high in zip(numbers, ends, strict=True) if high - low > 1]


def _ended(device: Row, kept: list[Row]) -> Row:
    """The device as it is now that its newest entries may be gone."""
    if not kept:
        return *device[:2], 0, START, *device[4:]
    return *device[:2], kept[-1][3], _hash(kept[-1], device[1]), *device[4:]
