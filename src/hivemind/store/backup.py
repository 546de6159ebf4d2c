"""Backups of the store, and restoring one.

A backup can be made while others write. A restore applies later erasures and rejections again, and first makes a backup
of the store that it replaces.
"""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hivemind.errors import InvalidInput, Refused, StoreDamaged, StoreError, StoreTooNew
from hivemind.model.events import Event
from hivemind.store import integrity, log, projector, repair, sync_state
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import (
    FORMAT,
    ID_FILE,
    Store,
    assign_new_device,
    make_private_folder,
    read_identity,
    write_id_file,
)
from hivemind.text import cues


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy of the store."""

    file: str
    bytes: int
    entries: int
    """The number of log entries; 0 if it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """The result of a restore."""

    entries: int
    kept_out: int
    """Erasures, rejections and restorations of the replaced store that were applied again."""
    before: str
    """The backup of the replaced store; empty if that had no entries."""
    warning: str = ""


def create(store: Store, file: Path) -> Backup:
    """Write a complete and verified backup; on failure no file is left behind."""
    if file.exists():
        raise InvalidInput(f"{file} exists; name another file")
    make_private_folder(file.parent, "name another place")
    # Written under another name, so that a file with a backup's name is always complete.
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        assert isinstance(store.db, Sqlite)
        store.db.copy_to(partial)
        with Sqlite.open_for_reading(partial) as copy:
            _refuse_unusable(copy, file)
            backup = Backup(file=str(file), bytes=partial.stat().st_size, entries=log.read_last_position(copy))
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return backup


def list_backups(directory: Path) -> Iterator[Backup]:
    """The backups beside the store, oldest first."""
    # By time and not by name, because people name backups too.
    for file in sorted((directory / repair.BACKUP_FOLDER).glob("*.db"), key=lambda path: path.stat().st_mtime):
        try:
            with Sqlite.open_for_reading(file) as copy:
                entries = log.read_last_position(copy)
        except (StoreError, *integrity.DAMAGE_ERRORS):
            # A damaged backup is still listed; leaving it out would hide that it is damaged.
            entries = 0
        yield Backup(file=str(file), bytes=file.stat().st_size, entries=entries)


def find_problems(file: Path) -> list[str]:
    """Say why a backup could not be restored; empty if it could."""
    try:
        with Sqlite.open_for_reading(file) as copy:
            _refuse_unusable(copy, file)
    except (StoreError, InvalidInput) as error:
        return [str(error)]
    return []


def restore(directory: Path, file: Path, stamp: str) -> RestoreResult:
    """Replace the store with a backup, without what was erased or rejected since; all or nothing."""
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file; 'hivemind backup list' shows what there is")
    with Sqlite.open_for_reading(file) as source:
        _refuse_unusable(source, file)
        try:
            return _replace_readable(directory, source, stamp)
        except (StoreDamaged, StoreTooNew, *integrity.DAMAGE_ERRORS) as error:
            return _replace_damaged(directory, source, stamp, str(error))
        finally:
            cues.discard_files(str(directory))


@contextmanager
def open_backup(file: Path) -> Iterator[Sqlite]:
    """A backup open for writing; closing leaves no write-ahead log beside the file."""
    with Sqlite.open(file) as copy:
        yield copy
        copy.execute("PRAGMA journal_mode = DELETE")


def record(copy: Sqlite, events: Iterable[Event]) -> None:
    """Append events to a backup's log, so that a restore cannot bring back what they erased."""
    with copy.transaction():
        added = log.append(copy, secrets.token_hex(16), events)
        # Tables of another version cannot be updated, only rebuilt.
        if projector.read_version(copy) == projector.VERSION:
            projector.apply(copy, added)
        else:
            projector.rebuild(copy)


def _replace_readable(directory: Path, source: Sqlite, stamp: str) -> RestoreResult:
    with Store.open(directory) as store:
        before = (
            create(store, directory / repair.BACKUP_FOLDER / f"{stamp}-before-restore.db")
            if log.read_last_position(store.db)
            else None
        )
        with store.db.transaction():
            # Entries written since that backup was made would be lost.
            if before and log.read_last_position(store.db) != before.entries:
                raise StoreError("another process wrote to the store during the restore; try again")
            exclusions = repair.read_exclusions(store.db)
            if exclusions and read_identity(store.db)[0] != read_identity(source)[0]:
                raise Refused(
                    "this is a backup of another store, to which the erasures and rejections of this one cannot be"
                    " applied; restore it under another name: hivemind --store NAME backup restore FILE"
                )
            # If this process stops here, the next one to open the store writes the file again with the right id.
            (directory / ID_FILE).unlink()
            entry_count = _take_over(store, source, exclusions)
        write_id_file(directory, read_identity(store.db)[0])
        store.checkpoint()
    return RestoreResult(entries=entry_count, kept_out=len(exclusions), before=before.file if before else "")


def _replace_damaged(directory: Path, source: Sqlite, stamp: str, why: str) -> RestoreResult:
    # Copied as it is: a damaged file may still give to better tools what ours cannot read.
    before = repair.set_aside(directory, stamp)
    salvage = repair.salvage_store(directory)
    exclusions: list[Event] = []
    is_complete = False
    with repair.replace_damaged_store(directory) as fresh, fresh.db.transaction():
        if salvage and salvage.store == read_identity(source)[0]:
            repair.take_over(fresh.db, salvage.tables)
            exclusions = repair.read_exclusions(fresh.db)
            is_complete = not salvage.lost and not repair.find_empty_entries(fresh.db)
        entry_count = _take_over(fresh, source, exclusions)
    warning = "" if is_complete else f"{why}; erasures made since the backup may be lost"
    return RestoreResult(entries=entry_count, kept_out=len(exclusions), before=before, warning=warning)


def _take_over(store: Store, source: Sqlite, exclusions: list[Event]) -> int:
    """Replace the store's log with the backup's and append the exclusions; return the number of entries restored."""
    name, _, secret = read_identity(source)
    repair.take_over(store.db, {table: source.stream(f"SELECT * FROM {table}") for table in log.TABLES})
    # A team recognises devices by their chains, so the new one has to join again.
    sync_state.leave_team(store.db)
    log.append(store.db, assign_new_device(store.db, name, secret), exclusions)
    projector.rebuild(store.db)
    return log.read_last_position(source)


def _refuse_unusable(copy: Sqlite, file: Path) -> None:
    try:
        format_version = copy.value("PRAGMA user_version")
    except StoreDamaged as error:
        raise InvalidInput(f"{file} is not a database, so not a backup; choose another file") from error
    if format_version > FORMAT:
        raise StoreTooNew(f"a newer hivemind wrote {file}; upgrade with 'pip install -U hivemind-memory'")
    if format_version != FORMAT:
        raise InvalidInput(f"{file} is not a backup of a store; choose another file")
    try:
        problems = [*integrity.find_damage(copy), *(place.why for place in log.verify(copy))]
    except integrity.DAMAGE_ERRORS as error:
        problems = [str(error)]
    if problems:
        raise StoreDamaged(f"{file} is damaged: {problems[0]}; choose another backup")
