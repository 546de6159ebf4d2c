"""The log: what happened, in order of arrival, in a chain that shows tampering.

A header is immutable and says who, when and where; the body says what, and can be destroyed. The header
keeps a keyed digest of the body whose key lies with the body, so that after erasing the chain still
verifies and nothing is left to guess the content from.

A device writes two chains: what is the team's into the one it shares, whole; everything else into its own.
"""

import base64
import json
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from hivemind.errors import OutOfStep, Refused
from hivemind.model import wire
from hivemind.model.events import (
    EntriesLost,
    EntriesRefused,
    Event,
    MemoryErased,
    MemoryPublished,
    MemoryRolledBack,
    ObservationMade,
    ObservationsDropped,
    decode,
    encode,
)
from hivemind.model.ids import EventId, MemoryId, derived, short
from hivemind.model.plain import from_row, plain
from hivemind.model.rollback import Selection
from hivemind.model.scope import Scope, Sight
from hivemind.model.wire import START, Header, digest
from hivemind.store.database import Database, Row
from hivemind.store.visibility import SESSION_VISIBLE, seen_from, visible

SCHEMA = """
CREATE TABLE devices (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    last_seq INTEGER NOT NULL,
    last_hash TEXT NOT NULL,     -- of the newest header, so that a missing tail is noticed
    shared INTEGER NOT NULL DEFAULT 0, -- a chain that travels; a device has another for what is its person's
    person TEXT NOT NULL DEFAULT '',   -- on a hub: whose device it is
    cursor INTEGER NOT NULL DEFAULT 0, -- on a hub: how far it has read, and thereby acknowledged
    last_seen_at TEXT NOT NULL DEFAULT ''
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
    content TEXT NOT NULL         -- JSON; of observations, packed
) STRICT;
CREATE TABLE erased (             -- memories and entries whose content must not be stored again
    name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
"""

TRAVEL = """
CREATE TABLE absent (             -- entries that came without content, were refused, or wait for it to come again
    position INTEGER PRIMARY KEY REFERENCES events (position)
) STRICT;
CREATE TRIGGER only_the_teams_is_shared BEFORE INSERT ON events
WHEN NEW.scope <> 'team' AND (SELECT shared FROM devices WHERE key = NEW.device)
BEGIN SELECT RAISE(ABORT, 'only what is the team''s can stand in a chain that is shared'); END;
CREATE TRIGGER what_is_shared_stays_the_teams BEFORE UPDATE OF scope, device ON events
WHEN NEW.scope <> 'team' AND (SELECT shared FROM devices WHERE key = NEW.device)
BEGIN SELECT RAISE(ABORT, 'only what is the team''s can stand in a chain that is shared'); END;
CREATE TRIGGER a_chain_never_becomes_shared BEFORE UPDATE OF shared ON devices WHEN NEW.shared <> OLD.shared
BEGIN SELECT RAISE(ABORT, 'a chain never changes whether it is shared'); END;
"""
"""What sharing needs beside the log; the database itself keeps what is private out of what travels."""

FROM_1 = """
ALTER TABLE devices ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
ALTER TABLE devices ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE devices ADD COLUMN cursor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE devices ADD COLUMN last_seen_at TEXT NOT NULL DEFAULT '';
"""
"""A log of format 1 had one chain; what the team's is in it stays there and is not shared."""

TABLES = ("devices", "events", "bodies", "absent", "erased")
"""In the order in which they refer to each other."""

REPEATING_FACTS = ("observation.made", "memories.recalled", "write.refused")
"""Entries that may repeat what a memory says, and lose their content with it."""
REPEATING = f"fact IN {REPEATING_FACTS}"
PATTERNS_AT_ONCE = 50

HEADER = "id, device, device_seq, prev_hash, at, actor, channel, scope, repo, session, batch, about, fact, digest"
COLUMNS = "e.id, e.at, e.actor, e.channel, e.scope, e.repo, e.session, e.batch, e.fact, b.content"
EVENTS = f"SELECT {COLUMNS} FROM events e JOIN bodies b USING (position) WHERE"
ENTRIES = (
    f"SELECT e.position, e.{HEADER.replace(', ', ', e.').replace('e.device,', 'd.id,')}, b.salt, b.content"
    " FROM events e JOIN devices d ON d.key = e.device LEFT JOIN bodies b USING (position)"
)
NAMED = "(SELECT value FROM json_each(?))"
IN_SIGHT = (
    f"{visible('e')} AND NOT (e.fact = 'memories.recalled'"
    f" AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = e.session AND NOT {SESSION_VISIBLE}))"
)
"""That an entry belongs to no other repository; a question is filed as the person's own wherever it was asked."""

