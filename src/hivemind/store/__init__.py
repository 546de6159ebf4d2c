"""WHERE everything is kept: one SQLite file with the log and what is derived from it.

``Store.record`` is the only way in.
"""

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

from hivemind.errors import StoreDamaged, StoreError, StoreTooNew
from hivemind.model import wire
from hivemind.model.erasure import Place
from hivemind.model.events import Event
from hivemind.model.scope import Scope
from hivemind.model.team import Membership
from hivemind.store import ballast, log, projector, shared
from hivemind.store.database import Database, Held
from hivemind.store.sqlite import Sqlite

FORMAT = 2
"""Of the log; raised only when an older program could no longer append to it."""

FILE, ID_FILE = "memory.db", "memory.id"

IDENTITY = """
CREATE TABLE identity (
    store TEXT NOT NULL,
    device TEXT NOT NULL,
    secret BLOB NOT NULL          -- keys the digests of values that stay out
) STRICT;
"""


class Store(Held):
    """An open store."""

    def __init__(self, db: Database, directory: Path | None, device: str, secret: bytes) -> None:
        self.db = db
        self.directory = directory
        """Where its files lie; a hub has none."""
        self.device = device
        self.secret = secret
        self._file = _inode(directory) if directory else 0

    @classmethod
    def open(cls, directory: Path) -> "Store":
        """Open the store in a directory, creating it on first use."""
        make(directory, "set HIVEMIND_HOME to another place")
        _refuse_a_lost_file(directory)
        db = _opened(directory)
        try:
            store_id, device, secret = _prepared(db)
            name_beside(directory, store_id)
        except BaseException:
            db.close()
            raise
        ballast.lay(directory)
        return cls(db, directory, device, secret)

    def record(self, events: Iterable[Event]) -> list[Event]:
        """Append what is new and let the projections take it in, in one transaction or not at all."""
        with self.db.transaction():
            self._look_again()
            added = log.append(self.db, self.device, events)
            projector.apply(self.db, added)
        return [event for _, event in added]

    def take_in(self, entries: Iterable[wire.Entry]) -> list[Event]:
        """Add what other devices wrote and let the projections take it in, in one transaction or not at all."""
        with self.db.transaction():
            self._look_again()
            added = log.take_in(self.db, entries)
            projector.apply(self.db, added)
        return [event for _, event in added]

    @property
    def chain(self) -> str:
        """The name of what this device shares; by it the hub knows the device."""
        return log.shared_chain(self.device)

    @property
    def membership(self) -> Membership | None:
        """The team this store belongs to; a hub belongs to none, it is one."""
        return shared.membership(self.db)

    def key_for(self, scope: Scope) -> bytes:
        """What the digests of values that stay out are keyed with: the team's own for what is the team's."""
        member = self.membership if scope is Scope.TEAM else None
        return member.key if member else self.secret

    def rebuild(self, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Derive everything from the log again; no answer changes."""
        projector.rebuild(self.db, progress)

    def fold_in_log(self) -> bool:
        """Move the write-ahead log into the file and empty it; false if another process still reads from it."""
        row = self.db.one("PRAGMA wal_checkpoint(TRUNCATE)")
        return row is not None and row[0] == 0

    def sweep(self, at: str) -> list[Place]:
        """Clear what an erasure left beyond tables and files, and say of each such place when it is gone."""
        return []

    @property
    def bytes(self) -> int:
        """How much room it takes."""
        return sum(file.stat().st_size for file in self.directory.glob(f"{FILE}*")) if self.directory else 0

    def close(self) -> None:
        """Give the file back."""
        self.db.close()

    def _look_again(self) -> None:
        """What happened to the store since it was opened: replaced, taken over by a newer program, or restored."""
        if self.directory is None:
            return
        if _inode(self.directory) != self._file:
            # What is written to a file that lost its name would be acknowledged and gone.
            raise StoreError(f"{self.directory / FILE} was replaced while it was open; open it again")
        if projector.version(self.db) > projector.VERSION:
            raise StoreTooNew("a newer hivemind has taken this store over; start this one again to go on with that")
        _, self.device, self.secret = identity(self.db)


def _prepared(db: Database) -> tuple[str, str, bytes]:
    """Tables as this program expects them, and who we are."""
    if db.value("PRAGMA user_version") == FORMAT and projector.version(db) == projector.VERSION:
        return identity(db)
    with db.transaction():
        found = int(db.value("PRAGMA user_version"))
        if found == 0:
            _create(db)
        derived_by = projector.version(db) if found <= FORMAT else 0
        if found > FORMAT or derived_by > projector.VERSION:
            raise StoreTooNew("a newer hivemind wrote this store; upgrade with 'pip install -U hivemind-memory'")
        if found == 1:
            db.execute(log.FROM_1 + log.TRAVEL + shared.SCHEMA)
            db.execute(f"PRAGMA user_version = {FORMAT}")
        if derived_by < projector.VERSION:
            projector.rebuild(db)
    return identity(db)


def _create(db: Database) -> None:
    db.execute(IDENTITY + log.SCHEMA + log.TRAVEL + shared.SCHEMA + projector.SCHEMA)
    who = (secrets.token_hex(16), secrets.token_hex(16), secrets.token_bytes(32))
    db.execute("INSERT INTO identity VALUES (?, ?, ?)", *who)
    projector.create_tables(db)
    db.execute(f"PRAGMA user_version = {FORMAT}")


def identity(db: Database) -> tuple[str, str, bytes]:
    """The store, the device that writes now, and the secret; a restore changes them under a store that is open."""
    row = db.one("SELECT store, device, secret FROM identity")
    if row is None:
        raise StoreDamaged("the store has lost its identity; run 'hivemind repair' or restore a backup")
    return row[0], row[1], row[2]


def identify(db: Database, store: str, secret: bytes) -> str:
    """Let what follows be written as a store's new device: numbers of an old one are never used twice.

    A team knows devices by their chains, so the new one has to join again.
    """
    device = secrets.token_hex(16)
    db.execute("UPDATE identity SET store = ?, device = ?, secret = ?", store, device, secret)
    shared.leave(db)
    return device


def _opened(directory: Path) -> Sqlite:
    try:
        return Sqlite.open(directory / FILE)
    except StoreError:
        # Without room not even the shared index of a reader can be made.
        if not ballast.is_needed(directory) or not ballast.release(directory, ballast.TO_OPEN):
            raise
        return Sqlite.open(directory / FILE)


def _inode(directory: Path) -> int:
    try:
        return (directory / FILE).stat().st_ino
    except FileNotFoundError:
        return 0


def make(folder: Path, remedy: str) -> None:
    """Have a folder that only its owner can look into."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}; {remedy}") from error


def _refuse_a_lost_file(directory: Path) -> None:
    """An empty store must never take the place of a lost one in silence."""
    file, beside = directory / FILE, directory / ID_FILE
    if beside.exists() and (not file.exists() or file.stat().st_size == 0):
        raise StoreDamaged(
            f"{file} is {'empty' if file.exists() else 'missing'}, but {beside.name} says there was a store here;"
            f" restore it with 'hivemind backup restore', or remove {beside} to start a new one"
        )


def name_beside(directory: Path, store_id: str) -> None:
    """Write the store's name beside it, so that a lost or exchanged file is noticed."""
    beside = directory / ID_FILE
    if not beside.exists():
        fresh = directory / f"{ID_FILE}.{secrets.token_hex(4)}"
        fresh.write_text(store_id + "\n")
        fresh.replace(beside)
    elif beside.read_text().strip() != store_id:
        raise StoreDamaged(
            f"{directory / FILE} is not the store that {beside.name} names; put the right file back,"
            f" or remove {beside} to accept this one"
        )
