"""The event log: entries in order of arrival, in hash chains that reveal tampering.

An entry has an immutable header (who, when, where) and a body (what), which can be destroyed. The header keeps a keyed
digest of the body, and the key is stored with the body. After an erasure the chain still verifies, and nothing is left
from which the content could be guessed.

A device writes two chains: team events into the one it shares as a whole, everything else into its own.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, cast

from hivemind.model import wire
from hivemind.model.codec import PACKED_PREFIX, from_row, pack_content, to_plain, unpack_content
from hivemind.model.dataclass import dataclass
from hivemind.model.events import (
    EntriesLost,
    EntriesRefused,
    ErasureFinished,
    Event,
    MemoryErased,
    MemoryPublished,
    MemoryRolledBack,
    ObservationMade,
    ObservationsDropped,
    attribute,
    decode_fact,
    encode_fact,
)
from hivemind.model.ids import EventId, MemoryId, Timestamp, derive_id
from hivemind.model.review import Selection
from hivemind.model.scope import Scope, Visibility
from hivemind.model.wire import FIRST_PREVIOUS_HASH, Header, compute_digest
from hivemind.store.conditions import EVENT_VISIBLE, SESSION_VISIBLE, bind_sight
from hivemind.store.database import Database, Row

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
"""By its triggers, the database itself keeps private events out of shared chains."""

TABLES = ("devices", "events", "bodies", "absent", "erased")
"""In the order of their foreign keys."""

REPEATING_FACTS = ("observation.made", "memories.recalled", "agent.asked", "write.refused")
"""Facts whose content may repeat a memory's text, and is erased with it."""
REPEATING = f"fact IN {REPEATING_FACTS}"
DELETING_FACTS = ("memory.erased", "observations.dropped", "entries.refused")
"""Facts that delete the content of other entries."""
PATTERNS_PER_STATEMENT = 50
"""LIKE conditions in one statement; every statement reads all bodies."""

HEADER = "id, device, device_seq, prev_hash, at, actor, channel, scope, repo, session, batch, about, fact, digest"
MEMBER = "(SELECT w.person FROM devices w WHERE w.key = e.device)"
"""The member whose device wrote an entry, as the hub knows it; empty for entries of this store alone."""
COLUMNS = f"{MEMBER}, e.id, e.at, e.actor, e.channel, e.scope, e.repo, e.session, e.batch, e.fact, b.content"
SELECT_EVENTS = f"SELECT {COLUMNS} FROM events e JOIN bodies b USING (position) WHERE"
SELECT_ENTRIES = (
    f"SELECT e.position, e.{HEADER.replace(', ', ', e.').replace('e.device,', 'd.id,')}, b.salt, b.content"
    " FROM events e JOIN devices d ON d.key = e.device LEFT JOIN bodies b USING (position)"
)
JSON_VALUES = "(SELECT value FROM json_each(?))"
IN_SIGHT = (
    f"{EVENT_VISIBLE} AND NOT (e.fact IN ('memories.recalled', 'agent.asked')"
    f" AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = e.session AND NOT {SESSION_VISIBLE}))"
)
"""Matches entries of no other repository. Receipts have user scope, so their session decides."""