MARK = "z:"
"""JSON never begins with it."""
STEP = 1_000
"""Entries between two reports of progress."""
SHORTEST = 512
"""Below this there is little to gain."""


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
    """Add what is new at the end of this device's chains; return it with its positions, less what stays erased."""
    tips = {device: tip(db, device, shared=False)}
    added: list[tuple[int, Event]] = []
    for event in events:
        if db.one("SELECT 1 FROM events WHERE id = ?", event.id):
            continue
        chain = _chain_for(db, device, tips[device][0], event)
        if chain not in tips:
            tips[chain] = tip(db, chain, shared=True)
        key, seq, last_hash = tips[chain]
        fact, content = encode(event.fact)
        salt = secrets.token_bytes(16)
        who = (event.at, event.actor, event.channel, event.scope, event.repo, event.session, event.batch)
        header = Header(event.id, chain, seq + 1, last_hash, *who, event.about, fact, digest(salt, content))
        position = _add(db, key, header)
        tips[chain] = (key, header.seq, header.hash)
        if _keep_body(db, position, event, salt, content):
            added.append((position, event))
    for key, seq, last_hash in tips.values():
        db.execute("UPDATE devices SET last_seq = ?, last_hash = ? WHERE key = ?", seq, last_hash, key)
    return added


def take_in(db: Database, entries: Iterable[wire.Entry]) -> list[tuple[int, Event]]:
    """Add what came from elsewhere at the end of its own chain; return what is new, less what stays erased.

    What is known already is passed over, unless its content had been lost here and comes again.
    """
    added: list[tuple[int, Event]] = []
    for entry in entries:
        event = entry.event
        if not entry.is_sealed or entry.header.scope != Scope.TEAM:
            raise Refused(f"entry {entry.header.id} was changed on its way, or is not the team's")
        position = db.value("SELECT position FROM events WHERE id = ?", entry.header.id)
        if position is None:
            position = _continue(db, entry.header)
            db.execute("INSERT INTO absent VALUES (?)", position)
        elif header_at(db, position) != entry.header:
            raise Refused(f"entry {entry.header.id} is known with another header")
        if event and entry.content and db.one("SELECT 1 FROM absent WHERE position = ?", position):
            db.execute("DELETE FROM absent WHERE position = ?", position)
            if _keep_body(db, position, event, entry.salt, entry.content):
                added.append((position, event))
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
    return [_event(row) for row in db.execute(f"{EVENTS} e.about = ? AND e.about <> '' ORDER BY e.at, e.id", thing)]


def end(db: Database) -> int:
    """The position of the newest event."""
    return int(db.value("SELECT coalesce(max(position), 0) FROM events"))


def count(db: Database) -> int:
    """How many entries there are; a hub's positions go on through all of its teams."""
    return int(db.value("SELECT coalesce(sum(last_seq), 0) FROM devices"))


def entries(
    db: Database,
    sight: Sight,
    *,
    about: str = "",
    facts: Sequence[str] = (),
    actor: str = "",
    batch: str = "",
    before: int = 0,
    limit: int = 50,
) -> list[Entry]:
    """The log in sight as people read it, newest first; ``before`` goes on from an earlier page."""
    rows = db.execute(
        "SELECT e.position, d.id, e.device_seq, e.fact, e.about, e.at, e.actor, e.channel, e.scope, e.repo,"
        f" {COLUMNS} FROM events e"
        " JOIN devices d ON d.key = e.device LEFT JOIN bodies b USING (position)"
        f" WHERE {IN_SIGHT} AND (:about = '' OR e.about = :about) AND (:before = 0 OR e.position < :before)"
        " AND (:actor = '' OR e.actor = :actor) AND (:batch = '' OR e.batch = :batch)"
        " AND (:facts = '[]' OR e.fact IN (SELECT value FROM json_each(:facts)))"
        " ORDER BY e.position DESC LIMIT :limit",
        {
            **seen_from(sight),
            "about": about,
            "facts": json.dumps(list(facts)),
            "actor": actor,
            "batch": batch,
            "before": before,
            "limit": limit,
        },
    )
    told = [(*row[:10], _event(row[10:]) if row[-1] is not None else None) for row in rows]
    return [from_row(Entry, row) for row in told]


