"""What must hold once all devices have synchronised."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hivemind.model.events import EntriesRefused, MemoryApproved, MemoryErased, MemoryRejected, MemoryRevised
from hivemind.model.fold import find_rolled_back
from hivemind.model.ids import EventId
from hivemind.model.memory import Memory
from hivemind.model.scope import Scope, Visibility
from hivemind.model.wire import WireEntry
from hivemind.store import log, sync_state
from hivemind.store.projections import memories
from hivemind.store.store import Store
from lab.evals.simulation.machines import Machine, read_bytes

if TYPE_CHECKING:
    from lab.evals.simulation.world import World


class Broken(Exception):
    """A promise was not kept."""


def check(world: "World") -> None:
    """Check every promise against bytes, rows and network traffic."""
    for name, hub in world.hubs.items():
        members = [machine for machine in world.machines if machine.team == name]
        stores = [hub, *(machine.store for machine in members)]
        _chains_verify(stores)
        _everything_arrived(hub, members)
        _all_agree(hub, members)
        _no_foreign_event(stores, {hub.chain, *(machine.store.chain for machine in members)})
        _nothing_comes_back(world, hub, members)
        _no_edit_is_lost(hub)
        _rights_hold(hub, members)
        _require(
            not any(device.erasures for device in sync_state.list_devices(hub.db)), "an erasure was not acknowledged"
        )
    _nothing_private_travelled(world)
    _rebuilding_changes_nothing(world.chance.choice(world.machines).store)


def was_held(machine: Machine, memory_id: str) -> bool:
    """Return whether the erasure on this device names the memory's values, with a key that the device has."""
    event = log.find_erasure(machine.store.db, memory_id, EVERYTHING)
    return event is not None and isinstance(event.fact, MemoryErased) and bool(event.fact.values)


def _require(is_kept: bool, otherwise: str) -> None:
    if not is_kept:
        raise Broken(otherwise)


def _chains_verify(stores: list[Store]) -> None:
    for store in stores:
        broken = log.verify(store.db)
        _require(not broken, f"a chain does not verify: {broken[:1]}")


def _everything_arrived(hub: Store, members: list[Machine]) -> None:
    """Check that the hub has each device's whole chain, with every body that was not erased or refused."""
    refused_ids = _list_refused(hub)
    for machine in members:
        ours = {entry.header: entry.content for entry in _read_chain(machine.store, machine.store.chain)}
        theirs = {entry.header: entry.content for entry in _read_chain(hub, machine.store.chain)}
        _require(ours == theirs, "the hub does not have what a device wrote")
        erased_ids = {header.about for header in theirs if header.fact == "memory.erased"}
        for header, content in theirs.items():
            is_explained = (
                header.about in erased_ids
                or log.find_erasure(hub.db, header.about, EVERYTHING)
                or header.id in refused_ids
            )
            _require(content is not None or bool(is_explained), "what a device wrote came without its content")


def _list_refused(hub: Store) -> set[str]:
    events = [event for _, event in log.read_events(hub.db, 0, 10_000)]
    return {entry_id for event in events if isinstance(event.fact, EntriesRefused) for entry_id in event.fact.bodies}


def _read_chain(store: Store, name: str) -> list[WireEntry]:
    return sync_state.read_chain(store.db, name, 0, 10_000)


def _shared_memories(store: Store) -> list[Memory]:
    return [memory for memory in memories.iterate_visible(store.db, EVERYTHING) if memory.scope is Scope.TEAM]


def _all_agree(hub: Store, members: list[Machine]) -> None:
    for machine in members:
        _require(_shared_memories(machine.store) == _shared_memories(hub), "devices do not agree about a memory")


def _no_foreign_event(stores: list[Store], team_chains: set[str]) -> None:
    for store in stores:
        there = {entry.header.device for _, entry in sync_state.read_page(store.db, 0, 10_000)}
        _require(there <= team_chains, "an entry of another team is here")


