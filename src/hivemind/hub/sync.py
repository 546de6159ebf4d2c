"""A device's side of an exchange: it brings its own entries in order, then reads what the others wrote.

A page and the cursor behind it are noted in one transaction, so that nothing is lost or counted twice wherever it
breaks off; clocks decide nothing but when a lease ends.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from hivemind.errors import Refused, Unavailable
from hivemind.model import moments
from hivemind.model.events import EntriesRefused, Event, MemoryRemembered, MemoryRevised
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.team import Membership, Page, Pushed, Role, Synchronised, Welcome
from hivemind.model.values import value
from hivemind.model.wire import Entry
from hivemind.store import Store, shared
from hivemind.store.projections import tombstones

PAGE = 200


class Transport(Protocol):
    """How a device reaches its hub; whoever it is, the hub knows from the token."""

    def hello(self, device: str) -> Welcome:
        """Say who asks, and learn what the hub has of it."""

    def push(self, device: str, entries: Sequence[Entry]) -> Pushed:
        """Bring entries of the device's own chain."""

    def pull(self, device: str, after: int, limit: int) -> Page:
        """Ask for what comes after a position."""


Follow = Callable[[list[str]], list[Event]]
"""What else has to go from here with memories that others erased."""


def synchronise(
    store: Store,
    transport: Transport,
    *,
    now: str,
    follow: Follow,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Synchronised:
    """Bring what is ours, read what is new, and say how far we have read."""
    let_lapse(store, now)
    before = _joined(store, transport.hello(store.chain))
    refused = _push(store, transport, before)
    pulled, erased = 0, 0
    while page := _next_page(store, transport):
        taken, gone = _take_in(store, page, follow)
        pulled, erased = pulled + taken, erased + gone
        progress(page.cursor, page.end)
    if erased:
        store.fold_in_log()
    done = _now(store)
    shared.note(store.db, replace(done, synchronised_at=now))
    return Synchronised(pushed=done.pushed - before.pushed, pulled=pulled, erased=erased, refused=tuple(refused))


def lease_ends(member: Membership) -> str:
    """Until when this store may serve the team's memories without asking; empty where it holds none."""
    if not member.synchronised_at:
        return ""
    return moments.written(moments.read(member.synchronised_at) + timedelta(days=member.lease_days))


def let_lapse(store: Store, now: str) -> bool:
    """Drop the team's memories if the hub was not asked for longer than the lease; true if that was so."""
    member = store.membership
    if member is None or not lease_ends(member) or now <= lease_ends(member):
        return False
    with store.db.transaction():
        shared.drop_copy(store.db, store.chain, member.pushed)
        shared.note(store.db, replace(member, cursor=0, synchronised_at=""))
    store.fold_in_log()
    return True


def leave(store: Store) -> None:
    """Drop the team's memories and forget that there was a team; what it never got stays."""
    member = store.membership
    if member is None:
        return
    with store.db.transaction():
        shared.drop_copy(store.db, store.chain, member.pushed)
        shared.leave(store.db)
    store.fold_in_log()


def _joined(store: Store, welcome: Welcome) -> Membership:
    known = store.membership
    if known and known.team != welcome.team:
        raise Refused("this store belongs to another team; open a store of another name for this one")
    member = Membership(
        team=welcome.team, key=welcome.key, person=welcome.person, role=welcome.role, lease_days=welcome.lease_days,
        cursor=known.cursor if known else 0, pushed=welcome.has, synchronised_at=known.synchronised_at if known else "",
    )  # fmt: skip
    shared.note(store.db, member)
    return member


def _push(store: Store, transport: Transport, member: Membership) -> list[tuple[str, str]]:
    """Bring what the hub does not have; somebody who may only read keeps it here."""
    refused: list[tuple[str, str]] = []
    has = member.pushed
    while member.role is not Role.READER and (entries := shared.of_chain(store.db, store.chain, has, PAGE)):
        done = transport.push(store.chain, entries)
        if done.has <= has:
            raise Unavailable(f"the hub did not take entry {has + 1} of this device; try again")
        has = done.has
        refused += done.refused
        shared.note(store.db, replace(_now(store), pushed=has))
    return refused


def _next_page(store: Store, transport: Transport) -> Page | None:
    """What is new; that nothing is, the hub has to say, because asking is what tells it how far we are."""
    cursor = _now(store).cursor
    page = transport.pull(store.chain, cursor, PAGE)
    if page.after != cursor:
        raise Unavailable("the hub answered another question; try again")
    return page if page.entries else None


def _take_in(store: Store, page: Page, follow: Follow) -> tuple[int, int]:
    """Apply a page with its consequences and move the cursor behind it, all at once."""
    erased = [entry.header.about for entry in page.entries if entry.header.fact == "memory.erased" and entry.content]
    with store.db.transaction():
        consequences = follow(erased) if erased else []
        taken = store.take_in([_without_what_stays_out(store, entry) for entry in page.entries])
        store.record(consequences)
        refused = [one for event in taken if isinstance(event.fact, EntriesRefused) for one in event.fact.bodies]
        # What an erasure of ours had taken, and should not have, comes again from the beginning.
        again = bool(refused) and shared.has_erasure(store.db, store.chain, refused)
        shared.note(store.db, replace(_now(store), cursor=0 if again else page.cursor))
    return len(taken), sum(event.about in erased for event in taken)


def _without_what_stays_out(store: Store, entry: Entry) -> Entry:
    """An entry without its content where it says what this person rejected or erased; the hub asks for the team."""
    event = entry.event
    if event is None or not isinstance(event.fact, MemoryRemembered | MemoryRevised):
        return entry
    text = event.fact.text
    is_out = tombstones.refusal(
        store.db, [value(text, store.secret)], event.repo, by_person=event.channel is Channel.PERSON,
        besides=event.about,
    ) or tombstones.watch(store.db, dict.fromkeys((Scope.USER, Scope.PROJECT), store.secret)).holds(text)  # fmt: skip
    return replace(entry, salt=b"", content=None) if is_out else entry


def _now(store: Store) -> Membership:
    member = store.membership
    assert member is not None
    return member
