"""Updates the projections with new events, rebuilds them, and stores bookmarks of slower readers of the log."""

from collections.abc import Callable, Iterable
from types import ModuleType

from hivemind.model.events import Event
from hivemind.store import log
from hivemind.store.database import Database
from hivemind.store.projections import (
    memories,
    peers,
    receipts,
    repositories,
    session_passages,
    sessions,
    tombstones,
    vectors,
    words,
)

PROJECTIONS: tuple[ModuleType, ...] = (
    memories, tombstones, receipts, sessions, session_passages, repositories, peers,
)  # fmt: skip
OWNERS: tuple[ModuleType, ...] = (*PROJECTIONS, words, vectors)
"""Modules that own tables. Memories update the word index themselves, and a follower adds the vectors."""

VERSION = 11
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


def apply(db: Database, events: Iterable[tuple[int, Event]]) -> None:
    """Update the projections with events that were just appended."""
    for position, event in events:
        for projection in PROJECTIONS:
            projection.apply(db, event)
        # Content that arrives late has an old position; the bookmark never goes back.
        db.execute("UPDATE bookmarks SET position = ? WHERE reader = ? AND position < ?", position, READER, position)


def rebuild(db: Database, progress: Callable[[int, int], None] = lambda position, last: None) -> None:
    """Empty every derived table and fill it again from the log."""
    with db.transaction():
        create_tables(db)
        replay(db, 0, progress)


def replay(db: Database, position: int, progress: Callable[[int, int], None]) -> int:
    """Update the projections with the events after a position, page by page; return the last position."""
    last = log.last_position(db)
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
    db.execute("INSERT INTO bookmarks VALUES (?, ?, ?)", reader, position, version)
