"""Sessions of agents and what was observed in them."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from hivemind.errors import AmbiguousId, NotFound
from hivemind.model.events import Event, MemoryErased, ObservationCompleted, ObservationMade, ObservationsDropped
from hivemind.model.ids import EventId
from hivemind.model.plain import from_row, revived
from hivemind.model.scope import Sight
from hivemind.model.session import Observation, Session
from hivemind.model.text import first_line
from hivemind.store import log
from hivemind.store.database import Database, Row
from hivemind.store.log import unpacked
from hivemind.store.visibility import SESSION_VISIBLE, seen_from

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
    id TEXT PRIMARY KEY,          -- of its event, whose body has the rest
    session_id TEXT NOT NULL REFERENCES sessions (id),
    at TEXT NOT NULL,
    seen TEXT NOT NULL,
    text TEXT NOT NULL,           -- the beginning of what was said
    tool TEXT NOT NULL,
    command TEXT NOT NULL,
    exit_code INTEGER,
    failed INTEGER NOT NULL,
    file TEXT NOT NULL,
    edited INTEGER NOT NULL,      -- whether the file was changed
    subagent TEXT NOT NULL,
    size INTEGER NOT NULL         -- bytes that its body takes
) STRICT;
CREATE INDEX observations_session ON observations (session_id, at);
"""

LINE = (
    "SELECT s.id, s.agent, s.repo, s.directory, s.started_at, s.last_seen_at,"
    " (SELECT count(*) FROM observations o WHERE o.session_id = s.id),"
    " coalesce((SELECT o.text FROM observations o WHERE o.session_id = s.id AND o.seen = 'prompt' AND o.subagent = ''"
    " ORDER BY o.at LIMIT 1), '') FROM sessions s"
)
WHOLE = (
    "SELECT o.id, o.at, o.exit_code, o.failed, b.content, o.session_id FROM observations o"
    " JOIN events e ON e.id = o.id JOIN bodies b USING (position)"
)
BEGINNING = 500
"""Characters of what was said that lists and filters look at."""
HELD = (
    "o.id IN (SELECT json_extract(r.value, '$.event') FROM memories m, json_each(m.sources) r"
    " WHERE json_extract(r.value, '$.event') IS NOT NULL)"
)
"""That a memory rests on the observation."""


class Droppable(NamedTuple):
    """An observation that may be let go, and what that frees."""

    id: EventId
    at: str
    size: int


def apply(db: Database, event: Event) -> None:
    """Add the observation, and stretch its session to hold it; what an erasure names goes."""
    match event.fact:
        case ObservationMade() as seen:
            _add(db, event, seen)
        case ObservationCompleted(observation=one, exit_code=code):
            db.execute("UPDATE observations SET exit_code = ?, failed = ? WHERE id = ?", code, code != 0, one)
        case MemoryErased() | ObservationsDropped() as fact:
            _remove(db, fact.bodies)
        case _:
            return


