"""Sync state: the shared chains, how far each device has read them, and the team of a store (one at most)."""

import json
from collections.abc import Iterable
from dataclasses import astuple

from hivemind.model.codec import from_row
from hivemind.model.ids import Timestamp
from hivemind.model.team import Bookmark, ChainHead, Device, Membership
from hivemind.model.wire import FIRST_PREVIOUS_HASH, WireEntry
from hivemind.store import log, projector
from hivemind.store.database import Database

TEAM_SCHEMA = """
CREATE TABLE team (
    team TEXT PRIMARY KEY,
    key BLOB NOT NULL,            -- key for the digests of values that the team rejected or erased
    person TEXT NOT NULL,
    role TEXT NOT NULL,
    lease_days INTEGER NOT NULL,
    cursor INTEGER NOT NULL,      -- how far the team's log was read
    pushed INTEGER NOT NULL,      -- how many of our shared entries the hub has
    synchronised_at TEXT NOT NULL,
    epoch TEXT NOT NULL DEFAULT '' -- of the hub's log, in which the cursor counts
) STRICT;
"""
SEALS_SCHEMA = """
CREATE TABLE seals (              -- by which a hub recognises entries that it served and whose loss it does not know
    chain TEXT NOT NULL,
    seq INTEGER NOT NULL,
    person TEXT NOT NULL,
    hash TEXT NOT NULL,
    epoch TEXT NOT NULL,
    seal TEXT NOT NULL,
    position INTEGER NOT NULL,    -- in the hub's log
    PRIMARY KEY (chain, seq)
) STRICT, WITHOUT ROWID;
"""
SCHEMA = TEAM_SCHEMA + SEALS_SCHEMA
SELECT_SEALS = "SELECT chain, person, seq, hash, epoch, seal, position FROM seals"

FROM_CHAINS = "FROM events e JOIN devices d ON d.key = e.device"
FIRST_RECORDING = (
    f"{FROM_CHAINS} WHERE e.about = ? AND e.about <> '' AND e.fact = 'memory.remembered' ORDER BY e.position LIMIT 1"
)
"""The first recording of a memory: a later one of the same id is somebody else's, and does not count."""


def upgrade(db: Database) -> None:
    """Add to an older store what it lacks for epochs."""
    if not db.one("SELECT 1 FROM pragma_table_info('team') WHERE name = 'epoch'"):
        db.execute("ALTER TABLE team ADD COLUMN epoch TEXT NOT NULL DEFAULT ''")
        db.execute(SEALS_SCHEMA)


def read_page(db: Database, after: int, limit: int) -> list[tuple[int, WireEntry]]:
    """The next entries of all shared chains with their positions, in order of arrival."""
    return log.read_wire_entries(db, "d.shared = 1 AND e.position > ? ORDER BY e.position LIMIT ?", after, limit)


def read_chain(db: Database, chain: str, after: int, limit: int, *, is_shared: bool = True) -> list[WireEntry]:
    """The next entries of one chain: one that a team shares, unless the caller says that it is a person's own."""
    condition = "d.shared = ? AND d.id = ? AND e.device_seq > ? ORDER BY e.device_seq LIMIT ?"
    return [entry for _, entry in log.read_wire_entries(db, condition, int(is_shared), chain, after, limit)]


def find_erasing_entries(db: Database, batch: str) -> list[tuple[str, int]]:
    """The chain and number of every entry of an erasure."""
    where = "WHERE e.batch = ? AND e.fact IN ('memory.erased', 'observations.dropped') AND d.shared = 0"
    return [(row[0], row[1]) for row in db.execute(f"SELECT d.id, e.device_seq {FROM_CHAINS} {where}", batch)]


def find_erased_entries(db: Database, after: int) -> set[tuple[str, int]]:
    """The chain and number of every entry whose content was deleted by erasures that arrived after a position."""
    erasures = db.execute(
        "SELECT e.about, b.content FROM events e JOIN bodies b USING (position)"
        " WHERE e.position > ? AND e.fact IN ('memory.erased', 'observations.dropped')",
        after,
    )
    bodies = [body for _, content in erasures for body in json.loads(content).get("bodies", ())]
    entry = f"SELECT d.id, e.device_seq {FROM_CHAINS} WHERE"
    rows = db.execute(
        f"{entry} e.about IN {log.JSON_VALUES} AND e.about <> '' AND e.fact <> 'memory.erased'"
        f" UNION {entry} e.id IN {log.JSON_VALUES}",
        json.dumps([about for about, _ in erasures if about]), json.dumps(bodies),
    )  # fmt: skip
    return {(row[0], row[1]) for row in rows}


def read_last_shared_position(db: Database) -> int:
    """The position of the newest entry in a shared chain."""
    return int(db.value(f"SELECT max(e.position) {FROM_CHAINS} WHERE d.shared = 1") or 0)


def count_entries(db: Database, chain: str) -> int:
    """The number of a chain's entries in this store."""
    return int(db.value("SELECT last_seq FROM devices WHERE id = ?", chain) or 0)


