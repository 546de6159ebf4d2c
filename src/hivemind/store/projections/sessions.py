"""Sessions of agents and their observations."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from hivemind.errors import AmbiguousId, NotFound
from hivemind.model.codec import from_plain, from_row, unpack_content
from hivemind.model.events import Event, MemoryErased, ObservationCompleted, ObservationMade, ObservationsDropped
from hivemind.model.ids import EventId, Timestamp
from hivemind.model.scope import Visibility
from hivemind.model.session import FEWEST_REQUEST_WORDS, Observation, ObservationKind, Session
from hivemind.store import log
from hivemind.store.conditions import SESSION_VISIBLE, bind_sight
from hivemind.store.database import Database, Row
from hivemind.text.clean import first_line

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

SESSION_COLUMNS = "id, agent, repo, directory, started_at, last_seen_at"
OBSERVATION_COLUMNS = "id, session_id, at, seen, text, tool, command, exit_code, failed, file, edited, subagent, size"
SELECT_SESSIONS = (
    "SELECT s.id, s.agent, s.repo, s.directory, s.started_at, s.last_seen_at,"
    " (SELECT count(*) FROM observations o WHERE o.session_id = s.id),"
    " coalesce((SELECT o.text FROM observations o WHERE o.session_id = s.id AND o.seen = 'prompt' AND o.subagent = ''"
    # Words are counted by their spaces: a session that begins with "hi" is about what was asked next.
    f" ORDER BY length(o.text) - length(replace(o.text, ' ', '')) < {FEWEST_REQUEST_WORDS - 1}, o.at LIMIT 1), '')"
    " FROM sessions s"
)
SELECT_OBSERVATIONS = (
    "SELECT o.id, o.at, o.exit_code, o.failed, b.content, o.session_id FROM observations o"
    " JOIN events e ON e.id = o.id JOIN bodies b USING (position)"
)
LAST_SAID = "FROM observations WHERE session_id = ? AND seen = ? AND subagent = '' ORDER BY at DESC LIMIT ?"
EXCERPT_CHARACTERS = 500
"""Characters of a text kept in the table for lists and filters; the body in the log has all."""
IS_SOURCE = (
    "o.id IN (SELECT json_extract(r.value, '$.event') FROM memories m, json_each(m.sources) r"
    " WHERE json_extract(r.value, '$.event') IS NOT NULL)"
)
"""Matches observations that a memory has as a source."""


class DroppableObservation(NamedTuple):
    """An observation that may be deleted, and the bytes that frees."""

    id: EventId
    at: Timestamp
    size: int


class TurnCounts(NamedTuple):
    """The calls of tools in a turn, and how many of them failed."""

    calls: int
    failures: int


def apply(db: Database, event: Event) -> None:
    """Add an observation and extend its session's time span; erasures delete the observations they name."""
    match event.fact:
        case ObservationMade() as fact:
            _add(db, event, fact)
        case ObservationCompleted(observation=observation_id, exit_code=code):
            db.execute(
                "UPDATE observations SET exit_code = ?, failed = ? WHERE id = ?", code, code != 0, observation_id
            )
        case MemoryErased() | ObservationsDropped() as fact:
            _remove(db, fact.bodies)


def _add(db: Database, event: Event, fact: ObservationMade) -> None:
    # Events can arrive in any order: the repository and directory are those of the earliest observation.
    session = db.one("SELECT repo, directory, started_at, last_seen_at FROM sessions WHERE id = ?", fact.session_id)
    if session is None:
        values = (fact.session_id, fact.agent, event.repo, fact.directory, event.at, event.at)
        db.execute(f"INSERT INTO sessions ({SESSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", *values)
    else:
        repo, directory, started_at, last_seen_at = session
        db.execute(
            "UPDATE sessions SET repo = ?, directory = ?, started_at = ?, last_seen_at = ? WHERE id = ?",
            event.repo if (event.at, event.repo) < (started_at, repo) else repo,
            fact.directory if (event.at, fact.directory) < (started_at, directory) else directory,
            min(started_at, event.at), max(last_seen_at, event.at), fact.session_id,
        )  # fmt: skip
    db.execute(
        f"INSERT INTO observations ({OBSERVATION_COLUMNS})"
        " SELECT e.id, ?, e.at, ?, ?, ?, ?, ?, ?, ?, ?, ?, octet_length(b.content)"
        " FROM events e JOIN bodies b USING (position) WHERE e.id = ? ON CONFLICT DO NOTHING",
        fact.session_id, fact.seen, fact.text[:EXCERPT_CHARACTERS], fact.tool, fact.command, fact.exit_code,
        fact.failed, fact.file, bool(fact.diff), fact.subagent, event.id,
    )  # fmt: skip