PROGRESS_STEP = 1_000
"""Entries between two progress reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainBreak:
    """An entry at which a chain does not verify."""

    device: str
    device_seq: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """An entry of the log as people read it; ``event`` is None if the content was erased."""

    position: int
    device: str
    device_seq: int
    fact: str
    about: str
    at: Timestamp
    actor: str
    channel: str
    scope: str
    repo: str
    event: Event | None


def append(db: Database, device: str, events: Iterable[Event]) -> list[tuple[int, Event]]:
    """Append new events to this device's chains; return them with their positions, without those that stay erased."""
    tips = {device: ensure_chain(db, device, is_shared=False)}
    added: list[tuple[int, Event]] = []
    for event in events:
        # An event that is recorded twice, as after a crash, is stored once.
        if db.one("SELECT 1 FROM events WHERE id = ?", event.id):
            continue
        chain = derive_shared_chain(device) if event.scope is Scope.TEAM else device
        # Only when it is needed, because this creates the chain.
        if chain not in tips:
            tips[chain] = ensure_chain(db, chain, is_shared=True)
        key, seq, last_hash = tips[chain]
        fact, content = encode_fact(event.fact)
        # A new salt for each body: without it, an erased text could be guessed and checked against the digest.
        salt = secrets.token_bytes(16)
        envelope = (event.at, event.actor, event.channel, event.scope, event.repo, event.session, event.batch)
        header = Header(
            event.id, chain, seq + 1, last_hash, *envelope, event.about, fact, compute_digest(salt, content)
        )
        position = add_header(db, key, header)
        tips[chain] = (key, header.seq, header.hash)
        if keep_body(db, position, event, salt, content):
            added.append((position, attribute(event, find_person(db, chain) if chain != device else "")))
    for key, seq, last_hash in tips.values():
        db.execute("UPDATE devices SET last_seq = ?, last_hash = ? WHERE key = ?", seq, last_hash, key)
    return added


def read_events(db: Database, after: int, limit: int) -> list[tuple[int, Event]]:
    """The next events in order of arrival, without those whose content is gone."""
    rows = db.execute(
        f"SELECT e.position, {COLUMNS} FROM events e JOIN bodies b USING (position)"
        " WHERE e.position > ? ORDER BY e.position LIMIT ?",
        after, limit,
    )  # fmt: skip
    return [(row[0], _parse_event(row[1:])) for row in rows]


def read_events_about(db: Database, about_id: str) -> list[Event]:
    """The events about a memory or session, in order of time."""
    # The condition about <> '' lets the engine use the partial index events_about; so in all statements below.
    rows = db.execute(f"{SELECT_EVENTS} e.about = ? AND e.about <> '' ORDER BY e.at, e.id", about_id)
    return [*map(_parse_event, rows)]


def read_events_about_each(db: Database, about_ids: Sequence[str]) -> dict[str, list[Event]]:
    """The events about each of these memories or sessions, in order of time."""
    events: dict[str, list[Event]] = {about: [] for about in about_ids}
    condition = f"e.about IN {JSON_VALUES} AND e.about <> '' ORDER BY e.at, e.id"
    for event in map(_parse_event, db.execute(f"{SELECT_EVENTS} {condition}", json.dumps(about_ids))):
        events[event.about].append(event)
    return events


def read_last_position(db: Database) -> int:
    """The position of the newest entry."""
    return int(db.value("SELECT coalesce(max(position), 0) FROM events"))


def has_facts_after(db: Database, position: int, facts: Sequence[str]) -> bool:
    """Whether an entry after a position has one of these facts."""
    sql = f"SELECT 1 FROM events WHERE position > ? AND fact IN {JSON_VALUES} LIMIT 1"
    return db.one(sql, position, json.dumps(list(facts))) is not None


def find_last_deletion(db: Database, batch: str = "", after: int = 0) -> int:
    """The position of the last entry that deletes content, of a batch if given; 0 if there is none."""
    is_deletion = f"position > :after AND :batch IN ('', batch) AND fact IN {DELETING_FACTS}"
    sql = f"SELECT coalesce(max(position), 0) FROM events WHERE {is_deletion}"
    return int(db.value(sql, {"after": after, "batch": batch}))


def count_entries(db: Database) -> int:
    """The number of entries; not the last position, because on a hub all teams share one sequence of positions."""
    return int(db.value("SELECT coalesce(sum(last_seq), 0) FROM devices"))


