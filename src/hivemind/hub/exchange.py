"""The hub's side of a sync: order the entries of all devices, check who may write what, and serve the log.

Every request may be repeated. A refused entry is stored without content, so that the device's chain has no gap. An
``entries.refused`` fact in the hub's own chain makes every device drop that content as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hivemind.errors import AccessRevoked, InvalidInput, Refused
from hivemind.hub import access
from hivemind.hub.access import DeviceRegister
from hivemind.hub.epochs import LogHistory
from hivemind.model.events import (
    EditHeld,
    EntriesRefused,
    Event,
    GuardLifted,
    GuardSet,
    MemoryAnnotated,
    MemoryApproved,
    MemoryErased,
    MemoryFact,
    MemoryPublished,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemoryRolledBack,
    MemorySuperseded,
    RollbackUndone,
    UnknownFact,
)
from hivemind.model.free_text import iterate_text
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel, Trust
from hivemind.model.scope import Scope
from hivemind.model.team import LEASE_DAYS, Bookmark, ChainHead, LogPage, PushResult, TeamMember, Welcome
from hivemind.model.wire import WireEntry
from hivemind.store import chains, log, sync_state
from hivemind.store.exclusion import ExclusionGate, is_written
from hivemind.store.projections import memories
from hivemind.store.projections.tombstones import DECIDING_FACTS
from hivemind.store.store import Store

REVIEWER_FACTS = (MemoryApproved, MemoryRejected, MemoryRestored, MemoryRolledBack, RollbackUndone)
REVIEWERS_DECIDE = "only a reviewer may decide about the team's memories"
MAX_PAGE_ENTRIES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The hub's side of a sync with one member; like the client of a device, it is a ``Transport``."""

    store: Store
    member: TeamMember
    now: str
    history: LogHistory | None = None
    """The epochs of the team's log; without, as in a hub on SQLite, a restore is not noticed."""
    devices: DeviceRegister | None = None
    """Which devices may sync; without, any device of a member."""

    def say_hello(self, device: str, bookmark: Bookmark | None = None) -> Welcome:
        """Return team, role and lease for a device, how many of its entries the hub has, and from where to read on."""
        bookmark = bookmark or Bookmark()
        state = self.history.state if self.history else None
        team = (state and state.first_chain) or self.store.chain
        self._check_owner(device)
        cursor = bookmark.cursor
        # A device of another team sees in the answer that it is wrong here. It is not registered, because erasures
        # would wait for it for ever.
        if bookmark.team in ("", team):
            # In this order: a device that proves a restore begins the epoch that the welcome names.
            cursor = self.history.find_cursor(bookmark) if self.history else cursor
            # A known device costs no write here; its next pull records the contact.
            if not log.find_person(self.store.db, device) or (self.devices and not self.devices.has_login(device)):
                with self.store.db.transaction():
                    self._register(device)
                    if self.devices:
                        self.devices.record_login(device)
        has = sync_state.count_entries(self.store.db, device)
        # Again, because the cursor may have begun an epoch.
        state = self.history.state if self.history else None
        return Welcome(
            team=team, key=self.store.secret, person=self.member.person, role=self.member.role, has=has, cursor=cursor,
            head=sync_state.find_hash(self.store.db, device, has), epoch=state.epoch if state else "",
            lease_days=state.lease_days if state else LEASE_DAYS,
        )  # fmt: skip

    def push(self, device: str, entries: Sequence[WireEntry]) -> PushResult:
        """Store the entries of a device in the order of its chain; entries after a gap are left for the next push."""
        if self.member.read_only_rule:
            raise Refused(self.member.read_only_rule)
        check_quota(self.store, self.history, [entry.event for entry in entries if entry.event])
        with self.store.db.transaction():
            self._register(device)
            refusals = self._store_entries(device, entries)
            if refusals:
                self.store.record([_make_refusal(refusals, self.now)])
            refused_ids = {entry_id for entry_id, _ in refusals}
            accepted = [entry.event for entry in entries if entry.event and entry.header.id not in refused_ids]
            hold_edits(self.store, self.history, self.member, accepted, self.now)
            has = sync_state.count_entries(self.store.db, device)
        # After the commit; a hub in Postgres leaves it to a worker.
        if any(entry.header.fact == "memory.erased" for entry in entries):
            self.store.checkpoint()
        return PushResult(has=has, refused=tuple(refusals))

    def pull(self, device: str, after: int, limit: int = MAX_PAGE_ENTRIES, epoch: str = "") -> LogPage:
        """Return the entries after a position of the team's log, which counts in an epoch.

        The request also acknowledges everything before that position: a device asks only for what follows the entries
        it has stored. Receipts of erasures rely on this.
        """
        self._check_owner(device)
        # A pull creates no device: erasures would wait for it for ever.
        if not log.find_person(self.store.db, device):
            raise Refused("this hub does not know the device; say hello first")
        if self.history and epoch != self.history.state.epoch:
            raise InvalidInput("the hub's database was restored meanwhile; sync again")
        with self.store.db.transaction():
            sync_state.record_contact(self.store.db, device, self.member.person, self.now)
            sync_state.acknowledge(self.store.db, device, after)
            rows = sync_state.read_page(self.store.db, after, min(limit, MAX_PAGE_ENTRIES))
            end = sync_state.read_last_shared_position(self.store.db)
            people = sync_state.list_owners(self.store.db, {entry.header.device for _, entry in rows})
        cursor = rows[-1][0] if rows else after
        # The last entry of each chain, because later ones replace earlier ones in the dictionary.
        heads = {
            entry.header.device: ChainHead(
                chain=entry.header.device, person=people.get(entry.header.device, ""), seq=entry.header.seq,
                hash=entry.header.hash, position=position,
            )
            for position, entry in rows
        }  # fmt: skip
        return LogPage(
            after=after, entries=tuple(entry for _, entry in rows), cursor=cursor, end=end,
            heads=tuple(self.history.seal(head) if self.history else head for head in heads.values()),
        )  # fmt: skip

    def compare(self, device: str, chains: Mapping[str, int]) -> tuple[ChainHead, ...]:
        """Return the hub's entry with that number of each chain, or the newest if it has fewer."""
        self._check_owner(device)
        hub_heads = {head.chain: head for head in sync_state.list_heads(self.store.db)}
        base = self.history.base if self.history else 0
        # Somebody may have sent entries back without their content, so others are asked for these once more.
        incomplete = sync_state.find_first_absent(self.store.db, base)
        heads = []
        for head in filter(None, map(hub_heads.get, chains)):
            seq = min(head.seq, chains[head.chain], incomplete.get(head.chain, head.seq + 1) - 1)
            heads.append(replace(head, seq=seq, hash=sync_state.find_hash(self.store.db, head.chain, seq)))
        return tuple(heads)

    def list_hashes(self, device: str, after: int) -> tuple[str, ...]:
        """Return the hashes of a device's entries after a number; others there mean that its store was copied."""
        self._check_owner(device)
        entries = sync_state.read_chain(self.store.db, device, after, MAX_PAGE_ENTRIES)
        return tuple(entry.header.hash for entry in entries)

    def take_back(self, device: str, entries: Sequence[WireEntry], head: ChainHead) -> int:
        """Store entries that a restored database lost, and return how many were new.

        The seal on the last of them proves that the hub had it, and with it all before it in the same chain, so it does
        not matter who brings them. Of a device's chain the hub may have refused some: their rights are checked again.
        """
        self._check_owner(device)
        last = entries[-1].header if entries else None
        if self.history is None or not self.history.has_sealed(head) or (last and last.hash) != head.hash:
            raise Refused("these entries do not have the seal of this hub; nothing was stored")
        if any(entry.header.hash != following.header.prev_hash for entry, following in pairwise(entries)):
            raise Refused("these entries are not a chain; nothing was stored")
        with self.store.db.transaction():
            sync_state.claim_chain(self.store.db, head.chain, head.person)
            accepted_entries = [self._without_refused(entry, head.person) for entry in entries]
            if not self._is_forked(entries):
                events = self.store.append_received(accepted_entries)
            elif head.person:
                raise Refused("the hub has other entries of this device; nothing was stored")
            else:
                # The hub wrote other entries with these numbers before it noticed the restore, so these become new
                # entries of its current chain.
                events = Store.record(self.store, [entry.event for entry in accepted_entries if entry.event])
            access.repeat_removals(self.store.db, events)
            self.history.count_returned(len(events))
        if any(isinstance(event.fact, MemoryErased) for event in events):
            self.store.checkpoint()
        return len(events)

    def _without_refused(self, entry: WireEntry, person: str) -> WireEntry:
        """Return an entry without content if its person may not record it, or its value was excluded meanwhile."""
        if person:
            member = access.find_member(self.store.db, person)
            is_refused = bool(_find_refusal(self.store, self.store.load_gate(), member, entry))
        else:
            is_refused = bool(entry.event and _find_exclusion(self.store.load_gate(), entry.event))
        return replace(entry, salt=b"", content=None) if is_refused else entry

    def _is_forked(self, entries: Sequence[WireEntry]) -> bool:
        """Whether the hub has other entries with the numbers of these."""
        first, chain = entries[0].header, entries[0].header.device
        hashes = {first.seq - 1: first.prev_hash, **{entry.header.seq: entry.header.hash for entry in entries}}
        seq = min(sync_state.count_entries(self.store.db, chain), max(hashes))
        return seq in hashes and sync_state.find_hash(self.store.db, chain, seq) != hashes[seq]

    def _store_entries(self, device: str, entries: Sequence[WireEntry]) -> list[tuple[str, str]]:
        """Append what is new and return the refused entries, each with the reason."""
        refusals: list[tuple[str, str]] = []
        known_ids = log.find_known_ids(self.store.db, [entry.header.id for entry in entries])
        last_seq = sync_state.count_entries(self.store.db, device)
        gate = self.store.load_gate()
        # Entries are stored together, up to one whose check depends on those before it.
        checked_entries: list[WireEntry] = []
        for entry in entries:
            if entry.header.device != device or entry.header.scope != Scope.TEAM:
                raise Refused(
                    f"entry {entry.header.id} is from another device or not of scope team; nothing was stored"
                )
            if entry.header.id in known_ids:
                continue
            if chains.is_after_gap(entry.header, last_seq):
                break
            if _depends_on(entry, checked_entries):
                self.store.append_received(checked_entries)
                checked_entries, gate = [], self.store.load_gate()
            reason = _find_refusal(self.store, gate, self.member, entry)
            if reason:
                refusals.append((entry.header.id, reason))
            checked_entries.append(replace(entry, salt=b"", content=None) if reason else entry)
            known_ids.add(entry.header.id)
            last_seq += 1
        self.store.append_received(checked_entries)
        return refusals

    def _register(self, device: str) -> None:
        self._check_owner(device)
        if self.devices and not self.devices.has_room(device, self.member.person):
            raise Refused(
                f"{self.member.person} has as many devices as the team allows; ask an admin to remove one:"
                " hivemind hub device list"
            )
        sync_state.record_contact(self.store.db, device, self.member.person, self.now)

    def _check_owner(self, device: str) -> None:
        owner = log.find_person(self.store.db, device)
        is_hub = device == self.store.chain or (self.history is not None and self.history.has_written(device))
        if is_hub or owner not in ("", self.member.person):
            raise Refused("this device belongs to another member; log in with a store of your own")
        if self.devices and self.devices.is_removed(device):
            raise AccessRevoked("an admin removed this device from the team; ask for access with a new store")