def _remove(db: Database, ids: Iterable[str]) -> None:
    """Rebuild the sessions of erased observations from the remaining events."""
    # The time span, repository and directory of a session depend on all of its observations.
    for session in find_observed(db, ids):
        db.execute("DELETE FROM observations WHERE session_id = ?", session)
        db.execute("DELETE FROM sessions WHERE id = ?", session)
        for event in log.read_events_about(db, session):
            apply(db, event)


def find_observed(db: Database, ids: Iterable[str]) -> list[str]:
    """The sessions that these observations belong to."""
    sql = "SELECT DISTINCT session_id FROM observations WHERE id IN (SELECT value FROM json_each(?))"
    return [row[0] for row in db.execute(sql, json.dumps(list(ids)))]


def list_sessions(db: Database, sight: Visibility, *, limit: int, agent: str = "", before: str = "") -> list[Session]:
    """Visible sessions, most recently active first; ``before`` is the last id of the previous page."""
    rows = db.execute(
        f"{SELECT_SESSIONS} WHERE {SESSION_VISIBLE} AND (:agent = '' OR s.agent = :agent)"
        " AND (:before = '' OR (s.last_seen_at, s.id) < (SELECT last_seen_at, id FROM sessions WHERE id = :before))"
        " ORDER BY s.last_seen_at DESC, s.id DESC LIMIT :limit",
        {**bind_sight(sight), "agent": agent, "before": before, "limit": limit},
    )
    return [from_row(Session, row) for row in rows]


def get(db: Database, prefix: str, sight: Visibility) -> Session:
    """The visible session with that id or prefix of an id."""
    rows = db.execute(
        # Both conditions, because length() stops at a zero byte, and older versions stored ids that have one.
        f"{SELECT_SESSIONS} WHERE {SESSION_VISIBLE} AND (s.id = :prefix OR substr(s.id, 1, length(:prefix)) = :prefix)"
        " ORDER BY s.id LIMIT 10",
        {**bind_sight(sight), "prefix": prefix},
    )
    sessions = [from_row(Session, row) for row in rows]
    # A whole id wins over longer ids that begin with it.
    exact = [session for session in sessions if session.id == prefix] or sessions
    if len(exact) > 1:
        raise AmbiguousId(prefix, [f"{session.id}  {first_line(session.task, 60)}" for session in exact])
    if not exact:
        raise NotFound(f"there is no session {prefix!r} here; 'hivemind session list' shows what there is")
    return exact[0]


def get_all(db: Database, ids: Iterable[str]) -> dict[str, Session]:
    """The sessions with these ids, whoever may see them."""
    rows = db.execute(f"{SELECT_SESSIONS} WHERE s.id IN (SELECT value FROM json_each(?))", json.dumps(list(ids)))
    return {row[0]: from_row(Session, row) for row in rows}


def find_active_since(db: Database, moment: Timestamp) -> set[str]:
    """Ids of the sessions that were active after a time and have not ended since."""
    rows = db.execute(
        "SELECT s.id FROM sessions s WHERE s.last_seen_at > ? AND NOT EXISTS (SELECT 1 FROM observations o"
        " WHERE o.session_id = s.id AND o.seen = 'ended' AND o.at = s.last_seen_at)",
        moment,
    )
    return {row[0] for row in rows}


def read_observations(db: Database, session: Session) -> list[Observation]:
    """The observations of a session, in order."""
    rows = db.execute(f"{SELECT_OBSERVATIONS} WHERE o.session_id = ? ORDER BY o.at, position", session.id)
    return [_parse_observation(session, row) for row in rows]


def list_directories(db: Database) -> list[tuple[str, str]]:
    """The directories of all sessions with their repositories."""
    sql = "SELECT DISTINCT directory, repo FROM sessions WHERE directory <> '' AND repo <> '' ORDER BY directory, repo"
    return [(row[0], row[1]) for row in db.execute(sql)]


def find_edited_files(db: Database, session_id: str) -> list[str]:
    """The files that a session has edited so far."""
    sql = "SELECT DISTINCT file FROM observations WHERE session_id = ? AND edited AND NOT failed"
    return [row[0] for row in db.execute(sql, session_id)]


def find_touched_files(db: Database, ids: Iterable[str]) -> list[tuple[str, str, bool]]:
    """The files that sessions read or edited, in order: session, path as the agent wrote it, whether it was edited."""
    rows = db.execute(
        "SELECT o.session_id, o.file, max(CASE WHEN o.edited THEN 1 ELSE 0 END) FROM observations o"
        " WHERE o.session_id IN (SELECT value FROM json_each(?)) AND o.file <> '' AND NOT o.failed"
        " GROUP BY o.session_id, o.file ORDER BY min(o.at), o.file",
        json.dumps(list(ids)),
    )
    return [(row[0], row[1], bool(row[2])) for row in rows]


