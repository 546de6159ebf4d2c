"""Copies of the store, and the way back to one.

A copy is made while others write. The way back keeps out what was erased or rejected since, and what stood here is kept
as a copy itself.
"""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hivemind.errors import InvalidInput, Refused, StoreDamaged, StoreError, StoreTooNew
from hivemind.model.events import Event
from hivemind.store import (
    FORMAT,
    ID_FILE,
    Store,
    checkup,
    identify,
    identity,
    log,
    make,
    name_beside,
    projector,
    repair,
)
from hivemind.store.sqlite import Sqlite


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy of the store."""

    file: str
    bytes: int
    entries: int
    """How much of the log it holds; 0 where it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did."""

    entries: int
    kept_out: int
    """Erasures and rejections that are newer than the backup, and hold."""
    before: str
    """The file that keeps what stood here before; empty if nothing did."""
    warning: str = ""


def create(store: Store, file: Path) -> Backup:
    """Write a copy that is whole and checked; nothing is left behind if it is not."""
    if file.exists():
        raise InvalidInput(f"{file} exists; name another file")
    make(file.parent, "name another place")
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        assert isinstance(store.db, Sqlite)
        store.db.copy_to(partial)
        partial.chmod(0o600)
        with Sqlite.open_for_reading(partial) as copy:
            _refuse_the_unfit(copy, file)
            made = Backup(file=str(file), bytes=partial.stat().st_size, entries=log.end(copy))
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return made


def listed(directory: Path) -> Iterator[Backup]:
    """The copies beside the store, oldest first."""
    for file in sorted((directory / repair.FOLDER).glob("*.db"), key=lambda one: one.stat().st_mtime):
        try:
            with Sqlite.open_for_reading(file) as copy:
                entries = log.end(copy)
        except StoreError:
            entries = 0
        yield Backup(file=str(file), bytes=file.stat().st_size, entries=entries)


def restore(directory: Path, file: Path, stamp: str) -> Restored:
    """Let a backup take the place of the store, less what was erased or rejected since; all of it or nothing."""
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file; 'hivemind backup list' shows what there is")
    with Sqlite.open_for_reading(file) as source:
        _refuse_the_unfit(source, file)
        try:
            return _in_place_of_what_stands(directory, source, stamp)
        except (StoreDamaged, *checkup.UNREADABLE) as error:
            return _in_place_of_a_wreck(directory, source, stamp, str(error))


@contextmanager
def opened(file: Path) -> Iterator[Sqlite]:
    """A copy open for changes, which leave nothing beside the file."""
    with Sqlite.open(file) as copy:
        yield copy
        copy.execute("PRAGMA journal_mode = DELETE")


def record(copy: Sqlite, events: Iterable[Event]) -> None:
    """Append events to a copy's log, so that what they destroy cannot come back from there."""
    with copy.transaction():
        added = log.append(copy, secrets.token_hex(16), events)
        if projector.version(copy) == projector.VERSION:
            projector.apply(copy, added)
        else:
            projector.rebuild(copy)


def _in_place_of_what_stands(directory: Path, source: Sqlite, stamp: str) -> Restored:
    with Store.open(directory) as store:
        before = create(store, directory / repair.FOLDER / f"{stamp}-before-restore.db") if log.end(store.db) else None
        with store.db.transaction():
            if before and log.end(store.db) != before.entries:
                raise StoreError("somebody wrote to the store meanwhile; try again")
            kept_out = repair.keeping_out(store.db)
            if kept_out and identity(store.db)[0] != identity(source)[0]:
                raise Refused(
                    "that is a backup of another store, and what was erased or rejected here could not be kept out of"
                    " it; restore it under another name: hivemind --store NAME backup restore FILE"
                )
            # Without it the name is written again when the store is opened next.
            (directory / ID_FILE).unlink()
            restored = _taken_over(store, source, kept_out)
        name_beside(directory, identity(store.db)[0])
        store.fold_in_log()
    return Restored(entries=restored, kept_out=len(kept_out), before=before.file if before else "")


def _in_place_of_a_wreck(directory: Path, source: Sqlite, stamp: str, why: str) -> Restored:
    before = repair.set_aside(directory, stamp)
    found = repair.saved_from(directory)
    kept_out: list[Event] = []
    whole = False
    with repair.in_place_of(directory) as fresh, fresh.db.transaction():
        if found and found.store == identity(source)[0]:
            repair.take_over(fresh.db, found.tables)
            kept_out = repair.keeping_out(fresh.db)
            whole = not found.lost and not repair.hollow(fresh.db)
        restored = _taken_over(fresh, source, kept_out)
    warning = "" if whole else f"{why}; erasures since the backup may be among what was lost"
    return Restored(entries=restored, kept_out=len(kept_out), before=before, warning=warning)


def _taken_over(store: Store, source: Sqlite, kept_out: list[Event]) -> int:
    """The backup's log instead of the store's, and what was kept out of that kept out of this."""
    name, _, secret = identity(source)
    repair.take_over(store.db, {table: source.stream(f"SELECT * FROM {table}") for table in log.TABLES})
    log.append(store.db, identify(store.db, name, secret), kept_out)
    projector.rebuild(store.db)
    return log.end(source)


def _refuse_the_unfit(copy: Sqlite, file: Path) -> None:
    form = copy.value("PRAGMA user_version")
    if form > FORMAT:
        raise StoreTooNew(f"a newer hivemind wrote {file}; upgrade with 'pip install -U hivemind-memory'")
    if form != FORMAT:
        raise InvalidInput(f"{file} is not a backup of a store")
    problems = [*checkup.damage(copy), *(place.why for place in log.verify(copy))]
    if problems:
        raise StoreDamaged(f"{file} is damaged: {problems[0]}; choose another backup")