def _depends_on(entry: WireEntry, earlier_entries: Sequence[WireEntry]) -> bool:
    """Whether earlier entries of the same push may decide if an entry is refused."""
    if earlier_entries and earlier_entries[-1].header.fact in DECIDING_FACTS:
        return True
    # Whether somebody may record a memory depends on no other entry about it.
    return entry.header.fact != "memory.remembered" and any(
        earlier.header.about == entry.header.about for earlier in earlier_entries
    )


def _make_refusal(refusals: Sequence[tuple[str, str]], now: str) -> Event:
    ids = tuple(EventId(entry_id) for entry_id, _ in refusals)
    reason = "; ".join(dict.fromkeys(reason_text for _, reason_text in refusals))
    return Event(
        id=EventId(derive_id("refused", *ids)), at=now, actor="hub", channel=Channel.DERIVED, scope=Scope.TEAM, repo="",
        fact=EntriesRefused(bodies=ids, reason=reason),
    )  # fmt: skip


def _find_refusal(store: Store, gate: ExclusionGate, member: TeamMember, entry: WireEntry) -> str | None:
    """Return why the hub refuses an entry; None if it accepts it, or if the entry has no content any more."""
    event = entry.event
    if event is None:
        return None
    # Raised, not refused: a refusal is final, and an upgraded hub can take the entry.
    if isinstance(event.fact, UnknownFact):
        raise Refused(f"this hub does not know {event.fact.name}; upgrade it with 'pip install -U hivemind-memory'")
    if not isinstance(event.fact, MemoryFact) or isinstance(event.fact, MemoryPublished):
        return "only entries about the team's memories are shared"
    if member.is_agent and event.channel.trust is Trust.HIGH:
        return "an agent's token may not write as a person"
    return find_missing_right(store, member, event) or _find_exclusion(gate, event)


