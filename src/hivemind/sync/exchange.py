"""One exchange with a shared folder: read what the other devices published, then publish what is new here.

Nothing is agreed upon and nobody waits: a device reads the chains of the others as far as their files have arrived,
and writes only its own files. An exchange may stop anywhere and be repeated.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hivemind.errors import HivemindError, InvalidInput, Refused
from hivemind.model.events import Event
from hivemind.model.scope import Scope
from hivemind.model.wire import WireEntry
from hivemind.store import Store, sync_state
from hivemind.sync import keys
from hivemind.sync.files import (
    EPOCHS,
    FORMAT,
    HEAD,
    Epoch,
    Folder,
    Head,
    Segment,
    find_epoch_secret,
    find_previous_epoch,
    new_name,
    pack_head,
    pack_segment,
    unpack_head,
    unpack_segment,
)
from hivemind.sync.state import DeviceState

SEGMENT_ENTRIES = 2_000
MOST_SMALL_SEGMENTS = 24
"""More small segments than this are merged into one."""
MEMORY_FACTS = ("memory.", "dispute.", "rollback.", "repository.", "device.", "entries.lost", "observations.dropped")
SESSION_FACTS = ("observation.",)
FORGOTTEN_FACTS = ("memory.erased", "observations.dropped")

EraseFollowUp = Callable[[list[str]], list[Event]]
"""Returns the events that erase local copies and quotes of memories that another device erased."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDevice:
    """A device as its files show it."""

    directory: str
    head: Head
    waiting_for: int = 0
    """How many of its entries are announced, but have not arrived."""
    is_confirmed: bool = False
    """Whether it has read everything that this device published before this exchange."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What an exchange did."""

    sent: int
    received: int
    erased: int
    others: tuple[OtherDevice, ...]
    problems: tuple[str, ...] = ()


class DeviceCopied(HivemindError):
    """The files of this device were written by another machine: its store was copied or restored from a backup."""


def exchange(
    store: Store, folder: Folder, state: DeviceState, *, now: str, follow: EraseFollowUp, progress: Progress
) -> tuple[DeviceState, Exchange]:
    """Read the others, publish what is new, and return the new state and a report."""
    state = load_epochs(folder, state)
    _check_own_head(folder, state)
    problems: list[str] = []
    heads = dict(_read_heads(folder, state, problems))
    _check_not_removed(state, heads.values())
    removed = {directory for head in heads.values() for directory in head.removed}
    reader = _Reader(store, folder, state, follow, progress)
    others = [reader.read(directory, head) for directory, head in heads.items() if directory not in removed]
    if reader.erased:
        store.checkpoint()
    state = replace(state, seen=state.seen | {other.directory: other.head.counter for other in others})
    state, sent = _publish(store, folder, state, reader.read_chains, others, now)
    return state, Exchange(
        sent=sent, received=reader.received, erased=reader.erased, others=tuple(others), problems=tuple(problems)
    )


def load_epochs(folder: Folder, state: DeviceState) -> DeviceState:
    """Take in the epochs that others began and sealed for this device."""
    known = {epoch.name for epoch in state.epochs}
    epochs = list(state.epochs)
    for file in sorted(name for name in folder.list_names() if name.startswith(f"{EPOCHS}/")):
        number, _, name = file.removeprefix(f"{EPOCHS}/").partition("-")
        content = None if name in known else folder.read(file)
        secret = find_epoch_secret(content, state.directory, state.private_key) if content else None
        if secret:
            epochs.append(Epoch(number=int(number), name=name, key=keys.derive_key(secret)))
    return replace(state, epochs=tuple(epochs))


def join_epochs(folder: Folder, secret: bytes) -> tuple[Epoch, ...]:
    """Find the epoch that a phrase opens, and all epochs before it."""
    key = keys.derive_key(secret)
    contents = {
        file.removeprefix(f"{EPOCHS}/").partition("-")[2]: (int(file.removeprefix(f"{EPOCHS}/").partition("-")[0]), raw)
        for file in folder.list_names()
        if file.startswith(f"{EPOCHS}/") and (raw := folder.read(file))
    }
    for name, (number, _) in sorted(contents.items(), key=lambda item: -item[1][0]):
        epochs: list[Epoch] = []
        epoch: Epoch | None = Epoch(number=number, name=name, key=key)
        try:
            while epoch:
                epochs.insert(0, epoch)
                epoch = find_previous_epoch(contents[epoch.name][1], epoch)
        except (keys.SealBroken, KeyError):
            continue
        return tuple(epochs)
    raise InvalidInput(
        "this phrase does not open that folder; use the newest phrase ('hivemind sync devices' on another machine"
        " shows it), or wait until the folder's files have arrived here"
    )