def read_entries(
    db: Database,
    sight: Visibility,
    *,
    about: str = "",
    facts: Sequence[str] = (),
    actor: str = "",
    batch: str = "",
    before: int = 0,
    limit: int = 50,
) -> list[LogEntry]:
    """Visible log entries, newest first; ``before`` is the last position of the previous page."""
    rows = db.execute(
        "SELECT e.position, d.id, e.device_seq, e.fact, e.about, e.at,"
        " CASE WHEN d.person <> '' AND e.channel = 'person' THEN d.person ELSE e.actor END, e.channel, e.scope, e.repo,"
        f" {COLUMNS} FROM events e"
        " JOIN devices d ON d.key = e.device LEFT JOIN bodies b USING (position)"
        f" WHERE {IN_SIGHT} AND (:about = '' OR e.about = :about) AND (:before = 0 OR e.position < :before)"
        " AND (:actor = '' OR e.actor = :actor) AND (:batch = '' OR e.batch = :batch)"
        " AND (:facts = '[]' OR e.fact IN (SELECT value FROM json_each(:facts)))"
        " ORDER BY e.position DESC LIMIT :limit",
        {
            **bind_sight(sight),
            "about": about,
            "facts": json.dumps(list(facts)),
            "actor": actor,
            "batch": batch,
            "before": before,
            "limit": limit,
        },
    )
    # Erased entries are listed too: the log shows that they existed, without their content.
    parsed_rows = [(*row[:10], _parse_event(row[10:]) if row[-1] is not None else None) for row in rows]
    return [from_row(LogEntry, row) for row in parsed_rows]


SELECTED_SESSIONS = "(SELECT json_extract(s.value, '$.session_id') FROM json_each(b.content, '$.sources') s)"
# What holds everywhere was said somewhere: its session tells where. Without a session it counts as said here.
SAID_HERE = (
    "(:everywhere OR e.repo IN (SELECT value FROM json_each(:repos)) OR (e.repo = '' AND NOT EXISTS ("
    "SELECT 1 FROM sessions o WHERE o.repo <> '' AND o.repo NOT IN (SELECT value FROM json_each(:repos))"
    f" AND (o.id = e.session OR o.id IN {SELECTED_SESSIONS}))))"
)


def select_events(db: Database, selection: Selection, sight: Visibility) -> list[tuple[str, list[EventId]]]:
    """Ids of the events that a rollback's selection covers and that belong to what is in sight, grouped by memory."""
    rows = db.execute(
        "SELECT e.about, e.id FROM events e JOIN bodies b USING (position)"
        " WHERE (e.fact LIKE 'memory.%' OR e.fact = 'dispute.settled')"
        " AND e.fact NOT IN ('memory.erased', 'memory.rolled_back')"
        f" AND (:session = '' OR e.session = :session OR :session IN {SELECTED_SESSIONS})"
        " AND (:source = '' OR EXISTS ("
        "SELECT 1 FROM json_each(b.content, '$.sources') s WHERE json_extract(s.value, '$.file') = :source))"
        " AND (:agent = '' OR e.actor = :agent) AND (:batch = '' OR e.batch = :batch)"
        f" AND (:since = '' OR e.at >= :since) AND {SAID_HERE} ORDER BY e.about, e.position",
        to_plain(selection) | bind_sight(sight),
    )
    return [(about, [EventId(row[1]) for row in group]) for about, group in groupby(rows, key=lambda row: str(row[0]))]


def find_rollback_events(db: Database, prefix: str) -> list[tuple[str, Event]]:
    """The events of rollbacks whose id starts with the prefix, each with the full id."""
    events = map(_parse_event, db.execute(f"{SELECT_EVENTS} e.fact = 'memory.rolled_back'"))
    rollbacks = [(event.fact.rollback, event) for event in events if isinstance(event.fact, MemoryRolledBack)]
    return [(name, event) for name, event in rollbacks if prefix and name.startswith(prefix)]


def find_memories_of_entries(db: Database, ids: Iterable[str]) -> list[str]:
    """Ids of the memories or sessions that these entries are about."""
    sql = f"SELECT DISTINCT about FROM events WHERE id IN {JSON_VALUES} ORDER BY about"
    return [row[0] for row in db.execute(sql, json.dumps(list(ids)))]