def selected(db: Database, selection: Selection) -> list[tuple[str, list[EventId]]]:
    """Events about memories that came from somewhere, by memory."""
    rows = db.execute(
        "SELECT e.about, e.id FROM events e JOIN bodies b USING (position)"
        " WHERE (e.fact LIKE 'memory.%' OR e.fact = 'dispute.settled')"
        " AND e.fact NOT IN ('memory.erased', 'memory.rolled_back')"
        " AND (:session = '' OR e.session = :session OR EXISTS ("
        "SELECT 1 FROM json_each(b.content, '$.sources') s WHERE json_extract(s.value, '$.session_id') = :session))"
        " AND (:source = '' OR EXISTS ("
        "SELECT 1 FROM json_each(b.content, '$.sources') s WHERE json_extract(s.value, '$.file') = :source))"
        " AND (:agent = '' OR e.actor = :agent) AND (:batch = '' OR e.batch = :batch)"
        " AND (:since = '' OR e.at >= :since) ORDER BY e.about, e.position",
        plain(selection),
    )
    return [(about, [EventId(row[1]) for row in group]) for about, group in groupby(rows, key=lambda row: str(row[0]))]


def rollbacks(db: Database, prefix: str) -> list[tuple[str, Event]]:
    """The entries of the rollback whose name starts so."""
    rows = db.execute(
        f"{EVENTS} e.fact = 'memory.rolled_back' AND json_extract(b.content, '$.rollback') LIKE ? || '%'", prefix
    )
    told = [_event(row) for row in rows]
    return [(event.fact.rollback, event) for event in told if isinstance(event.fact, MemoryRolledBack)]


def things(db: Database, ids: Iterable[str]) -> list[str]:
    """What these entries are about."""
    found = db.execute(f"SELECT DISTINCT about FROM events WHERE id IN {NAMED} ORDER BY about", json.dumps(list(ids)))
    return [row[0] for row in found]


def published(db: Database, memory_id: str) -> list[MemoryId]:
    """The copies of a memory that were given to the team."""
    return [event.fact.copy for event in about(db, memory_id) if isinstance(event.fact, MemoryPublished)]


def ids_about(db: Database, things: Iterable[str]) -> list[EventId]:
    """The entries about these memories or sessions, whether or not their bodies survive."""
    found = f"SELECT id FROM events WHERE about IN {NAMED} AND about <> '' ORDER BY position"
    return [EventId(row[0]) for row in db.execute(found, json.dumps(list(things)))]


def known(db: Database, ids: Iterable[str]) -> set[str]:
    """Which of these entries are there already."""
    found = db.execute(f"SELECT id FROM events WHERE id IN {NAMED}", json.dumps(list(ids)))
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