def select_content(entry: WireEntry, state: DeviceState, excluded_ids: frozenset[str]) -> WireEntry:
    """Return an entry as it may travel: without content if that is the team's, private to this machine or excluded."""
    header = entry.header
    facts = (*MEMORY_FACTS, *SESSION_FACTS) if state.with_sessions else MEMORY_FACTS
    is_mine = header.scope != Scope.TEAM and header.fact.startswith(facts)
    is_excluded = header.repo in state.excluded_repos or header.about in excluded_ids
    # Erasures always travel: they contain nothing of what was erased.
    if header.fact in FORGOTTEN_FACTS or (is_mine and not is_excluded):
        return entry
    return replace(entry, salt=b"", content=None)


def _check_own_head(folder: Folder, state: DeviceState) -> None:
    """Notice that another machine writes our files, which happens after a copy or a restored backup."""
    content = folder.read(f"{state.directory}/{HEAD}")
    if content is None:
        return
    try:
        head = unpack_head(content, state.epoch_keys, state.directory)
    except keys.SealBroken:
        # Torn by the carrier; it is written again below.
        return
    if head.counter > state.counter:
        raise DeviceCopied("the files of this device were written by another machine")


def _check_not_removed(state: DeviceState, heads: Iterable[Head]) -> None:
    for head in heads:
        if state.directory in head.removed:
            raise Refused(
                f"this machine was removed by {head.name}; its memories stay here and are no longer exchanged."
                " 'hivemind sync leave' ends it, 'hivemind sync setup' with the newest phrase joins again"
            )


def _read_heads(folder: Folder, state: DeviceState, problems: list[str]) -> Iterator[tuple[str, Head]]:
    """Yield the readable heads of the other devices; an old copy counts as not yet arrived."""
    names = folder.list_names()
    for directory in sorted({name.partition("/")[0] for name in names if "/" in name} - {EPOCHS, state.directory}):
        content = folder.read(f"{directory}/{HEAD}")
        if content is None:
            problems.append(f"{directory}: its list of files has not arrived")
            continue
        try:
            head = unpack_head(content, state.epoch_keys, directory)
        except (keys.SealBroken, ValueError, KeyError, TypeError) as error:
            problems.append(f"{directory}: its list of files cannot be read: {error}")
            continue
        if head.format > FORMAT:
            raise Refused(f"{head.name} uses a newer hivemind; upgrade with 'pip install -U hivemind-memory'")
        if head.counter < state.seen.get(directory, 0):
            problems.append(f"{head.name}: the folder has an old copy of its files; waiting for the newer one")
        yield directory, head


class _Reader:
    """Takes in what other devices published."""

    def __init__(
        self, store: Store, folder: Folder, state: DeviceState, follow: EraseFollowUp, progress: Progress
    ) -> None:
        self._store, self._folder, self._state = store, folder, state
        self._follow, self._progress = follow, progress
        self.received = self.erased = 0
        self.read_chains: dict[str, int] = {}

    def read(self, directory: str, head: Head) -> OtherDevice:
        """Take in the segments of a device in order, up to the first that has not arrived whole."""
        self._store.remember_device(head.device, head.name, bytes.fromhex(head.secret))
        waiting = 0
        is_new_generation = head.generation > self._state.generations.get(directory, 0)
        for chain in dict.fromkeys(segment.chain for segment in head.segments if segment.chain != self._store.device):
            segments = sorted((s for s in head.segments if s.chain == chain), key=lambda segment: segment.first)
            end = segments[-1].last
            for segment in segments:
                have = sync_state.count_entries(self._store.db, chain)
                if segment.last <= have and not is_new_generation:
                    continue
                entries = self._open(directory, segment)
                if entries is None:
                    waiting += end - have
                    break
                self._take_in(entries if is_new_generation else [e for e in entries if e.header.seq > have])
                self._progress(segment.last, end)
            self.read_chains[chain] = sync_state.count_entries(self._store.db, chain)
        own = max((s.last for s in self._state.segments if s.chain == self._store.device), default=0)
        is_confirmed = head.read.get(self._store.device, 0) >= own
        return OtherDevice(directory=directory, head=head, waiting_for=waiting, is_confirmed=is_confirmed)

    def _open(self, directory: str, segment: Segment) -> list[WireEntry] | None:
        """Read a segment; None if it has not arrived, or not whole."""
        content = self._folder.read(f"{directory}/{segment.name}")
        key = self._state.epoch_keys.get(segment.epoch)
        if content is None or key is None or hashlib.sha256(content).hexdigest() != segment.digest:
            return None
        try:
            entries = unpack_segment(content, key, segment.name)
        except keys.SealBroken:
            return None
        if any(entry.header.device != segment.chain for entry in entries):
            raise Refused(f"a file of device {directory} contains entries of another device; nothing of it was stored")
        return entries

    def _take_in(self, entries: Sequence[WireEntry]) -> None:
        store = self._store
        erased_ids = [entry.header.about for entry in entries if entry.header.fact == "memory.erased" and entry.content]
        with store.db.transaction():
            # Before the entries are applied, because afterwards nothing is left to compare copies with.
            consequences = self._follow(erased_ids) if erased_ids else []
            events = store.append_received(entries, shared=False)
            store.record(consequences)
        self.received += len(events)
        self.erased += sum(event.about in erased_ids for event in events)