def check_quota(store: Store, history: LogHistory | None, events: Iterable[Event]) -> None:
    """Refuse new texts if the team has as many entries as it may; what erases or retracts is never refused."""
    limit = history.state.max_entries if history else 0
    if (
        limit
        and any(isinstance(event.fact, MemoryRemembered | MemoryRevised) for event in events)
        and log.count_entries(store.db) >= limit
    ):
        raise Refused(
            f"the team's {limit:,} entries are used up; an admin can raise the limit:"
            " hivemind hub team set --max-entries"
        )


def hold_edits(store: Store, history: LogHistory | None, member: TeamMember, events: Iterable[Event], now: str) -> None:
    """Hold edits of others' memories until a reviewer agrees, where the team wants that."""
    if history is None or not history.state.review_edits or member.may_review:
        return
    edits = [event for event in events if isinstance(event.fact, MemoryRevised) and event.scope is Scope.TEAM]
    holds = [
        Event(
            id=EventId(derive_id("held", edit.id)), at=now, actor="hub", channel=Channel.DERIVED, scope=Scope.TEAM,
            repo=edit.repo, fact=EditHeld(memory_id=edit.fact.memory_id, edit=edit.id),
        )
        for edit in edits
        if isinstance(edit.fact, MemoryRevised) and sync_state.find_author(store.db, edit.about) != member.person
    ]  # fmt: skip
    # Not by the store's own method, which asks whether the member may record it.
    Store.record(store, holds)


