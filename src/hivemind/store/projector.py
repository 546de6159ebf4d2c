"""Keeps the projections up with the log, derives them again when asked, and notes how far slower readers have come."""

from collections.abc import Callable, Iterable
from types import ModuleType

from hivemind.model.events import Event
from hivemind.store import log
from hivemind.store.database import Database
from hivemind.store.projections import memories, receipts, repositories, sessions, tombstones, vectors, words

PROJECTIONS: tuple[ModuleType, ...] = (memories, tombstones, receipts, sessions, repositories)
OWNERS: tuple[ModuleType, ...] = (*PROJECTIONS, words, vectors)
"""Who owns tables; memories keep the index of their words, and a follower adds the vectors."""

VERSION = 7
"""Raised whenever a projection changes shape or meaning; an older store then derives its tables again."""

SCHEMA = """
CREATE TABLE bookmarks (
    reader TEXT PRIMARY KEY,
    position INTEGER NOT NULL,    -- of the last event it has taken in
    version INTEGER NOT NULL
) STRICT;
"""
PROMPT = "projections"
PAGE = 1_000


def apply(db: Database, events: Iterable[tuple[int, Event]]) -> None:
    """Take in what was just appended."""
    for position, event in events:
        for projection in PROJECTIONS:
            projection.apply(db, event)
        db.execute("UPDATE bookmarks SET position = ? WHERE reader = ? AND position < ?", position, PROMPT, position)


def rebuild(db: Database, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Drop every derived table and derive it again from the log."""
    with db.transaction():
        create_tables(db)
        position, last = 0, log.end(db)
        while page := log.read(db, position, PAGE):
            apply(db, page)
            position = page[-1][0]
            progress(position, last)


def create_tables(db: Database) -> None:
    """Empty tables, nothing read yet."""
    tables = [table for owner in reversed(OWNERS) for table in owner.TABLES]
    db.empty(tables, "".join(owner.SCHEMA for owner in OWNERS))
    advance(db, PROMPT, 0, VERSION)


def version(db: Database) -> int:
    """The version of the projections that derived the tables."""
    return int(db.value("SELECT version FROM bookmarks WHERE reader = ?", PROMPT) or 0)


def position(db: Database, reader: str, version: int) -> int:
    """How far a reader has come; a reader that has learned something new begins again."""
    read = db.value("SELECT position FROM bookmarks WHERE reader = ? AND version = ?", reader, version)
    return int(read or 0)


def advance(db: Database, reader: str, position: int, version: int) -> None:
    """Note how far a reader has come, in a transaction of the caller's."""
    db.execute("DELETE FROM bookmarks WHERE reader = ?", reader)
    db.execute("INSERT INTO bookmarks VALUES (?, ?, ?)", reader, position, version)
