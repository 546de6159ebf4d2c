"""Repairs a damaged store from the entries whose chain and content still verify."""

import re
import secrets
import shutil
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from hivemind.errors import StoreDamaged, StoreError, StoreReadOnly
from hivemind.model.codec import unpack_content
from hivemind.model.events import EntriesLost, Event
from hivemind.model.ids import EventId
from hivemind.model.wire import FIRST_PREVIOUS_HASH, Header, compute_digest
from hivemind.store import integrity, log, projector, raw_pages
from hivemind.store.database import Database, Row
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import (
    FILE,
    ID_FILE,
    Store,
    assign_new_device,
    is_id_file_of,
    read_id_file,
    read_identity,
    write_id_file,
)

BACKUP_FOLDER = "backups"
IS_EXCLUSION = "e.fact IN ('memory.erased', 'observations.dropped', 'memory.rejected', 'memory.restored')"
SHAPES: dict[str, tuple[type, ...]] = {
    "identity": (str, str, bytes),
    "devices": (NoneType, str, int, str, int, str, int, str),
    "events": (NoneType, str, int, int, *(str,) * 11),
    "bodies": (NoneType, bytes, str),
    "absent": (NoneType,),
    "erased": (str,),
}
"""The types of the columns of the log's tables, which no other table shares unless ``_verify`` says so."""
HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResult:
    """The result of a repair."""

    entries: int
    lost: int = 0
    """Entries that could not be recovered at all."""
    without_content: int = 0
    """Entries of which only the header was recovered."""
    before: str = ""
    """The copy of the damaged file; empty if it was not damaged."""
    has_new_key: bool = False
    """Whether the key is lost with which what was rejected or erased is recognised when it comes again."""


def repair(directory: Path, stamp: str, make_event: Callable[[EntriesLost], Event]) -> RepairResult:
    """Rebuild the derived tables; if the log itself is damaged, recover what verifies and record what is lost."""
    # Before SQLite opens the file, because it drops what stands after a damaged frame of the write-ahead log.
    if not raw_pages.has_damaged_frames(directory / FILE):
        _mend_id_file(directory)
        # Derived tables can always be rebuilt; only a damaged log has to be salvaged.
        with suppress(StoreDamaged, *integrity.DAMAGE_ERRORS), Store.open(directory) as store:
            if isinstance(store.db, Sqlite) and not store.db.is_writable:
                raise StoreReadOnly(f"cannot write to {directory}; make it writable, then run 'hivemind repair' again")
            if not _is_sound(store):
                store.rebuild()
            if _is_sound(store):
                return RepairResult(entries=log.read_last_position(store.db))
    salvage = salvage_store(directory)
    # A new store would look like an empty memory.
    if salvage is None:
        raise StoreDamaged(
            f"nothing can be read from {directory / FILE}; 'hivemind backup list' shows what can be restored"
        )
    if (directory / ID_FILE).exists() and not is_id_file_of(directory, salvage.store, allow_damage=True):
        raise StoreDamaged(f"{directory / FILE} is another store than {ID_FILE} names; put the right file back")
    before = set_aside(directory, stamp)
    with replace_damaged_store(directory) as fresh:
        with fresh.db.transaction():
            take_over(fresh.db, salvage.tables)
            # Lost entries may have reached the hub, so their numbers must not be used again.
            device = assign_new_device(fresh.db, salvage.store, salvage.secret or fresh.secret)
            empty_ids = find_empty_entries(fresh.db)
            if salvage.gaps or empty_ids:
                log.append(fresh.db, device, [make_event(EntriesLost(gaps=salvage.gaps, bodies=tuple(empty_ids)))])
            projector.rebuild(fresh.db)
        entries = log.read_last_position(fresh.db)
    return RepairResult(
        entries=entries, lost=salvage.lost, without_content=len(empty_ids), before=before,
        has_new_key=not salvage.secret,
    )  # fmt: skip


def _is_sound(store: Store) -> bool:
    """Whether nothing is wrong with the store itself; a full disk is no reason to repair it."""
    return all(finding.is_well for finding in integrity.examine(store) if finding.what != integrity.DISK)


