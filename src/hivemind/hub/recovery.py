"""What a device does when the hub's database was restored, or when its own store turns out to be a copy of another."""

from hivemind.hub.transport import Transport
from hivemind.model.team import Welcome
from hivemind.store import Store, projector, sync_state

MAX_SEGMENT_ENTRIES = 1_000
"""A hub accepts no more in one request."""


def give_back(store: Store, transport: Transport) -> int:
    """Send back what a restored hub lost of its own and other devices' chains; return how many entries it lacked.

    The hub recognises its entries by their seals. The chain of this device is pushed as always.
    """
    chains = {head.chain: head.seq for head in sync_state.list_heads(store.db) if head.chain != store.chain}
    hub_heads = {head.chain: head for head in transport.compare(store.chain, chains)}
    returned_count = 0
    for chain in chains:
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
    seq = _find_fork(store, transport)
    if not seq:
        return False
    store.separate_from_copy(seq - 1, is_shared=True)
    return True


def _find_fork(store: Store, transport: Transport) -> int:
    """Return the first number at which this device and the hub have different entries; 0 if there is none."""
    seq = 0
    while hashes := transport.hashes(store.chain, seq):
        for hub_hash in hashes:
            seq += 1
            own_hash = sync_state.find_hash(store.db, store.chain, seq)
            if not own_hash:
                return 0
            if own_hash != hub_hash:
                return seq
    return 0
