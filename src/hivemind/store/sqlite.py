"""One SQLite file, opened the one way that keeps its promises.

WAL lets readers go on while one process writes; IMMEDIATE lets writers queue instead of failing half way;
secure_delete overwrites what is deleted. Only this module opens connections, so none can forget one of them.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw

from hivemind.errors import StoreBusy, StoreDamaged, StoreError, StoreFull
from hivemind.store.database import Database, Row
from hivemind.store.search import Search

PATIENCE_SECONDS = 60
"""How long a writer waits for its turn."""
LONGEST_NAP, SHORTEST_NAP = 0.03, 0.005
"""Seconds between two attempts. SQLite's own wait asks ever more rarely: of 32 processes writing without a pause, one
had 810 turns in a minute and another had one. With shorter naps than these, asking costs more than writing."""


class Sqlite(Database):
    """An open connection to a file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.index = Search(self, self._stems)

    @classmethod
    def open(cls, path: Path) -> "Sqlite":
        """Open for reading and writing, creating the file if there is none."""
        with _translated(path):
            connection = apsw.Connection(str(path))
            _wait_for_others(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # Every commit reaches the disk before it is acknowledged: a memory once confirmed survives a power cut.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            # What a recall reads at ten thousand memories; by default most of it is read from the file each time.
            connection.execute("PRAGMA cache_size = -16000")
            _delete_for_real(connection)
        return cls(connection)

    @classmethod
    def open_for_reading(cls, path: Path, views: Iterable[str] = ()) -> "Sqlite":
        """Open so that the engine itself refuses every write; the views exist on this connection alone."""
        with _translated(path):
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            _wait_for_others(connection)
            for view in views:
                connection.execute(view)
            connection.execute("PRAGMA query_only = ON")
            _delete_for_real(connection)
        return cls(connection)

    def execute(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement and return its rows."""
        with _translated():
            return list(self.connection.execute(sql, _bindings(values)))

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """Rows one by one, for results that need not fit in memory."""
        with _translated():
            yield from self.connection.execute(sql, _bindings(values))

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""
        with _translated():
            self.connection.executemany(sql, rows)

    def _stems(self, words: Iterable[str]) -> list[str]:
        """Words as the full-text index keeps them; the word itself where it would be several."""
        tokenizer = self.connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
        cut = [(word, list(tokenizer(word.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None))) for word in words]
        return [str(tokens[0][-1]) if len(tokens) == 1 else word for word, tokens in cut]

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, and alone among writers; inside another one it is part of that."""
        return self._within("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[None]:
        """Several questions of one moment; nothing is written meanwhile."""
        return self._within("BEGIN")

    @contextmanager
    def _within(self, begin: str) -> Iterator[None]:
        if self.connection.in_transaction:
            yield
            return
        with _translated():
            self.connection.execute(begin)
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def empty(self, tables: Sequence[str], schema: str) -> None:
        """Have these tables with nothing in them, in the shape this program gives them."""
        for table in tables:
            self.execute(f"DROP TABLE IF EXISTS {table}")
        self.execute(schema)

    def copy_to(self, file: Path) -> None:
        """Write all that is committed into a new file, while others go on writing; free pages are left out."""
        with _translated(file):
            self.connection.execute("VACUUM INTO ?", (str(file),))

    def overwrite_with(self, other: "Sqlite") -> None:
        """Put another database in the place of this one, under the locks that everybody obeys."""
        with _translated(), self.connection.backup("main", other.connection, "main") as pages:
            while not pages.done:
                pages.step()

    def close(self) -> None:
        """Give the file back."""
        self.connection.close()


def _bindings(values: tuple[Any, ...]) -> Any:
    """By position, or by name from a single dict."""
    return values[0] if len(values) == 1 and isinstance(values[0], dict) else values


def _wait_for_others(connection: apsw.Connection) -> None:
    """Let whoever has waited longer ask more often; else, where many write, newcomers always come first."""
    until = 0.0

    def wait(times: int) -> bool:
        nonlocal until
        until = until if times else time.monotonic() + PATIENCE_SECONDS
        time.sleep(max(LONGEST_NAP / (1 + times / 10), SHORTEST_NAP))
        return time.monotonic() < until

    connection.set_busy_handler(wait)


def _delete_for_real(connection: apsw.Connection) -> None:
    """What is deleted is overwritten; a connection that cannot promise it is not used."""
    connection.execute("PRAGMA secure_delete = ON")
    if connection.pragma("secure_delete") != 1:
        raise StoreError("this SQLite cannot overwrite what it deletes; install the apsw wheel again")


@contextmanager
def _translated(path: Path | None = None) -> Iterator[None]:
    """SQLite's errors as ours, each with a remedy."""
    try:
        yield
    except apsw.BusyError as error:
        raise StoreBusy(f"other processes kept the store busy for {PATIENCE_SECONDS} s; try again") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        # Our own statements are sound: a table or column they miss is one the file has lost.
        if isinstance(error, apsw.SQLError) and "no such" not in str(error):
            raise
        where = f" ({path})" if path else ""
        raise StoreDamaged(f"the store{where} is damaged: {error}; run 'hivemind doctor'") from error
    except apsw.FullError as error:
        raise StoreFull(
            "the disk is full; free some space. What was stored is safe, and erasing still works"
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        where = f" at {path}" if path else ""
        remedy = "make its directory writable, or set HIVEMIND_HOME to another place"
        raise StoreError(f"cannot write to the store{where}; {remedy} ({error})") from error
    except apsw.IOError as error:
        raise StoreError(f"the disk failed: {error}; look at the disk, then run 'hivemind doctor'") from error
