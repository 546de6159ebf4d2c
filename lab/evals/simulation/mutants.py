"""Plausible bugs of synchronisation, each patched into the real program; the simulation must detect every one."""

import dataclasses
from collections.abc import Callable
from typing import Any

from hivemind.erase import sweep
from hivemind.hub import exchange
from hivemind.memory import claims, verdicts
from hivemind.model import fold, wire
from hivemind.model.events import EntriesRefused, MemoryErased
from hivemind.model.team import LogPage
from hivemind.store import chains, log, sync_state
from hivemind.store.database import Database
from hivemind.store.projections import tombstones
from hivemind.store.store import Store
from hivemind.sync import team_exchange as sync

Change = tuple[object, str, Any]


def no_tombstones() -> list[Change]:
    """What was erased is forgotten, so that a late edit is stored again."""
    real = log.keep_body

    def keep_body(db: Database, position: int, event: Any, salt: bytes, content: str) -> bool:
        db.execute("DELETE FROM erased")
        return real(db, position, event, salt, content)

    return [(log, "keep_body", keep_body)]


def no_value_tombstones() -> list[Change]:
    """A value that was erased may be said again."""
    return [(tombstones, "apply", lambda db, event: None)]


def tombstone_keys_per_device() -> list[Change]:
    """Erased values are keyed by each device for itself, and mean nothing to the others."""
    return [(Store, "get_key_for", lambda store, scope: store.secret)]


def bodies_stay() -> list[Change]:
    """An erasure hides a memory and leaves its content in the log."""
    real = log.keep_body

    def keep_body(db: Database, position: int, event: Any, salt: bytes, content: str) -> bool:
        if isinstance(event.fact, MemoryErased):
            db.execute("INSERT INTO bodies VALUES (?, ?, ?)", position, salt, content)
            return True
        return real(db, position, event, salt, content)

    return [(log, "keep_body", keep_body)]


def repeats_stay() -> list[Change]:
    """An erasure by others leaves the observations and questions that repeat what was erased."""
    return [(sweep, "follow_erasure", lambda store, factory, erased, **_: [])]


def last_writer_wins() -> list[Change]:
    """The later edit takes the place of the other, whatever its writer had read."""
    return [(fold, "_find_bases", lambda events, removed_ids: {})]


def approval_settles_all() -> list[Change]:
    """To approve is to decide also about edits that the reviewer never saw."""
    return [
        (
            fold,
            "_drop_settled_rivals",
            lambda memory, settled_ids, at: memory and dataclasses.replace(memory, rivals=()),
        )
    ]


def cursor_skips() -> list[Change]:
    """A page sends the reader to the end of the log instead of its own."""
    real = exchange.Exchange.pull

    def pull(*values: Any, **names: Any) -> LogPage:
        page = real(*values, **names)
        return dataclasses.replace(page, cursor=page.end if page.entries else page.cursor)

    return [(exchange.Exchange, "pull", pull)]


def acknowledged_before_applied() -> list[Change]:
    """The cursor moves first, and the page is applied after."""
    real = sync._take_in

    def take_in(store: Store, page: LogPage, follow: sync.EraseFollowUp) -> tuple[int, int]:
        sync_state.save_membership(store.db, dataclasses.replace(sync._load_membership(store), cursor=page.cursor))
        return real(store, page, follow)

    return [(sync, "_take_in", take_in)]


def private_leaks() -> list[Change]:
    """Everything goes into the chain that is shared."""
    real = log.append

    def append(db: Database, device: str, events: Any) -> Any:
        shared = log.derive_shared_chain(device)
        log.ensure_chain(db, shared, is_shared=True)
        return real(db, shared, events)

    return [(log, "append", append)]


def private_leaks_past_the_database() -> list[Change]:
    """The same, and what is private calls itself the team's, so that no constraint sees it."""
    real = log.append

    def append(db: Database, device: str, events: Any) -> Any:
        return real(db, device, [dataclasses.replace(event, scope="team") for event in events])

    return [(log, "append", append), (exchange, "_find_refusal", lambda store, member, entry: None)]


def private_ids_leak() -> list[Change]:
    """What is said about a team's memory names somebody's own."""
    always = lambda about, other: True  # noqa: E731 one line says it
    return [(claims, "may_name", always), (verdicts, "may_name", always)]


def publishing_takes_all_along() -> list[Change]:
    """A published copy keeps the sessions and entries it was learned from."""
    return [(claims, "strip_local_references", lambda fact, replaced: fact)]


def teams_mix() -> list[Change]:
    """A store talks to whichever hub answers."""
    real = sync_state.read_membership

    def join(store: Store, welcome: Any) -> Any:
        member = real(store.db)
        if member:
            sync_state.save_membership(store.db, dataclasses.replace(member, team=welcome.team))
        return JOINED(store, welcome)

    return [(sync, "_join", join)]


def gaps_pass() -> list[Change]:
    """An entry is put at the end of a chain without asking what it follows."""
    return [
        (chains, "_check_order", lambda header, seq, last_hash: None),
        (chains, "is_after_gap", lambda header, last_seq: False),
    ]


def seals_are_not_looked_at() -> list[Change]:
    """Content is believed without comparing it to the header's digest."""
    return [(wire.WireEntry, "is_sealed", True)]


def refusals_are_forgotten() -> list[Change]:
    """What was refused counts when it is sent again."""
    find_known, reason_against = log.find_known_ids, exchange._find_refusal

    def reason(store: Store, gate: Any, member: Any, entry: wire.WireEntry) -> str | None:
        return None if find_known(store.db, [entry.header.id]) else reason_against(store, gate, member, entry)

    return [(log, "find_known_ids", lambda db, ids: set()), (exchange, "_find_refusal", reason)]


def refusals_have_no_effect() -> list[Change]:
    """A device keeps what the hub refused."""
    return [(log, "_discard_refused", lambda db, refused: None)]


def everybody_judges() -> list[Change]:
    """The hub lets anybody approve, reject and erase."""
    return [(exchange, "find_missing_right", lambda store, member, event: None)]


def refused_erasures_stay() -> list[Change]:
    """What an erasure took that the hub refused does not come again."""
    return [(sync_state, "has_erasure", lambda db, chain, ids: False)]


def no_lease() -> list[Change]:
    """A device serves what it has, however long it was away."""
    return [(sync, "expire_lease", lambda store, now: False)]


def the_lease_takes_what_is_unsent() -> list[Change]:
    """A device drops also what the hub does not have yet."""
    real = sync_state.drop_copy
    return [(sync_state, "drop_copy", lambda db, own, pushed: real(db, own, 1 << 40))]


def news_of_refusals_is_lost() -> list[Change]:
    """The hub drops what it refuses and tells nobody."""
    real = Store.record

    def record(store: Store, events: Any) -> Any:
        return real(store, [event for event in events if not isinstance(event.fact, EntriesRefused)])

    return [(Store, "record", record)]


JOINED = sync._join

MUTANTS: tuple[Callable[[], list[Change]], ...] = (
    no_tombstones, no_value_tombstones, tombstone_keys_per_device, bodies_stay, repeats_stay, last_writer_wins,
    approval_settles_all, cursor_skips, acknowledged_before_applied, private_leaks, private_leaks_past_the_database,
    private_ids_leak, publishing_takes_all_along, teams_mix, gaps_pass, seals_are_not_looked_at,
    refusals_are_forgotten, refusals_have_no_effect, everybody_judges, refused_erasures_stay, no_lease,
    the_lease_takes_what_is_unsent, news_of_refusals_is_lost,
)  # fmt: skip
