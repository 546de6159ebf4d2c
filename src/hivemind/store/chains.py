"""Chains that other devices write: their entries are appended here as they were written there."""

import json
from collections.abc import Iterable, Mapping, Sequence

from hivemind.errors import OutOfOrder, Refused
from hivemind.model import wire
from hivemind.model.events import Event, attribute
from hivemind.model.ids import shorten_id
from hivemind.model.scope import Scope
from hivemind.model.wire import FIRST_PREVIOUS_HASH, Header
from hivemind.store import log, sync_state
from hivemind.store.database import Database

UPDATE_TIP = "UPDATE devices SET last_seq = ?, last_hash = ? WHERE key = ?"
TAIL = "d.id = ? AND e.device_seq > ? ORDER BY e.device_seq"
"""Matches the entries of a chain after a number."""


def append_received(
    db: Database, entries: Iterable[wire.WireEntry], *, is_shared: bool = True
) -> list[tuple[int, Event]]:
    """Append entries from other devices to their chains; return the new events, without those that stay erased.

    Known entries are skipped, unless their content was missing here and arrives now. ``is_shared`` says whether they
    come from a team; otherwise they come from another machine of the same person.
    """
    added: list[tuple[int, Event]] = []
    entries = list(entries)
    known_ids = log.find_known_ids(db, [entry.header.id for entry in entries]) if is_shared else set()
    new_entries: list[wire.WireEntry] = []
    for entry in entries:
        _check(entry, is_shared=is_shared)
        # New entries of a team are most of what a hub and its devices receive, so these are written together.
        if is_shared and entry.header.id not in known_ids and entry.header.fact not in log.DELETING_FACTS:
            new_entries.append(entry)
        else:
            added += _append_new(db, new_entries)
            new_entries = []
            added += _append_one(db, entry, is_shared=is_shared)
        known_ids.add(entry.header.id)
    return added + _append_new(db, new_entries)


def _check(entry: wire.WireEntry, *, is_shared: bool) -> None:
    # Only team entries reach a team, so anything else would be somebody's private memory or a forgery. Between a
    # person's own machines the content of team entries does not travel: the hub decides about that.
    is_allowed = (entry.header.scope == Scope.TEAM) is is_shared or not (is_shared or entry.content)
    if not entry.is_sealed or not is_allowed or entry.header.id.endswith(log.make_repetition_suffix(entry.header)):
        raise Refused(f"entry {entry.header.id} does not match its checksum, or is not of a scope that travels")


def _append_new(db: Database, entries: Sequence[wire.WireEntry]) -> list[tuple[int, Event]]:
    """Append entries of shared chains that are not in the log and delete nothing."""
    if not entries:
        return []
    chains = dict.fromkeys(entry.header.device for entry in entries)
    tips = {chain: log.ensure_chain(db, chain, is_shared=True) for chain in chains}
    rows = []
    for header in (entry.header for entry in entries):
        key, seq, last_hash = tips[header.device]
        _check_order(header, seq, last_hash)
        rows.append((key, header))
        tips[header.device] = key, header.seq, header.hash
    db.many(UPDATE_TIP, [(seq, last_hash, key) for key, seq, last_hash in tips.values()])
    positions = _add_headers(db, rows)
    # Content that was left out may still come later.
    absent_rows = [(positions[entry.header.id],) for entry in entries if entry.content is None]
    db.many("INSERT INTO absent (position) VALUES (?)", absent_rows)
    received = {positions[entry.header.id]: entry for entry in entries if entry.content is not None}
    erased_positions = _keep_bodies(
        db, {position: (entry.salt, entry.content or "") for position, entry in received.items()}
    )
    people = {chain: log.find_person(db, chain) for chain in chains}
    return [
        (position, attribute(entry.event, people[entry.header.device]))
        for position, entry in received.items()
        if entry.event and position not in erased_positions
    ]


def _add_headers(db: Database, rows: Sequence[tuple[int, Header]]) -> dict[str, int]:
    """Add headers in this order, each to the chain with its key; return the positions by id."""
    sql = f"INSERT INTO events ({log.HEADER}) VALUES ({', '.join('?' * len(Header._fields))})"
    db.many(sql, [(header.id, key, *header[2:]) for key, header in rows])
    ids_json = json.dumps([header.id for _, header in rows])
    return dict(db.execute(f"SELECT id, position FROM events WHERE id IN {log.JSON_VALUES}", ids_json))


def _keep_bodies(db: Database, bodies: Mapping[int, tuple[bytes, str]]) -> set[int]:
    """Store the salts and contents of entries that delete nothing; return the positions whose content was erased."""
    erased_positions = log.find_erased(db, bodies)
    rows = [(position, *body) for position, body in bodies.items() if position not in erased_positions]
    db.many("INSERT INTO bodies (position, salt, content) VALUES (?, ?, ?)", rows)
    return erased_positions


def _append_one(db: Database, entry: wire.WireEntry, *, is_shared: bool) -> list[tuple[int, Event]]:
    event = entry.event
    position = _find_received(db, entry.header, is_shared=is_shared)
    if position is None:
        position, is_repetition = _continue(db, entry.header, is_shared=is_shared, has_content=event is not None)
        is_wanted = event is not None and not is_repetition
        if not is_wanted:
            # Content that was left out may still come later.
            db.execute("INSERT INTO absent (position) VALUES (?)", position)
    # The same id with another header is a forgery or a fault; the chain would no longer verify.
    elif log.read_header(db, position) != entry.header:
        raise Refused(f"entry {entry.header.id} is already stored with a different header")
    else:
        is_wanted = event is not None and _take_from_absent(db, position, entry.header)
    if is_wanted and event and log.keep_body(db, position, event, entry.salt, entry.content or ""):
        return [(position, attribute(event, log.find_person(db, entry.header.device)))]
    return []


