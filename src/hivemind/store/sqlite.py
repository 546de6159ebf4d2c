"""SQLite connections with the settings that the store relies on.

WAL lets others read while one process writes; BEGIN IMMEDIATE makes writers queue instead of failing half way;
secure_delete overwrites deleted rows. Only this module opens connections, so none lacks one of these.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

import apsw

from hivemind.errors import StoreBusy, StoreClosed, StoreDamaged, StoreError, StoreFull, StoreReadOnly
from hivemind.store.database import TURN_SECONDS, Database, Row
from hivemind.store.search import SqliteSearch

LOCK_TIMEOUT_SECONDS = 60
"""How long a writer waits for the lock."""
MAX_RETRY_SECONDS, MIN_RETRY_SECONDS = 0.03, 0.005
"""Delay between two attempts to get the lock. SQLite's own busy timeout retries less and less often: of 32 processes
that wrote without a pause, one got the lock 810 times in a minute and another once. With shorter delays than these,
retrying costs more than writing."""
PAUSE_SECONDS = 0.04
"""How long a writer that held the lock for a whole turn stays away from it: longer than others wait between attempts,
so that those who wait get it before the next turn."""
USED_BY_ANOTHER_THREAD = "another thread is using this store; open one for each thread"
CHECKPOINT_SECONDS = 0.1
"""How long an attempt at a checkpoint waits for readers; it keeps all writers out meanwhile."""


class Sqlite(Database):
    """An open connection to a file."""

    # The table in which FTS5 keeps texts: reading them through the index takes twice as long.
    TEXTS = "(SELECT id AS rowid, c0 AS text, c2 AS context FROM words_content)"

    def __init__(self, connection: apsw.Connection, hook_file: Path | None = None) -> None:
        self.connection = connection
        self._hook_file = hook_file
        self.inode = _read_inode(hook_file) if hook_file else 0
        self._is_open = True
        self._thread_lock = RLock()
        self.index = SqliteSearch(self, self._stem)

    @classmethod
    def open(cls, path: Path, patience_seconds: float | None = None) -> "Sqlite":
        """Open for reading and writing, creating the file if there is none.

        With ``patience_seconds``, all locks that are needed until it is closed are waited for so long together.
        """
        is_hurried = patience_seconds is not None
        if is_hurried and (kept := KEPT.take(path)):
            _set_busy_handler(kept.connection, patience_seconds, is_total=True)
            kept._is_open = True
            return kept
        with raise_store_errors(path):
            _create_private_file(path)
            connection = apsw.Connection(str(path))
            _set_busy_handler(connection, patience_seconds, is_total=is_hurried)
            connection.execute("PRAGMA journal_mode = WAL")
            # Every commit reaches the disk before it is acknowledged, so that a confirmed memory survives a power cut.
            connection.execute("PRAGMA synchronous = FULL")
            # Off by default in SQLite.
            connection.execute("PRAGMA foreign_keys = ON")
            # 16 MB hold what a recall reads at 10,000 memories; with the default of 2 MB most is read again each time.
            connection.execute("PRAGMA cache_size = -16000")
            _delete_for_real(connection)
        if connection.readonly("main") and os.access(path, os.W_OK):
            connection.close()
            # The system lets us write, so it is the header that forbids it.
            raise StoreDamaged(f"the store ({path}) is damaged: its header is wrong; run 'hivemind doctor'")
        return cls(connection, path if is_hurried else None)

    @classmethod
    def open_for_reading(cls, path: Path, views: Iterable[str] = ()) -> "Sqlite":
        """Open read-only, enforced by SQLite; the views exist on this connection alone."""
        with raise_store_errors(path):
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            _set_busy_handler(connection)
            # Before query_only, which also forbids temporary views.
            for view in views:
                connection.execute(view)
            connection.execute("PRAGMA query_only = ON")
            _delete_for_real(connection)
        return cls(connection)

    @classmethod
    def open_frozen(cls, path: Path) -> "Sqlite | None":
        """Open a file that nobody can change, as on a read-only disk; None if its newest entries are in another file.

        SQLite cannot make the files there that it needs to share a database, and does without them.
        """
        write_ahead_log = path.with_name(f"{path.name}-wal")
        if not path.is_file() or (write_ahead_log.exists() and write_ahead_log.stat().st_size):
            return None
        with raise_store_errors(path):
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
            _delete_for_real(connection)
        return cls(connection)

    @property
    def is_writable(self) -> bool:
        """Whether anything can be written."""
        return not self.connection.readonly("main")

    def execute(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement and return its rows."""
        try:
            return list(self.connection.execute(sql, _convert_bindings(values)))
        except apsw.Error:
            # Not as a context manager around every statement: a write has about twenty.
            with raise_store_errors():
                raise

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """Yield rows one by one, for results that may not fit in memory."""
        with raise_store_errors():
            yield from self.connection.execute(sql, _convert_bindings(values))

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""
        with raise_store_errors():
            self.connection.executemany(sql, rows)

    def _stem(self, words: Iterable[str]) -> list[str]:
        """Stem words as the full-text index does; a word that the tokenizer splits is returned as it is."""
        # The tokenizer must be the one in the schema of the table words.
        with raise_store_errors():
            tokenizer = self.connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

        def stem(text: str) -> list[str]:
            return [str(token[-1]) for token in tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)]

        words = list(words)
        # One call for all words takes a tenth of the time, if it splits none of them.
        if all(map(str.isalnum, words)) and len(stems := stem(" ".join(words))) == len(words):
            return stems
        stems_by_word = [(word, stem(word)) for word in words]
        return [stems[0] if len(stems) == 1 else word for word, stems in stems_by_word]

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, with the write lock; nested transactions join the outer one."""
        return self._begin("BEGIN IMMEDIATE", is_writing=True)

    def reading(self) -> AbstractContextManager[None]:
        """Read several times from one snapshot."""
        return self._begin("BEGIN")

    @contextmanager
    def _begin(self, begin: str, *, is_writing: bool = False) -> Iterator[None]:
        # Another thread must not join the transaction: what it writes would be undone with what this one writes.
        if is_writing and not self._thread_lock.acquire(blocking=False):
            raise StoreBusy(USED_BY_ANOTHER_THREAD)
        try:
            with self._begin_in_thread(begin, is_writing=is_writing):
                yield
        finally:
            if is_writing:
                self._thread_lock.release()

    @contextmanager
    def _begin_in_thread(self, begin: str, *, is_writing: bool) -> Iterator[None]:
        with raise_store_errors():
            is_nested = self.connection.in_transaction
        if is_nested:
            yield
            return
        with raise_store_errors():
            self.connection.execute(begin)
            started_at = time.monotonic()
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back after some errors, such as a full disk.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
        # Whoever writes much writes again at once, and would win the lock nearly every time.
        if is_writing and time.monotonic() - started_at >= TURN_SECONDS:
            time.sleep(PAUSE_SECONDS)

    @contextmanager
    def waiting_at_most(self, seconds: float) -> Iterator[None]:
        """Wait no longer than this for each lock in the block."""
        # A hook's time is for all locks together.
        if self._hook_file:
            yield
            return
        with raise_store_errors():
            _set_busy_handler(self.connection, seconds)
        try:
            yield
        finally:
            _set_busy_handler(self.connection)

    def empty(self, tables: Sequence[str], schema: str) -> None:
        """Drop these tables and create them empty, in this program's schema."""
        for table in tables:
            self.execute(f"DROP TABLE IF EXISTS {table}")
        self.execute(schema)

    def copy_to(self, file: Path) -> None:
        """Write everything committed to a new file, without free pages; others can write meanwhile."""
        with raise_store_errors(file):
            _create_private_file(file)
            self.connection.execute("VACUUM INTO ?", (str(file),))

    def overwrite_with(self, other: "Sqlite") -> None:
        """Replace this database's content with another's, under SQLite's locks."""
        with raise_store_errors(), self.connection.backup("main", other.connection, "main") as pages:
            while not pages.done:
                pages.step()

    def checkpoint(self, timeout_seconds: float) -> bool:
        """Checkpoint and truncate the write-ahead log; false if another connection reads from it all the time."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            with self.waiting_at_most(min(CHECKPOINT_SECONDS, timeout_seconds)):
                row = self.one("PRAGMA wal_checkpoint(TRUNCATE)")
            is_done = row is not None and row[0] == 0
            if is_done or time.monotonic() >= deadline:
                return is_done
            time.sleep(PAUSE_SECONDS)

    def close(self) -> None:
        """Close the file, unless this process keeps it for its next answer to a hook."""
        # Closed twice, it may be somebody else's by now.
        if not self._is_open:
            return
        self._is_open = False
        is_usable = self.is_writable and not self.connection.in_transaction
        if not (is_usable and KEPT.leave(self._hook_file, self)):
            self.connection.close()


class KeptConnections:
    """Connections that a process keeps for its next answer to a hook: one for each file, and who takes it has it alone.

    Each answer opens the store anew. Parsing the schema, preparing sixty statements and, at the end, copying the
    write-ahead log took 3 to 4 of its 5 to 8 ms of CPU.
    """

    def __init__(self) -> None:
        self.is_on = False
        """Most processes open a store once and keep nothing."""
        self._connections: dict[Path, Sqlite] = {}

    def take(self, path: Path) -> Sqlite | None:
        """Return the connection to a file; none if another one is in its place."""
        db = self._connections.pop(path, None)
        if db and db.inode == _read_inode(path):
            return db
        if db:
            db.connection.close()
        return None

    def leave(self, path: Path | None, db: Sqlite) -> bool:
        """Keep a connection, unless there is one; false if it must be closed."""
        # In one step, because other threads leave theirs at the same time.
        return self.is_on and path is not None and self._connections.setdefault(path, db) is db

    def close(self) -> None:
        """Close all connections, and keep none any longer."""
        self.is_on = False
        while self._connections:
            self._connections.popitem()[1].connection.close()


KEPT = KeptConnections()


def _read_inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _create_private_file(path: Path) -> None:
    """Create an empty file that only its owner can read; SQLite gives its mode to the files beside it, too."""
    # What keeps us from creating it, SQLite reports when it opens it.
    with suppress(OSError):
        if str(path) != ":memory:":
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _convert_bindings(values: tuple[Any, ...]) -> Any:
    """Values by position, or by name if the only value is a dict."""
    return values[0] if len(values) == 1 and isinstance(values[0], dict) else values


def _set_busy_handler(
    connection: apsw.Connection, timeout_seconds: float | None = None, *, is_total: bool = False
) -> None:
    """Make those who wait long retry more often; otherwise newcomers win the lock whenever many write.

    ``is_total`` says that the time is for all locks together.
    """
    limit_seconds = LOCK_TIMEOUT_SECONDS if timeout_seconds is None else timeout_seconds
    left_seconds = limit_seconds

    def wait(attempts: int) -> bool:
        nonlocal left_seconds
        left_seconds = left_seconds if attempts or is_total else limit_seconds
        started_at = time.monotonic()
        if left_seconds > 0:
            time.sleep(max(MAX_RETRY_SECONDS / (1 + attempts / 10), MIN_RETRY_SECONDS))
        left_seconds -= time.monotonic() - started_at
        return left_seconds > 0

    connection.set_busy_handler(wait)


def _delete_for_real(connection: apsw.Connection) -> None:
    """Overwrite deleted rows, or fail where SQLite was built without that."""
    connection.execute("PRAGMA secure_delete = ON")
    if connection.pragma("secure_delete") != 1:
        raise StoreError("this SQLite cannot overwrite what it deletes; install the apsw wheel again")


@contextmanager
def raise_store_errors(path: Path | None = None) -> Iterator[None]:
    """Raise SQLite's errors as ours, each with a remedy."""
    try:
        yield
    except apsw.ConnectionClosedError as error:
        raise StoreClosed("the store is closed; open it again") from error
    except apsw.ThreadingViolationError as error:
        raise StoreBusy(USED_BY_ANOTHER_THREAD) from error
    except apsw.BusyError as error:
        raise StoreBusy(f"other processes locked the store for {LOCK_TIMEOUT_SECONDS} s; try again") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.FormatError, apsw.MismatchError) as error:
        # Our own statements are tested, so one that fails means that a table or column is missing or another.
        where = f" ({path})" if path else ""
        raise StoreDamaged(f"the store{where} is damaged: {error}; run 'hivemind doctor'") from error
    except apsw.FullError as error:
        raise StoreFull(
            "the disk is full; free some space. Stored memories are safe, and erasing still works"
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        where = f" at {path}" if path else ""
        if path and path.is_dir():
            raise StoreError(f"{path} is a folder; move it away, then run 'hivemind repair'") from error
        remedy = "make its directory writable, or set HIVEMIND_HOME to another place"
        shape = StoreReadOnly if isinstance(error, apsw.ReadOnlyError) else StoreError
        raise shape(f"cannot write to the store{where}; {remedy} ({error})") from error
    except apsw.IOError as error:
        raise StoreError(f"disk error: {error}; check the disk, then run 'hivemind doctor'") from error


def read_foreign_rows(path: Path, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table that another program owns, with those of the columns that it has;
    none if there is no such table.
    """
    with Sqlite.open_for_reading(path) as db:
        # Other programs add columns from version to version, so what is missing is left out.
        present = {row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", table)}
        names = [name for name in columns if name in present]
        if names:
            # The names come from our own lists, and a table's name cannot be bound.
            for row in db.stream(f'SELECT {", ".join(names)} FROM "{table}" ORDER BY rowid'):
                yield dict(zip(names, row, strict=True))