def _mend_id_file(directory: Path) -> None:
    """Write the file with the store's id again, if it is damaged and the store itself can tell its id."""
    if not (directory / FILE).is_file():
        return
    with suppress(StoreError), Sqlite.open(directory / FILE) as db:
        name = read_identity(db)[0]
        if is_id_file_of(directory, name, allow_damage=True) and not is_id_file_of(directory, name):
            (directory / ID_FILE).unlink()
            write_id_file(directory, name)


@contextmanager
def replace_damaged_store(directory: Path) -> Iterator[Store]:
    """A new store that replaces a damaged one if the block succeeds."""
    folder = directory / f"fresh-{secrets.token_hex(4)}"
    try:
        with Store.open(folder) as fresh:
            yield fresh
            name = read_identity(fresh.db)[0]
            fresh.checkpoint()
            _replace_file(fresh, folder / FILE, directory / FILE)
        # Removed first, because an id file with another id is never overwritten.
        (directory / ID_FILE).unlink(missing_ok=True)
        write_id_file(directory, name)
    finally:
        shutil.rmtree(folder)


def read_exclusions(db: Database) -> list[Event]:
    """The erasures, rejections and restorations of a log, to be appended to another."""
    entries = log.read_wire_entries(db, f"{IS_EXCLUSION} ORDER BY e.position")
    return [entry.event for _, entry in entries if entry.event]


def take_over(db: Database, rows: Mapping[str, Iterable[Row]]) -> None:
    """Replace the whole log with the rows of another."""
    for table in reversed(log.TABLES):
        db.execute(f"DELETE FROM {table}")
    for table in log.TABLES:
        for row in rows[table]:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", *row)


def set_aside(directory: Path, stamp: str) -> str:
    """Copy the damaged files as they are to the backups; return the path, empty if there is no file."""
    copy = directory / BACKUP_FOLDER / f"{stamp}-damaged.db"
    copy.parent.mkdir(exist_ok=True, mode=0o700)
    for suffix in ("", "-wal"):
        file = directory / (FILE + suffix)
        if file.exists():
            shutil.copy2(file, copy.with_name(copy.name + suffix))
            copy.with_name(copy.name + suffix).chmod(0o600)
    return str(copy) if copy.exists() else ""