def _publish(
    store: Store,
    folder: Folder,
    state: DeviceState,
    read_chains: dict[str, int],
    others: Sequence[OtherDevice],
    now: str,
) -> tuple[DeviceState, int]:
    """Write new segments and the head, then delete the files that are no longer listed."""
    writer = _Writer(store, folder, state)
    segments = writer.write_all()
    generations = {other.directory: other.head.generation for other in others if not other.waiting_for}
    new_state = replace(
        state, segments=tuple(segments), read=read_chains, generations=state.generations | generations,
        position=store.last_position, synchronised_at=now,
    )  # fmt: skip
    is_listed = folder.read(f"{state.directory}/{HEAD}") is not None
    if (new_state.segments, new_state.read) != (state.segments, state.read) or not is_listed or state.must_announce:
        new_state = replace(new_state, counter=state.counter + 1, must_announce=False)
        folder.write(f"{state.directory}/{HEAD}", pack_head(_make_head(store, new_state, now), state.epoch, state.directory))
    # Deleted after the new list is in place, so that no reader is sent to a file that is gone.
    names = {f"{state.directory}/{segment.name}" for segment in segments}
    for name in folder.list_names():
        if name.startswith(f"{state.directory}/") and name not in names and not name.endswith(f"/{HEAD}"):
            folder.delete(name)
    return new_state, writer.sent


def _make_head(store: Store, state: DeviceState, now: str) -> Head:
    return Head(
        counter=state.counter, device=store.device, name=state.name,
        public_key=keys.find_public_key(state.private_key).hex(), secret=store.secret.hex(),
        generation=state.generation, written_at=now, segments=state.segments, read=state.read, removed=state.removed,
    )  # fmt: skip


class _Writer:
    """Publishes the chains that this device answers for: its own, and those of devices it removed."""

    def __init__(self, store: Store, folder: Folder, state: DeviceState) -> None:
        self._store, self._folder, self._state = store, folder, state
        self._excluded_ids = frozenset(sync_state.find_tagged(store.db, state.excluded_tags))
        self.sent = 0

    def write_all(self) -> list[Segment]:
        """Write what is new, rewrite what contains something erased, merge small segments; return the new list."""
        segments = list(self._state.segments)
        if self._state.must_rewrite:
            segments = []
        elif self._store.has_fact_after(self._state.position, FORGOTTEN_FACTS):
            segments = [self._without_erased(segment) for segment in segments]
        for chain in (self._store.device, *self._state.adopted):
            own = [segment for segment in segments if segment.chain == chain]
            last = max((segment.last for segment in own), default=0)
            own += self._write_new(chain, last)
            segments = [segment for segment in segments if segment.chain != chain] + self._merge_small(chain, own)
        return segments

    def _write_new(self, chain: str, last: int) -> Iterator[Segment]:
        while entries := sync_state.read_chain(self._store.db, chain, last, SEGMENT_ENTRIES, shared=False):
            yield self._write(chain, entries)
            last = entries[-1].header.seq
            self.sent += len(entries)

    def _without_erased(self, segment: Segment) -> Segment:
        entries = self._load(segment)
        travelling = sum(entry.content is not None for entry in self._select(entries))
        return segment if travelling == segment.bodies else self._write(segment.chain, entries)

    def _merge_small(self, chain: str, segments: list[Segment]) -> list[Segment]:
        large = [segment for segment in segments if segment.last - segment.first + 1 >= SEGMENT_ENTRIES // 2]
        small = segments[len(large) :]
        # Only a tail of small ones, so that ranges stay consecutive.
        if len(small) <= MOST_SMALL_SEGMENTS or large != segments[: len(large)]:
            return segments
        return large + list(self._rewrite(chain, large[-1].last if large else 0, small[-1].last))

    def _rewrite(self, chain: str, after: int, last: int) -> Iterator[Segment]:
        while after < last:
            entries = sync_state.read_chain(self._store.db, chain, after, min(SEGMENT_ENTRIES, last - after), shared=False)
            yield self._write(chain, entries)
            after = entries[-1].header.seq

    def _load(self, segment: Segment) -> list[WireEntry]:
        count = segment.last - segment.first + 1
        return sync_state.read_chain(self._store.db, segment.chain, segment.first - 1, count, shared=False)

    def _select(self, entries: Sequence[WireEntry]) -> list[WireEntry]:
        return [select_content(entry, self._state, self._excluded_ids) for entry in entries]

    def _write(self, chain: str, entries: Sequence[WireEntry]) -> Segment:
        epoch, name = self._state.epoch, new_name()
        travelling = self._select(entries)
        content = pack_segment(travelling, epoch, name)
        self._folder.write(f"{self._state.directory}/{name}", content)
        return Segment(
            name=name, chain=chain, first=entries[0].header.seq, last=entries[-1].header.seq,
            bodies=sum(entry.content is not None for entry in travelling), epoch=epoch.name,
            digest=hashlib.sha256(content).hexdigest(),
        )  # fmt: skip
