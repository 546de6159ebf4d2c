"""Opens the store and writes to it; ``Store.record`` is the only way to write."""

import errno
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from hivemind.errors import StoreBusy, StoreDamaged, StoreError, StoreOutdated, StoreTooNew
from hivemind.model import wire
from hivemind.model.erasure import ErasedLocation
from hivemind.model.events import EntriesRefused, Event, MemoryFact
from hivemind.model.ids import Timestamp
from hivemind.model.scope import Scope
from hivemind.model.team import Membership
from hivemind.store import chains, disk_space, log, projector, sync_state
from hivemind.store.database import Closeable, Database
from hivemind.store.exclusion import ExclusionGate
from hivemind.store.projections import peers, tombstones
from hivemind.store.sqlite import LOCK_TIMEOUT_SECONDS, Sqlite
from hivemind.system import FileLock, replace_file
from hivemind.text import cues

FORMAT = 2
"""Version of the log's format; raised only when an older program could no longer append to it."""

HIGHEST_FORMAT = 1000
"""No program will ever write a higher one, so that a higher one is damage."""
FILE, ID_FILE = "memory.db", "memory.id"
REBUILD_LOCK = "rebuild.lock"
STORE_ID = re.compile(rb"[0-9a-f]{32}")
SHORT_TIMEOUT_SECONDS = 5
"""How long those wait for a reader who try again later."""
HURRY_SECONDS = 0.25
"""How long a hook waits for all locks together; an agent waits for the hook."""

IDENTITY = """
CREATE TABLE identity (
    store TEXT NOT NULL,
    device TEXT NOT NULL,
    secret BLOB NOT NULL          -- key for the digests of rejected and erased values
) STRICT;
"""