def _add(db: Database, event: Event, seen: ObservationMade) -> None:
    # The place of a session is where its earliest observation was made.
    known = db.one("SELECT repo, directory, started_at, last_seen_at FROM sessions WHERE id = ?", seen.session_id)
    if known is None:
        first = (seen.session_id, seen.agent, event.repo, seen.directory, event.at, event.at)
        db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", *first)
    else:
        repo, directory, started_at, last_seen_at = known
        db.execute(
            "UPDATE sessions SET repo = ?, directory = ?, started_at = ?, last_seen_at = ? WHERE id = ?",
            event.repo if (event.at, event.repo) < (started_at, repo) else repo,
            seen.directory if (event.at, seen.directory) < (started_at, directory) else directory,
            min(started_at, event.at), max(last_seen_at, event.at), seen.session_id,
        )  # fmt: skip
    db.execute(
        "INSERT INTO observations SELECT e.id, ?, e.at, ?, ?, ?, ?, ?, ?, ?, ?, ?, octet_length(b.content)"
        " FROM events e JOIN bodies b USING (position) WHERE e.id = ?",
        seen.session_id, seen.seen, seen.text[:BEGINNING], seen.tool, seen.command, seen.exit_code, seen.failed,
        seen.file, bool(seen.diff), seen.subagent, event.id,
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


def listed(db: Database, sight: Sight, *, limit: int, agent: str = "", before: str = "") -> list[Session]:
    """Sessions in sight, the one last heard of first; ``before`` goes on from an earlier page."""
    rows = db.execute(
        f"{LINE} WHERE {SESSION_VISIBLE} AND (:agent = '' OR s.agent = :agent)"
        " AND (:before = '' OR (s.last_seen_at, s.id) < (SELECT last_seen_at, id FROM sessions WHERE id = :before))"
        " ORDER BY s.last_seen_at DESC, s.id DESC LIMIT :limit",
        {**seen_from(sight), "agent": agent, "before": before, "limit": limit},
    )
    return [from_row(Session, row) for row in rows]


def get(db: Database, prefix: str, sight: Sight) -> Session:
    """The session in sight that an id stands for, which may be shortened."""
    rows = db.execute(
        # Both, because the length of a text ends at a zero byte, and older versions kept ids with one.
        f"{LINE} WHERE {SESSION_VISIBLE} AND (s.id = :prefix OR substr(s.id, 1, length(:prefix)) = :prefix)"
        " ORDER BY s.id LIMIT 10",
        {**seen_from(sight), "prefix": prefix},
    )
    found = [from_row(Session, row) for row in rows]
    exact = [one for one in found if one.id == prefix] or found
    if len(exact) > 1:
        raise AmbiguousId(prefix, [f"{one.id}  {first_line(one.task, 60)}" for one in exact])
    if not exact:
        raise NotFound(f"there is no session {prefix!r} here; 'hivemind sessions' shows what there is")
    return exact[0]


def heard_of_since(db: Database, moment: str) -> set[str]:
    """The sessions that did something after the moment and have not ended since."""
    rows = db.execute(
        "SELECT s.id FROM sessions s WHERE s.last_seen_at > ? AND NOT EXISTS (SELECT 1 FROM observations o"
        " WHERE o.session_id = s.id AND o.seen = 'ended' AND o.at = s.last_seen_at)",
        moment,
    )
    return {row[0] for row in rows}


def trace(db: Database, session: Session) -> list[Observation]:
    """What was observed in a session, in order."""
    rows = db.execute(f"{WHOLE} WHERE o.session_id = ? ORDER BY o.at, position", session.id)
    return [_observation(session, row) for row in rows]


def edited(db: Database, session_id: str) -> list[str]:
    """The files a session has changed so far."""
    query = "SELECT DISTINCT file FROM observations WHERE session_id = ? AND edited AND NOT failed"
    return [row[0] for row in db.execute(query, session_id)]


def touched(db: Database, ids: Iterable[str]) -> list[tuple[str, str, bool]]:
    """The files that sessions read or edited, in order: session, file as the agent wrote it, whether it was edited."""
    rows = db.execute(
        "SELECT o.session_id, o.file, max(CASE WHEN o.edited THEN 1 ELSE 0 END) FROM observations o"
        " WHERE o.session_id IN (SELECT value FROM json_each(?)) AND o.file <> '' AND NOT o.failed"
        " GROUP BY o.session_id, o.file ORDER BY min(o.at), o.file",
        json.dumps(list(ids)),
    )
    return [(row[0], row[1], bool(row[2])) for row in rows]


def observation(db: Database, event: str) -> Observation | None:
    """One observation by the id of its event, if it is still there."""
    row = db.one(f"{WHOLE} WHERE o.id = ?", event)
    session = db.one(f"{LINE} WHERE s.id = ?", row[-1]) if row else None
    return _observation(from_row(Session, session), row) if row and session else None


def droppable(db: Database) -> list[Droppable]:
    """Observations that no memory rests on, the oldest first."""
    rows = db.execute(f"SELECT o.id, o.at, o.size FROM observations o WHERE NOT {HELD} ORDER BY o.at, o.id")
    return [Droppable(EventId(row[0]), row[1], row[2]) for row in rows]


def weight(db: Database) -> int:
    """How many bytes everything observed takes."""
    return int(db.value("SELECT coalesce(sum(size), 0) FROM observations"))


def without_exit_code(db: Database, ids: Iterable[str]) -> set[str]:
    """Which of these observations are commands that nobody said the end of."""
    rows = db.execute(
        "SELECT id FROM observations WHERE id IN (SELECT value FROM json_each(?))"
        " AND command <> '' AND exit_code IS NULL",
        json.dumps(list(ids)),
    )
    return {row[0] for row in rows}


def _observation(session: Session, row: Row) -> Observation:
    identifier, at, exit_code, failed, content, _ = row
    told = json.loads(unpacked(content)) | {"exit_code": exit_code, "failed": bool(failed)}
    whose = {"agent": session.agent, "session_id": session.id, "directory": session.directory}
    return revived(Observation, told | whose | {"source_id": identifier, "at": at})


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