def _take_from_absent(db: Database, position: int, header: Header) -> bool:
    """Note that the content of an entry arrives now; return whether it was missing."""
    row = db.one("SELECT id FROM absent JOIN events USING (position) WHERE position = ?", position)
    if row is None:
        return False
    if row[0] != header.id:
        # A repetition: its content is stored with the other entry of the same id, if that has any.
        if not _free_id(db, header.id):
            return False
        db.execute("UPDATE events SET id = ? WHERE position = ?", header.id, position)
    db.execute("DELETE FROM absent WHERE position = ?", position)
    return True


def _free_id(db: Database, entry_id: str) -> bool:
    """Return whether no entry has this id; one that came without content becomes the repetition."""
    row = db.one(
        "SELECT e.position, a.position FROM events e LEFT JOIN absent a USING (position) WHERE e.id = ?", entry_id
    )
    if row is None or row[1] is None:
        return row is None
    suffix = log.make_repetition_suffix(log.read_header(db, row[0]))
    db.execute("UPDATE events SET id = ? WHERE position = ?", entry_id + suffix, row[0])
    return True


def has_header(db: Database, header: Header) -> bool:
    """Whether the log has this entry in its place of its chain."""
    entries = log.read_wire_entries(db, "d.id = ? AND e.device_seq = ?", header.device, header.seq)
    return any(entry.header == header for _, entry in entries)


def move_tail(db: Database, device: str, new_device: str, after: int, *, is_shared: bool) -> None:
    """Move the newest entries of a chain to another one, because a copy of the store has continued it differently."""
    key, _, _ = log.ensure_chain(db, device, is_shared=is_shared)
    new_key, seq, last_hash = log.ensure_chain(db, new_device, is_shared=is_shared)
    last_kept_hash = sync_state.find_hash(db, device, after) or FIRST_PREVIOUS_HASH
    for position, entry in log.read_wire_entries(db, TAIL, device, after):
        seq += 1
        header = entry.header._replace(device=new_device, seq=seq, prev_hash=last_hash)
        last_hash = header.hash
        # The id of a repetition ends in the chain's id.
        suffixes = log.make_repetition_suffix(entry.header), log.make_repetition_suffix(header)
        db.execute(
            "UPDATE events SET device = ?, device_seq = ?, prev_hash = ?, id = replace(id, ?, ?) WHERE position = ?",
            new_key, seq, header.prev_hash, *suffixes, position,
        )  # fmt: skip
    db.many(UPDATE_TIP, [(seq, last_hash, new_key), (after, last_kept_hash, key)])


def follow_move(db: Database, chain: str, after: int, entries: Sequence[wire.WireEntry]) -> bool:
    """Move the entries of a chain behind ``after``, as their device did, to the chain that begins with these entries.

    Nothing is moved, and the result is false, if the chain continues differently here: then this is what the device
    wrote before its store was put back.
    """
    ids = [entry.header.id for _, entry in log.read_wire_entries(db, TAIL, chain, after)]
    if not ids or ids != [entry.header.id for entry in entries[: len(ids)]]:
        return False
    move_tail(db, chain, entries[0].header.device, after, is_shared=False)
    return True


def _find_received(db: Database, header: Header, *, is_shared: bool) -> int | None:
    """The position of an entry that was received before."""
    if is_shared:
        position = db.value("SELECT position FROM events WHERE id = ?", header.id)
    else:
        position = db.value(
            "SELECT e.position FROM events e JOIN devices d ON d.key = e.device WHERE d.id = ? AND e.id IN (?, ?)",
            header.device, header.id, header.id + log.make_repetition_suffix(header),
        )  # fmt: skip
    return None if position is None else int(position)


def _continue(db: Database, header: Header, *, is_shared: bool, has_content: bool) -> tuple[int, bool]:
    """Append a header from another device to its chain; return its position, and whether its id is known already."""
    key, seq, last_hash = log.ensure_chain(db, header.device, is_shared=is_shared)
    _check_order(header, seq, last_hash)
    db.execute(UPDATE_TIP, header.seq, header.hash, key)
    is_repetition = not is_shared and bool(db.one("SELECT 1 FROM events WHERE id = ?", header.id))
    if is_repetition and has_content:
        is_repetition = not _free_id(db, header.id)
    if is_repetition:
        header = header._replace(id=header.id + log.make_repetition_suffix(header))
    return log.add_header(db, key, header), is_repetition


def is_after_gap(header: Header, last_seq: int) -> bool:
    """Whether entries of its chain are missing between a header and the newest one here."""
    return header.seq > last_seq + 1


def _check_order(header: Header, seq: int, last_hash: str) -> None:
    """Refuse a header that does not follow the newest one of its chain."""
    # The sender can fill a gap by sending what is missing; two versions of an entry cannot be reconciled.
    if is_after_gap(header, seq):
        raise OutOfOrder(f"expected entry {seq + 1} of device {shorten_id(header.device)}, got {header.seq}", seq + 1)
    if header.seq <= seq or header.prev_hash != last_hash:
        raise Refused(
            f"device {shorten_id(header.device)} has two different entries {header.seq}: its store was copied, or"
            " restored from a backup and then written to; log in with a new store"
        )
