"""SQLite connections with the settings that the store relies on.

WAL lets others read while one process writes; BEGIN IMMEDIATE makes writers queue instead of failing half way;
secure_delete overwrites deleted rows. Only this module opens connections, so none lacks one of these.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw

from hivemind.errors import StoreBusy, StoreClosed, StoreDamaged, StoreError, StoreFull
from hivemind.store.database import Database, Row
from hivemind.store.search import SqliteSearch

LOCK_TIMEOUT_SECONDS = 60
"""How long a writer waits for the lock."""
MAX_RETRY_SECONDS, MIN_RETRY_SECONDS = 0.03, 0.005
"""Delay between two attempts to get the lock. SQLite's own busy timeout retries less and less often: of 32 processes
that wrote without a pause, one got the lock 810 times in a minute and another once. With shorter delays than these,
retrying costs more than writing."""


class Sqlite(Database):
    """An open connection to a file."""

    # The table in which FTS5 keeps texts: reading them through the index takes twice as long.
    TEXTS = "(SELECT id AS rowid, c0 AS text, c2 AS context FROM words_content)"

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.index = SqliteSearch(self, self._stem)

    @classmethod
    def open(cls, path: Path) -> "Sqlite":
        """Open for reading and writing, creating the file if there is none."""
        with raise_store_errors(path):
            connection = apsw.Connection(str(path))
            _set_busy_handler(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # Every commit reaches the disk before it is acknowledged, so that a confirmed memory survives a power cut.
            connection.execute("PRAGMA synchronous = FULL")
            # Off by default in SQLite.
            connection.execute("PRAGMA foreign_keys = ON")
            # 16 MB hold what a recall reads at 10,000 memories; with the default of 2 MB most is read again each time.
            connection.execute("PRAGMA cache_size = -16000")
            _delete_for_real(connection)
        return cls(connection)

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

    def execute(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement and return its rows."""
        try:
            return list(self.connection.execute(sql, _bindings(values)))
        except apsw.Error:
            # Not as a context manager around every statement: a write has about twenty.
            with raise_store_errors():
                raise

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """Yield rows one by one, for results that may not fit in memory."""
        with raise_store_errors():
            yield from self.connection.execute(sql, _bindings(values))

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
        return self._begin("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[None]:
        """Read several times from one snapshot."""
        return self._begin("BEGIN")

    @contextmanager
    def _begin(self, begin: str) -> Iterator[None]:
        with raise_store_errors():
            is_nested = self.connection.in_transaction
        if is_nested:
            yield
            return
        with raise_store_errors():
            self.connection.execute(begin)
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back after some errors, such as a full disk.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def empty(self, tables: Sequence[str], schema: str) -> None:
        """Drop these tables and create them empty, in this program's schema."""
        for table in tables:
            self.execute(f"DROP TABLE IF EXISTS {table}")
        self.execute(schema)

    def copy_to(self, file: Path) -> None:
        """Write everything committed to a new file, without free pages; others can write meanwhile."""
        with raise_store_errors(file):
            self.connection.execute("VACUUM INTO ?", (str(file),))

    def overwrite_with(self, other: "Sqlite") -> None:
        """Replace this database's content with another's, under SQLite's locks."""
        with raise_store_errors(), self.connection.backup("main", other.connection, "main") as pages:
            while not pages.done:
                pages.step()

    def checkpoint(self, timeout_seconds: float) -> bool:
        """Checkpoint and truncate the write-ahead log; false if another connection reads from it all the time."""
        _set_busy_handler(self.connection, timeout_seconds)
        try:
            row = self.one("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            _set_busy_handler(self.connection)
        return row is not None and row[0] == 0

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


def _bindings(values: tuple[Any, ...]) -> Any:
    """Values by position, or by name if the only value is a dict."""
    return values[0] if len(values) == 1 and isinstance(values[0], dict) else values


def _set_busy_handler(connection: apsw.Connection, timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> None:
    """Make those who wait long retry more often; otherwise newcomers win the lock whenever many write."""
    deadline = 0.0

    def wait(attempts: int) -> bool:
        nonlocal deadline
        deadline = deadline if attempts else time.monotonic() + timeout_seconds
        time.sleep(max(MAX_RETRY_SECONDS / (1 + attempts / 10), MIN_RETRY_SECONDS))
        return time.monotonic() < deadline

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
        raise StoreBusy("another thread is using this store; open one for each thread") from error
    except apsw.BusyError as error:
        raise StoreBusy(f"other processes locked the store for {LOCK_TIMEOUT_SECONDS} s; try again") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        # Our own statements are tested, so a missing table or column means that the file is damaged.
        if isinstance(error, apsw.SQLError) and "no such" not in str(error):
            raise
        where = f" ({path})" if path else ""
        raise StoreDamaged(f"the store{where} is damaged: {error}; run 'hivemind doctor'") from error
    except apsw.FullError as error:
        raise StoreFull(
            "the disk is full; free some space. Stored memories are safe, and erasing still works"
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        where = f" at {path}" if path else ""
        remedy = "make its directory writable, or set HIVEMIND_HOME to another place"
        raise StoreError(f"cannot write to the store{where}; {remedy} ({error})") from error
    except apsw.IOError as error:
        raise StoreError(f"disk error: {error}; check the disk, then run 'hivemind doctor'") from error
