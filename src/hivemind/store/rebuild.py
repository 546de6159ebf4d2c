"""Rebuild the derived tables beside the old ones, while others read and write.

Temporary tables of the same names stand before the derived ones on this connection, so that the projections fill them
instead. At the end one transaction adds what was recorded meanwhile and replaces the tables, which takes a fraction of
the time. ``hub/rebuild.py`` does the same in Postgres.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hivemind.store import log, projector
from hivemind.store.database import Row
from hivemind.store.sqlite import Sqlite

CREATED_NAME = re.compile(r"\b(CREATE (?:VIRTUAL )?(?:TABLE|INDEX)) (\w+)")
OPTION = re.compile(r"\bINSERT INTO [^;]*;")
"""Sets an option of a word index."""
CACHE_KB = 32_000
"""Memory for the temporary tables; the rest of them is in a file without a name, which SQLite deletes."""


def rebuild_beside(
    db: Sqlite, progress: Callable[[int, int], None] = lambda position, last: None, *, only_if_outdated: bool = False
) -> None:
    """Replace the derived tables by new ones from the log; no answer changes."""
    if only_if_outdated and projector.read_version(db) == projector.VERSION:
        return
    last = log.last_position(db)
    history = _read_history(db, last)
    with _shadow_tables(db):
        position = projector.replay(db, 0, progress)
        with db.transaction():
            if _read_history(db, last) != history:
                # Rare: the log was replaced, or entries got or lost their content other than by an erasure.
                _create(db, "temp")
                position = 0
            projector.replay(db, position, progress)
            _replace_tables(db)


def _read_history(db: Sqlite, last: int) -> list[Row]:
    """Read what says whether entries up to a position still mean the same."""
    return [
        *db.execute("SELECT store, device, secret FROM identity"),
        *db.execute(
            "SELECT id, person FROM devices WHERE key IN (SELECT device FROM events WHERE position <= ?)", last
        ),
        *db.execute("SELECT position FROM absent WHERE position <= ? ORDER BY position", last),
    ]


@contextmanager
def _shadow_tables(db: Sqlite) -> Iterator[None]:
    """Let temporary tables stand before the derived ones in the block."""
    db.execute(f"PRAGMA temp.cache_size = -{CACHE_KB}")
    # Without it the first event would take the write lock until the end.
    db.execute("CREATE TEMP TABLE bookmarks AS SELECT * FROM main.bookmarks")
    try:
        _create(db, "temp")
        yield
    finally:
        _drop(db, "temp")
        db.execute("DROP TABLE temp.bookmarks")


def _create(db: Sqlite, schema: str) -> None:
    """Create the derived tables empty, in the file or beside it."""
    _drop(db, schema)
    for owner in projector.OWNERS:
        statements = CREATED_NAME.sub(rf"\1 {schema}.\2", owner.SCHEMA)
        # In the file, options come with the rows. Setting them would make FTS5 read the index, and remember it empty.
        db.execute(OPTION.sub("", statements) if schema == "main" else statements)


def _drop(db: Sqlite, schema: str) -> None:
    # Tables that refer to others are dropped before them.
    for table in (table for owner in reversed(projector.OWNERS) for table in owner.TABLES):
        db.execute(f"DROP TABLE IF EXISTS {schema}.{table}")


def _replace_tables(db: Sqlite) -> None:
    _create(db, "main")
    # With a root page: the tables that have rows, also those in which FTS5 keeps an index.
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_temp_master WHERE type = 'table' AND rootpage > 0")]
    for table in tables:
        if table != "bookmarks":
            db.execute(f"DELETE FROM main.{table}")
            db.execute(f"INSERT INTO main.{table} SELECT * FROM temp.{table}")
    db.execute("DELETE FROM main.bookmarks WHERE reader = ?", projector.READER)
    last = log.last_position(db)
    db.execute("INSERT INTO main.bookmarks VALUES (?, ?, ?)", projector.READER, last, projector.VERSION)
