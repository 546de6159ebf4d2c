"""The device's side of a sync: push its own entries in order, then pull the entries of the others.

A page and the cursor after it are stored in one transaction, so that an interrupted sync loses and repeats nothing.
Clocks only decide when a lease ends. A restored hub gets back what it lost, and a store that is a copy of another gets
a chain of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from hivemind.errors import Refused, Unavailable
from hivemind.model import timestamps
from hivemind.model.events import EntriesRefused, Event
from hivemind.model.team import Bookmark, ChainHead, LogPage, Membership, PushResult, Role, SyncResult, Welcome
from hivemind.model.wire import WireEntry
from hivemind.store import chains, log, projector, sync_state
from hivemind.store.store import Store

PAGE_ENTRIES = 200
MAX_SEGMENT_ENTRIES = 1_000
"""A hub accepts no more in one request."""

EraseFollowUp = Callable[[list[str]], list[Event]]
"""Returns the events that erase local copies and quotes of memories that others erased."""


class Transport(Protocol):
    """What a hub answers a device; it identifies the member by the token."""

    def say_hello(self, device: str, bookmark: Bookmark | None = None) -> Welcome:
        """Identify this device and return how many of its entries the hub has, and from where to read on."""

    def push(self, device: str, entries: Sequence[WireEntry]) -> PushResult:
        """Send entries of the device's own chain."""

    def pull(self, device: str, after: int, limit: int, epoch: str = "") -> LogPage:
        """Return the entries after a position of the team's log."""

    def compare(self, device: str, chains: Mapping[str, int]) -> Sequence[ChainHead]:
        """Return the hub's entry with that number of each chain, or the newest if it has fewer."""

    def list_hashes(self, device: str, after: int) -> Sequence[str]:
        """Return the hashes of this device's entries that the hub has, after a number."""

    def take_back(self, device: str, entries: Sequence[WireEntry], head: ChainHead) -> int:
        """Send entries that the hub lost, with its seal on the last one; return how many it lacked."""


def synchronise(
    store: Store,
    transport: Transport,
    *,
    now: str,
    follow: EraseFollowUp,
    progress: Callable[[int, int], None] = lambda position, end: None,
) -> SyncResult:
    """Push this device's entries, pull new ones, and return how many of each."""
    expire_lease(store, now)
    welcome = transport.say_hello(store.chain, sync_state.read_bookmark(store.db))
    if store.membership and store.membership.team != welcome.team:
        raise Refused("this store belongs to another team; use a separate store for this one")
    if _leave_copied_chain(store, transport, welcome):
        welcome = transport.say_hello(store.chain, sync_state.read_bookmark(store.db))
    is_restored = store.membership is not None and store.membership.epoch not in ("", welcome.epoch)
    # Before the new epoch is stored, so that an interrupted recovery is repeated.
    returned_count = _give_back(store, transport) if is_restored else None
    _send_former_chains(store, transport, welcome)
    before = _join(store, welcome)
    refusals = _push(store, transport, before)
    pulled_count, erased_count = 0, 0
    while page := _pull_page(store, transport):
        page_pulled, page_erased = _take_in(store, page, follow)
        pulled_count, erased_count = pulled_count + page_pulled, erased_count + page_erased
        progress(page.cursor, page.end)
    if erased_count:
        store.checkpoint()
    current = _load_membership(store)
    sync_state.save_membership(store.db, replace(current, synchronised_at=now))
    return SyncResult(
        pushed=current.pushed - before.pushed, pulled=pulled_count, erased=erased_count, refused=tuple(refusals),
        returned=returned_count,
    )  # fmt: skip


def compute_lease_end(member: Membership) -> str:
    """Return until when this store may serve the team's memories without a sync; empty if it has none."""
    if not member.synchronised_at:
        return ""
    return timestamps.format_timestamp(
        timestamps.parse_timestamp(member.synchronised_at) + timedelta(days=member.lease_days)
    )