class Store(Closeable):
    """An open store."""

    def __init__(self, db: Database, directory: Path | None, device: str, secret: bytes) -> None:
        self.db = db
        self.directory = directory
        """The folder of its files; None on a hub."""
        self.device = device
        self.secret = secret
        self.has_new_memories = False
        """Whether memories were changed through this object."""
        self._file = _read_inode(directory) if directory else 0
        self._gate: ExclusionGate | None = None
        self._gate_at = "", 0
        """The device and the position of the log for which the gate was loaded."""

    @classmethod
    def open(cls, directory: Path, *, is_hurried: bool = False) -> "Store":
        """Open the store in a directory, creating it on first use; only for reading if the disk is read-only.

        In a hurry, it hardly waits for locks and raises ``StoreOutdated`` rather than build its tables anew.
        """
        make_private_folder(directory, "set HIVEMIND_HOME to another place")
        try:
            _refuse_missing_file(directory)
            db = _open_database(directory, HURRY_SECONDS if is_hurried else None)
            try:
                store_id, device, secret = _prepare(db, directory, may_rebuild=not is_hurried)
                if db.is_writable:
                    write_id_file(directory, store_id)
                    # At every opening, because an erasure on a full disk may have used it up.
                    disk_space.reserve(directory)
            except BaseException:
                db.close()
                raise
        except OSError as error:
            raise StoreError(f"cannot use {error.filename or directory}: {error.strerror}; move it away") from error
        return cls(db, directory, device, secret)

    def record(self, events: Iterable[Event]) -> list[Event]:
        """Append the events that are new and update the projections, all in one transaction."""
        return self._write(lambda: log.append(self.db, self.device, map(self.load_gate().admit, events)))

    def record_receipt(self, event: Event) -> None:
        """Record what was shown to somebody; a hub may do so a moment later."""
        self.record([event])

    def append_received(self, entries: Iterable[wire.WireEntry], *, is_shared: bool = True) -> list[Event]:
        """Append entries that other devices wrote and update the projections, all in one transaction.

        ``is_shared`` says whether they come from a team, not from another machine of the same person.
        """
        return self._write(lambda: chains.append_received(self.db, entries, is_shared=is_shared))

    def _write(self, append: Callable[[], list[tuple[int, Event]]]) -> list[Event]:
        with self.db.transaction():
            self._recheck()
            added = append()
            projector.apply(self.db, added)
        events = [event for _, event in added]
        # Receipts and observations, which hooks record all the time, change no memory.
        if any(isinstance(event.fact, MemoryFact | EntriesRefused) for event in events):
            self.has_new_memories = True
            self.discard_cues()
        return events

    def load_gate(self) -> ExclusionGate:
        """Load what keeps erased and rejected texts out of the log."""
        gate, (device, last) = self._gate, self._gate_at
        position = log.read_last_position(self.db)
        is_same = gate and device == self.device and last <= position
        if not is_same or log.has_facts_after(self.db, last, tombstones.DECIDING_FACTS):
            gate = None
        self._gate_at = self.device, position
        if gate is None or not (gate.is_empty or gate.has_keys(self._list_known_keys())):
            self._gate = gate = ExclusionGate(self.db, self._list_known_keys())
        return gate

    def load_own_gate(self) -> ExclusionGate:
        """Load what this person's own verdicts keep out; a hub applies the team's verdicts itself."""
        return ExclusionGate(self.db, dict.fromkeys((Scope.USER, Scope.PROJECT), self.list_keys_for(Scope.USER)))

    def _list_known_keys(self) -> dict[Scope, tuple[bytes, ...]]:
        own_keys = self.list_keys_for(Scope.USER)
        return {Scope.USER: own_keys, Scope.PROJECT: own_keys, Scope.TEAM: self.list_keys_for(Scope.TEAM)}

    @property
    def chain(self) -> str:
        """The id of this device's shared chain, by which the hub recognises the device."""
        return log.derive_shared_chain(self.device)

    @property
    def membership(self) -> Membership | None:
        """The team this store belongs to; None on a hub, which is the team."""
        return sync_state.read_membership(self.db)

    def get_key_for(self, scope: Scope) -> bytes:
        """The key for digests of rejected and erased values: the team's key for team scope, else the store's secret."""
        member = self.membership if scope is Scope.TEAM else None
        return member.key if member else self.secret

    def list_keys_for(self, scope: Scope) -> tuple[bytes, ...]:
        """Every key with which digests of this scope may have been made: this store's, and the person's machines'."""
        own = self.get_key_for(scope)
        return (own,) if scope is Scope.TEAM else tuple(dict.fromkeys((own, *peers.list_secrets(self.db))))

    def separate_from_copy(self, last_common: int, *, is_shared: bool = False) -> str:
        """Give this store a new device id, because a copy of it is in use; entries after the common ones move to it.

        ``is_shared`` says whether the copy was noticed by the chain that a team shares, not by the person's own.
        """
        try:
            with self.db.transaction():
                store_id, device, secret = read_identity(self.db)
                old_and_new = device, assign_new_device(self.db, store_id, secret)
                chain, new_chain = map(log.derive_shared_chain, old_and_new) if is_shared else old_and_new
                chains.move_tail(self.db, chain, new_chain, last_common, is_shared=is_shared)
        finally:
            # Read again, because the transaction may have failed, and this object may be used further.
            _, self.device, _ = read_identity(self.db)
        return self.device

    def rebuild(self, progress: Callable[[int, int], None] = lambda position, last: None) -> None:
        """Rebuild every derived table from the log; no answer changes."""
        if isinstance(self.db, Sqlite):
            projector.rebuild_beside(self.db, progress)
        else:
            projector.rebuild(self.db, progress)
        self.discard_cues()

    def discard_cues(self) -> None:
        """Delete the cue files, which hooks write again; see ``text/cues.py``."""
        if self.directory:
            cues.discard_files(str(self.directory))

    def checkpoint(self) -> bool:
        """Truncate the write-ahead log, in which erased content stands until then; false if somebody reads from it."""
        assert isinstance(self.db, Sqlite)
        return self.db.checkpoint(LOCK_TIMEOUT_SECONDS)

    def try_checkpoint(self) -> bool:
        """Do the same, but do not wait long for a reader; for those who try again later."""
        assert isinstance(self.db, Sqlite)
        return self.db.checkpoint(SHORT_TIMEOUT_SECONDS)

    def clear_residue(self, at: Timestamp) -> list[ErasedLocation]:
        """Places outside this store that may still hold erased content, with their state; a local store has none."""
        return []

    def check_locations(self, batch: str) -> list[ErasedLocation]:
        """What became of such places since an erasure; a local store has none."""
        return []

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(file.stat().st_size for file in self.directory.glob(f"{FILE}*")) if self.directory else 0

    def close(self) -> None:
        """Close the file."""
        # Once more, because inside a longer transaction a hook could still read the old memories.
        if self.has_new_memories:
            self.discard_cues()
        self.db.close()

    def _recheck(self) -> None:
        """Fail if the file was replaced or upgraded since it was opened; take over the identity after a restore."""
        if self.directory is None:
            return
        if _read_inode(self.directory) != self._file:
            # Writes to an unlinked file would be acknowledged and then lost.
            raise StoreError(f"{self.directory / FILE} was replaced while it was open; open it again")
        if projector.read_version(self.db) > projector.VERSION:
            raise StoreTooNew("a newer hivemind has upgraded this store; restart this program to use the new version")
        # A restore gives the store a new device while others have it open.
        _, self.device, self.secret = read_identity(self.db)


