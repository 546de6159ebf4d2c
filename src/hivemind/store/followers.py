"""Slow readers of the log, and how far each has read."""

from hivemind.store.database import Database


def position(db: Database, reader: str, version: int) -> int:
    """How far a reader has come; a reader that has learned something new begins again."""
    read = db.value("SELECT position FROM bookmarks WHERE reader = ? AND version = ?", reader, version)
    return int(read or 0)


def advance(db: Database, reader: str, position: int, version: int) -> None:
    """Note how far a reader has come."""
    known = db.one("SELECT 1 FROM bookmarks WHERE reader = ?", reader)
    if known:
        db.execute("UPDATE bookmarks SET position = ?, version = ? WHERE reader = ?", position, version, reader)
    else:
        db.execute("INSERT INTO bookmarks VALUES (?, ?, ?)", reader, position, version)
