"""A person's own machines: setting up a shared folder, exchanging with it, and what became of erasures there."""

import platform
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from hivemind import system
from hivemind.code.repository import identify
from hivemind.context import Context, Progress, quietly
from hivemind.erase import sweep
from hivemind.erase.receipt import load_receipt, record_receipt
from hivemind.errors import InvalidInput, NotFound, Refused, Unavailable
from hivemind.model.erasure import ErasedLocation, Erasure
from hivemind.model.events import DeviceJoined
from hivemind.model.scope import Scope
from hivemind.model.timestamps import format_minute
from hivemind.store import sync_state
from hivemind.store.projections import memories, peers, sessions
from hivemind.sync import folder_epochs, folder_keys
from hivemind.sync.folder_exchange import ExchangeReport, OtherDevice, exchange, look, settle_identity
from hivemind.sync.folder_files import Choices, DeviceState, Head, delete_state, load_state, save_state
from hivemind.sync.folder_segments import find_ends
from hivemind.sync.folders import Folder, is_git_address, new_name, open_folder, open_last_copy, parse_location
from hivemind.text.clean import parse_tags, validate_label

__all__ = ["Choices", "Devices", "DevicesStatus", "Farewell", "Machine", "Plan"]

LOCK_FILE, CLONE_FOLDER = "devices.lock", "devices"
NOT_SET_UP = "this machine shares no folder with others; begin with 'hivemind sync setup FOLDER'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a setup would do, before anything leaves this machine."""

    location: str
    is_new: bool
    """Whether this is the first machine, so that the setup makes the phrase; otherwise it needs it."""
    memories: int
    excluded: int
    sessions: int
    """Sessions that travel; 0 if they stay here."""
    choices: Choices


class Farewell(StrEnum):
    """What happens to the files of a machine that leaves."""

    EMPTIED = "emptied"
    TAKEN_OVER = "taken over"
    UNANNOUNCED = "unannounced"
    """The folder could not be reached, or this machine was removed from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine as `sync devices` lists it."""

    name: str
    directory: str
    is_this: bool
    last_seen_at: str
    waiting_for: int = 0
    """Entries of it that have not arrived here."""
    unread: int = 0
    """Entries of this machine that it has not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicesStatus:
    """The state of the exchange with a person's other machines."""

    location: str
    name: str
    is_paused: bool
    synchronised_at: str
    unsent: int
    choices: Choices
    machines: tuple[Machine, ...]
    problems: tuple[str, ...]
    unconfirmed_erasures: int