def count_unsent(db: Database, chain: str, sent: int) -> int:
    """The number of a chain's entries behind ``sent``; a receipt is left out, since asking changes nothing to send."""
    query = f"{FROM_CHAINS} WHERE d.id = ? AND e.device_seq > ? AND e.fact <> 'memories.recalled'"
    return int(db.value(f"SELECT count(*) {query}", chain, sent))


def names_path(db: Database, chain: str) -> bool:
    """Whether an entry of a chain names a path instead of a repository."""
    return db.one(f"SELECT 1 {FROM_CHAINS} WHERE d.id = ? AND e.repo LIKE 'path:%'", chain) is not None


def list_heads(db: Database) -> list[ChainHead]:
    """The newest entry of each shared chain."""
    rows = db.execute("SELECT id, person, last_seq, last_hash FROM devices WHERE shared = 1 AND last_seq > 0")
    return [ChainHead(chain=row[0], person=row[1], seq=row[2], hash=row[3]) for row in rows]


def list_private_chains(db: Database) -> dict[str, int]:
    """The chains that are this person's own, of all machines, with the number of entries of each."""
    return {row[0]: row[1] for row in db.execute("SELECT id, last_seq FROM devices WHERE shared = 0 AND last_seq > 0")}


def find_hash(db: Database, chain: str, seq: int) -> str:
    """The hash of an entry by its number in a chain; empty if the chain has no such entry."""
    # The next header repeats the hash; only the newest has none after it.
    sql = (
        "SELECT CASE WHEN d.last_seq = :seq THEN d.last_hash ELSE (SELECT e.prev_hash FROM events e"
        " WHERE e.device = d.key AND e.device_seq = :seq + 1) END FROM devices d WHERE d.id = :chain"
    )
    return str(db.value(sql, {"seq": seq, "chain": chain}) or "")


def drop_chain(db: Database, chain: str) -> None:
    """Delete the entries of a chain, because the hub has others; the caller rebuilds the tables."""
    key, *_ = log.ensure_chain(db, chain, is_shared=True)
    for table in ("absent", "bodies"):
        db.execute(f"DELETE FROM {table} WHERE position IN (SELECT position FROM events WHERE device = ?)", key)
    db.execute("DELETE FROM events WHERE device = ?", key)
    db.execute("UPDATE devices SET last_seq = 0, last_hash = ? WHERE key = ?", FIRST_PREVIOUS_HASH, key)


def find_first_absent(db: Database, after: int) -> dict[str, int]:
    """The number of the first entry without content of each shared chain, among those after a position."""
    rows = db.execute(
        "SELECT d.id, min(e.device_seq) FROM absent a JOIN events e USING (position) JOIN devices d ON d.key = e.device"
        " WHERE d.shared = 1 AND e.position > ? GROUP BY d.id",
        after,
    )
    return {row[0]: row[1] for row in rows}


def save_heads(db: Database, heads: Iterable[ChainHead]) -> None:
    """Keep the seals of a page, by which the hub recognises its entries after its database was restored."""
    db.many(
        "INSERT INTO seals VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chain, seq) DO UPDATE"
        " SET hash = excluded.hash, epoch = excluded.epoch, seal = excluded.seal, position = excluded.position",
        [(head.chain, head.seq, head.person, head.hash, head.epoch, head.seal, head.position) for head in heads],
    )


def list_seals(db: Database, chain: str, after: int) -> list[ChainHead]:
    """The sealed entries of a chain after a number, in order."""
    sql = f"{SELECT_SEALS} WHERE chain = ? AND seq > ? ORDER BY seq"
    return [from_row(ChainHead, row) for row in db.execute(sql, chain, after)]


def read_bookmark(db: Database) -> Bookmark:
    """How far this store has read its team's log, with the seal of the last page."""
    member = read_membership(db)
    if member is None:
        return Bookmark()
    sql = f"{SELECT_SEALS} WHERE epoch = ? AND position <= ? ORDER BY position DESC LIMIT 1"
    row = db.one(sql, member.epoch, member.cursor)
    head = from_row(ChainHead, row) if row else None
    return Bookmark(team=member.team, epoch=member.epoch, cursor=member.cursor, head=head)


def list_owners(db: Database, chains: Iterable[str]) -> dict[str, str]:
    """The person of each of these chains that a person's device writes."""
    sql = f"SELECT id, person FROM devices WHERE person <> '' AND id IN {log.JSON_VALUES}"
    return {row[0]: row[1] for row in db.execute(sql, json.dumps(list(chains)))}


def claim_chain(db: Database, chain: str, person: str) -> None:
    """Record whose device writes a chain, unless that is known."""
    if not log.find_person(db, chain):
        assign_chain(db, chain, person)


def assign_chain(db: Database, chain: str, person: str) -> None:
    """Record whose device writes a chain."""
    log.ensure_chain(db, chain, is_shared=True)
    db.execute("UPDATE devices SET person = ? WHERE id = ?", person, chain)


