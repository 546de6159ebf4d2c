"""Receipts: which memory was shown to whom, when and why."""

import json
from collections.abc import Iterable
from operator import attrgetter

from hivemind.model.codec import from_row
from hivemind.model.events import Event, MemoriesRecalled, MemoryErased, ObservationsDropped
from hivemind.model.ids import EventId, MemoryId, ReceiptId, Timestamp
from hivemind.model.recall import Occasion, Receipt, Spent
from hivemind.model.scope import Visibility
from hivemind.store.conditions import SESSION_VISIBLE, VISIBLE, bind_sight
from hivemind.store.database import Database, Row

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
    is_unasked INTEGER NOT NULL DEFAULT 0,
    is_in_doubt INTEGER NOT NULL DEFAULT 0,
    occasion TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (id, rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_memory ON receipts (memory_id, at);
CREATE INDEX receipts_time ON receipts (at);
CREATE INDEX receipts_session ON receipts (session_id, at) WHERE session_id <> '';
"""
COLUMNS = "id, memory_id, at, actor, session_id, query, rank, score, tokens, why, occasion"
# Much faster than ``astuple``, which looks into every value.
get_columns = attrgetter(*COLUMNS.split(", "))
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
                # Named, because on a hub the team's column stands between the older and the newer ones.
                f"INSERT INTO receipts ({COLUMNS}, is_unasked, is_in_doubt)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (*get_columns(receipt), int(fact.is_unasked), int(line.is_in_doubt))
                    for receipt, line in zip(list_lines(event), fact.shown, strict=True)
                ),
            )
        case MemoryErased() | ObservationsDropped() as fact:
            db.many("DELETE FROM receipts WHERE id = ?", [(entry_id,) for entry_id in fact.bodies])


def list_lines(event: Event) -> list[Receipt]:
    """List the receipts that an event would add, one for each memory."""
    fact = event.fact
    assert isinstance(fact, MemoriesRecalled)
    return [
        Receipt(
            id=ReceiptId(event.id), memory_id=line.memory_id, at=event.at, actor=event.actor,
            session_id=fact.session_id, query=fact.query, rank=line.rank, score=line.score, tokens=line.tokens,
            why=line.why, occasion=fact.occasion,
        )
        for line in fact.shown
    ]  # fmt: skip


def find_by_memory(db: Database, memory_id: MemoryId, sight: Visibility) -> list[Receipt]:
    """The newest receipts of a memory."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM receipts r WHERE r.memory_id = :memory AND {IN_SIGHT} ORDER BY at DESC LIMIT 20",
        {**bind_sight(sight), "memory": memory_id},
    )
    return [from_row(Receipt, row) for row in rows]


def count_tellings(db: Database, memory_id: MemoryId, sight: Visibility) -> tuple[int, int]:
    """How often a memory was shown, and in how many sessions."""
    row = db.execute(
        "SELECT count(*), count(DISTINCT CASE WHEN r.session_id <> '' THEN r.session_id END) FROM receipts r"
        f" WHERE r.memory_id = :memory AND {IN_SIGHT}",
        {**bind_sight(sight), "memory": memory_id},
    )[0]
    return row[0], row[1]


def find_queries(db: Database, memory_ids: Iterable[str]) -> list[tuple[EventId, str]]:
    """The queries for which these memories were shown, with the ids of their log entries."""
    rows = db.execute(
        "SELECT DISTINCT id, query FROM receipts WHERE memory_id IN (SELECT value FROM json_each(?))",
        json.dumps(list(memory_ids)),
    )
    return [(EventId(row[0]), row[1]) for row in rows]


def find_session_queries(db: Database, observations: Iterable[str]) -> list[tuple[EventId, str]]:
    """The queries for which these observations were shown, with the ids of their log entries."""
    ids = list(observations)
    # Read from the log and not from a table, because backups of earlier versions have none.
    rows = db.execute(
        "SELECT e.id, json_extract(b.content, '$.query') FROM events e JOIN bodies b USING (position)"
        " WHERE e.fact = 'memories.recalled' AND EXISTS (SELECT 1 FROM json_each(b.content, '$.sessions') s"
        " WHERE json_extract(s.value, '$.observation') IN (SELECT value FROM json_each(?)))",
        json.dumps(ids),
    ) if ids and db.HAS_SESSIONS else []  # fmt: skip
    return [(EventId(row[0]), row[1]) for row in rows]


def find_told_passages(db: Database, session_id: str, since: Timestamp) -> set[EventId]:
    """The observations of sessions that a session was shown after a time."""
    return {EventId(value) for value in _find_shown(db, session_id, since, "$.sessions", "$.observation")}


def find_shown_commits(db: Database, session_id: str, since: Timestamp) -> set[str]:
    """The commits that a session was shown after a time."""
    return _find_shown(db, session_id, since, "$.commits", "$.commit_id")


def _find_shown(db: Database, session_id: str, since: Timestamp, list_path: str, id_path: str) -> set[str]:
    # Read from the log and not from a table, as above.
    rows = db.execute(
        "SELECT json_extract(shown.value, ?) FROM events e JOIN bodies b USING (position),"
        " json_each(b.content, ?) shown WHERE e.about = ? AND e.fact = 'memories.recalled' AND e.at > ?",
        id_path, list_path, session_id, since,
    ) if session_id and db.HAS_SESSIONS else []  # fmt: skip
    return {str(row[0]) for row in rows}


