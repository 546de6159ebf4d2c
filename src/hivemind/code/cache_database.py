"""SQLite files that are caches of a working tree: how to open one, create it anew, and write to it."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from hivemind.system import open_private

DAMAGE_ERRORS = (apsw.CorruptError, apsw.NotADBError)
"""Errors that SQLite raises for a damaged file."""

BUSY_TIMEOUT_MS = 5_000
"""How long a write waits for other processes."""


def connect(path: Path, schema: str, version: int, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> apsw.Connection:
    """Open a database; create it anew if it is missing or damaged."""
    with suppress(*DAMAGE_ERRORS):
        return _open(path, schema, version, busy_timeout_ms)
    remove(path)
    return _open(path, schema, version, busy_timeout_ms)


def remove(path: Path) -> None:
    """Delete a database with its journal files."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """Run the block in one transaction; roll back on any exception."""
    # IMMEDIATE waits for the write lock here; a later upgrade from reading could fail at once with "busy".
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:  # also KeyboardInterrupt: an open transaction would lock out other processes
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def get_fact(db: apsw.Connection, name: str) -> str:
    """Read a named value of the table of facts; empty if there is none."""
    return next((value for (value,) in db.execute("SELECT value FROM facts WHERE name = ?", (name,))), "")


def set_fact(db: apsw.Connection, name: str, value: str) -> None:
    """Store a named value."""
    db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def remove_kept_code(cache: Path, is_named: Callable[[str], object]) -> int:
    """Delete the code that indexes keep of anchors, if it matches, overwrite it, and return how many pieces it was."""
    return sweep(cache, "code-*.db", lambda path: _remove_code_from(path, is_named))


def sweep(cache: Path, pattern: str, remove_from: Callable[[Path], int]) -> int:
    """Remove texts from each database, and return how many; one that cannot be searched is deleted whole."""
    count = 0
    for path in sorted(cache.glob(pattern)):
        try:
            count += remove_from(path)
        except (apsw.Error, TypeError, ValueError):
            # Damaged, kept busy, or of another version. Nobody can say what is in it, and it is made again.
            remove(path)
    return count


def _remove_code_from(path: Path, is_named: Callable[[str], object]) -> int:
    with closing(apsw.Connection(str(path))) as db:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.execute("PRAGMA secure_delete = ON")
        ids = [(row_id,) for row_id, code in db.execute("SELECT id, code FROM kept_code") if is_named(code)]
        db.executemany("DELETE FROM kept_code WHERE id = ?", ids)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(ids)


def _open(path: Path, schema: str, version: int, busy_timeout_ms: int) -> apsw.Connection:
    # SQLite gives the mode of the file to those beside it, too.
    if not path.exists():
        open(path, "ab", opener=open_private).close()
    db = apsw.Connection(str(path))
    db.set_busy_timeout(busy_timeout_ms)
    db.execute("PRAGMA journal_mode = WAL")  # several agents read while one process indexes
    db.execute("PRAGMA synchronous = OFF")  # a power cut may damage the index, which is then rebuilt
    if db.pragma("user_version") == 0:
        with transaction(db):
            # Another process may have created the tables while this one waited for the lock.
            if db.pragma("user_version") == 0:
                db.execute(f"{schema} PRAGMA user_version = {version}")
    return db
