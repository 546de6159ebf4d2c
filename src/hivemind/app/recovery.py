"""Checking, repair_module and restoring a store that may no longer open."""

from pathlib import Path

from hivemind.app.callers import who_calls
from hivemind.app.context import utc_now
from hivemind.app.hivemind import Hivemind
from hivemind.curate.event_factory import EventFactory
from hivemind.errors import Refused, StoreError
from hivemind.formats.timestamps import format_for_filename
from hivemind.model.events import EntriesLost, Event
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.settings import Settings
from hivemind.store import backup, integrity
from hivemind.store import repair as repair_module


def doctor(name: str | None = None, *, quick: bool = False) -> tuple[integrity.Finding, ...]:
    """Check the installation, whether or not the store opens."""
    try:
        with Hivemind.open(name) as mind:
            return *mind.maintenance.doctor(quick=quick), mind.code.health(), *mind.agents.health()
    # The doctor must answer when nothing else does.
    except StoreError as error:
        return (integrity.describe_error("store", error),)


def repair(name: str | None = None) -> repair_module.RepairResult:
    """Repair a damaged store; the damaged file is kept."""
    settings = Settings.load()
    factory = EventFactory(writer=who_calls(settings), clock=utc_now, redact=str)

    def make_event(fact: EntriesLost) -> Event:
        return factory.event(fact, Scope.USER, "")

    return repair_module.repair(settings.store_directory(name), format_for_filename(utc_now()), make_event)


def restore_backup(file: str, name: str | None = None) -> backup.RestoreResult:
    """Restore a backup without what was erased or rejected since; the present store is backed up first."""
    settings = Settings.load()
    if who_calls(settings).channel is not Channel.PERSON and not settings.agents_may_review:
        raise Refused("only a person may restore a backup; the setting agents_may_review changes it")
    directory = settings.store_directory(name)
    own_backup = directory / repair_module.BACKUP_FOLDER / file
    return backup.restore(directory, own_backup if own_backup.is_file() else Path(file), format_for_filename(utc_now()))