def record_contact(db: Database, chain: str, person: str, now: Timestamp) -> None:
    """Record that a person's device contacted the hub."""
    log.ensure_chain(db, chain, is_shared=True)
    db.execute("UPDATE devices SET person = ?, last_seen_at = ? WHERE id = ?", person, now, chain)


def acknowledge(db: Database, chain: str, cursor: int) -> None:
    """Record how far a device has read.

    A device that asks for what follows a position has stored everything up to it. The cursor may also go back, when
    a device starts again.
    """
    db.execute("UPDATE devices SET cursor = ? WHERE id = ?", cursor, chain)


def list_devices(db: Database, batch: str = "") -> list[Device]:
    """Every device that contacted the hub, with the number of entries and erasures it has not read.

    With a batch, only the erasures of that batch count.
    """
    unread = "FROM events e JOIN devices c ON c.key = e.device WHERE c.shared = 1 AND e.position > d.cursor"
    rows = db.execute(
        f"SELECT d.id, d.person, d.cursor, d.last_seen_at, (SELECT count(*) {unread}),"
        f" (SELECT count(*) {unread} AND e.fact = 'memory.erased' AND :batch IN ('', e.batch)) FROM devices d"
        " WHERE d.person <> '' ORDER BY d.person, d.id",
        {"batch": batch},
    )
    return [from_row(Device, row) for row in rows]


def find_author(db: Database, memory_id: str) -> str:
    """The person whose device first recorded a memory, else the actor of that entry.

    The device decides, because anybody can put any actor into an entry.
    """
    sql = f"SELECT CASE WHEN d.person = '' THEN e.actor ELSE d.person END {FIRST_RECORDING}"
    return str(db.value(sql, memory_id) or "")


def is_first_recorded_by(db: Database, memory_id: str, chain: str) -> bool:
    """Whether a memory was first recorded in a chain."""
    return bool(db.value(f"SELECT d.id {FIRST_RECORDING}", memory_id) == chain)


def drop_copy(db: Database, own_chain: str, pushed_seq: int) -> None:
    """Delete the local copy of the team's content, except erasures, refusals and what was not pushed yet."""
    # Erasures and refusals stay, because a rebuild has to apply them again.
    dropped_sql = (
        "SELECT e.position FROM events e JOIN devices d ON d.key = e.device JOIN bodies b USING (position)"
        " WHERE d.shared = 1 AND e.fact NOT IN ('memory.erased', 'entries.refused')"
        " AND NOT (d.id = ? AND e.device_seq > ?)"
    )
    with db.transaction():
        db.execute(f"INSERT INTO absent (position) {dropped_sql} ON CONFLICT DO NOTHING", own_chain, pushed_seq)
        db.execute(f"DELETE FROM bodies WHERE position IN ({dropped_sql})", own_chain, pushed_seq)
        projector.rebuild(db)


def find_erasures(db: Database, ids: Iterable[str]) -> list[tuple[str, str]]:
    """The erasures among these entries, as pairs of entry id and batch."""
    sql = f"SELECT id, batch FROM events WHERE id IN {log.JSON_VALUES} AND fact = 'memory.erased'"
    return [(row[0], row[1]) for row in db.execute(sql, json.dumps(list(ids)))]


def find_erasure_batches(db: Database) -> list[str]:
    """The batches of erasures that have a receipt."""
    return [row[0] for row in db.execute("SELECT DISTINCT batch FROM events WHERE fact = 'erasure.finished'")]


def has_erasure(db: Database, chain: str, ids: Iterable[str]) -> bool:
    """Whether any of these entries is an erasure in that chain."""
    sql = f"{FROM_CHAINS} WHERE d.id = ? AND e.fact = 'memory.erased' AND e.id IN {log.JSON_VALUES} LIMIT 1"
    return db.one(f"SELECT 1 {sql}", chain, json.dumps(list(ids))) is not None


def has_memory(db: Database, memory_id: str) -> bool:
    """Whether a memory is in a shared chain."""
    sql = f"{FROM_CHAINS} WHERE e.about = ? AND e.about <> '' AND d.shared = 1 LIMIT 1"
    return db.one(f"SELECT 1 {sql}", memory_id) is not None


def read_membership(db: Database) -> Membership | None:
    """The team this store belongs to, if it has one."""
    row = db.one("SELECT team, key, person, role, lease_days, cursor, pushed, synchronised_at, epoch FROM team")
    # Postgres may return another type than bytes.
    return from_row(Membership, (row[0], bytes(row[1]), *row[2:])) if row else None


def save_membership(db: Database, current: Membership) -> None:
    """Replace the stored membership."""
    with db.transaction():
        db.execute("DELETE FROM team")
        db.execute("INSERT INTO team VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *astuple(current))


def reset_cursor(db: Database) -> None:
    """Read the team's log from its beginning at the next sync, because content left out before may now be accepted."""
    db.execute("UPDATE team SET cursor = 0")


def leave_team(db: Database) -> None:
    """Forget the team that the store belongs to."""
    db.execute("DELETE FROM team")
    db.execute("DELETE FROM seals")
