"""Outcomes: what followed in a session after a memory was told there; ids alone, no text.

The follower that makes the digest of a session writes them too, when it rests (``sessions/digests.py``). What was
erased takes the outcomes of its session with it, and the follower writes them again from what is left.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple

from hivemind.model.codec import from_row
from hivemind.model.events import Event, MemoryErased, ObservationsDropped
from hivemind.model.ids import MemoryId, Timestamp
from hivemind.model.outcomes import HELPED, UNHEEDED, WITHOUT_SIGN, OutcomeKind, Reputation, TellingOutcome
from hivemind.model.scope import Visibility
from hivemind.store.conditions import SESSION_VISIBLE, VISIBLE, bind_sight
from hivemind.store.database import Database
from hivemind.store.projections import sessions

TABLES = ("outcomes",)
SCHEMA = """
CREATE TABLE outcomes (
    receipt TEXT NOT NULL,        -- with the rank, a line of a receipt
    rank INTEGER NOT NULL,
    memory_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at TEXT NOT NULL,             -- when it was told
    outcome TEXT NOT NULL,
    evidence TEXT,                -- the observation that shows it
    PRIMARY KEY (receipt, rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_memory ON outcomes (memory_id, outcome, at);
CREATE INDEX outcomes_session ON outcomes (session_id);
"""
COLUMNS = "o.receipt, o.rank, o.memory_id, o.session_id, o.at, o.outcome, o.evidence"
SINCE_LAST_WORD = "o.at > max(m.revised_at, m.last_verified_at)"
"""Matches tellings since a person or an agent last edited the memory or said that it is correct."""
QUIET_SESSIONS = 3
"""After tellings in so many sessions without a sign of use, a memory is told only when asked or at its own place."""


def apply(db: Database, event: Event) -> None:
    """Remove the outcomes of what was erased or dropped; the follower writes what is left again."""
    if isinstance(fact := event.fact, MemoryErased | ObservationsDropped):
        db.many("DELETE FROM outcomes WHERE receipt = ?", [(entry_id,) for entry_id in fact.bodies])
        for session_id in sessions.find_observed(db, fact.bodies):
            db.execute("DELETE FROM outcomes WHERE session_id = ?", session_id)


def put(db: Database, session_id: str, outcomes: Iterable[TellingOutcome]) -> None:
    """Store the outcomes of a session in place of earlier ones, inside the caller's transaction."""
    db.execute("DELETE FROM outcomes WHERE session_id = ?", session_id)
    db.many("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", map(astuple, outcomes))


def find_by_memory(db: Database, memory_id: MemoryId, sight: Visibility) -> list[TellingOutcome]:
    """What followed the tellings of a memory, newest first, without what the log does not show."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM outcomes o WHERE o.memory_id = :memory AND o.outcome <> :unknown"
        " AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = o.session_id"
        f" AND NOT {SESSION_VISIBLE}) ORDER BY o.at DESC, o.rank",
        {**bind_sight(sight), "memory": memory_id, "unknown": OutcomeKind.UNKNOWN},
    ) if db.HAS_SESSIONS else []  # fmt: skip
    return [from_row(TellingOutcome, row) for row in rows]


def rate(db: Database, memory_ids: Iterable[str]) -> dict[str, Reputation]:
    """In how many sessions each of these memories helped or was unheeded; without those of which nothing is known."""
    if not db.HAS_SESSIONS:
        return {}
    rows = db.execute(
        f"SELECT o.memory_id, {_count(HELPED)}, {_count(UNHEEDED)} FROM outcomes o"
        " JOIN memories m ON m.id = o.memory_id WHERE o.memory_id IN (SELECT value FROM json_each(?))"
        f" AND o.outcome IN (SELECT value FROM json_each(?)) AND {SINCE_LAST_WORD} GROUP BY 1",
        json.dumps(list(memory_ids)), json.dumps([*HELPED, *UNHEEDED]),
    )  # fmt: skip
    return {row[0]: Reputation(successes=row[1], failures=row[2]) for row in rows}


def find_unheeded(db: Database, sight: Visibility) -> list[MemoryId]:
    """Visible memories with something that nobody heeded since they were last edited or verified."""
    rows = db.execute(
        "SELECT DISTINCT o.memory_id FROM outcomes o JOIN memories m ON m.id = o.memory_id"
        f" WHERE o.outcome IN (SELECT value FROM json_each(:unheeded)) AND {SINCE_LAST_WORD} AND {VISIBLE}"
        " AND m.status = 'active' ORDER BY 1",
        {**bind_sight(sight), "unheeded": json.dumps(UNHEEDED)},
    ) if db.HAS_SESSIONS else []  # fmt: skip
    return [MemoryId(row[0]) for row in rows]


def find_quiet(db: Database, memory_ids: Iterable[str]) -> dict[str, Timestamp]:
    """Those of these memories that were told in three sessions without a sign of use, and since when."""
    ids_json = json.dumps(list(memory_ids))
    if not db.HAS_SESSIONS or ids_json == "[]":
        return {}
    rows = db.execute(
        "SELECT o.memory_id, o.session_id, min(o.at) FROM outcomes o JOIN memories m ON m.id = o.memory_id"
        " WHERE o.memory_id IN (SELECT value FROM json_each(:ids)) AND o.session_id <> ''"
        f" AND o.outcome IN (SELECT value FROM json_each(:silent)) AND {SINCE_LAST_WORD}"
        " AND NOT EXISTS (SELECT 1 FROM outcomes u WHERE u.memory_id = o.memory_id"
        f" AND u.outcome NOT IN (SELECT value FROM json_each(:silent)) AND {SINCE_LAST_WORD.replace('o.', 'u.')})"
        " AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.memory_id = o.memory_id AND r.is_unasked = 0"
        f" AND {SINCE_LAST_WORD.replace('o.', 'r.')}) GROUP BY 1, 2 ORDER BY 3",
        {"ids": ids_json, "silent": json.dumps(WITHOUT_SIGN)},
    )
    times: dict[str, list[Timestamp]] = defaultdict(list)
    for memory_id, _, at in rows:
        times[memory_id].append(at)
    return {name: moments[QUIET_SESSIONS - 1] for name, moments in times.items() if len(moments) >= QUIET_SESSIONS}


def count_resolved(db: Database, sight: Visibility, since: Timestamp) -> int:
    """How many failures that memory was told about since then did not come again."""
    sql = (
        "SELECT count(DISTINCT o.receipt) FROM outcomes o JOIN sessions s ON s.id = o.session_id"
        f" WHERE o.outcome = :resolved AND o.at >= :since AND {SESSION_VISIBLE}"
    )
    values = {**bind_sight(sight), "since": since, "resolved": OutcomeKind.RESOLVED}
    return int(db.value(sql, values)) if db.HAS_SESSIONS else 0


def count_by_kind(db: Database) -> list[tuple[str, int]]:
    """How many tellings had each outcome in the whole store, the most frequent first."""
    rows = db.execute("SELECT outcome, count(*) FROM outcomes GROUP BY 1 ORDER BY 2 DESC, 1") if db.HAS_SESSIONS else []
    return [(row[0], row[1]) for row in rows]


def _count(kinds: Iterable[OutcomeKind]) -> str:
    values = ", ".join(f"'{kind}'" for kind in kinds)
    return f"count(DISTINCT CASE WHEN o.outcome IN ({values}) THEN o.session_id END)"
