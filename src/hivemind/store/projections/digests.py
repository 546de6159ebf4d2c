"""Digests of sessions, and which sessions wait for one.

A follower makes them when a session rests (``sessions/digests.py``), because that takes longer than a write may. What
was erased takes the digest of its session with it, and the follower makes another from what is left.
"""

import json
from collections.abc import Collection
from dataclasses import replace

from hivemind.errors import AmbiguousId
from hivemind.model.digest import Digest, DigestLine, Evidence, Part
from hivemind.model.events import (
    ConclusionForgotten,
    ConclusionRestored,
    Event,
    MemoryErased,
    ObservationCompleted,
    ObservationMade,
    ObservationsDropped,
)
from hivemind.model.ids import EventId, SessionId
from hivemind.model.recall import Query
from hivemind.model.scope import Visibility
from hivemind.model.session import Session
from hivemind.store.conditions import SESSION_VISIBLE, bind_sight
from hivemind.store.database import Database, Row
from hivemind.store.projections import sessions
from hivemind.text.clean import first_line

TABLES = ("forgotten_conclusions", "digests_wanted", "digest_lines", "digests")
SCHEMA = """
CREATE TABLE digests (
    session_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL      -- how many observations it was made from
) STRICT;
CREATE TABLE digest_lines (
    session_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    part TEXT NOT NULL,
    evidence TEXT NOT NULL,
    event TEXT NOT NULL,          -- the log entry that it quotes
    at TEXT NOT NULL,
    text TEXT NOT NULL,
    about TEXT NOT NULL,
    is_summary INTEGER NOT NULL,
    files TEXT NOT NULL,          -- a JSON list
    PRIMARY KEY (session_id, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX digest_lines_event ON digest_lines (event);
CREATE TABLE digests_wanted (session_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE forgotten_conclusions (event TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
"""
COLUMNS = "l.session_id, l.part, l.evidence, l.event, l.at, l.text, l.about, l.is_summary, l.files"
SPEAKING = tuple(part.value for part in (Part.CONCLUSION, Part.REPLY, Part.FIX, Part.DEAD_END))
"""Parts that tell something to another session."""
NOT_FORGOTTEN = (
    f"(l.part NOT IN {SPEAKING} OR NOT EXISTS (SELECT 1 FROM forgotten_conclusions f WHERE f.event = l.event))"
)
"""Matches lines that a person has not forbidden to tell; a task that quotes the same message stays."""


def apply(db: Database, event: Event) -> None:
    """Note which sessions wait for a digest; erasures and deletions remove the digests that they concern."""
    match event.fact:
        case ObservationMade(session_id=session_id) | ObservationCompleted(session_id=session_id):
            db.execute("INSERT OR IGNORE INTO digests_wanted VALUES (?)", session_id)
        case MemoryErased() | ObservationsDropped() as fact:
            # Before the table of observations is changed, which still says whose they were.
            for session_id in sessions.find_observed(db, fact.bodies):
                _delete(db, session_id)
                db.execute("INSERT OR IGNORE INTO digests_wanted VALUES (?)", session_id)
        case ConclusionForgotten(observation=observation):
            db.execute("INSERT OR IGNORE INTO forgotten_conclusions VALUES (?)", observation)
        case ConclusionRestored(observation=observation):
            db.execute("DELETE FROM forgotten_conclusions WHERE event = ?", observation)


def _delete(db: Database, session_id: str) -> None:
    db.execute("DELETE FROM digest_lines WHERE session_id = ?", session_id)
    db.execute("DELETE FROM digests WHERE session_id = ?", session_id)


def find_wanted(db: Database) -> list[SessionId]:
    """Sessions that have no digest yet, or went on since theirs was made."""
    sql = "SELECT session_id FROM digests_wanted ORDER BY session_id"
    return [SessionId(row[0]) for row in db.execute(sql)] if db.HAS_SESSIONS else []


def put(db: Database, digest: Digest) -> None:
    """Store a digest in place of an earlier one, inside the caller's transaction."""
    _delete(db, digest.session_id)
    db.execute("DELETE FROM digests_wanted WHERE session_id = ?", digest.session_id)
    db.execute("INSERT INTO digests VALUES (?, ?)", digest.session_id, digest.version)
    db.many(
        "INSERT INTO digest_lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                digest.session_id, place, line.part, line.evidence, line.event, line.at, line.text, line.about,
                int(line.is_summary), json.dumps(line.files),
            )
            for place, line in enumerate(digest.lines)
        ],
    )  # fmt: skip