def expire_lease(store: Store, now: str) -> bool:
    """Drop the team's memories if the last sync is older than the lease; return whether it was."""
    member = store.membership
    if member is None or not is_lease_over(store, now):
        return False
    with store.db.transaction():
        sync_state.drop_copy(store.db, store.chain, member.pushed)
        sync_state.save_membership(store.db, replace(member, cursor=0, synchronised_at=""))
    store.discard_cues()
    store.checkpoint()
    return True


def is_lease_over(store: Store, now: str) -> bool:
    """Whether the last sync is older than the lease."""
    member = store.membership
    return member is not None and bool(compute_lease_end(member)) and now > compute_lease_end(member)


def leave(store: Store) -> None:
    """Leave the team and drop its memories; entries that were never pushed stay."""
    member = store.membership
    if member is None:
        return
    with store.db.transaction():
        sync_state.drop_copy(store.db, store.chain, member.pushed)
        sync_state.leave_team(store.db)
    store.discard_cues()
    store.checkpoint()


def _join(store: Store, welcome: Welcome) -> Membership:
    """Store the membership as the hub describes it, and from where to read on."""
    current = store.membership
    member = Membership(
        team=welcome.team, key=welcome.key, person=welcome.person, role=welcome.role, lease_days=welcome.lease_days,
        cursor=min(current.cursor if current else 0, welcome.cursor), pushed=welcome.has,
        synchronised_at=current.synchronised_at if current else "", epoch=welcome.epoch,
    )  # fmt: skip
    with store.db.transaction():
        sync_state.save_membership(store.db, member)
        if log.find_person(store.db, store.chain) != welcome.person:
            sync_state.assign_chain(store.db, store.chain, welcome.person)
            # Memories of this device were in the name that the machine gave it.
            projector.rebuild(store.db)
    return member


def _push(store: Store, transport: Transport, member: Membership) -> list[tuple[str, str]]:
    """Push entries that the hub does not have; return the refused ones. A reader's entries stay here."""
    refusals: list[tuple[str, str]] = []
    has = member.pushed
    while member.role is not Role.READER and (
        entries := sync_state.read_chain(store.db, store.chain, has, PAGE_ENTRIES)
    ):
        answer = transport.push(store.chain, entries)
        # Without progress the loop would push the same entries for ever.
        if answer.has <= has:
            raise Unavailable(f"the hub did not store entry {has + 1} of this device; try again")
        has = answer.has
        refusals += answer.refused
        sync_state.save_membership(store.db, replace(_load_membership(store), pushed=has))
    return refusals


def _pull_page(store: Store, transport: Transport) -> LogPage | None:
    """Return the next page, or None after the last one.

    The request for the empty last page is needed too: by its position the hub learns how far this device has read.
    """
    member = _load_membership(store)
    cursor = member.cursor
    page = transport.pull(store.chain, cursor, PAGE_ENTRIES, member.epoch)
    if page.after != cursor:
        raise Unavailable("the hub's answer belongs to another request; try again")
    return page if page.entries else None


def _take_in(store: Store, page: LogPage, follow: EraseFollowUp) -> tuple[int, int]:
    """Apply a page and move the cursor in one transaction; return how many entries and erasures were new."""
    erased_ids = [
        entry.header.about for entry in page.entries if entry.header.fact == "memory.erased" and entry.content
    ]
    with store.db.transaction():
        consequences = follow(erased_ids) if erased_ids else []
        # First, because entries are attributed to the person of their chain.
        for head in page.heads:
            sync_state.claim_chain(store.db, head.chain, head.person)
        sync_state.save_heads(store.db, (head for head in page.heads if head.seal))
        events = store.append_received(store.load_own_gate().strip_excluded(page.entries))
        store.record(consequences)
        refused_ids = [
            entry_id for event in events if isinstance(event.fact, EntriesRefused) for entry_id in event.fact.bodies
        ]
        # The hub refused an erasure of ours: read the log again from the start to get back what it deleted here.
        must_restart = bool(refused_ids) and sync_state.has_erasure(store.db, store.chain, refused_ids)
        sync_state.save_membership(
            store.db, replace(_load_membership(store), cursor=0 if must_restart else page.cursor)
        )
    return len(events), sum(event.about in erased_ids for event in events)