def _prepare(db: Sqlite, directory: Path, *, may_rebuild: bool) -> tuple[str, str, bytes]:
    """Create, upgrade or rebuild the tables as needed; return store id, device id and secret."""
    # The usual case, without waiting for the write lock.
    if db.value("PRAGMA user_version") == FORMAT and projector.read_version(db) == projector.VERSION:
        return read_identity(db)
    with db.transaction():
        # Read again under the lock: another process may have upgraded the store in between.
        format_version = int(db.value("PRAGMA user_version"))
        if not 0 <= format_version <= HIGHEST_FORMAT:
            raise StoreDamaged("the store is damaged: its header is wrong; run 'hivemind repair'")
        if format_version == 0:
            create_tables(db)
        # Tables of an unknown format are not read; they may not even have a version.
        derived_by = projector.read_version(db) if format_version <= FORMAT else 0
        if format_version > FORMAT or derived_by > projector.VERSION:
            raise StoreTooNew(
                "a newer hivemind wrote this store; upgrade with 'pip install -U hivemind-memory'. If you have the"
                " newest, the file is damaged: restore a backup with 'hivemind backup restore'"
            )
        if derived_by < projector.VERSION:
            if not may_rebuild:
                raise StoreOutdated("an older hivemind wrote this store; 'hivemind status' upgrades it")
            sync_state.upgrade(db)
    if derived_by < projector.VERSION:
        try:
            # In one process at a time; the others wait for it.
            with FileLock(str(directory / REBUILD_LOCK), timeout_seconds=LOCK_TIMEOUT_SECONDS):
                projector.rebuild_beside(db, only_if_outdated=True)
        except BlockingIOError as error:
            raise StoreBusy("another process is upgrading the store; try again in a moment") from error
    return read_identity(db)


def create_tables(db: Database) -> None:
    """Create all tables of a new store, with a new identity."""
    db.execute(IDENTITY + log.SCHEMA + sync_state.SCHEMA + projector.SCHEMA)
    identity = (os.urandom(16).hex(), os.urandom(16).hex(), os.urandom(32))
    db.execute("INSERT INTO identity VALUES (?, ?, ?)", *identity)
    projector.create_tables(db)
    db.execute(f"PRAGMA user_version = {FORMAT}")


