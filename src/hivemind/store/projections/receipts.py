"""Receipts: which memory was shown to whom, when and why."""

import json
from collections.abc import Iterable

from hivemind.formats.codec import from_row
from hivemind.model.events import Event, MemoriesRecalled, MemoryErased, ObservationsDropped
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.recall import VERIFY_SUFFIX, Receipt, Spent
from hivemind.model.scope import Visibility
from hivemind.store.database import Database, Row
from hivemind.store.visibility import SESSION_VISIBLE, VISIBLE, bind_sight

TABLES = ("receipts",)
SCHEMA = """
CREATE TABLE receipts (
    id TEXT NOT NULL,             -- of the recall; a line for each memory it showed
    memory_id TEXT NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    session_id TEXT NOT NULL,
    query TEXT NOT NULL,
    rank INTEGER NOT NULL,
    score REAL NOT NULL,
    tokens INTEGER NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (id, rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_memory ON receipts (memory_id, at);
CREATE INDEX receipts_time ON receipts (at);
CREATE INDEX receipts_session ON receipts (session_id, at) WHERE session_id <> '';
"""
COLUMNS = "id, memory_id, at, actor, session_id, query, rank, score, tokens, why"
IN_SIGHT = (
    f"NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = r.memory_id AND NOT {VISIBLE})"
    f" AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id AND NOT {SESSION_VISIBLE})"
)
"""Matches receipts whose memory and session belong to no other repository."""


def apply(db: Database, event: Event) -> None:
    """Add a row for each memory that a recall showed; erasures delete the recalls they name."""
    match event.fact:
        case MemoriesRecalled() as fact:
            db.many(
                "INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (event.id, line.memory_id, event.at, event.actor, fact.session_id, fact.query,
                     line.rank, line.score, line.tokens, line.why)
                    for line in fact.shown
                ),
            )  # fmt: skip
        case MemoryErased() | ObservationsDropped() as fact:
            db.many("DELETE FROM receipts WHERE id = ?", [(entry_id,) for entry_id in fact.bodies])


def find_by_memory(db: Database, memory_id: MemoryId, sight: Visibility, limit: int = 20) -> list[Receipt]:
    """The newest receipts of a memory."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM receipts r WHERE r.memory_id = :memory AND {IN_SIGHT} ORDER BY at DESC LIMIT :limit",
        {**bind_sight(sight), "memory": memory_id, "limit": limit},
    )
    return [from_row(Receipt, row) for row in rows]


def find_queries(db: Database, memory_ids: Iterable[str]) -> list[tuple[EventId, str]]:
    """The queries for which these memories were shown, with the ids of their log entries."""
    rows = db.execute(
        "SELECT DISTINCT id, query FROM receipts WHERE memory_id IN (SELECT value FROM json_each(?))",
        json.dumps(list(memory_ids)),
    )
    return [(EventId(row[0]), row[1]) for row in rows]


def find_by_session(db: Database, session_id: str, sight: Visibility, limit: int = 200) -> list[Receipt]:
    """The newest receipts of a session; of all visible sessions if ``session_id`` is empty."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM receipts r WHERE (:session = '' OR r.session_id = :session) AND {IN_SIGHT}"
        " ORDER BY at DESC, rank LIMIT :limit",
        {**bind_sight(sight), "session": session_id, "limit": limit},
    )
    return [from_row(Receipt, row) for row in rows]


def summarise_sessions(db: Database, limit: int = 200) -> list[Spent]:
    """What each session was shown and how many tokens that cost, newest session first."""
    rows = db.execute(
        # Briefs have no query; "unasked" marks what was shown without a request for it.
        "SELECT actor, session_id, count(DISTINCT CASE WHEN query = '' THEN id END),"
        " count(DISTINCT CASE WHEN query <> '' AND why LIKE 'unasked%' THEN id END),"
        " count(DISTINCT CASE WHEN query <> '' AND why NOT LIKE 'unasked%' THEN id END), count(*),"
        " sum(CASE WHEN EXISTS (SELECT 1 FROM receipts e WHERE e.memory_id = r.memory_id AND e.at < r.at"
        " AND e.session_id <> r.session_id) THEN 1 ELSE 0 END),"
        " sum(CASE WHEN why LIKE 'unasked%' AND EXISTS (SELECT 1 FROM receipts e WHERE e.memory_id = r.memory_id"
        " AND e.at < r.at AND e.session_id <> r.session_id) AND NOT EXISTS (SELECT 1 FROM receipts l"
        " WHERE l.memory_id = r.memory_id AND l.session_id = r.session_id AND l.why NOT LIKE 'unasked%')"
        " THEN 1 ELSE 0 END),"
        " sum(CASE WHEN why LIKE 'unasked%' THEN tokens ELSE 0 END),"
        " sum(CASE WHEN why LIKE 'unasked%' THEN 0 ELSE tokens END)"
        " FROM receipts r GROUP BY actor, session_id ORDER BY max(at) DESC LIMIT ?",
        limit,
    )
    return [from_row(Spent, row) for row in rows]


def count_by_day(db: Database, since: str) -> list[Row]:
    """Per day: recalls, recalls with something to verify, briefs, and tokens of briefs."""
    return db.execute(
        "SELECT substr(at, 1, 10), count(DISTINCT CASE WHEN why NOT LIKE 'unasked%' THEN id END),"
        " count(DISTINCT CASE WHEN why LIKE :to_verify THEN id END), count(DISTINCT CASE WHEN query = '' THEN id END),"
        " sum(CASE WHEN query = '' THEN tokens ELSE 0 END) FROM receipts WHERE at >= :since GROUP BY 1 ORDER BY 1",
        {"since": since, "to_verify": f"%{VERIFY_SUFFIX}%"},
    )