class Devices:
    """The folder or repository that this machine shares with the person's others."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = context.store

    @property
    def is_set_up(self) -> bool:
        """Whether this machine shares a folder."""
        return self._store.directory is not None and load_state(self._store.directory) is not None

    def plan(self, location: str, choices: Choices) -> Plan:
        """Return what a setup would send, without sending anything."""
        self._context.require_person("sharing memories with other machines")
        place, db = parse_location(location), self._store.db
        choices = replace(
            choices,
            excluded_repos=tuple(dict.fromkeys(map(_parse_repository, choices.excluded_repos))),
            excluded_tags=parse_tags(choices.excluded_tags),
        )
        if not is_git_address(place):
            _make_folder(Path(place))
        with self._open(place) as folder:
            # Also if the key is lost or has not arrived: another one beside it would divide the machines for ever.
            is_new = not folder.list_names()
        total = memories.count_private(db)
        travelling = memories.count_private(
            db, without_repos=choices.excluded_repos, without_tags=choices.excluded_tags
        )
        return Plan(
            location=place, is_new=is_new, memories=travelling, excluded=total - travelling,
            sessions=sessions.count(db)[0] if choices.with_sessions else 0, choices=choices,
        )  # fmt: skip

    def set_up(self, plan: Plan, *, phrase: str = "", name: str = "", progress: Progress = quietly) -> ExchangeReport:
        """Begin to share a folder, or join the machines that do; for a folder in use, change what travels."""
        self._context.require_person("sharing memories with other machines")
        with self._lock():
            state = load_state(self._directory)
            if state and state.location != plan.location:
                raise InvalidInput(f"this machine shares {state.location} already; 'hivemind sync leave' ends that")
            secret = folder_keys.parse_phrase(phrase) if phrase else b""
            with self._open(plan.location) as folder:
                if not state or secret:
                    state = self._join(folder, plan, secret, name, state)
                state, report = self._exchange(folder, _choose(state, plan.choices), progress)
            return self._finish(state, report)

    def sync(self, *, progress: Progress = quietly) -> ExchangeReport:
        """Exchange what is new with the other machines; an interrupted exchange can be repeated."""
        with self._lock():
            state = self._require_state()
            if state.is_paused:
                raise Unavailable("the exchange with your other machines is paused; 'hivemind sync resume' goes on")
            with self._open(state.location) as folder:
                state, report = self._exchange(folder, state, progress)
            return self._finish(state, report)

    def status(self) -> DevicesStatus:
        """Return how far this machine and the others have come, from the files that are here; changes nothing."""
        state = self._require_state()
        other_devices: Sequence[OtherDevice] = ()
        problems: Sequence[str] = ()
        try:
            folder = open_last_copy(state.location, self._directory / CLONE_FOLDER)
            other_devices, problems = look(self._store, folder, state)
        except Unavailable as error:
            problems = (str(error),)
        own_end = find_ends(state.segments).get(state.device, 0)
        this = Machine(name=state.name, directory=state.directory, is_this=True, last_seen_at=state.synchronised_at)
        other_machines = [
            Machine(
                name=other.head.name, directory=other.directory, is_this=False, last_seen_at=other.head.written_at,
                waiting_for=other.waiting_for, unread=other.unread,
            )
            for other in other_devices
        ]  # fmt: skip
        return DevicesStatus(
            location=state.location, name=state.name, is_paused=state.is_paused,
            synchronised_at=state.synchronised_at,
            unsent=sync_state.count_unsent(self._store.db, self._store.device, own_end),
            choices=state.choices, machines=(this, *other_machines), problems=tuple(problems),
            unconfirmed_erasures=len(state.erasures),
        )  # fmt: skip

    def phrase(self) -> str:
        """Return the phrase by which another machine joins."""
        self._context.require_person("to see the phrase")
        return folder_keys.format_phrase(self._require_state().epoch.secret)

    def pause(self, *, is_paused: bool) -> None:
        """Stop exchanging until it is resumed; nothing is lost meanwhile."""
        with self._lock():
            self._save(replace(self._require_state(), is_paused=is_paused))

    def remove(self, machine: str) -> ExchangeReport:
        """Remove another machine: it gets no new key, and this one publishes its memories in its place."""
        self._context.require_person("removing a machine")
        with self._lock():
            state = self._require_state()
            with self._open(state.location) as folder:
                other_devices, _ = look(self._store, folder, state)
                # Also one whose files are lost: somebody may wait for it to confirm an erasure.
                names = state.names | {other.directory: other.head.name for other in other_devices}
                matches = [directory for directory, name in names.items() if machine in (name, directory)]
                if len(matches) != 1:
                    hint = ", ".join(f"{name} ({directory})" for directory, name in names.items()) or "there are none"
                    raise NotFound(f"{machine!r} is not the name of one other machine; the others: {hint}")
                state, report = self._exchange(folder, state, quietly, removing=matches[0])
            return self._finish(state, report)

    def leave(self) -> Farewell:
        """Stop sharing and forget the keys; return what happens to the files of this machine."""
        self._context.require_person("leaving the shared folder")
        with self._lock():
            state = replace(self._require_state(), has_left=True)
            try:
                with self._open(state.location) as folder:
                    state, _ = self._exchange(folder, state, quietly)
                    # The keys of a folder without machines open nothing.
                    for name in folder.list_names() if not state.names else ():
                        folder.delete(name)
                farewell = Farewell.TAKEN_OVER if state.names else Farewell.EMPTIED
            except (Unavailable, Refused):
                # A removed machine, or one whose drive is lost, must be able to leave, too.
                farewell = Farewell.UNANNOUNCED
            delete_state(self._directory)
        return farewell

    def carry(self, receipt: Erasure) -> Erasure:
        """Send an erasure to the other machines at once; return its receipt with their state."""
        if not receipt.batch or not self.is_set_up:
            return receipt
        with self._lock():
            state = self._require_state()
            self._save(replace(state, erasures=tuple({*state.erasures, receipt.batch})))
        try:
            self.sync()
        # The erasure is done here; the next exchange sends it.
        except (Unavailable, Refused) as error:
            place = ErasedLocation(name=state.location, state="pending", detail=f"waiting: {error}")
            self._record_places(receipt.batch, [place])
        return load_receipt(self._store.db, receipt.batch) or receipt

    @property
    def _directory(self) -> Path:
        if self._store.directory is None:
            raise InvalidInput("a hub has no other machines")
        return self._store.directory

    def _save(self, state: DeviceState) -> None:
        save_state(self._directory, state)

    def _require_state(self) -> DeviceState:
        state = load_state(self._directory)
        if state is None:
            raise InvalidInput(NOT_SET_UP)
        return state

    def _lock(self) -> AbstractContextManager[None]:
        """Wait until no other process exchanges: agents start one each when their sessions start."""
        return system.FileLock(str(self._directory / LOCK_FILE))

    def _open(self, location: str) -> AbstractContextManager[Folder]:
        return open_folder(location, self._directory / CLONE_FOLDER)

    def _join(
        self, folder: Folder, plan: Plan, secret: bytes, name: str, former_state: DeviceState | None
    ) -> DeviceState:
        former_places = (former_state.directory, *former_state.former) if former_state else ()
        name = name or (former_state.name if former_state else platform.node())
        state = DeviceState(
            location=plan.location, name=validate_label(name, "the machine's name"), directory=new_name(),
            device=self._store.device, private_key=folder_keys.new_private_key(), epochs=(), former=former_places,
        )  # fmt: skip
        if secret:
            return folder_epochs.join_epochs(folder, state, secret)
        if folder.list_names():
            raise InvalidInput("another machine uses this folder; give its phrase, which 'hivemind sync phrase' shows")
        return folder_epochs.begin_epoch(folder, state)

    def _exchange(
        self, folder: Folder, state: DeviceState, progress: Progress, removing: str = ""
    ) -> tuple[DeviceState, ExchangeReport]:
        context = self._context
        state = settle_identity(self._store, folder, state, self._save, removing)
        self._save(state)
        if not peers.is_known(self._store.db, state.device, state.name):
            fact = DeviceJoined(device=state.device, name=state.name, secret=self._store.secret.hex())
            context.record([context.factory.event(fact, Scope.USER, "")])
        state, report = exchange(
            self._store, folder, state, now=context.now, save=self._save, progress=progress, removing=removing,
            follow=partial(sweep.follow_erasure, self._store, context.factory, home=context.home),
            clean=partial(sweep.clean_backups, self._store, context.factory),
        )  # fmt: skip
        self._save(state)
        return state, report

    def _finish(self, state: DeviceState, report: ExchangeReport) -> ExchangeReport:
        """Write into the receipts of erasures which machines have carried them out."""
        waiting: list[str] = []
        for batch in state.erasures:
            entries = sync_state.find_erasing_entries(self._store.db, batch)
            heads = {other.directory: other.head for other in report.others}
            places = [_describe_erasure(name, heads.get(place), entries) for place, name in state.names.items()]
            self._record_places(batch, [*_describe_location(state.location), *places])
            if any(place.state == "pending" for place in places):
                waiting.append(batch)
        if tuple(waiting) != state.erasures:
            self._save(replace(state, erasures=tuple(waiting)))
        return report

    def _record_places(self, batch: str, places: Sequence[ErasedLocation]) -> None:
        receipt = load_receipt(self._store.db, batch)
        names = {place.name for place in places}
        if receipt and not set(places) <= set(receipt.places):
            other_places = [place for place in receipt.places if place.name not in names]
            record_receipt(self._store, self._context.factory, replace(receipt, places=(*other_places, *places)))


def _choose(state: DeviceState, choices: Choices) -> DeviceState:
    """Change what travels; segments are then written again, and the others read them from their beginning."""
    if not state.segments or choices == state.choices:
        return replace(state, choices=choices)
    return replace(state, choices=choices, segments=(), generation=state.generation + 1)


def _describe_location(location: str) -> list[ErasedLocation]:
    place = ErasedLocation(name=location, state="done", detail="the files of this machine no longer contain it")
    remains = "deleted commits in reflogs, forks, clones and backups" if is_git_address(location) else "deleted files"
    host = ErasedLocation(
        name=f"host of {location}", state="outside", detail=f"may keep {remains} for a while; they are encrypted"
    )
    return [place, host]


def _describe_erasure(name: str, head: Head | None, entries: Iterable[tuple[str, int]]) -> ErasedLocation:
    """Return what became of an erasure on another machine, whose head may be unreadable for now."""
    # A machine says that it has read an erasure after it has carried it out and written its own files again.
    if head and all(head.read.get(chain, 0) >= seq for chain, seq in entries if chain != head.device):
        return ErasedLocation(name=f"machine {name}", state="done", detail="erased there, and from its files")
    last_seen = f"; last seen {format_minute(head.written_at)}" if head else ""
    return ErasedLocation(name=f"machine {name}", state="pending", detail=f"erased when it synchronises{last_seen}")


def _parse_repository(name: str) -> str:
    """Return the id of a repository, which may be given as the path of a working tree."""
    path = Path(name).expanduser()
    return identify(path).id if path.is_dir() else name


def _make_folder(path: Path) -> None:
    """Create the folder, but not the one it stands in, which may be a drive that is not connected."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise Unavailable(f"cannot create {path}: {error.strerror}; create it or connect the drive") from error
