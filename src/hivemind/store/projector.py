"""Updates the projections with new events, rebuilds them, and stores bookmarks of slower readers of the log."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType

from hivemind.model.events import Event
from hivemind.store import log
from hivemind.store.database import Database, Row
from hivemind.store.projections import (
    digests,
    guards,
    memories,
    outcomes,
    peers,
    receipts,
    repositories,
    session_passages,
    sessions,
    tombstones,
    vectors,
    words,
)
from hivemind.store.sqlite import Sqlite

PROJECTIONS: tuple[ModuleType, ...] = (
    memories, guards, tombstones, receipts, digests, outcomes, sessions, session_passages, repositories, peers,
)  # fmt: skip
"""Digests and outcomes before sessions: an erasure asks the table of observations which sessions it concerns."""
TEAM_PROJECTIONS: tuple[ModuleType, ...] = (memories, tombstones, receipts, sessions, repositories)
"""What a hub needs: nothing of a person's own arrives there, and it passes guards on without using them."""
OWNERS: tuple[ModuleType, ...] = (*PROJECTIONS, words, vectors)
"""Modules that own tables. Memories update the word index themselves, and a follower adds the vectors."""

VERSION = 13
"""Raised whenever a projection changes its schema or meaning; an older store is then rebuilt."""

SCHEMA = """
CREATE TABLE bookmarks (
    reader TEXT PRIMARY KEY,
    position INTEGER NOT NULL,    -- of the last event it has taken in
    version INTEGER NOT NULL
) STRICT;
"""
READER = "projections"
PAGE = 1_000
CREATED_NAME = re.compile(r"\b(CREATE (?:VIRTUAL )?(?:TABLE|INDEX)) (\w+)")
OPTION = re.compile(r"\bINSERT INTO [^;]*;")
"""Sets an option of a word index."""
CACHE_KB = 32_000
"""Memory for the temporary tables; the rest of them is in a file without a name, which SQLite deletes."""


def apply(db: Database, events: Iterable[tuple[int, Event]]) -> None:
    """Update the projections with events that were just appended."""
    page = list(events)
    if not page:
        return
    # Together, because each memory is folded from all its events in the log, and the statements for many cost as much
    # as those for one.
    memories.apply_all(db, [event for _, event in page])
    _, *others = PROJECTIONS if db.HAS_SESSIONS else TEAM_PROJECTIONS
    for _, event in page:
        for projection in others:
            projection.apply(db, event)
    # Content that arrives late has an old position; the bookmark never goes back.
    position = max(position for position, _ in page)
    db.execute("UPDATE bookmarks SET position = ? WHERE reader = ? AND position < ?", position, READER, position)


def rebuild(db: Database, progress: Callable[[int, int], None] = lambda position, last: None) -> None:
    """Empty every derived table and fill it again from the log."""
    with db.transaction():
        create_tables(db)
        replay(db, 0, progress)


def replay(db: Database, position: int, progress: Callable[[int, int], None]) -> int:
    """Update the projections with the events after a position, page by page; return the last position."""
    last = log.read_last_position(db)
    while page := log.read_events(db, position, PAGE):
        # One transaction a page, also where temporary tables stand before the derived ones.
        with db.reading():
            apply(db, page)
        position = page[-1][0]
        progress(position, max(last, position))
    return position


def create_tables(db: Database) -> None:
    """Create the derived tables empty, with nothing read yet."""
    # Tables that refer to others are dropped before them.
    tables = [table for owner in reversed(OWNERS) for table in owner.TABLES]
    db.empty(tables, "".join(owner.SCHEMA for owner in OWNERS))
    set_bookmark(db, READER, 0, VERSION)


def read_version(db: Database) -> int:
    """The projection version that built the tables."""
    return int(db.value("SELECT version FROM bookmarks WHERE reader = ?", READER) or 0)


def read_bookmark(db: Database, reader: str, version: int) -> int:
    """The last position a reader has read; 0 if its version changed, so that it starts again."""
    last_position = db.value("SELECT position FROM bookmarks WHERE reader = ? AND version = ?", reader, version)
    return int(last_position or 0)


def set_bookmark(db: Database, reader: str, position: int, version: int) -> None:
    """Set a reader's bookmark, inside the caller's transaction."""
    db.execute("DELETE FROM bookmarks WHERE reader = ?", reader)
    db.execute("INSERT INTO bookmarks (reader, position, version) VALUES (?, ?, ?)", reader, position, version)


def rebuild_beside(
    db: Sqlite, progress: Callable[[int, int], None] = lambda position, last: None, *, only_if_outdated: bool = False
) -> None:
    """Replace the derived tables by new ones from the log, while others read and write; no answer changes.

    Temporary tables of the same names stand before the derived ones on this connection, so that the projections fill
    them instead. At the end one transaction adds what was recorded meanwhile and replaces the tables, which takes a
    fraction of the time. ``hub/derived_data.py`` does the same in Postgres.
    """
    if only_if_outdated and read_version(db) == VERSION:
        return
    last = log.read_last_position(db)
    history = _read_history(db, last)
    with _shadow_tables(db):
        position = replay(db, 0, progress)
        with db.transaction():
            if _read_history(db, last) != history:
                # Rare: the log was replaced, or entries got or lost their content other than by an erasure.
                _create(db, "temp")
                position = 0
            replay(db, position, progress)
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
    for owner in OWNERS:
        statements = CREATED_NAME.sub(rf"\1 {schema}.\2", owner.SCHEMA)
        # In the file, options come with the rows. Setting them would make FTS5 read the index, and remember it empty.
        db.execute(OPTION.sub("", statements) if schema == "main" else statements)


def _drop(db: Sqlite, schema: str) -> None:
    # Tables that refer to others are dropped before them.
    for table in (table for owner in reversed(OWNERS) for table in owner.TABLES):
        db.execute(f"DROP TABLE IF EXISTS {schema}.{table}")


def _replace_tables(db: Sqlite) -> None:
    _create(db, "main")
    # With a root page: the tables that have rows, also those in which FTS5 keeps an index.
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_temp_master WHERE type = 'table' AND rootpage > 0")]
    for table in tables:
        if table != "bookmarks":
            db.execute(f"DELETE FROM main.{table}")
            db.execute(f"INSERT INTO main.{table} SELECT * FROM temp.{table}")
    db.execute("DELETE FROM main.bookmarks WHERE reader = ?", READER)
    last = log.read_last_position(db)
    db.execute("INSERT INTO main.bookmarks VALUES (?, ?, ?)", READER, last, VERSION)