def _give_back(store: Store, transport: Transport) -> int:
    """Send back what a restored hub lost of its own and other devices' chains; return how many entries it lacked.

    The hub recognises its entries by their seals. The chain of this device is pushed as always.
    """
    last_seqs = {head.chain: head.seq for head in sync_state.list_heads(store.db) if head.chain != store.chain}
    hub_heads = {head.chain: head for head in transport.compare(store.chain, last_seqs)}
    returned_count = 0
    for chain in last_seqs:
        hub_head = hub_heads.get(chain)
        is_forked = hub_head is not None and sync_state.find_hash(store.db, chain, hub_head.seq) != hub_head.hash
        after = hub_head.seq if hub_head and not is_forked else 0
        returned_count += _give_back_chain(store, transport, chain, after)
        if is_forked:
            # The hub wrote other entries with the same numbers before it noticed. It has both now: read them again.
            with store.db.transaction():
                sync_state.drop_chain(store.db, chain)
                sync_state.reset_cursor(store.db)
                projector.rebuild(store.db)
    return returned_count


def _give_back_chain(store: Store, transport: Transport, chain: str, after: int) -> int:
    returned_count = 0
    for head in sync_state.list_seals(store.db, chain, after):
        # Every page that was pulled left a seal, so a segment is as long as a page at most. Entries from before there
        # were seals can be more, and cannot be proven in smaller segments.
        if head.seq - after > MAX_SEGMENT_ENTRIES:
            break
        entries = sync_state.read_chain(store.db, chain, after, head.seq - after)
        returned_count += transport.take_back(store.chain, entries, head)
        after = head.seq
    return returned_count


def _leave_copied_chain(store: Store, transport: Transport, welcome: Welcome) -> bool:
    """Give a copied store a chain of its own, with what it has not sent yet; return whether it was a copy.

    Two stores with the same chain write different entries with the same numbers, of which the hub takes the first.
    """
    if not welcome.has or not welcome.head or sync_state.find_hash(store.db, store.chain, welcome.has) == welcome.head:
        return False
    seq, _ = _compare_chain(store, transport, store.chain)
    if not seq:
        return False
    store.separate_from_copy(seq - 1, is_shared=True)
    return True


def _send_former_chains(store: Store, transport: Transport, welcome: Welcome) -> None:
    """Send what is left in earlier chains of this store, which another machine of the person may have given a new one.

    Under the old name, because the copy may send the same entries; only what differs from the hub's moves on.
    """
    # A chain that the hub has entries of is not new, so this was done before.
    if welcome.has or welcome.role is Role.READER:
        return
    own = [head for head in sync_state.list_heads(store.db) if head.person in (welcome.person, "")]
    # The hub has all of a chain whose last entry it has sealed.
    unsealed = (head for head in own if not sync_state.list_seals(store.db, head.chain, head.seq - 1))
    for chain in (head.chain for head in unsealed if head.chain != store.chain):
        fork, has = _compare_chain(store, transport, chain)
        if fork:
            with store.db.transaction():
                chains.move_tail(store.db, chain, store.chain, fork - 1, is_shared=True)
            continue
        while entries := sync_state.read_chain(store.db, chain, has, MAX_SEGMENT_ENTRIES):
            transport.push(chain, entries)
            has += len(entries)


def _compare_chain(store: Store, transport: Transport, chain: str) -> tuple[int, int]:
    """Return the first number at which a chain differs from the hub's (0 if none), and how many were compared."""
    seq = 0
    while hashes := transport.list_hashes(chain, seq):
        for hub_hash in hashes:
            seq += 1
            own_hash = sync_state.find_hash(store.db, chain, seq)
            if not own_hash:
                return 0, seq
            if own_hash != hub_hash:
                return seq, seq
    return 0, seq


def _load_membership(store: Store) -> Membership:
    member = store.membership
    assert member is not None
    return member
