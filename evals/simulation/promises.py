"""What must hold once everybody has heard of everything."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from evals.simulation.machines import Machine, held
from hivemind.model.events import EntriesRefused, MemoryApproved, MemoryErased, MemoryRejected, MemoryRevised
from hivemind.model.ids import EventId
from hivemind.model.life import rolled_back
from hivemind.model.memory import Memory
from hivemind.model.scope import Scope, Sight
from hivemind.model.wire import Entry
from hivemind.store import Store, log, shared
from hivemind.store.projections import memories

if TYPE_CHECKING:
    from evals.simulation.world import World


class Broken(Exception):
    """A promise was not kept."""


def check(world: "World") -> None:
    """Every promise, by the bytes, the rows and the wire."""
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
        _promise(not any(one.erasures for one in shared.devices(hub.db)), "an erasure was not acknowledged")
    _nothing_private_travelled(world)
    _rebuilding_changes_nothing(world.chance.choice(world.machines).store)


def was_held(machine: Machine, memory_id: str) -> bool:
    """Whether the erasure known here names the values of the memory under a key that this device has."""
    event = log.erasure_of(machine.store.db, memory_id, EVERYTHING)
    return event is not None and isinstance(event.fact, MemoryErased) and bool(event.fact.values)


def _promise(kept: bool, otherwise: str) -> None:
    if not kept:
        raise Broken(otherwise)


def _chains_verify(stores: list[Store]) -> None:
    for store in stores:
        broken = log.verify(store.db)
        _promise(not broken, f"a chain does not verify: {broken[:1]}")


def _everything_arrived(hub: Store, members: list[Machine]) -> None:
    """The hub has each device's chain whole, header by header, with every body that nobody took."""
    refused = _refused(hub)
    for machine in members:
        ours = {entry.header: entry.content for entry in _chain(machine.store, machine.store.chain)}
        theirs = {entry.header: entry.content for entry in _chain(hub, machine.store.chain)}
        _promise(ours == theirs, "the hub does not have what a device wrote")
        erased = {header.about for header in theirs if header.fact == "memory.erased"}
        for header, content in theirs.items():
            explained = (
                header.about in erased or log.erasure_of(hub.db, header.about, EVERYTHING) or header.id in refused
            )
            _promise(content is not None or bool(explained), "what a device wrote came without its content")


def _refused(hub: Store) -> set[str]:
    events = [event for _, event in log.read(hub.db, 0, 10_000)]
    return {one for event in events if isinstance(event.fact, EntriesRefused) for one in event.fact.bodies}


def _chain(store: Store, name: str) -> list[Entry]:
    return shared.of_chain(store.db, name, 0, 10_000)


def _shared_memories(store: Store) -> list[Memory]:
    return [memory for memory in memories.each(store.db, EVERYTHING) if memory.scope is Scope.TEAM]


def _all_agree(hub: Store, members: list[Machine]) -> None:
    for machine in members:
        _promise(_shared_memories(machine.store) == _shared_memories(hub), "devices do not agree about a memory")


def _no_foreign_event(stores: list[Store], known: set[str]) -> None:
    for store in stores:
        there = {entry.header.device for _, entry in shared.page(store.db, 0, 10_000)}
        _promise(there <= known, "an entry of another team is here")


def _nothing_comes_back(world: "World", hub: Store, members: list[Machine]) -> None:
    """What the hub knows to be erased is nowhere: no row, no byte."""
    refused = _refused(hub)
    for memory, words in world.said.items():
        if not log.erasure_of(hub.db, memory, EVERYTHING):
            continue
        _promise(not _left(hub, memory, words), "the content of an erased memory is still on the hub")
        for machine in members:
            own = machine.published_tokens
            left = _left(machine.store, memory, [word for word in words if word not in own])
            # Whoever let go of a text before, when a lease ended or the hub refused it, can no longer tell where it
            # had been printed here.
            unknown = machine.has_lapsed or all(world.entries.get(word) in refused for word in left)
            quoted = unknown and not any(word in _shared_text(machine.store) for word in left)
            _promise(not left or quoted, "the content of an erased memory is still on a device")


def _left(store: Store, memory: str, words: Iterable[str]) -> list[str]:
    _promise(not memories.get_all(store.db, [memory]), "an erased memory came back")
    raw = held(store)
    return [word for word in words if word.encode() in raw]


def _shared_text(store: Store) -> str:
    """What memories say and what travelled, without what was seen and asked here."""
    own = [memory.text for memory in memories.each(store.db, EVERYTHING)]
    return " ".join([*own, *(entry.content or "" for _, entry in shared.page(store.db, 0, 10_000))])


def _no_edit_is_lost(hub: Store) -> None:
    """Each edit is part of what a memory says now, waits beside it, or somebody who had read it decided about it."""
    for memory in memories.each(hub.db, EVERYTHING):
        events = log.about(hub.db, memory.id)
        away = rolled_back(events)
        edits = {event.id: event.fact for event in events if isinstance(event.fact, MemoryRevised)}
        settled = {one for event in events for one in getattr(event.fact, "settles", ())}
        accounted: set[str] = set()
        tips: list[str] = [memory.head, *(rival.id for rival in memory.rivals), *settled]
        while tips:
            tip = tips.pop()
            if tip in edits and tip not in accounted:
                accounted.add(tip)
                tips.append(edits[EventId(tip)].head)
        _promise(set(edits) - away <= accounted, "an edit was lost in silence")


def _rights_hold(hub: Store, members: list[Machine]) -> None:
    """Verdicts came from reviewers, erasures from them or from the author, and nobody's word was changed on its way."""
    for machine in members:
        for entry in _chain(hub, machine.store.chain):
            event = entry.event
            if event is None or machine.member.may_review:
                continue
            _promise(not isinstance(event.fact, MemoryApproved | MemoryRejected), "a verdict of no reviewer counts")
            if isinstance(event.fact, MemoryErased):
                is_author = shared.author(hub.db, event.about) == machine.member.person
                _promise(is_author and not machine.member.is_agent, "an erasure by somebody else counts")
            _promise("hoIds" not in (entry.content or ""), "what was changed on its way was believed")


def _nothing_private_travelled(world: "World") -> None:
    said = "".join(world.network.wire)
    _promise(not any(word in said for word in world.private), "something private was on the wire")


def _rebuilding_changes_nothing(store: Store) -> None:
    before = _answers(store)
    store.rebuild()
    _promise(_answers(store) == before, "a rebuild changed an answer")


def _answers(store: Store) -> list[object]:
    others = ("SELECT * FROM tombstones", "SELECT * FROM receipts", "SELECT * FROM observations ORDER BY id")
    return [list(memories.each(store.db, EVERYTHING)), *(store.db.execute(table) for table in others)]


def seen(world: "World") -> Counter[str]:
    """What happened in a run, so that a quiet one is not taken for a proof."""
    hubs = world.hubs.values()
    facts = Counter(
        row[0] for hub in hubs for row in hub.db.execute("SELECT fact FROM events JOIN bodies USING (position)")
    )
    facts["private words"] = len(world.private)
    facts["rival edits"] = sum(len(one.rivals) for hub in hubs for one in memories.each(hub.db, EVERYTHING))
    facts["settled edits"] = sum(
        "settles" in row[0] for hub in hubs for row in hub.db.execute("SELECT content FROM bodies")
    )
    return facts + world.happened


EVERYTHING = Sight(repos=(), everywhere=True)
