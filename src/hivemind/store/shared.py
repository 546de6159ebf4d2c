"""What travels between devices and their hub: the shared chains, what each has read of them, and which team a store
belongs to; it has one at most.
"""

import json
from collections.abc import Iterable
from dataclasses import astuple

from hivemind.model.plain import from_row
from hivemind.model.team import Device, Membership
from hivemind.model.wire import Entry
from hivemind.store import log, projector
from hivemind.store.database import Database

SCHEMA = """
CREATE TABLE team (
    team TEXT PRIMARY KEY,
    key BLOB NOT NULL,            -- keys the digests of values that stay out of the team
    person TEXT NOT NULL,
    role TEXT NOT NULL,
    lease_days INTEGER NOT NULL,
    cursor INTEGER NOT NULL,      -- how far the team's log was read
    pushed INTEGER NOT NULL,      -- how many of our shared entries the hub has
    synchronised_at TEXT NOT NULL
) STRICT;
"""


def page(db: Database, after: int, limit: int) -> list[tuple[int, Entry]]:
    """The next entries of every shared chain, with their positions, in order of arrival."""
    following = f"{log.ENTRIES} WHERE d.shared = 1 AND e.position > ? ORDER BY e.position LIMIT ?"
    return list(log.sent(db.execute(following, after, limit)))


def of_chain(db: Database, chain: str, after: int, limit: int) -> list[Entry]:
    """The next entries of one shared chain."""
    rows = db.execute(
        f"{log.ENTRIES} WHERE d.shared = 1 AND d.id = ? AND e.device_seq > ? ORDER BY e.device_seq LIMIT ?",
        chain, after, limit,
    )  # fmt: skip
    return [entry for _, entry in log.sent(rows)]


def end(db: Database) -> int:
    """The position of the newest entry that travels."""
    newest = "SELECT max(e.position) FROM events e JOIN devices d ON d.key = e.device WHERE d.shared = 1"
    return int(db.value(newest) or 0)


def length(db: Database, chain: str) -> int:
    """How many entries of a chain are here."""
    return int(db.value("SELECT last_seq FROM devices WHERE id = ?", chain) or 0)


def person_of(db: Database, chain: str) -> str:
    """Whose device writes a chain; empty where nobody has said."""
    return str(db.value("SELECT person FROM devices WHERE id = ?", chain) or "")


def people(db: Database) -> set[str]:
    """Everybody who has a device in the team."""
    return {row[0] for row in db.execute("SELECT DISTINCT person FROM devices WHERE person <> ''")}


def meet(db: Database, chain: str, person: str, now: str) -> None:
    """Note that somebody's device was heard of."""
    log.tip(db, chain, shared=True)
    db.execute("UPDATE devices SET person = ?, last_seen_at = ? WHERE id = ?", person, now, chain)


def acknowledge(db: Database, chain: str, cursor: int) -> None:
    """Note how far a device has read; what it asks for next says so, also when it had to begin again."""
    db.execute("UPDATE devices SET cursor = ? WHERE id = ?", cursor, chain)


def devices(db: Database) -> list[Device]:
    """Every device that was heard of, and what it has not read yet."""
    unread = "FROM events e JOIN devices c ON c.key = e.device WHERE c.shared = 1 AND e.position > d.cursor"
    rows = db.execute(
        f"SELECT d.id, d.person, d.cursor, d.last_seen_at, (SELECT count(*) {unread}),"
        f" (SELECT count(*) {unread} AND e.fact = 'memory.erased') FROM devices d"
        " WHERE d.person <> '' ORDER BY d.person, d.id"
    )
    return [from_row(Device, row) for row in rows]


def author(db: Database, memory_id: str) -> str:
    """Whose device first told of a memory, which no field of an entry can claim; or whom the hub heard it from."""
    found = db.value(
        "SELECT CASE WHEN d.person = '' THEN e.actor ELSE d.person END FROM events e JOIN devices d ON d.key = e.device"
        " WHERE e.about = ? AND e.about <> '' AND e.fact = 'memory.remembered' ORDER BY e.position LIMIT 1",
        memory_id,
    )
    return str(found or "")


def is_begun_by(db: Database, memory_id: str, chain: str) -> bool:
    """Whether a chain was the first to tell of a memory."""
    first = (
        "SELECT d.id FROM events e JOIN devices d ON d.key = e.device"
        " WHERE e.about = ? AND e.about <> '' AND e.fact = 'memory.remembered' ORDER BY e.position LIMIT 1"
    )
    return bool(db.value(first, memory_id) == chain)


def drop_copy(db: Database, own: str, pushed: int) -> None:
    """Let go of what the team said, all but its erasures; what the hub does not have yet stays."""
    dropped = (
        "SELECT e.position FROM events e JOIN devices d ON d.key = e.device JOIN bodies b USING (position)"
        " WHERE d.shared = 1 AND e.fact NOT IN ('memory.erased', 'entries.refused')"
        " AND NOT (d.id = ? AND e.device_seq > ?)"
    )
    with db.transaction():
        db.execute(f"INSERT INTO absent {dropped} ON CONFLICT DO NOTHING", own, pushed)
        db.execute(f"DELETE FROM bodies WHERE position IN ({dropped})", own, pushed)
        projector.rebuild(db)


def erasures(db: Database, ids: Iterable[str]) -> list[tuple[str, str]]:
    """Which of these entries are erasures: the entry, and the batch it was part of."""
    found = f"SELECT id, batch FROM events WHERE id IN {log.NAMED} AND fact = 'memory.erased'"
    return [(row[0], row[1]) for row in db.execute(found, json.dumps(list(ids)))]


def has_erasure(db: Database, chain: str, ids: Iterable[str]) -> bool:
    """Whether one of these entries is an erasure of that chain."""
    found = (
        "SELECT 1 FROM events e JOIN devices d ON d.key = e.device WHERE d.id = ? AND e.fact = 'memory.erased'"
        f" AND e.id IN {log.NAMED} LIMIT 1"
    )
    return db.one(found, chain, json.dumps(list(ids))) is not None


def holds(db: Database, memory_id: str) -> bool:
    """Whether a memory stands in a chain that is shared."""
    found = (
        "SELECT 1 FROM events e JOIN devices d ON d.key = e.device"
        " WHERE e.about = ? AND e.about <> '' AND d.shared = 1 LIMIT 1"
    )
    return db.one(found, memory_id) is not None


def membership(db: Database) -> Membership | None:
    """The team this store belongs to, if it has one."""
    row = db.one("SELECT team, key, person, role, lease_days, cursor, pushed, synchronised_at FROM team")
    # Postgres gives bytes in a form of its own.
    return from_row(Membership, (row[0], bytes(row[1]), *row[2:])) if row else None


def note(db: Database, now: Membership) -> None:
    """Note how the store stands with its team now."""
    with db.transaction():
        db.execute("DELETE FROM team")
        db.execute("INSERT INTO team VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *astuple(now))


def read_again(db: Database) -> None:
    """Read the team's log from its beginning at the next exchange: content that was left out may be let in."""
    db.execute("UPDATE team SET cursor = 0")


def leave(db: Database) -> None:
    """Belong to no team any more."""
    db.execute("DELETE FROM team")
