"""The hub's side of a sync: order the entries of all devices, check who may write what, and serve the log.

Every request may be repeated. A refused entry is stored without content, so that the device's chain has no gap. An
``entries.refused`` fact in the hub's own chain makes every device drop that content as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hivemind.errors import OutOfOrder, Refused
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
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel, Trust
from hivemind.model.scope import Scope
from hivemind.model.team import LogPage, PushResult, TeamMember, Welcome
from hivemind.model.wire import WireEntry
from hivemind.store import Store, log, sync_state
from hivemind.store.projections import memories, tombstones
from hivemind.text.normalise import digest_value

REVIEWER_FACTS = (MemoryApproved, MemoryRejected, MemoryRestored, MemoryRolledBack, RollbackUndone)
MAX_PAGE_ENTRIES = 1_000
READ_ONLY_ERROR = "{} may read the team's memories, not add to them; ask an admin for another role"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The hub's side of a sync with one member; like the client of a device, it is a ``Transport``."""

    store: Store
    member: TeamMember
    now: str

    def hello(self, device: str) -> Welcome:
        """Return team, role and lease for a device, and how many of its entries the hub has."""
        self._check_owner(device)
        return Welcome(
            team=self.store.chain, key=self.store.secret, person=self.member.person, role=self.member.role,
            has=sync_state.count_entries(self.store.db, device),
        )  # fmt: skip

    def push(self, device: str, entries: Sequence[WireEntry]) -> PushResult:
        """Store the entries of a device in the order of its chain; entries after a gap are left for the next push."""
        if not self.member.may_write:
            raise Refused(READ_ONLY_ERROR.format(self.member.person))
        with self.store.db.transaction():
            self._register(device)
            refusals = self._store_entries(device, entries)
            if refusals:
                self.store.record([_make_refusal(refusals, self.now)])
            has = sync_state.count_entries(self.store.db, device)
        # After the commit, because VACUUM cannot run in a transaction.
        if any(entry.header.fact == "memory.erased" for entry in entries):
            self.store.checkpoint()
        return PushResult(has=has, refused=tuple(refusals))

    def pull(self, device: str, after: int, limit: int = MAX_PAGE_ENTRIES) -> LogPage:
        """Return the entries after a position of the team's log.

        The request also acknowledges everything before that position: a device asks only for what follows the entries
        it has stored. Receipts of erasures rely on this.
        """
        with self.store.db.transaction():
            self._register(device)
            sync_state.acknowledge(self.store.db, device, after)
            rows = sync_state.read_page(self.store.db, after, min(limit, MAX_PAGE_ENTRIES))
            end = sync_state.last_position(self.store.db)
        cursor = rows[-1][0] if rows else after
        return LogPage(after=after, entries=tuple(entry for _, entry in rows), cursor=cursor, end=end)

    def _store_entries(self, device: str, entries: Sequence[WireEntry]) -> list[tuple[str, str]]:
        """Append what is new and return the refused entries, each with the reason."""
        refusals: list[tuple[str, str]] = []
        other_people = sync_state.list_people(self.store.db) - {self.member.person}
        known_ids = log.find_known_ids(self.store.db, [entry.header.id for entry in entries])
        for entry in entries:
            if entry.header.device != device or entry.header.scope != Scope.TEAM:
                raise Refused(
                    f"entry {entry.header.id} is from another device or not of scope team; nothing was stored"
                )
            if entry.header.id in known_ids:
                continue
            reason = _find_refusal(self.store, self.member, other_people, entry)
            try:
                self.store.append_received([replace(entry, salt=b"", content=None) if reason else entry])
            except OutOfOrder:
                break
            if reason:
                refusals.append((entry.header.id, reason))
        return refusals

    def _register(self, device: str) -> None:
        self._check_owner(device)
        sync_state.record_contact(self.store.db, device, self.member.person, self.now)

    def _check_owner(self, device: str) -> None:
        owner = sync_state.find_person(self.store.db, device)
        if device == self.store.chain or owner not in ("", self.member.person):
            raise Refused("this device belongs to another member; log in with a store of your own")


def _make_refusal(refusals: Sequence[tuple[str, str]], now: str) -> Event:
    ids = tuple(EventId(entry_id) for entry_id, _ in refusals)
    reason = "; ".join(dict.fromkeys(reason_text for _, reason_text in refusals))
    return Event(
        id=EventId(derive_id("refused", *ids)), at=now, actor="hub", channel=Channel.DERIVED, scope=Scope.TEAM, repo="",
        fact=EntriesRefused(bodies=ids, reason=reason),
    )  # fmt: skip


def _find_refusal(store: Store, member: TeamMember, other_people: set[str], entry: WireEntry) -> str:
    """Return why the hub refuses an entry; empty if it accepts it, or if the entry has no content any more."""
    event = entry.event
    if event is None:
        return ""
    # Raised, not refused: a refusal is final, and an upgraded hub can take the entry.
    if isinstance(event.fact, UnknownFact):
        raise Refused(f"this hub does not know {event.fact.name}; upgrade it with 'pip install -U hivemind-memory'")
    if not hasattr(event.fact, "memory_id") or isinstance(event.fact, MemoryPublished):
        return "only entries about the team's memories are shared"
    if member.is_agent and event.channel.trust is Trust.HIGH:
        return "an agent's token may not write as a person"
    if not member.is_agent and _get_claimed_names(event) & other_people:
        return "nobody may write in another member's name"
    return check_rights(store, member, event) or _find_exclusion(store, event)


def _get_claimed_names(event: Event) -> set[str]:
    """Return the people an entry claims to be from."""
    owner = event.fact.owner if isinstance(event.fact, MemoryRemembered) else ""
    return {owner, event.actor if event.channel.trust is Trust.HIGH else ""}


def check_rights(store: Store, member: TeamMember, event: Event) -> str:
    """Return why a member may not record an event; empty if they may, or if it is not of scope team."""
    if event.scope is not Scope.TEAM:
        return ""
    if not member.may_write:
        return READ_ONLY_ERROR.format(member.person)
    if isinstance(event.fact, REVIEWER_FACTS):
        return "" if member.may_review else "only a reviewer may decide about the team's memories"
    match event.fact:
        case MemoryErased() if not member.may_review:
            is_author = not member.is_agent and sync_state.find_author(store.db, event.about) == member.person
            return "" if is_author else "only its author or a reviewer may erase it"
        case MemoryRevised() | MemoryRetracted() | MemoryAnnotated() if member.is_agent:
            is_above = any(memory.trust > event.channel.trust for memory in memories.get_all(store.db, [event.about]))
            return "it is of higher trust than an agent has" if is_above else ""
        case _:
            return ""


def _find_exclusion(store: Store, event: Event) -> str:
    if not isinstance(event.fact, MemoryRemembered | MemoryRevised):
        return ""
    by_person = event.channel is Channel.PERSON
    reason = tombstones.find_refusal(
        store.db, [digest_value(event.fact.text, store.secret)], event.repo, by_person=by_person
    )
    watch = tombstones.load_watch(store.db, {Scope.TEAM: (store.secret,)})
    if not reason and watch.contains_erased_text(event.fact.text):
        reason = tombstones.Exclusion.ERASED
    return f"its value was {reason} before" if reason else ""