def find_published_copies(db: Database, memory_id: str) -> list[MemoryId]:
    """Ids of the copies of a memory that were published to the team."""
    return [event.fact.copy for event in read_events_about(db, memory_id) if isinstance(event.fact, MemoryPublished)]


def find_ids_with_content(db: Database, ids: Iterable[str]) -> set[str]:
    """Which of these ids of memories and entries have content in the log."""
    ids_json = json.dumps(list(ids))
    rows = db.execute(
        "SELECT e.id, e.about FROM events e JOIN bodies b USING (position)"
        f" WHERE e.fact <> 'memory.erased' AND (e.id IN {JSON_VALUES} OR (e.about <> '' AND e.about IN {JSON_VALUES}))",
        ids_json, ids_json,
    )  # fmt: skip
    return {identifier for row in rows for identifier in row}.intersection(json.loads(ids_json))


def has_entries_about(db: Database, about_ids: Iterable[str]) -> bool:
    """Whether there is an entry about one of these memories or sessions, with its content or without."""
    sql = f"SELECT 1 FROM events WHERE about IN {JSON_VALUES} AND about <> '' LIMIT 1"
    return db.one(sql, json.dumps(list(about_ids))) is not None


def find_known_ids(db: Database, ids: Iterable[str]) -> set[str]:
    """Which of these entry ids are already in the log."""
    rows = db.execute(f"SELECT id FROM events WHERE id IN {JSON_VALUES}", json.dumps(list(ids)))
    return {row[0] for row in rows}


def has_hook_observations(db: Database, session: str) -> bool:
    """Whether hooks recorded observations of a session; those of a backfill have a batch."""
    sql = "SELECT 1 FROM events WHERE about = ? AND about <> '' AND fact = 'observation.made' AND batch = '' LIMIT 1"
    return db.one(sql, session) is not None


def find_sessions_observed_after(db: Database, position: int) -> list[tuple[str, int]]:
    """Sessions with observations after a position, each with the position of the first."""
    rows = db.execute(
        "SELECT about, min(position) FROM events JOIN bodies USING (position)"
        " WHERE position > ? AND fact = 'observation.made' GROUP BY about ORDER BY 2",
        position,
    )
    return [(row[0], row[1]) for row in rows]