def get_observation(db: Database, event: str) -> Observation | None:
    """An observation by the id of its event; None if it was deleted."""
    row = db.one(f"{SELECT_OBSERVATIONS} WHERE o.id = ?", event)
    session = db.one(f"{SELECT_SESSIONS} WHERE s.id = ?", row[-1]) if row else None
    return _parse_observation(from_row(Session, session), row) if row and session else None


def find_droppable(db: Database) -> list[DroppableObservation]:
    """Observations that no memory has as a source, oldest first."""
    rows = db.execute(f"SELECT o.id, o.at, o.size FROM observations o WHERE NOT {IS_SOURCE} ORDER BY o.at, o.id")
    return [DroppableObservation(EventId(row[0]), row[1], row[2]) for row in rows]


def count_bytes(db: Database) -> int:
    """The bytes that all observations take."""
    return int(db.value("SELECT coalesce(sum(size), 0) FROM observations"))


def find_without_exit_code(db: Database, ids: Iterable[str]) -> set[str]:
    """Which of these observations are commands without a known exit code."""
    sql = f"SELECT id FROM observations WHERE id IN {log.JSON_VALUES} AND command <> '' AND exit_code IS NULL"
    return {row[0] for row in db.execute(sql, json.dumps(list(ids)))}


def _parse_observation(session: Session, row: Row) -> Observation:
    identifier, at, exit_code, has_failed, content, _ = row
    # The columns win: a later fact may have added the exit code, which the body does not have.
    content_fields = json.loads(unpack_content(content)) | {"exit_code": exit_code, "failed": bool(has_failed)}
    # A command may have run in another directory than the one in which the session began.
    directory = content_fields.get("directory") or session.directory
    session_fields = {"agent": session.agent, "session_id": session.id, "directory": directory}
    return from_plain(Observation, content_fields | session_fields | {"source_id": identifier, "at": at})


def find_last_compaction(db: Database, session_id: str) -> Timestamp:
    """When the context of a session was last compacted or cleared; empty if never."""
    forgets = "seen = 'compacted' OR (seen = 'started' AND text IN ('compact', 'clear'))"
    return str(db.value(f"SELECT max(at) FROM observations WHERE session_id = ? AND ({forgets})", session_id) or "")


def find_last_prompt(db: Database, session_id: str) -> str:
    """The last request of a person in a session, or its beginning; empty if there is none."""
    return str(db.value(f"SELECT text {LAST_SAID}", session_id, ObservationKind.PROMPT, 1) or "")


def find_prompt_ids(db: Database, session_id: str, limit: int) -> list[EventId]:
    """The last observations of what the person typed in a session, newest first."""
    return [row[0] for row in db.execute(f"SELECT id {LAST_SAID}", session_id, ObservationKind.PROMPT, limit)]


def find_last_reply(db: Database, session_id: str) -> str:
    """What the agent said last in a session; empty if nothing was recorded."""
    reply_id = db.value(f"SELECT id {LAST_SAID}", session_id, ObservationKind.REPLY, 1)
    reply = get_observation(db, str(reply_id)) if reply_id else None
    return reply.text if reply else ""


def count_last_turn(db: Database, session_id: str) -> TurnCounts:
    """How many tools the agent called since the person's request before the last one, and how many calls failed."""
    # The last prompt, if nothing was called since, is the one that is being answered.
    [row] = db.execute(
        "WITH calls AS (SELECT at, failed OR coalesce(exit_code, 0) <> 0 AS failed FROM observations"
        " WHERE session_id = :session AND seen = 'tool' AND subagent = ''),"
        " turn AS (SELECT coalesce(max(at), '') AS start FROM observations WHERE session_id = :session"
        " AND seen = 'prompt' AND subagent = '' AND at < (SELECT max(at) FROM calls))"
        " SELECT count(*), coalesce(sum(CASE WHEN failed THEN 1 ELSE 0 END), 0) FROM calls, turn WHERE at > turn.start",
        {"session": session_id},
    )
    return TurnCounts(*row)


def find_last_activity(db: Database) -> dict[str, str]:
    """When each agent was last active."""
    return {row[0]: row[1] for row in db.execute("SELECT agent, max(last_seen_at) FROM sessions GROUP BY agent")}


def count(db: Database) -> tuple[int, int]:
    """The numbers of sessions and of observations."""
    [counts] = db.execute("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM observations)")
    return counts[0], counts[1]
