"""The SQLite file of a code index: its schema, and how to open, replace and write it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from hivemind.system import open_private

DAMAGE_ERRORS = (apsw.CorruptError, apsw.NotADBError)
"""Errors that SQLite raises for a damaged file."""

BUSY_TIMEOUT_MS = 5_000
"""How long a write waits for other processes."""

BULK_CACHE_KB = 32_000
"""Memory for pages while a tree is indexed; rows sorted by names and hashes are inserted all over the file."""

BULK_JOURNAL_PAGES = 8_000
"""Length of the journal at which it is copied into the file meanwhile; a page that changes often is copied once."""

VERSION = 7
"""Part of the file's name; raise it with every change of the schema or of what is stored."""

_SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE,
    stem TEXT NOT NULL, -- its name without suffixes, folded
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    seen_ns INTEGER NOT NULL -- when the file was read
) STRICT;
CREATE INDEX files_by_stem ON files (stem);
CREATE TABLE symbols (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, qualified TEXT NOT NULL,
    ordinal INTEGER NOT NULL, line INTEGER NOT NULL, end_line INTEGER NOT NULL, signature TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, fingerprint TEXT NOT NULL
) STRICT;
CREATE INDEX symbols_by_file ON symbols (file);
CREATE INDEX symbols_by_name ON symbols (name);
CREATE TABLE triples ( -- the smallest hashes of a body's sketch, to find the body elsewhere
    triple INTEGER, symbol INTEGER, PRIMARY KEY (triple, symbol)
) STRICT, WITHOUT ROWID;
CREATE TABLE names (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE mentions ( -- a symbol calls or inherits something of this name
    name INTEGER, symbol INTEGER,
    qualifier TEXT, -- the word before its dot; empty for a plain name
    PRIMARY KEY (name, symbol, qualifier)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_by_symbol ON mentions (symbol);
CREATE TABLE imports ( -- the words of what a file imports, folded
    word TEXT, file INTEGER, PRIMARY KEY (word, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX imports_by_file ON imports (file);
CREATE TABLE together ( -- files changed by the same commits; each pair is stored once
    file INTEGER, other INTEGER, weight REAL NOT NULL, PRIMARY KEY (file, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX together_by_other ON together (other);
CREATE VIRTUAL TABLE contents USING fts5 ( -- the words of a file; the row id is that of the file
    path, names, body, content = '', contentless_delete = 1, tokenize = 'porter ascii'
);
CREATE TRIGGER symbol_gone AFTER DELETE ON symbols BEGIN DELETE FROM mentions WHERE symbol = old.id; END;
CREATE TRIGGER file_gone AFTER DELETE ON files BEGIN
    DELETE FROM together WHERE file = old.id OR other = old.id;
END;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


def connect(path: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> apsw.Connection:
    """Open the database; create it anew if it is missing or damaged."""
    with suppress(*DAMAGE_ERRORS):
        return _open(path, busy_timeout_ms)
    remove(path)
    return _open(path, busy_timeout_ms)


def remove(path: Path) -> None:
    """Delete the database with its journal files."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def select(db: apsw.Connection, query: str, *values: str | int) -> Iterator[Any]:
    """Run a query and iterate over its rows; the caller knows their types."""
    return iter(db.execute(query, values))


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


@contextmanager
def bulk_writes(db: apsw.Connection) -> Iterator[None]:
    """Use more memory and a longer journal in the block, so that pages are read and written less often."""
    settings = {"cache_size": -BULK_CACHE_KB, "wal_autocheckpoint": BULK_JOURNAL_PAGES}
    earlier = {name: db.pragma(name) for name in settings}
    for name, value in settings.items():
        db.pragma(name, value)
    try:
        yield
    finally:
        for name, value in earlier.items():
            db.pragma(name, value)
        db.pragma("shrink_memory")


def _open(path: Path, busy_timeout_ms: int) -> apsw.Connection:
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
                db.execute(f"{_SCHEMA} PRAGMA user_version = {VERSION}")
    return db
