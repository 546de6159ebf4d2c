"""The log: what happened, in order of arrival, in a chain that shows tampering.

A header is immutable and says who, when and where; the body says what, and can be destroyed. The header
keeps a keyed digest of the body whose key lies with the body, so that after erasing the chain still
verifies and nothing is left to guess the content from.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hivemind.model.events import Event, MemoryErased, decode, encode
from hivemind.model.ids import EventId
from hivemind.model.memory import Channel
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
"""

START = "0" * 64
COLUMNS = "e.id, e.at, e.actor, e.channel, e.scope, e.repo, e.fact, b.content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A place where the chain does not hold."""

    device: str
    device_seq: int
    why: str


def append(db: Database, device: str, events: Iterable[Event]) -> list[tuple[int, Event]]:
    """Add what is new at the end of this device's chain; return it with its positions."""
    key, seq, last_hash = _device(db, device)
    added: list[tuple[int, Event]] = []
    for event in events:
        if db.one("SELECT 1 FROM events WHERE id = ?", event.id):
            continue
        fact, content = encode(event.fact)
        salt = secrets.token_bytes(16)
        seq += 1
        header = (
            event.id,
            key,
            seq,
            last_hash,
            event.at,
            event.actor,
            event.channel,
            event.scope,
            event.repo,
        )
        position = db.value(
            "INSERT INTO events (id, device, device_seq, prev_hash, at, actor, channel, scope, repo,"
            " about, fact, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING position",
            *header, event.about, fact, _digest(salt, content),
        )  # fmt: skip
        last_hash = _hash((event.id, device, *header[2:], event.about, fact, _digest(salt, content)))
        if isinstance(event.fact, MemoryErased):
            _erase_bodies(db, event.about)
        elif _is_erased(db, event.about):
            content = ""
        if content:
            db.execute("INSERT INTO bodies VALUES (?, ?, ?)", position, salt, content)
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


def verify(db: Database) -> list[Broken]:
    """Every place where a header or body was edited, removed, added or put in another order."""
    broken: list[Broken] = []
    for device, last_seq, last_hash in db.execute("SELECT id, last_seq, last_hash FROM devices"):
        seq, expected = 0, START
        for header, salt, content in _chain(db, device):
            seq += 1
            if header[2] != seq or header[3] != expected:
                broken.append(Broken(device=device, device_seq=seq, why="the chain is broken before this entry"))
                seq = header[2]
            if content is not None and _digest(salt, content) != header[-1]:
                broken.append(Broken(device=device, device_seq=seq, why="the content was changed"))
            if content is None and not _is_erased(db, header[9]):
                broken.append(Broken(device=device, device_seq=seq, why="the content is gone without an erasure"))
            expected = _hash(header)
        if (seq, expected) != (last_seq, last_hash):
            broken.append(Broken(device=device, device_seq=last_seq, why="the newest entries are not as recorded"))
    return broken


def _device(db: Database, device: str) -> tuple[int, int, str]:
    db.execute("INSERT INTO devices (id, last_seq, last_hash) VALUES (?, 0, ?) ON CONFLICT DO NOTHING", device, START)
    row = db.one("SELECT key, last_seq, last_hash FROM devices WHERE id = ?", device)
    assert row is not None
    return row[0], row[1], row[2]


def _is_erased(db: Database, thing: str) -> bool:
    erasure = "SELECT 1 FROM events WHERE about = ? AND about <> '' AND fact = 'memory.erased'"
    return db.one(erasure, thing) is not None


def _erase_bodies(db: Database, thing: str) -> None:
    """Destroy what was said about a memory; only the headers and the erasure itself stay."""
    positions = "SELECT position FROM events WHERE about = ? AND about <> '' AND fact <> 'memory.erased'"
    db.execute(f"DELETE FROM bodies WHERE position IN ({positions})", thing)


def _chain(db: Database, device: str) -> Iterator[tuple[Row, bytes | None, str | None]]:
    rows = db.stream(
        "SELECT e.id, d.id, e.device_seq, e.prev_hash, e.at, e.actor, e.channel, e.scope, e.repo, e.about,"
        " e.fact, e.digest, b.salt, b.content"
        " FROM events e JOIN devices d ON d.key = e.device LEFT JOIN bodies b USING (position)"
        " WHERE d.id = ? ORDER BY e.device_seq",
        device,
    )
    for row in rows:
        yield row[:-2], row[-2], row[-1]


def _event(row: Row) -> Event:
    identifier, at, actor, channel, scope, repo, fact, content = row
    return Event(
        id=EventId(identifier),
        at=at,
        actor=actor,
        channel=Channel(channel),
        scope=Scope(scope),
        repo=repo,
        fact=decode(fact, content),
    )


def _digest(salt: bytes | None, content: str) -> str:
    return hmac.digest(salt or b"", content.encode(), "sha256").hex()


def _hash(header: Row) -> str:
    return hashlib.sha256(json.dumps(header, ensure_ascii=False).encode()).hexdigest()
