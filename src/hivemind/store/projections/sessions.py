"""Sessions of agents and what was observed in them."""

import json
from collections.abc import Iterable

from hivemind.model.events import Event, MemoryErased, ObservationMade
from hivemind.store import log
from hivemind.store.database import Database

TABLES = ("observations", "sessions")
SCHEMA = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    repo TEXT NOT NULL,
    directory TEXT NOT NULL,
    started_at TEXT NOT NULL,
    last_seen_at TEXT NOT NULL
) STRICT;
CREATE TABLE observations (
    id TEXT PRIMARY KEY,          -- of its event
    session_id TEXT NOT NULL REFERENCES sessions (id),
    at TEXT NOT NULL,
    seen TEXT NOT NULL,
    text TEXT NOT NULL,
    tool TEXT NOT NULL,
    input TEXT NOT NULL,
    output TEXT NOT NULL,
    command TEXT NOT NULL,
    exit_code INTEGER,
    failed INTEGER NOT NULL,
    file TEXT NOT NULL,
    diff TEXT NOT NULL,
    before TEXT NOT NULL,         -- git's name for the file's content, and after
    after TEXT NOT NULL,
    subagent TEXT NOT NULL,
    model TEXT NOT NULL
) STRICT;
CREATE INDEX observations_session ON observations (session_id, at);
"""


def apply(db: Database, event: Event) -> None:
    """Add the observation, and stretch its session to hold it; what an erasure names goes."""
    match event.fact:
        case ObservationMade() as seen:
            _add(db, event, seen)
        case MemoryErased() as fact:
            _remove(db, fact.bodies)
        case _:
            return


def _add(db: Database, event: Event, seen: ObservationMade) -> None:
    # The place of a session is where its earliest observation was made.
    db.execute(
        "INSERT INTO sessions VALUES (:id, :agent, :repo, :directory, :at, :at)"
        " ON CONFLICT (id) DO UPDATE SET"
        " repo = iif((:at, :repo) < (started_at, repo), :repo, repo),"
        " directory = iif((:at, :directory) < (started_at, directory), :directory, directory),"
        " started_at = min(started_at, :at), last_seen_at = max(last_seen_at, :at)",
        {
            "id": seen.session_id,
            "agent": seen.agent,
            "repo": event.repo,
            "directory": seen.directory,
            "at": event.at,
        },
    )
    db.execute(
        "INSERT INTO observations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        event.id, seen.session_id, event.at, seen.seen, seen.text, seen.tool, seen.input, seen.output, seen.command,
        seen.exit_code, seen.failed, seen.file, seen.diff, seen.before, seen.after, seen.subagent, seen.model,
    )  # fmt: skip


def _remove(db: Database, ids: Iterable[str]) -> None:
    """Tell the sessions of erased observations again, from what is left."""
    named = json.dumps(list(ids))
    found = "SELECT DISTINCT session_id FROM observations WHERE id IN (SELECT value FROM json_each(?))"
    for (session,) in db.execute(found, named):
        db.execute("DELETE FROM observations WHERE session_id = ?", session)
        db.execute("DELETE FROM sessions WHERE id = ?", session)
        for event in log.about(db, session):
            apply(db, event)


def last_compacted(db: Database, session_id: str) -> str:
    """When the context of a session was last cut down; empty if never."""
    moment = db.value(
        "SELECT max(at) FROM observations WHERE session_id = ?"
        " AND (seen = 'compacted' OR (seen = 'started' AND text IN ('compact', 'clear')))",
        session_id,
    )
    return str(moment or "")


def last_seen(db: Database) -> dict[str, str]:
    """When each agent was last heard of."""
    return {row[0]: row[1] for row in db.execute("SELECT agent, max(last_seen_at) FROM sessions GROUP BY agent")}


def count(db: Database) -> tuple[int, int]:
    """How many sessions and how many observations there are."""
    row = db.one("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM observations)")
    return (row[0], row[1]) if row else (0, 0)