def count_uses(db: Database, memory_ids: Iterable[str], since: Timestamp) -> dict[str, int]:
    """How often each of these memories answered a question since then; those that never did are left out."""
    rows = db.execute(
        "SELECT memory_id, count(*) FROM receipts WHERE memory_id IN (SELECT value FROM json_each(?)) AND at >= ?"
        " AND is_unasked = 0 GROUP BY 1",
        json.dumps(list(memory_ids)),
        since,
    )
    return {row[0]: row[1] for row in rows}


def count_guard_acts(db: Database, memory_ids: Iterable[str]) -> dict[str, int]:
    """How often the guard of each of these memories asked or refused; those that never did are left out."""
    rows = db.execute(
        "SELECT memory_id, count(*) FROM receipts WHERE memory_id IN (SELECT value FROM json_each(?))"
        " AND occasion IN (?, ?) GROUP BY 1",
        json.dumps(list(memory_ids)),
        Occasion.GUARD_ASK,
        Occasion.GUARD_DENY,
    )
    return {row[0]: row[1] for row in rows}


def find_by_session(db: Database, session_id: str, sight: Visibility, limit: int = 200) -> list[Receipt]:
    """The newest receipts of a session; of all visible sessions if ``session_id`` is empty."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM receipts r WHERE (:session = '' OR r.session_id = :session) AND {IN_SIGHT}"
        " ORDER BY at DESC, rank LIMIT :limit",
        {**bind_sight(sight), "session": session_id, "limit": limit},
    )
    return [from_row(Receipt, row) for row in rows]


def summarise_sessions(db: Database) -> list[Spent]:
    """What each session was shown and how many tokens that cost, newest session first."""
    rows = db.execute(
        # Briefs have no query.
        "SELECT actor, session_id, count(DISTINCT CASE WHEN query = '' THEN id END),"
        " count(DISTINCT CASE WHEN query <> '' AND is_unasked = 1 AND occasion = '' THEN id END),"
        " count(DISTINCT CASE WHEN query <> '' AND is_unasked = 0 THEN id END), count(*),"
        " sum(CASE WHEN EXISTS (SELECT 1 FROM receipts e WHERE e.memory_id = r.memory_id AND e.at < r.at"
        " AND e.session_id <> r.session_id) THEN 1 ELSE 0 END),"
        " sum(CASE WHEN is_unasked = 1 AND EXISTS (SELECT 1 FROM receipts e WHERE e.memory_id = r.memory_id"
        " AND e.at < r.at AND e.session_id <> r.session_id) AND NOT EXISTS (SELECT 1 FROM receipts l"
        " WHERE l.memory_id = r.memory_id AND l.session_id = r.session_id AND l.is_unasked = 0)"
        " THEN 1 ELSE 0 END),"
        " sum(CASE WHEN is_unasked = 1 THEN tokens ELSE 0 END),"
        " sum(CASE WHEN is_unasked = 1 THEN 0 ELSE tokens END),"
        " count(DISTINCT CASE WHEN occasion <> '' THEN id END)"
        " FROM receipts r GROUP BY actor, session_id ORDER BY max(at) DESC LIMIT 200"
    )
    return [from_row(Spent, row) for row in rows]


def summarise_since(db: Database, sight: Visibility, since: Timestamp, actor: str = "") -> Row:
    """Sessions reached, memories in them, edits, commands and failures with notes, guards, questions and warnings."""
    return db.execute(
        "SELECT count(DISTINCT CASE WHEN r.session_id <> '' THEN r.session_id END),"
        " count(DISTINCT CASE WHEN r.session_id <> '' THEN r.memory_id END),"
        f" count(DISTINCT CASE WHEN r.occasion = '{Occasion.EDIT}' THEN r.id END),"
        f" count(DISTINCT CASE WHEN r.occasion = '{Occasion.COMMAND}' THEN r.id END),"
        f" count(DISTINCT CASE WHEN r.occasion = '{Occasion.FAILURE}' THEN r.id END),"
        f" count(DISTINCT CASE WHEN r.occasion IN ('{Occasion.GUARD_ASK}', '{Occasion.GUARD_DENY}') THEN r.id END),"
        " count(DISTINCT CASE WHEN r.query <> '' AND r.is_unasked = 0 THEN r.id END),"
        " count(DISTINCT CASE WHEN r.is_in_doubt = 1 THEN r.memory_id END)"
        f" FROM receipts r WHERE r.at >= :since AND (:actor = '' OR r.actor = :actor) AND {IN_SIGHT}",
        {**bind_sight(sight), "since": since, "actor": actor},
    )[0]


def count_by_day(db: Database, since: Timestamp) -> list[Row]:
    """Per day: recalls, recalls with something to verify, briefs, and tokens of briefs."""
    return db.execute(
        "SELECT substr(at, 1, 10), count(DISTINCT CASE WHEN is_unasked = 0 THEN id END),"
        " count(DISTINCT CASE WHEN is_in_doubt = 1 THEN id END), count(DISTINCT CASE WHEN query = '' THEN id END),"
        " sum(CASE WHEN query = '' THEN tokens ELSE 0 END) FROM receipts WHERE at >= :since GROUP BY 1 ORDER BY 1",
        {"since": since},
    )