def erasure_of(db: Database, prefix: str, sight: Sight) -> Event | None:
    """The entry in sight that says a memory was erased whose id begins so, if there is one."""
    alike = "e.about >= :prefix AND e.about < :end AND e.about <> '' AND e.fact = 'memory.erased'"
    values = {**seen_from(sight), "prefix": prefix, "end": prefix + "g"}
    rows = db.execute(f"{EVENTS} {alike} AND {visible('e')} LIMIT 1", values) if prefix else []
    return next((_event(row) for row in rows), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """An entry whose content may quote something."""

    id: EventId
    about: str
    fact: str
    content: str

    @property
    def may_go(self) -> bool:
        """Whether an erasure may take its content: it only repeats what was said."""
        return self.fact in REPEATING_FACTS


def saying(db: Database, patterns: Sequence[Sequence[str]], is_possible_in: Callable[[str], bool]) -> Iterator[Saying]:
    """Entries whose content has the pieces of one of these patterns in order, whatever their case.

    Every body is read by the engine; only what is packed is also unpacked here and looked at with the function.
    """
    for start in range(0, len(patterns), PATTERNS_AT_ONCE):
        page = [f"%{'%'.join(pieces)}%" for pieces in patterns[start : start + PATTERNS_AT_ONCE]]
        any_of = " OR ".join([f"content {db.LIKE} ?"] * len(page))
        rows = db.stream(
            "SELECT e.id, e.about, e.fact, b.content FROM events e JOIN bodies b USING (position)"
            f" WHERE e.position IN (SELECT position FROM bodies WHERE content LIKE '{MARK}%' OR {any_of})",
            *page,
        )
        for identifier, about, fact, content in rows:
            told = unpacked(content)
            if not content.startswith(MARK) or is_possible_in(told):
                yield Saying(id=EventId(identifier), about=about, fact=fact, content=told)


def holds(db: Database, fragments: Iterable[str]) -> bool:
    """Whether any content has one of these fragments as it stands; every body is read."""
    wanted = list(fragments)
    return any(any(map(unpacked(row[0]).__contains__, wanted)) for row in db.stream("SELECT content FROM bodies"))


def with_content(db: Database, ids: Iterable[str]) -> list[EventId]:
    """Which of these entries still have their content."""
    found = db.execute(
        f"SELECT e.id FROM events e JOIN bodies b USING (position) WHERE e.id IN {NAMED} ORDER BY e.position",
        json.dumps(list(ids)),
    )
    return [EventId(row[0]) for row in found]


def containing(
    db: Database, is_possible: Callable[[str], bool], progress: Callable[[int, int], None]
) -> Iterator[Event]:
    """The events whose content may say something, by a quick look at its JSON; every body is read."""
    last = end(db)
    whole = f"SELECT e.position, {COLUMNS} FROM events e JOIN bodies b USING (position) ORDER BY e.position"
    for position, *told, kept in db.stream(whole):
        if position % STEP == 0:
            progress(position, last)
        content = unpacked(kept)
        if is_possible(content):
            yield Event.read(content, *told)


def verify(db: Database) -> list[Broken]:
    """Every place where a header or body was edited, removed, added or put in another order."""
    lost = _lost(db)
    gone = erased_bodies(db) | {row[0] for row in db.execute("SELECT id FROM absent JOIN events USING (position)")}
    broken: list[Broken] = []
    for device, last_seq, last_hash in db.execute("SELECT id, last_seq, last_hash FROM devices"):
        seq, expected = 0, START
        for _, entry in sent(db.stream(f"{ENTRIES} WHERE d.id = ? ORDER BY e.device_seq", device)):
            seq += 1
            here = entry.header.seq
            is_gap = seq < here and all((device, one) in lost for one in range(seq, here))
            if not is_gap and (here != seq or entry.header.prev_hash != expected):
                broken.append(Broken(device=device, device_seq=seq, why="the chain is broken before this entry"))
            seq = here
            if not entry.is_sealed:
                broken.append(Broken(device=device, device_seq=seq, why="the content was changed"))
            if entry.content is None and entry.header.id not in gone:
                broken.append(Broken(device=device, device_seq=seq, why="the content is gone without an erasure"))
            expected = entry.header.hash
        if (seq, expected) != (last_seq, last_hash):
            broken.append(Broken(device=device, device_seq=last_seq, why="the newest entries are not as recorded"))
    return broken


def sent(rows: Iterable[Row]) -> Iterator[tuple[int, wire.Entry]]:
    """Rows of ``ENTRIES`` with their positions, as they travel."""
    for row in rows:
        yield row[0], wire.Entry(header=Header(*row[1:-2]), salt=row[-2] or b"", content=row[-1] and unpacked(row[-1]))


def header_at(db: Database, position: int) -> Header:
    """The header of the entry at a position."""
    return next(entry.header for _, entry in sent(db.execute(f"{ENTRIES} WHERE e.position = ?", position)))


def shared_chain(device: str) -> str:
    """The name of the chain that a device shares with its team."""
    return derived("shared", device)


def tip(db: Database, device: str, *, shared: bool) -> tuple[int, int, str]:
    """The key of a chain, which begins here if it is new, and the number and hash of its newest entry."""
    db.execute(
        "INSERT INTO devices (id, last_seq, last_hash, shared) VALUES (?, 0, ?, ?) ON CONFLICT DO NOTHING",
        device, START, int(shared),
    )  # fmt: skip
    row = db.one("SELECT key, last_seq, last_hash FROM devices WHERE id = ?", device)
    assert row is not None
    return row[0], row[1], row[2]


def _chain_for(db: Database, device: str, key: int, event: Event) -> str:
    """What is the team's goes into the shared chain, unless its memory began before there was one."""
    if event.scope is not Scope.TEAM:
        return device
    began_here = "SELECT 1 FROM events WHERE about = ? AND about <> '' AND device = ? AND scope = 'team' LIMIT 1"
    return device if db.one(began_here, event.about, key) else shared_chain(device)


def _add(db: Database, key: int, header: Header) -> int:
    return int(
        db.value(
            f"INSERT INTO events ({HEADER}) VALUES ({', '.join('?' * len(header))}) RETURNING position",
            header.id, key, *header[2:],
        )
    )  # fmt: skip


def _continue(db: Database, header: Header) -> int:
    """Put a header that came from elsewhere at the end of its chain."""
    key, seq, last_hash = tip(db, header.device, shared=True)
    if header.seq > seq + 1:
        raise OutOfStep(f"entry {seq + 1} of device {short(header.device)} is expected, not {header.seq}", seq + 1)
    if header.seq <= seq or header.prev_hash != last_hash:
        raise Refused(
            f"device {short(header.device)} has two different entries {header.seq}: its store was copied, or put back"
            " from a backup and written to; log in with a new store"
        )
    db.execute("UPDATE devices SET last_seq = ?, last_hash = ? WHERE key = ?", header.seq, header.hash, key)
    return _add(db, key, header)


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
        db.many("INSERT INTO erased VALUES (?) ON CONFLICT DO NOTHING", [(one,) for one in gone])
    elif isinstance(event.fact, EntriesRefused):
        _let_go(db, event.fact.bodies)
    elif db.one(
        f"SELECT 1 FROM erased, events WHERE position = ? AND (name = about OR (name = id AND {REPEATING}))", position
    ):
        return False
    kept = packed(content) if isinstance(event.fact, ObservationMade) else content
    db.execute("INSERT INTO bodies VALUES (?, ?, ?)", position, salt, kept)
    return True


def _let_go(db: Database, refused: Iterable[EventId]) -> None:
    """Take the content of entries that the hub refused, and whatever they had brought about in the log."""
    named = json.dumps(list(refused))
    of_the_team = "FROM events e JOIN devices d ON d.key = e.device WHERE d.shared = 1 AND"
    db.execute(f"INSERT INTO absent SELECT e.position {of_the_team} e.id IN {NAMED} ON CONFLICT DO NOTHING", named)
    db.execute(f"DELETE FROM bodies WHERE position IN (SELECT e.position {of_the_team} e.id IN {NAMED})", named)
    erased_still = (
        "SELECT 1 FROM events o JOIN bodies b USING (position) WHERE o.about = e.about AND o.fact = 'memory.erased'"
    )
    lifted = f"SELECT e.about {of_the_team} e.id IN {NAMED} AND fact = 'memory.erased' AND NOT EXISTS ({erased_still})"
    for (memory,) in db.execute(lifted, named):
        # What it took was not its to take: the hub still has it, and sends it again.
        db.execute("DELETE FROM erased WHERE name = ?", memory)
        db.execute(
            f"INSERT INTO absent SELECT e.position {of_the_team} e.about = ?"
            " AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.position = e.position) ON CONFLICT DO NOTHING",
            memory,
        )


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


def _lost(db: Database) -> set[tuple[str, int]]:
    """Whole entries that a repair could not save: device and number."""
    rows = db.execute("SELECT b.content FROM events e JOIN bodies b USING (position) WHERE e.fact = 'entries.lost'")
    gaps = [gap.split() for row in rows for gap in cast(EntriesLost, decode("entries.lost", row[0])).gaps]
    return {(device, seq) for device, first, last in gaps for seq in range(int(first), int(last) + 1)}


def _event(row: Row) -> Event:
    *told, content = row
    return Event.read(unpacked(content), *told)


def packed(content: str) -> str:
    """The content as it is kept: small, for build logs repeat themselves; as text, which every engine keeps alike."""
    if len(content) < SHORTEST:
        return content
    small = MARK + base64.b64encode(zlib.compress(content.encode())).decode()
    return small if len(small) < len(content) else content


def unpacked(kept: str) -> str:
    """The content that was kept."""
    if kept.startswith(MARK):
        return zlib.decompress(base64.b64decode(kept[len(MARK) :])).decode()
    return kept