def _replace_file(fresh: Store, new_file: Path, file: Path) -> None:
    """Replace a file's content under SQLite's locks, because others may have it open.

    A file that is no longer a database has no such locks; it is replaced by name.
    """
    try:
        with Sqlite.open(file) as target:
            assert isinstance(fresh.db, Sqlite)
            target.overwrite_with(fresh.db)
    except StoreError:
        # SQLite would apply a leftover write-ahead log to the new file.
        for suffix in ("-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        fresh.close()
        new_file.replace(file)


def find_empty_entries(db: Database) -> list[EventId]:
    """Ids of entries whose content is missing although it was not erased."""
    erased_ids = log.find_erased_ids(db)
    rows = db.execute(
        "SELECT id FROM events e WHERE NOT EXISTS (SELECT 1 FROM bodies b WHERE b.position = e.position)"
        " AND NOT EXISTS (SELECT 1 FROM absent a WHERE a.position = e.position)"
    )
    return [EventId(row[0]) for row in rows if row[0] not in erased_ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """The rows that could be recovered, and what could not."""

    store: str
    secret: bytes
    tables: dict[str, list[Row]]
    gaps: tuple[str, ...]
    """Ranges of entries that are lost whole: device, first and last number."""
    lost: int
    """The number of entries that are lost whole."""


def salvage_store(directory: Path) -> Salvage | None:
    """Everything that verifies in the store's file; None if nothing of a log is left in it."""
    if not (directory / FILE).is_file():
        return None
    tables: dict[str, dict[Any, Row]] = {table: {} for table in SHAPES}
    for key, values in raw_pages.read_rows(directory / FILE):
        if table := _recognise(key, values):
            row = (key, *values[1:]) if values[0] is None else values
            tables[table].setdefault(row[0], row)
    if not tables["events"]:
        return None
    identity = next(iter(tables["identity"].values()), None)
    name, device, secret = identity or (read_id_file(directory), "", b"")
    return _verify(tables, name, device, secret)


def _recognise(key: int | None, values: Row) -> str:
    """The table of a row by the types of its columns; in a damaged file nothing else says it."""
    types = tuple(map(type, values))
    table = next((table for table, shape in SHAPES.items() if shape == types), "")
    is_plausible = (key is None) == (table == "erased") and (table != "devices" or HASH.fullmatch(values[3]))
    return table if is_plausible else ""


def _verify(tables: dict[str, dict[Any, Row]], name: str, own_device: str, secret: bytes) -> Salvage:
    # Devices: key, id, last_seq, last_hash. Events: position, id, device, device_seq, prev_hash.
    devices = tables["devices"]
    chains: dict[int, dict[int, Row]] = defaultdict(dict)
    for row in tables["events"].values():
        # A damaged row may name a device that does not exist.
        if row[2] in devices:
            chains[row[2]][row[3]] = row
    verified_chains = {
        key: _keep_verified([chain[number] for number in sorted(chain)], devices[key]) for key, chain in chains.items()
    }
    events = {row[0]: row for chain in verified_chains.values() for row in chain}
    bodies = {
        position: row
        for position, row in tables["bodies"].items()
        if position in events and _is_content_intact(row, events[position])
    }
    gaps = [gap for key, device in devices.items() for gap in _find_gaps(device, verified_chains.get(key, []))]
    rows = {
        "devices": [_end_chain(device, verified_chains.get(key, [])) for key, device in devices.items()],
        "events": sorted(events.values()),
        "bodies": list(bodies.values()),
        # Another table has rows of the same shape; only what others wrote comes without content.
        "absent": [
            (key,)
            for key in tables["absent"]
            if key in events and key not in bodies and devices[events[key][2]][1] != own_device
        ],
        "erased": list(tables["erased"].values()),
    }
    lost_count = sum(last - first + 1 for _, first, last in gaps)
    gap_texts = tuple(f"{device} {first} {last}" for device, first, last in gaps)
    return Salvage(store=name, secret=secret, tables=rows, gaps=gap_texts, lost=lost_count)


def _keep_verified(chain: list[Row], device: Row) -> list[Row]:
    """The headers that match the hash in their successor; the newest must match the hash recorded for the device.

    A header whose successor is missing cannot be checked, and is kept.
    """
    headers: list[Row] = []
    expected_hash = device[3] if chain and chain[-1][3] == device[2] else None
    for index in range(len(chain) - 1, -1, -1):
        header = chain[index]
        if expected_hash is not None and _hash_header(header, device[1]) != expected_hash:
            expected_hash = None
            continue
        headers.append(header)
        has_predecessor = index > 0 and chain[index - 1][3] == header[3] - 1
        expected_hash = header[4] if has_predecessor else None
    return headers[::-1]


def _hash_header(header: Row, device: Any) -> str:
    try:
        return Header(header[1], device, *header[3:]).hash
    except (TypeError, ValueError):
        # A damaged field may have another type, or be invalid text.
        return ""


def _is_content_intact(body: Row, header: Row) -> bool:
    try:
        return bool(compute_digest(body[1], unpack_content(body[2])) == header[-1])
    except (TypeError, AttributeError, ValueError, zlib.error):
        return False


def _find_gaps(device: Row, headers: list[Row]) -> list[tuple[str, int, int]]:
    """The ranges of sequence numbers missing between and after the recovered entries."""
    numbers = [0, *(row[3] for row in headers)]
    ends = [*numbers[1:], max(device[2], numbers[-1]) + 1]
    return [(device[1], low + 1, high - 1) for low, high in zip(numbers, ends, strict=True) if high - low > 1]


def _end_chain(device: Row, headers: list[Row]) -> Row:
    """The device's row with the number and hash of its newest recovered entry."""
    if not headers:
        return *device[:2], 0, FIRST_PREVIOUS_HASH, *device[4:]
    return *device[:2], headers[-1][3], _hash_header(headers[-1], device[1]), *device[4:]
