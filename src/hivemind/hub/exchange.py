"""The hub's side of an exchange: it orders what devices bring, says what counts, and gives it to the others.

Everything may be asked twice. The hub keeps what it refused as a bare header, so that the device's chain goes on, and
tells of it in a fact of its own, by which every device lets go of it too.
"""

from collections.abc import Sequence
from dataclasses import replace

from hivemind.errors import OutOfStep, Refused
from hivemind.model.events import (
    EntriesRefused,
    Event,
    MemoryAnnotated,
    MemoryApproved,
    MemoryErased,
    MemoryPublished,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemoryRolledBack,
    RollbackUndone,
    UnknownFact,
)
from hivemind.model.ids import EventId, derived
from hivemind.model.memory import Channel, Trust
from hivemind.model.scope import Scope
from hivemind.model.team import LEASE_DAYS, Member, Page, Pushed, Welcome
from hivemind.model.values import value
from hivemind.model.wire import Entry
from hivemind.store import Store, log, shared
from hivemind.store.projections import memories, tombstones

VERDICTS = (MemoryApproved, MemoryRejected, MemoryRestored, MemoryRolledBack, RollbackUndone)
LARGEST_PAGE = 1_000
READS_ONLY = "{} may read the team's memories, not add to them; ask an admin for another role"


def hello(store: Store, device: str, member: Member, lease_days: int = LEASE_DAYS) -> Welcome:
    """What a device must know before it begins, and how much of its chain is here."""
    _must_be_theirs(store, device, member)
    return Welcome(
        team=store.chain, key=store.secret, person=member.person, role=member.role,
        has=shared.length(store.db, device), lease_days=lease_days,
    )  # fmt: skip


def push(store: Store, device: str, entries: Sequence[Entry], member: Member, now: str) -> Pushed:
    """Take in what a device wrote, in the order of its chain; what comes after a gap is left for another time."""
    if not member.may_write:
        raise Refused(READS_ONLY.format(member.person))
    refused: list[tuple[str, str]] = []
    with store.db.transaction():
        _meet(store, device, member, now)
        others = shared.people(store.db) - {member.person}
        known = log.known(store.db, [entry.header.id for entry in entries])
        for entry in entries:
            if entry.header.device != device or entry.header.scope != Scope.TEAM:
                raise Refused(f"entry {entry.header.id} is not of this device, or not for the team")
            if entry.header.id in known:
                continue
            reason = _reason_against(store, member, others, entry)
            try:
                store.take_in([replace(entry, salt=b"", content=None) if reason else entry])
            except OutOfStep:
                break
            if reason:
                refused.append((entry.header.id, reason))
        if refused:
            store.record([_refusal(refused, now)])
        has = shared.length(store.db, device)
    if any(entry.header.fact == "memory.erased" for entry in entries):
        store.fold_in_log()
    return Pushed(has=has, refused=tuple(refused))


def pull(store: Store, device: str, after: int, member: Member, now: str, limit: int = LARGEST_PAGE) -> Page:
    """What comes after a position in the team's log; to ask for it acknowledges everything before."""
    with store.db.transaction():
        _meet(store, device, member, now)
        shared.acknowledge(store.db, device, after)
        found = shared.page(store.db, after, min(limit, LARGEST_PAGE))
        end = shared.end(store.db)
    cursor = found[-1][0] if found else after
    return Page(after=after, entries=tuple(entry for _, entry in found), cursor=cursor, end=end)


def _meet(store: Store, device: str, member: Member, now: str) -> None:
    _must_be_theirs(store, device, member)
    shared.meet(store.db, device, member.person, now)


def _must_be_theirs(store: Store, device: str, member: Member) -> None:
    known = shared.person_of(store.db, device)
    if device == store.chain or known not in ("", member.person):
        raise Refused("this device belongs to somebody else; log in with a store of your own")


def _refusal(refused: Sequence[tuple[str, str]], now: str) -> Event:
    ids = tuple(EventId(one) for one, _ in refused)
    reason = "; ".join(dict.fromkeys(why for _, why in refused))
    return Event(
        id=EventId(derived("refused", *ids)), at=now, actor="hub", channel=Channel.DERIVED, scope=Scope.TEAM, repo="",
        fact=EntriesRefused(bodies=ids, reason=reason),
    )  # fmt: skip


def _reason_against(store: Store, member: Member, others: set[str], entry: Entry) -> str:
    """Why what an entry says does not count; nothing if it does, or says nothing any more."""
    event = entry.event
    if event is None:
        return ""
    if isinstance(event.fact, UnknownFact):
        raise Refused(f"this hub does not know {event.fact.name}; upgrade it with 'pip install -U hivemind-memory'")
    if not hasattr(event.fact, "memory_id") or isinstance(event.fact, MemoryPublished):
        return "only what is about the team's memories is shared"
    if member.is_agent and event.channel.trust is Trust.HIGH:
        return "an agent's token cannot speak as a person"
    if not member.is_agent and _names(event) & others:
        return "nobody speaks in another member's name"
    return beyond_rights(store, member, event) or _stays_out(store, event)


def _names(event: Event) -> set[str]:
    """Whose word an entry claims to be."""
    owner = event.fact.owner if isinstance(event.fact, MemoryRemembered) else ""
    return {owner, event.actor if event.channel.trust is Trust.HIGH else ""}


def beyond_rights(store: Store, member: Member, event: Event) -> str:
    """Why somebody may not say this; nothing if they may, or if it is their own and not the team's."""
    if event.scope is not Scope.TEAM:
        return ""
    if not member.may_write:
        return READS_ONLY.format(member.person)
    if isinstance(event.fact, VERDICTS):
        return "" if member.may_review else "only a reviewer may decide about the team's memories"
    match event.fact:
        case MemoryErased() if not member.may_review:
            is_author = not member.is_agent and shared.author(store.db, event.about) == member.person
            return "" if is_author else "only its author or a reviewer may erase it"
        case MemoryRevised() | MemoryRetracted() | MemoryAnnotated() if member.is_agent:
            known = memories.get_all(store.db, [event.about])
            return "it is of higher trust than an agent has" if known and known[0].trust > event.channel.trust else ""
        case _:
            return ""


def _stays_out(store: Store, event: Event) -> str:
    if not isinstance(event.fact, MemoryRemembered | MemoryRevised):
        return ""
    by_person = event.channel is Channel.PERSON
    reason = tombstones.refusal(store.db, [value(event.fact.text, store.secret)], event.repo, by_person=by_person)
    if not reason and tombstones.watch(store.db, {Scope.TEAM: store.secret}).holds(event.fact.text):
        reason = "erased"
    return f"its value was {reason} before" if reason else ""
