"""What the log has of one session: notes that its agent got, and memories that it stored."""

from hivemind.model.codec import unpack_content
from hivemind.model.events import Fact, decode_fact
from hivemind.model.ids import MemoryId
from hivemind.store.database import Database

STORED = "fact IN ('memory.remembered', 'memory.corroborated')"
"""Matches entries that stored a memory or said it again."""
IN_SESSION = "actor = ? AND session IN ('', ?)"
"""Matches entries of an agent in a session; some clients do not say in which session they are."""


def read_facts_about(db: Database, session: str, fact: str) -> list[tuple[int, Fact]]:
    """The facts of one name about a session with their positions, newest first."""
    rows = db.execute(
        "SELECT e.position, b.content FROM events e JOIN bodies b USING (position)"
        " WHERE e.about = ? AND e.about <> '' AND e.fact = ? ORDER BY e.position DESC",
        session, fact,
    )  # fmt: skip
    return [(row[0], decode_fact(fact, unpack_content(row[1]))) for row in rows]


def has_stored_since(db: Database, position: int, actor: str, session: str) -> bool:
    """Whether a session stored a memory after a position."""
    sql = f"SELECT 1 FROM events WHERE position > ? AND {STORED} AND {IN_SESSION} LIMIT 1"
    return db.one(sql, position, actor, session) is not None


def find_last_memory(db: Database, actor: str, session: str) -> MemoryId | None:
    """The memory that a session stored or repeated last."""
    sql = f"SELECT about FROM events WHERE {STORED} AND {IN_SESSION} ORDER BY position DESC LIMIT 1"
    row = db.one(sql, actor, session)
    return MemoryId(row[0]) if row else None


def find_memories_since(db: Database, event: str) -> list[MemoryId]:
    """The memories that were stored or repeated after an event."""
    sql = f"SELECT DISTINCT about FROM events WHERE {STORED} AND position > (SELECT position FROM events WHERE id = ?)"
    return [MemoryId(row[0]) for row in db.execute(sql, event)]


def find_memories_of(db: Database, session: str) -> list[MemoryId]:
    """The memories that a session stored."""
    start = "SELECT min(position) FROM events WHERE about = :session AND about <> ''"
    is_memory = "fact = 'memory.remembered' AND session = :session"
    sql = f"SELECT DISTINCT about FROM events WHERE {is_memory} AND position > ({start})"
    return [MemoryId(row[0]) for row in db.execute(sql, {"session": session})]
