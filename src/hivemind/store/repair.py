"""Makes a damaged store whole again, from what it still gives."""

import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hivemind.errors import StoreDamaged, StoreError
from hivemind.model.events import EntriesLost, Event
from hivemind.model.ids import EventId
from hivemind.store import FILE, ID_FILE, Store, checkup, identify, identity, log, name_beside, projector, salvage
from hivemind.store.database import Database, Row
from hivemind.store.sqlite import Sqlite

FOLDER = "backups"
KEEPING_OUT = "e.fact IN ('memory.erased', 'observations.dropped', 'memory.rejected', 'memory.restored')"


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
    found = salvage.read(directory)
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