def find_missing_right(store: Store, member: TeamMember, event: Event) -> str | None:
    """Return why a member may not record an event; None if they may, or if it is not of scope team."""
    if event.scope is not Scope.TEAM:
        return None
    if not member.may_write:
        return member.read_only_rule
    if isinstance(event.fact, REVIEWER_FACTS):
        return None if member.may_review else REVIEWERS_DECIDE
    match event.fact:
        case EditHeld():
            return "only the hub holds edits"
        case GuardSet() | GuardLifted() if event.channel is not Channel.PERSON:
            return "only a person sets a guard"
        case MemorySuperseded(is_verdict=True) if not member.may_review:
            return REVIEWERS_DECIDE
        case MemoryErased():
            return member.find_erasure_rule(sync_state.find_author(store.db, event.about))
        case MemoryRevised() | MemoryRetracted() | MemoryAnnotated() if member.is_agent:
            is_above = any(memory.trust > event.channel.trust for memory in memories.get_all(store.db, [event.about]))
            return "it is of higher trust than an agent has" if is_above else None
        case _:
            return None


def _find_exclusion(gate: ExclusionGate, event: Event) -> str | None:
    if not is_written(event.fact):
        return None
    is_claim = isinstance(event.fact, MemoryRemembered | MemoryRevised)
    refusal = gate.find_refusal(
        iterate_text(event.fact), event.repo,
        by_person=event.channel is Channel.PERSON or not is_claim, besides="" if is_claim else event.about,
    )  # fmt: skip
    return refusal.rule if refusal else None
