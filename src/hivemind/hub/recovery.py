"""What a device does when the hub's database was restored, or when its own store turns out to be a copy of another."""

from hivemind.hub.transport import Transport
from hivemind.model.team import ChainHead, Role, Welcome
from hivemind.store import Store, chains, projector, sync_state

MAX_SEGMENT_ENTRIES = 1_000
"""A hub accepts no more in one request."""


def give_back(store: Store, transport: Transport) -> int:
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


def leave_copied_chain(store: Store, transport: Transport, welcome: Welcome) -> bool:
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


def send_former_chains(store: Store, transport: Transport, welcome: Welcome) -> None:
    """Send what is left in earlier chains of this store, which another machine of the person may have given a new one.

    Under the old name, because the copy may send the same entries; only what differs from the hub's moves on.
    """
    # A chain that the hub has entries of is not new, so this was done before.
    if welcome.has or welcome.role is Role.READER:
        return
    own = [head for head in sync_state.list_heads(store.db) if head.person in (welcome.person, "")]
    for chain in (head.chain for head in own if head.chain != store.chain and not _is_sealed(store, head)):
        fork, has = _compare_chain(store, transport, chain)
        if fork:
            with store.db.transaction():
                chains.move_tail(store.db, chain, store.chain, fork - 1, is_shared=True)
            continue
        while entries := sync_state.read_chain(store.db, chain, has, MAX_SEGMENT_ENTRIES):
            transport.push(chain, entries)
            has += len(entries)


def _is_sealed(store: Store, head: ChainHead) -> bool:
    """Whether the hub has sealed the last entry of a chain, and so has all of it."""
    return bool(sync_state.list_seals(store.db, head.chain, head.seq - 1))


def _compare_chain(store: Store, transport: Transport, chain: str) -> tuple[int, int]:
    """Return the first number at which a chain differs from the hub's (0 if none), and how many were compared."""
    seq = 0
    while hashes := transport.hashes(chain, seq):
        for hub_hash in hashes:
            seq += 1
            own_hash = sync_state.find_hash(store.db, chain, seq)
            if not own_hash:
                return 0, seq
            if own_hash != hub_hash:
                return seq, seq
    return 0, seq
