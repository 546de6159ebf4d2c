"""Checking, repairing and restoring a store that may no longer open."""

from collections.abc import Callable, Iterable
from pathlib import Path

from hivemind.agents.writers import identify_writer
from hivemind.context import utc_now
from hivemind.errors import HivemindError, InvalidInput, Refused, StoreError
from hivemind.lazy import when_called
from hivemind.model.events import EntriesLost, Event
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.timestamps import format_for_filename
from hivemind.settings import Settings
from hivemind.store import backup, integrity, raw_pages
from hivemind.store import repair as repair_module
from hivemind.store.event_factory import EventFactory
from hivemind.store.integrity import Finding
from hivemind.store.store import FILE, Store

# NumPy and cryptography, which the other commands of the same module do not need: 150 ms.
examine_home = when_called("maintenance.home_check", "examine_home")
make_private = when_called("maintenance.home_check", "make_private")


def examine_installation(
    examine: Callable[[Settings, Callable[[], Iterable[Finding]]], tuple[Finding, ...]],
    name: str | None = None,
    *,
    quick: bool = False,
) -> tuple[Finding, ...]:
    """Check the installation, whether or not the store opens.

    ``examine`` opens the store and checks it; it is given the settings and what checks the files around the store.
    """
    # The doctor must answer when nothing else does.
    try:
        settings = Settings.load()
    except InvalidInput as error:
        return (Finding(what="settings", is_well=False, detail=str(error), remedy="correct that file"),)
    # Before the store is opened, because opening drops what stands after the damage.
    if raw_pages.has_damaged_frames(settings.find_store_directory(name) / FILE):
        detail = f"{FILE}-wal is damaged before its end"
        return (Finding(what="store", is_well=False, detail=detail, remedy=integrity.REPAIR_COMMANDS),)
    try:
        return examine(
            settings,
            lambda: examine_home(settings.home, settings.find_store_directory(name), settings.model, quick=quick),
        )
    except StoreError as error:
        return (integrity.describe_error("store", error),)
    except (OSError, *integrity.DAMAGE_ERRORS) as error:
        # A damaged value may raise anything; the store's own checks describe it better.
        detail = find_damage(name) or f"{type(error).__name__}: {error}"
        return (Finding(what="store", is_well=False, detail=detail, remedy=integrity.REPAIR_COMMANDS),)


def find_damage(name: str | None = None) -> str | None:
    """Say what is wrong with a store, after something failed unexpectedly; None if it is in order."""
    try:
        directory = Settings.load().find_store_directory(name)
        if not (directory / FILE).exists():
            return None
        with Store.open(directory) as store:
            findings = [finding for finding in integrity.examine(store) if not finding.is_well]
    except HivemindError as error:
        return str(error)
    return f"the store at {directory} is damaged: {findings[0].detail}" if findings else None


def repair(name: str | None = None) -> repair_module.RepairResult:
    """Repair a damaged store; the damaged file is kept."""
    settings = Settings.load()
    make_private(settings.home)
    factory = EventFactory(writer=identify_writer(settings), clock=utc_now, redact=str)

    def make_event(fact: EntriesLost) -> Event:
        return factory.event(fact, Scope.USER, "")

    return repair_module.repair(settings.find_store_directory(name), format_for_filename(utc_now()), make_event)


def list_backups(name: str | None = None) -> tuple[backup.Backup, ...]:
    """List the backups in the store's folder."""
    return tuple(backup.list_backups(Settings.load().find_store_directory(name)))


def find_backup(file: str, name: str | None = None) -> Path:
    """Return the path of a backup, which is given as a path or by its name in the list."""
    own_backup = Settings.load().find_store_directory(name) / repair_module.BACKUP_FOLDER / file
    path = own_backup if own_backup.is_file() else Path(file)
    if not path.is_file():
        raise InvalidInput(f"{file} is not a file; 'hivemind backup list' shows what there is")
    return path


def restore_backup(file: str, name: str | None = None) -> backup.RestoreResult:
    """Restore a backup without what was erased or rejected since; the present store is backed up first."""
    settings = Settings.load()
    if identify_writer(settings).channel is not Channel.PERSON and not settings.agents_may_review:
        raise Refused("only a person may restore a backup; the setting agents_may_review changes it")
    directory = settings.find_store_directory(name)
    return backup.restore(directory, find_backup(file, name), format_for_filename(utc_now()))
