"""The log: what happened, in order of arrival, in a chain that shows tampering.

A header is immutable and says who, when and where; the body says what, and can be destroyed. The header
keeps a keyed digest of the body whose key lies with the body, so that after erasing the chain still
verifies and nothing is left to guess the content from.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from hivemind.model.events import EntriesLost, Event, MemoryErased, ObservationsDropped, decode, encode
from hivemind.model.ids import EventId
from hivemind.model.memory import Channel
from hivemind.model.plain import plain
from hivemind.model.rollback import Selection
from hivemind.model.scope import Scope
from hivemind.store.database import Database, Row

SCHEMA = """
CREATE TABLE devices (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    last_seq INTEGER NOT NULL,
    last_hash TEXT NOT NULL      -- of the newest header, so that a missing tail is noticed
) STRICT;
CREATE TABLE events (
    position INTEGER PRIMARY KEY, -- order of arrival here; bookmarks count in it
    id TEXT NOT NULL UNIQUE,
    device INTEGER NOT NULL REFERENCES devices (key),
    device_seq INTEGER NOT NULL,
    prev_hash TEXT NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    channel TEXT NOT NULL,
    scope TEXT NOT NULL,
    repo TEXT NOT NULL,
    session TEXT NOT NULL,        -- it was said in
    batch TEXT NOT NULL,          -- the learning run it was part of
    about TEXT NOT NULL,          -- the memory or session
    fact TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (device, device_seq)
) STRICT;
CREATE INDEX events_about ON events (about, at) WHERE about <> '';
CREATE TABLE bodies (
    position INTEGER PRIMARY KEY REFERENCES events (position),
    salt BLOB NOT NULL,
    content TEXT NOT NULL
) STRICT;
CREATE TABLE erased (             -- memories and entries whose content must not be stored again
    name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
"""

TABLES = ("devices", "events", "bodies", "erased")
"""In the order in which they refer to each other."""

REPEATING = "fact IN ('observation.made', 'memories.recalled', 'write.refused')"
"""Entries that may repeat what a memory says, and lose their content with it."""

KEEPING_OUT = "e.fact IN ('memory.erased', 'observations.dropped', 'memory.rejected', 'memory.restored')"
START = "0" * 64
HEADER = "id, device, device_seq, prev_hash, at, actor, channel, scope, repo, session, batch, about, fact, digest"
COLUMNS = "e.id, e.at, e.actor, e.channel, e.scope, e.repo, e.session, e.batch, e.fact, b.content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A place where the chain does not hold."""

    device: str
    device_seq: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the log; without its event where the content was erased."""

    position: int
    device: str
    device_seq: int
    fact: str
    about: str
    at: str
    actor: str
    channel: str
    scope: str
    repo: str
    event: Event | None


def append(db: Database, device: str, events: Iterable[Event]) -> list[tuple[int, Event]]:
    """Add what is new at the end of this device's chain; return it with its positions, less what stays erased."""
    key, seq, last_hash = _device(db, device)
    added: list[tuple[int, Event]] = []
    for event in events:
        if db.one("SELECT 1 FROM events WHERE id = ?", event.id):
            continue
        fact, content = encode(event.fact)
        salt = secrets.token_bytes(16)
        seq += 1
        who = (event.at, event.actor, event.channel, event.scope, event.repo, event.session, event.batch)
        header = (event.id, device, seq, last_hash, *who, event.about, fact, digest(salt, content))
        position = db.value(
            f"INSERT INTO events ({HEADER}) VALUES ({', '.join('?' * len(header))}) RETURNING position",
            header[0], key, *header[2:],
        )  # fmt: skip
        last_hash = header_hash(header)
        if _keep_body(db, position, event, salt, content):
            added.append((position, event))
    db.execute("UPDATE devices SET last_seq = ?, last_hash = ? WHERE key = ?", seq, last_hash, key)
    return added


def read(db: Database, after: int, limit: int) -> list[tuple[int, Event]]:
    """The next events in order of arrival whose bodies survive."""
    rows = db.execute(
        f"SELECT e.position, {COLUMNS} FROM events e JOIN bodies b USING (position)"
        " WHERE e.position > ? ORDER BY e.position LIMIT ?",
        after, limit,
    )  # fmt: skip
    return [(row[0], _event(row[1:])) for row in rows]


def about(db: Database, thing: str) -> list[Event]:
    """What is known to have happened to a memory or in a session, in order of time."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM events e JOIN bodies b USING (position)"
        " WHERE e.about = ? AND e.about <> '' ORDER BY e.at, e.id",
        thing,
    )
    return [_event(row) for row in rows]


def end(db: Database) -> int:
    """The position of the newest event."""
    return int(db.value("SELECT coalesce(max(position), 0) FROM events"))


def entries(db: Database, *, about: str = "", before: int = 0, limit: int = 50) -> list[Entry]:
    """The log as people read it, newest first; ``before`` goes on from an earlier page."""
    rows = db.execute(
        f"SELECT e.position, d.id, e.device_seq, e.fact, e.about, {COLUMNS} FROM events e"
        " JOIN devices d ON d.key = e.device LEFT JOIN bodies b USING (position)"
        " WHERE (:about = '' OR e.about = :about) AND (:before = 0 OR e.position < :before)"
        " ORDER BY e.position DESC LIMIT :limit",
        {"about": about, "before": before, "limit": limit},
    )
    return [
        Entry(
            position=row[0],
            device=row[1],
            device_seq=row[2],
            fact=row[3],
            about=row[4],
            at=row[6],
            actor=row[7],
            channel=row[8],
            scope=row[9],
            repo=row[10],
            event=_event(row[5:]) if row[-1] is not None else None,
        )
        for row in rows
    ]


def selected(db: Database, selection: Selection) -> list[tuple[str, list[EventId]]]:
    """Events about memories that came from somewhere, by memory."""
    rows = db.execute(
        "SELECT e.about, e.id FROM events e JOIN bodies b USING (position)"
        " WHERE e.fact LIKE 'memory.%' AND e.fact NOT IN ('memory.erased', 'memory.rolled_back')"
        " AND (:session = '' OR e.session = :session OR EXISTS ("
        "SELECT 1 FROM json_each(b.content, '$.sources') s WHERE s.value ->> 'session_id' = :session))"
        " AND (:source = '' OR EXISTS ("
        "SELECT 1 FROM json_each(b.content, '$.sources') s WHERE s.value ->> 'file' = :source))"
        " AND (:agent = '' OR e.actor = :agent) AND (:batch = '' OR e.batch = :batch)"
        " AND (:since = '' OR e.at >= :since) ORDER BY e.about, e.position",
        plain(selection),
    )
    return [(about, [EventId(row[1]) for row in group]) for about, group in groupby(rows, key=lambda row: str(row[0]))]


def rollbacks(db: Database, prefix: str) -> list[tuple[str, Event]]:
    """The entries of the rollback whose name starts so."""
    rows = db.execute(
        f"SELECT b.content ->> 'rollback', {COLUMNS} FROM events e JOIN bodies b USING (position)"
        " WHERE e.fact = 'memory.rolled_back' AND b.content ->> 'rollback' LIKE ? || '%'",
        prefix,
    )
    return [(row[0], _event(row[1:])) for row in rows]


def ids_about(db: Database, things: Iterable[str]) -> list[EventId]:
    """The entries about these memories or sessions, whether or not their bodies survive."""
    rows = db.execute(
        "SELECT id FROM events WHERE about IN (SELECT value FROM json_each(?)) AND about <> '' ORDER BY position",
        json.dumps(list(things)),
    )
    return [EventId(row[0]) for row in rows]


def known(db: Database, ids: Iterable[str]) -> set[str]:
    """Which of these entries are there already."""
    found = db.execute("SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?))", json.dumps(list(ids)))
    return {row[0] for row in found}


def told_by_hooks(db: Database, session: str) -> bool:
    """Whether hooks told of a session; what a backfill tells is part of a learning run."""
    found = "SELECT 1 FROM events WHERE about = ? AND about <> '' AND fact = 'observation.made' AND batch = '' LIMIT 1"
    return db.one(found, session) is not None


def observed_after(db: Database, position: int) -> list[tuple[str, int]]:
    """The sessions in which something was observed since, each with where in the log that begins."""
    rows = db.execute(
        "SELECT about, min(position) FROM events JOIN bodies USING (position)"
        " WHERE position > ? AND fact = 'observation.made' GROUP BY about ORDER BY 2",
        position,
    )
    return [(row[0], row[1]) for row in rows]


def erasure_of(db: Database, thing: str) -> Event | None:
    """The entry that says a memory was erased, if it was."""
    return next((event for event in about(db, thing) if isinstance(event.fact, MemoryErased)), None)


def keeping_out(db: Database) -> list[Event]:
    """What was destroyed or refused here, for another log to take over."""
    rows = db.execute(f"SELECT {COLUMNS} FROM events e JOIN bodies b USING (position) WHERE {KEEPING_OUT}")
    return [_event(row) for row in rows]


def take_over(db: Database, rows: Mapping[str, Iterable[Row]]) -> None:
    """Put the rows of another log in the place of all there is."""
    for table in reversed(TABLES):
        db.execute(f"DELETE FROM {table}")
    for table in TABLES:
        for row in rows[table]:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", *row)


def holding(db: Database, fragments: Iterable[str]) -> list[EventId]:
    """Observations, questions and refusals whose content holds one of these fragments; every body is read."""
    wanted = [fragment for fragment in fragments if fragment]
    rows = db.stream(f"SELECT e.id, b.content FROM events e JOIN bodies b USING (position) WHERE {REPEATING}")
    return [EventId(row[0]) for row in rows if any(one in row[1] for one in wanted)]


def verify(db: Database) -> list[Broken]:
    """Every place where a header or body was edited, removed, added or put in another order."""
    erased, lost = erased_bodies(db), _lost(db)
    broken: list[Broken] = []
    for device, last_seq, last_hash in db.execute("SELECT id, last_seq, last_hash FROM devices"):
        seq, expected = 0, START
        for header, salt, content in _chain(db, device):
            seq += 1
            is_gap = seq < header[2] and all((device, one) in lost for one in range(seq, header[2]))
            if not is_gap and (header[2] != seq or header[3] != expected):
                broken.append(Broken(device=device, device_seq=seq, why="the chain is broken before this entry"))
            seq = header[2]
            if content is not None and digest(salt, content) != header[-1]:
                broken.append(Broken(device=device, device_seq=seq, why="the content was changed"))
            if content is None and header[0] not in erased:
                broken.append(Broken(device=device, device_seq=seq, why="the content is gone without an erasure"))
            expected = header_hash(header)
        if (seq, expected) != (last_seq, last_hash):
            broken.append(Broken(device=device, device_seq=last_seq, why="the newest entries are not as recorded"))
    return broken


def erased_bodies(db: Database) -> set[str]:
    """Ids of entries whose content may be gone, by what the log itself records."""
    allowed: set[str] = set()
    rows = db.execute(
        "SELECT e.about, b.content FROM events e JOIN bodies b USING (position)"
        " WHERE e.fact IN ('memory.erased', 'observations.dropped', 'entries.lost')"
    )
    for memory, content in rows:
        allowed |= {row[0] for row in db.execute("SELECT id FROM events WHERE about = ? AND about <> ''", memory)}
        allowed |= set(json.loads(content).get("bodies", ()))
    return allowed


def digest(salt: bytes | None, content: str) -> str:
    """What a header says of its body."""
    return hmac.digest(salt or b"", content.encode(), "sha256").hex()


def header_hash(header: Row) -> str:
    """What the next header says of this one."""
    return hashlib.sha256(json.dumps(header, ensure_ascii=False).encode()).hexdigest()


def _device(db: Database, device: str) -> tuple[int, int, str]:
    db.execute("INSERT INTO devices (id, last_seq, last_hash) VALUES (?, 0, ?) ON CONFLICT DO NOTHING", device, START)
    row = db.one("SELECT key, last_seq, last_hash FROM devices WHERE id = ?", device)
    assert row is not None
    return row[0], row[1], row[2]


def _keep_body(db: Database, position: int, event: Event, salt: bytes, content: str) -> bool:
    """Store what the entry says, unless an erasure has already taken it; an erasure takes what it names."""
    if isinstance(event.fact, MemoryErased | ObservationsDropped):
        db.execute(
            "DELETE FROM bodies WHERE position IN ("
            "SELECT position FROM events WHERE about = :memory AND about <> '' AND fact <> 'memory.erased'"
            f" UNION SELECT position FROM events WHERE id IN (SELECT value FROM json_each(:others)) AND {REPEATING})",
            {"memory": event.about, "others": json.dumps(event.fact.bodies)},
        )
        gone = filter(None, (event.about, *event.fact.bodies))
        db.many("INSERT OR IGNORE INTO erased VALUES (?)", [(one,) for one in gone])
    elif db.one(
        f"SELECT 1 FROM erased, events WHERE position = ? AND (name = about OR (name = id AND {REPEATING}))", position
    ):
        return False
    db.execute("INSERT INTO bodies VALUES (?, ?, ?)", position, salt, content)
    return True


def _lost(db: Database) -> set[tuple[str, int]]:
    """Whole entries that a repair could not save: device and number."""
    rows = db.execute("SELECT b.content FROM events e JOIN bodies b USING (position) WHERE e.fact = 'entries.lost'")
    gaps = [gap.split() for row in rows for gap in cast(EntriesLost, decode("entries.lost", row[0])).gaps]
    return {(device, seq) for device, first, last in gaps for seq in range(int(first), int(last) + 1)}


def _chain(db: Database, device: str) -> Iterator[tuple[Row, bytes | None, str | None]]:
    rows = db.stream(
        "SELECT e.id, d.id, e.device_seq, e.prev_hash, e.at, e.actor, e.channel, e.scope, e.repo, e.session, e.batch,"
        " e.about, e.fact, e.digest, b.salt, b.content"
        " FROM events e JOIN devices d ON d.key = e.device LEFT JOIN bodies b USING (position)"
        " WHERE d.id = ? ORDER BY e.device_seq",
        device,
    )
    for row in rows:
        yield row[:-2], row[-2], row[-1]


def _event(row: Row) -> Event:
    identifier, at, actor, channel, scope, repo, session, batch, fact, content = row
    return Event(
        id=EventId(identifier),
        at=at,
        actor=actor,
        channel=Channel(channel),
        scope=Scope(scope),
        repo=repo,
        fact=decode(fact, content),
        session=session,
        batch=batch,
    )