def find_erasure(db: Database, prefix: str, sight: Visibility) -> Event | None:
    """The visible event that erased a memory whose id starts with the prefix, if there is one."""
    is_match = "e.about >= :prefix AND e.about < :end AND e.about <> '' AND e.fact = 'memory.erased'"
    # Ids are hexadecimal, so "g" sorts after all that start with the prefix; a range can use the index.
    values = {**bind_sight(sight), "prefix": prefix, "end": prefix + "g"}
    rows = db.execute(f"{SELECT_EVENTS} {is_match} AND {EVENT_VISIBLE} LIMIT 1", values) if prefix else []
    return next((_parse_event(row) for row in rows), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotingEntry:
    """An entry whose content may quote a text that is searched for."""

    id: EventId
    about: str
    fact: str
    content: str

    @property
    def is_erasable(self) -> bool:
        """Whether an erasure may delete its content, because it only repeats a memory."""
        return self.fact in REPEATING_FACTS


def find_quoting_entries(
    db: Database, patterns: Sequence[Sequence[str]], is_possible_in: Callable[[str], bool]
) -> Iterator[QuotingEntry]:
    """Entries whose content has all pieces of one of these patterns in order, ignoring case.

    The database engine scans every body. Packed bodies are also unpacked here and tested with ``is_possible_in``.
    """
    for start in range(0, len(patterns), PATTERNS_PER_STATEMENT):
        page = [f"%{'%'.join(pieces)}%" for pieces in patterns[start : start + PATTERNS_PER_STATEMENT]]
        is_match = " OR ".join([f"content {db.LIKE} ?"] * len(page))
        rows = db.stream(
            "SELECT e.id, e.about, e.fact, b.content FROM events e JOIN bodies b USING (position)"
            f" WHERE e.position IN (SELECT position FROM bodies WHERE content LIKE '{PACKED_PREFIX}%' OR {is_match})",
            *page,
        )
        for identifier, about, fact, content in rows:
            text = unpack_content(content)
            if not content.startswith(PACKED_PREFIX) or is_possible_in(text):
                yield QuotingEntry(id=EventId(identifier), about=about, fact=fact, content=text)


def contains_any(db: Database, fragments: Iterable[str]) -> bool:
    """Whether any content contains one of these fragments literally; reads every body."""
    # Packed bodies hide their text from SQL, so every body is unpacked here.
    fragment_list = list(fragments)
    return any(
        any(map(unpack_content(row[0]).__contains__, fragment_list)) for row in db.stream("SELECT content FROM bodies")
    )


def is_in_header(db: Database, fragments: Iterable[str]) -> bool:
    """Whether the header of an entry contains one of these fragments: an id, an author, a session, a repository."""
    fragment_list = list(fragments)
    rows = db.stream("SELECT id, actor, repo, session, batch, about FROM events")
    return any(fragment in value for row in rows for value in row for fragment in fragment_list)


def find_unfinished_erasures(db: Database, devices: Sequence[str], prefix: str) -> dict[str, list[Event]]:
    """The erasures of these devices, by batch, that have no receipt."""
    sql = f"{SELECT_EVENTS} e.fact IN ('memory.erased', 'observations.dropped', 'erasure.finished') AND e.batch LIKE ?"
    batches: dict[str, list[Event]] = {}
    finished_batches: set[str] = set()
    own = f" AND e.device IN (SELECT key FROM devices WHERE id IN {JSON_VALUES}) ORDER BY e.position"
    for event in map(_parse_event, db.execute(sql + own, f"{prefix}%", json.dumps(list(devices)))):
        batches.setdefault(event.batch, []).append(event)
        if isinstance(event.fact, ErasureFinished):
            finished_batches.add(event.batch)
    return {batch: events for batch, events in batches.items() if batch not in finished_batches}


def filter_with_content(db: Database, ids: Iterable[str]) -> list[EventId]:
    """Which of these entries still have content."""
    sql = f"SELECT id FROM events JOIN bodies USING (position) WHERE id IN {JSON_VALUES} ORDER BY position"
    return [EventId(row[0]) for row in db.execute(sql, json.dumps(list(ids)))]


def find_events_matching(
    db: Database, is_possible: Callable[[str], bool], progress: Callable[[int, int], None]
) -> Iterator[Event]:
    """The events whose content, as JSON text, passes a quick test; reads every body."""
    last = read_last_position(db)
    sql = f"SELECT e.position, {COLUMNS} FROM events e JOIN bodies b USING (position) ORDER BY e.position"
    for position, *columns in db.stream(sql):
        if position % PROGRESS_STEP == 0:
            progress(position, last)
        if is_possible(unpack_content(columns[-1])):
            yield _parse_event(tuple(columns))


def verify(db: Database) -> list[ChainBreak]:
    """Every entry at which a header or body was edited, removed, added or reordered."""
    lost_entries = _find_lost_entries(db)
    removed_ids = find_erased_ids(db)
    absent_positions = {row[0] for row in db.execute("SELECT position FROM absent")}
    broken: list[ChainBreak] = []
    for device, last_seq, last_hash in db.execute("SELECT id, last_seq, last_hash FROM devices"):
        seq, expected_hash = 0, FIRST_PREVIOUS_HASH
        faults: list[tuple[int, str]] = []
        rows = db.stream(f"{SELECT_ENTRIES} WHERE d.id = ? ORDER BY e.device_seq", device)
        for position, entry in parse_entry_rows(rows):
            seq += 1
            entry_seq = entry.header.seq
            # Gaps are accepted only where a repair recorded that the entries are lost.
            is_gap = seq < entry_seq and all((device, number) in lost_entries for number in range(seq, entry_seq))
            if not is_gap and (entry_seq != seq or entry.header.prev_hash != expected_hash):
                faults.append((seq, "the chain is broken before this entry"))
            seq = entry_seq
            if not entry.is_sealed:
                faults.append((seq, "the content was changed"))
            if entry.content is None and not (entry.header.id in removed_ids or position in absent_positions):
                faults.append((seq, "the content is missing, but was not erased"))
            expected_hash = entry.header.hash
        # A chain whose end was cut off is consistent in itself; only the record of the device reveals it.
        if (seq, expected_hash) != (last_seq, last_hash):
            faults.append((last_seq, "the newest entries are missing or changed"))
        broken += [ChainBreak(device=device, device_seq=seq, why=why) for seq, why in faults]
    return broken


def read_wire_entries(db: Database, condition: str, *values: Any) -> list[tuple[int, wire.WireEntry]]:
    """The entries for which a condition on ``events e`` and ``devices d`` is true, with their positions."""
    return list(parse_entry_rows(db.execute(f"{SELECT_ENTRIES} WHERE {condition}", *values)))


def parse_entry_rows(rows: Iterable[Row]) -> Iterator[tuple[int, wire.WireEntry]]:
    """Parse rows of ``SELECT_ENTRIES`` into positions and entries as they are synchronised."""
    for row in rows:
        header = Header(*row[1:-2])
        # Chains are hashed over the id that the writer gave.
        header = header._replace(id=header.id.removesuffix(make_repetition_suffix(header)))
        yield row[0], wire.WireEntry(header=header, salt=row[-2] or b"", content=row[-1] and unpack_content(row[-1]))


def read_header(db: Database, position: int) -> Header:
    """The header of the entry at a position."""
    return read_wire_entries(db, "e.position = ?", position)[0][1].header


def find_person(db: Database, chain: str) -> str:
    """The person whose device writes a chain; empty if unknown."""
    return str(db.value("SELECT person FROM devices WHERE id = ?", chain) or "")


def derive_shared_chain(device: str) -> str:
    """The id of the chain that a device shares with its team."""
    return derive_id("shared", device)


def ensure_chain(db: Database, device: str, *, is_shared: bool) -> tuple[int, int, str]:
    """Create a chain if it is new; return its key and the number and hash of its newest entry."""
    db.execute(
        "INSERT INTO devices (id, last_seq, last_hash, shared) VALUES (?, 0, ?, ?) ON CONFLICT DO NOTHING",
        device, FIRST_PREVIOUS_HASH, int(is_shared),
    )  # fmt: skip
    row = db.one("SELECT key, last_seq, last_hash FROM devices WHERE id = ?", device)
    assert row is not None
    return row[0], row[1], row[2]


def add_header(db: Database, key: int, header: Header) -> int:
    """Add a header to the chain with this key; return its position."""
    sql = f"INSERT INTO events ({HEADER}) VALUES ({', '.join('?' * len(header))}) RETURNING position"
    return int(db.value(sql, header.id, key, *header[2:]))


def make_repetition_suffix(header: Header) -> str:
    """What is added to the id of an entry that another of a person's machines recorded too, as ids are unique here.

    Ids are derived from what is recorded, such as a commit, so that machines that import the same thing agree on them.
    """
    return f" {header.device}"


def keep_body(db: Database, position: int, event: Event, salt: bytes, content: str) -> bool:
    """Store an entry's content, unless it was erased before it arrived; an erasure first deletes what it names."""
    if isinstance(event.fact, MemoryErased | ObservationsDropped):
        db.execute(
            "DELETE FROM bodies WHERE position IN ("
            "SELECT position FROM events WHERE about = :memory AND about <> '' AND fact <> 'memory.erased'"
            f" UNION SELECT position FROM events WHERE id IN (SELECT value FROM json_each(:others)) AND {REPEATING})",
            {"memory": event.about, "others": json.dumps(event.fact.bodies)},
        )
        erased_names = filter(None, (event.about, *event.fact.bodies))
        db.many("INSERT INTO erased (name) VALUES (?) ON CONFLICT DO NOTHING", [(name,) for name in erased_names])
    elif isinstance(event.fact, EntriesRefused):
        _discard_refused(db, event.fact.bodies)
    elif find_erased(db, [position]):
        return False
    # Other facts stay plain JSON, because statements read them with json_extract.
    body = pack_content(content) if isinstance(event.fact, ObservationMade) else content
    db.execute("INSERT INTO bodies (position, salt, content) VALUES (?, ?, ?)", position, salt, body)
    return True


def find_erased(db: Database, positions: Iterable[int]) -> set[int]:
    """Which of these entries were erased before they arrived: an edit can come after the erasure of its memory."""
    rows = db.execute(
        "SELECT position FROM events WHERE position IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        " AND (EXISTS (SELECT 1 FROM erased WHERE name = about)"
        f" OR ({REPEATING} AND EXISTS (SELECT 1 FROM erased WHERE name = id)))",
        json.dumps(list(positions)),
    )
    return {row[0] for row in rows}


def _discard_refused(db: Database, refused_ids: Iterable[EventId]) -> None:
    """Delete the content of entries that the hub refused, and undo the erasures among them."""
    # Marked as absent, so that the missing content is not reported as damage.
    ids_json = json.dumps(list(refused_ids))
    from_shared = "FROM events e JOIN devices d ON d.key = e.device WHERE d.shared = 1 AND"
    db.execute(
        f"INSERT INTO absent (position) SELECT e.position {from_shared} e.id IN {JSON_VALUES} ON CONFLICT DO NOTHING",
        ids_json,
    )
    db.execute(
        f"DELETE FROM bodies WHERE position IN (SELECT e.position {from_shared} e.id IN {JSON_VALUES})", ids_json
    )
    other_erasure = (
        "SELECT 1 FROM events o JOIN bodies b USING (position) WHERE o.about = e.about AND o.fact = 'memory.erased'"
    )
    lifted_sql = (
        f"SELECT e.about {from_shared} e.id IN {JSON_VALUES}"
        f" AND fact = 'memory.erased' AND NOT EXISTS ({other_erasure})"
    )
    for (memory,) in db.execute(lifted_sql, ids_json):
        # The refused erasure is void. The hub still has the content, and sends it again for what is absent.
        db.execute("DELETE FROM erased WHERE name = ?", memory)
        db.execute(
            f"INSERT INTO absent (position) SELECT e.position {from_shared} e.about = ?"
            " AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.position = e.position) ON CONFLICT DO NOTHING",
            memory,
        )


def find_erased_ids(db: Database) -> set[str]:
    """Ids of the entries whose content may be missing, according to erasures and repairs in the log."""
    ids: set[str] = set()
    rows = db.execute(
        "SELECT e.about, b.content FROM events e JOIN bodies b USING (position)"
        " WHERE e.fact IN ('memory.erased', 'observations.dropped', 'entries.lost')"
    )
    for memory, content in rows:
        ids |= {row[0] for row in db.execute("SELECT id FROM events WHERE about = ? AND about <> ''", memory)}
        ids |= set(json.loads(content).get("bodies", ()))
    return ids


def _find_lost_entries(db: Database) -> set[tuple[str, int]]:
    """Entries that a repair could not save, as pairs of device and number."""
    rows = db.execute("SELECT b.content FROM events e JOIN bodies b USING (position) WHERE e.fact = 'entries.lost'")
    gaps = [gap.split() for row in rows for gap in cast(EntriesLost, decode_fact("entries.lost", row[0])).gaps]
    return {(device, seq) for device, first, last in gaps for seq in range(int(first), int(last) + 1)}


def _parse_event(row: Row) -> Event:
    member, *envelope, content = row
    return attribute(Event.read(unpack_content(content), *envelope), member)