def read_identity(db: Database) -> tuple[str, str, bytes]:
    """The store id, device id and secret; a restore can change them while the store is open."""
    row = db.one("SELECT store, device, secret FROM identity")
    if row is None:
        raise StoreDamaged("the store has lost its identity; run 'hivemind repair' or restore a backup")
    return row[0], row[1], row[2]


def assign_new_device(db: Database, store: str, secret: bytes) -> str:
    """Give the store a new device id, so that sequence numbers of the old one are never used twice."""
    device = os.urandom(16).hex()
    db.execute("UPDATE identity SET store = ?, device = ?, secret = ?", store, device, secret)
    return device


def _open_database(directory: Path, patience_seconds: float | None) -> Sqlite:
    try:
        return Sqlite.open(directory / FILE, patience_seconds)
    except (StoreBusy, StoreDamaged):
        raise
    except StoreError:
        # On a full disk not even the shared-memory file that readers need can be created.
        if disk_space.is_disk_full(directory) and disk_space.release(directory, disk_space.BYTES_TO_OPEN):
            return Sqlite.open(directory / FILE, patience_seconds)
        if frozen_db := Sqlite.open_frozen(directory / FILE):
            return frozen_db
        raise


def _read_inode(directory: Path) -> int:
    try:
        return (directory / FILE).stat().st_ino
    except FileNotFoundError:
        return 0


def make_private_folder(folder: Path, remedy: str) -> None:
    """Create a folder that only its owner can read."""
    try:
        # One by one, because the mode of ``mkdir`` does not hold for parents that it creates.
        for parent in (*reversed(folder.parents), folder):
            if not parent.exists():
                parent.mkdir(exist_ok=True, mode=0o700)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    except OSError as error:
        raise StoreError(f"cannot create {folder}: {error.strerror}; {remedy}") from error


def _refuse_missing_file(directory: Path) -> None:
    """Fail if the database file is missing or empty, rather than silently start a new store."""
    file, id_file = directory / FILE, directory / ID_FILE
    if id_file.exists() and (not file.exists() or file.stat().st_size == 0):
        raise StoreDamaged(
            f"{file} is {'empty' if file.exists() else 'missing'}, but {id_file.name} says there was a store here;"
            f" restore it with 'hivemind backup restore', or remove {id_file} to start a new one"
        )


def read_id_file(directory: Path) -> str:
    """The id in the file beside the store; a new one if it has none that can be read."""
    content = (directory / ID_FILE).read_bytes() if (directory / ID_FILE).is_file() else b""
    return content.decode().strip() if STORE_ID.fullmatch(content.strip()) else os.urandom(16).hex()


def is_id_file_of(directory: Path, store_id: str, *, allow_damage: bool = False) -> bool:
    """Whether the file beside the store names it, or did before it was damaged."""
    id_file, expected = directory / ID_FILE, store_id.encode()
    # Whoever reads from a pipe waits for a writer.
    content = id_file.read_bytes().strip() if id_file.is_file() else b""
    if content == expected:
        return True
    # Two ids that differ in a single byte are one id, damaged; what is not an id at all is damaged, too.
    differing_count = sum(byte != expected_byte for byte, expected_byte in zip(content, expected, strict=False))
    return allow_damage and (differing_count <= 1 or not STORE_ID.fullmatch(content))


def write_id_file(directory: Path, store_id: str) -> None:
    """Write the store's id to a file beside it, so that a missing or exchanged database is noticed."""
    id_file = directory / ID_FILE
    if not id_file.exists():
        replace_file(id_file, f"{store_id}\n".encode(), is_durable=True)
    elif not is_id_file_of(directory, store_id):
        if is_id_file_of(directory, store_id, allow_damage=True):
            raise StoreDamaged(f"{id_file} is damaged; run 'hivemind repair'")
        raise StoreDamaged(
            f"{directory / FILE} is not the store that {id_file.name} names; put the right file back,"
            f" or remove {id_file} to accept this one"
        )