def _nothing_comes_back(world: "World", hub: Store, members: list[Machine]) -> None:
    """Check that no row and no byte is left of what the hub knows to be erased."""
    refused_ids = _list_refused(hub)
    for memory, words in world.words.items():
        if not log.find_erasure(hub.db, memory, EVERYTHING):
            continue
        _require(not _find_words(hub, memory, words), "the content of an erased memory is still on the hub")
        for machine in members:
            published_words = machine.published_tokens
            leftover_words = _find_words(machine.store, memory, [word for word in words if word not in published_words])
            # A device that dropped the text earlier, because a lease ended or the hub refused it, can no longer tell
            # which of its observations repeat it.
            may_be_quoted = machine.has_lapsed or all(world.entries.get(word) in refused_ids for word in leftover_words)
            is_only_quoted = may_be_quoted and not any(word in _shared_text(machine.store) for word in leftover_words)
            _require(not leftover_words or is_only_quoted, "the content of an erased memory is still on a device")


def _find_words(store: Store, memory: str, words: Iterable[str]) -> list[str]:
    _require(not memories.get_all(store.db, [memory]), "an erased memory came back")
    raw = read_bytes(store)
    return [word for word in words if word.encode() in raw]


def _shared_text(store: Store) -> str:
    """Return the texts of memories and shared entries, without local observations and questions."""
    own = [memory.text for memory in memories.iterate_visible(store.db, EVERYTHING)]
    return " ".join([*own, *(entry.content or "" for _, entry in sync_state.read_page(store.db, 0, 10_000))])


def _no_edit_is_lost(hub: Store) -> None:
    """Check that each edit is in the memory, waits beside it, or was settled by somebody who had read it."""
    for memory in memories.iterate_visible(hub.db, EVERYTHING):
        events = log.read_events_about(hub.db, memory.id)
        rolled_back_ids = find_rolled_back(events)
        edits = {event.id: event.fact for event in events if isinstance(event.fact, MemoryRevised)}
        settled_ids = {edit_id for event in events for edit_id in getattr(event.fact, "settles", ())}
        accounted_ids: set[str] = set()
        tips: list[str] = [memory.head, *(rival.id for rival in memory.rivals), *settled_ids]
        while tips:
            tip = tips.pop()
            if tip in edits and tip not in accounted_ids:
                accounted_ids.add(tip)
                tips.append(edits[EventId(tip)].head)
        _require(set(edits) - rolled_back_ids <= accounted_ids, "an edit was lost in silence")


def _rights_hold(hub: Store, members: list[Machine]) -> None:
    """Check that verdicts came from reviewers, erasures from them or the author, and that no text was corrupted."""
    for machine in members:
        for entry in _read_chain(hub, machine.store.chain):
            event = entry.event
            if event is None or machine.member.may_review:
                continue
            _require(not isinstance(event.fact, MemoryApproved | MemoryRejected), "a verdict of no reviewer counts")
            if isinstance(event.fact, MemoryErased):
                is_author = sync_state.find_author(hub.db, event.about) == machine.member.person
                _require(is_author and not machine.member.is_agent, "an erasure by somebody else counts")
            _require("hoIds" not in (entry.content or ""), "what was changed on its way was believed")


def _nothing_private_travelled(world: "World") -> None:
    traffic = "".join(world.network.wire)
    _require(not any(word in traffic for word in world.private), "something private was on the wire")


def _rebuilding_changes_nothing(store: Store) -> None:
    before = _read_answers(store)
    store.rebuild()
    _require(_read_answers(store) == before, "a rebuild changed an answer")


def _read_answers(store: Store) -> list[object]:
    queries = ("SELECT * FROM tombstones", "SELECT * FROM receipts", "SELECT * FROM observations ORDER BY id")
    return [list(memories.iterate_visible(store.db, EVERYTHING)), *(store.db.execute(table) for table in queries)]


def count_events(world: "World") -> Counter[str]:
    """Count what happened in a run, because a run in which nothing happened proves nothing."""
    hubs = world.hubs.values()
    facts = Counter(
        row[0] for hub in hubs for row in hub.db.execute("SELECT fact FROM events JOIN bodies USING (position)")
    )
    facts["private words"] = len(world.private)
    facts["rival edits"] = sum(
        len(memory.rivals) for hub in hubs for memory in memories.iterate_visible(hub.db, EVERYTHING)
    )
    facts["settled edits"] = sum(
        "settles" in row[0] for hub in hubs for row in hub.db.execute("SELECT content FROM bodies")
    )
    return facts + world.counts


EVERYTHING = Visibility(repos=(), everywhere=True)