def get(db: Database, session_id: str) -> Digest | None:
    """The digest of a session, whoever may see it; None if it has none yet."""
    row = db.one("SELECT version FROM digests WHERE session_id = ?", session_id) if db.HAS_SESSIONS else None
    if row is None:
        return None
    rows = db.execute(
        f"SELECT {COLUMNS} FROM digest_lines l WHERE l.session_id = ? AND {NOT_FORGOTTEN} ORDER BY l.place", session_id
    )
    return Digest(session_id=SessionId(session_id), version=row[0], lines=tuple(line for _, line in map(_parse, rows)))


def read_speaking(db: Database, session_ids: Collection[str]) -> dict[str, list[DigestLine]]:
    """The lines of sessions that tell something to another one, in order."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM digest_lines l WHERE l.session_id IN (SELECT value FROM json_each(?))"
        f" AND l.part IN (SELECT value FROM json_each(?)) AND {NOT_FORGOTTEN} ORDER BY l.session_id, l.place",
        json.dumps(list(session_ids)), json.dumps(SPEAKING),
    )  # fmt: skip
    lines: dict[str, list[DigestLine]] = {}
    for session_id, line in map(_parse, rows):
        lines.setdefault(session_id, []).append(line)
    return lines


def find_line(db: Database, prefix: str, sight: Visibility) -> tuple[SessionId, DigestLine] | None:
    """The visible conclusion that quotes the entry with this id or prefix of an id, forgotten or not."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM digest_lines l JOIN sessions s ON s.id = l.session_id"
        f" WHERE {SESSION_VISIBLE} AND l.event >= :prefix AND l.event < :end ORDER BY l.event, l.place LIMIT 10",
        # Ids are hexadecimal, so "g" sorts after all that start with the prefix.
        {**bind_sight(sight), "prefix": prefix, "end": f"{prefix}g"},
    ) if prefix and db.HAS_SESSIONS else []  # fmt: skip
    lines = [_parse(row) for row in rows]
    if len({line.event for _, line in lines}) > 1:
        raise AmbiguousId(prefix, [f"{line.event}  {first_line(line.text, 60)}" for _, line in lines])
    return next((entry for entry in lines if entry[1].part is Part.CONCLUSION), lines[0] if lines else None)


def drop_forgotten(db: Database, digest: Digest) -> Digest:
    """A digest that was just made, without what a person has forbidden to tell."""
    lines = (line for line in digest.lines if line.part not in SPEAKING or not is_forgotten(db, line.event))
    return replace(digest, lines=tuple(lines))


def is_forgotten(db: Database, event: EventId) -> bool:
    """Whether a person has said that what an entry concludes must not be told."""
    return db.one("SELECT 1 FROM forgotten_conclusions WHERE event = ?", event) is not None


def is_empty(db: Database) -> bool:
    """Whether no session has a digest; always on a hub."""
    return not db.HAS_SESSIONS or db.one("SELECT 1 FROM digest_lines LIMIT 1") is None


def find_about_files(db: Database, query: Query) -> list[tuple[Session, DigestLine]]:
    """Visible lines that tell something and belong to turns that changed files, newest first, with their sessions."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM digest_lines l JOIN sessions s ON s.id = l.session_id WHERE {SESSION_VISIBLE}"
        f" AND l.files <> '[]' AND l.part IN (SELECT value FROM json_each(:parts)) AND {NOT_FORGOTTEN}"
        " ORDER BY l.at DESC LIMIT :limit",
        {**bind_sight(query.sight), "parts": json.dumps(SPEAKING), "limit": query.limit},
    ) if db.HAS_SESSIONS else []  # fmt: skip
    lines = [_parse(row) for row in rows]
    by_id = sessions.get_all(db, {session_id for session_id, _ in lines})
    return [(by_id[session_id], line) for session_id, line in lines]


def find_latest(db: Database, sight: Visibility, limit: int) -> list[tuple[Session, list[DigestLine]]]:
    """The visible sessions that were active last and have a digest, with all lines of it."""
    latest = sessions.list_sessions(db, sight, limit=limit) if db.HAS_SESSIONS else []
    digests = {session.id: get(db, session.id) for session in latest}
    return [(session, list(digest.lines)) for session in latest if (digest := digests[session.id])]


def _parse(row: Row) -> tuple[SessionId, DigestLine]:
    session_id, part, evidence, event, at, text, about, is_summary, files = row
    line = DigestLine(
        part=Part(part), evidence=Evidence(evidence), event=EventId(event), at=at, text=text, about=about,
        is_summary=bool(is_summary), files=tuple(json.loads(files)),
    )  # fmt: skip
    return SessionId(session_id), line
