"""Segments, the files with a device's entries: read those of the others into the store, and write our own.

A device publishes the chains that it answers for: its own, and those of devices that are gone.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import takewhile

from hivemind.context import Progress
from hivemind.errors import InvalidInput, Refused
from hivemind.model.events import Event
from hivemind.model.scope import Scope
from hivemind.model.wire import WireEntry, pack_entry, unpack_entry
from hivemind.store import chains, sync_state
from hivemind.store.projections import memories
from hivemind.store.store import Store
from hivemind.sync.folder_files import DeviceState, Head, Segment
from hivemind.sync.folder_keys import Epoch, SealBroken, seal, unseal
from hivemind.sync.folders import Folder, new_name

SEGMENT_ENTRIES = 2_000
MOST_SMALL_SEGMENTS = 24
"""More small segments than this are merged into one."""
MEMORY_FACTS = ("memory.", "dispute.", "rollback.", "repository.", "device.", "entries.lost", "observations.dropped")
SESSION_FACTS = ("observation.",)
FORGETTING_FACTS = ("memory.erased", "observations.dropped")
EraseFollowUp = Callable[[list[str]], list[Event]]
"""Returns the events that erase copies and quotes, on this device, of memories that another device erased."""
EraseFromBackups = Callable[[list[str]], None]
"""Erases memories from the backups beside the store."""


def read_segment(folder: Folder, directory: str, segment: Segment) -> bytes | None:
    """Read the file of a segment; None if it is not here, or not whole."""
    content = folder.read(f"{directory}/{segment.name}")
    return content if content is not None and hashlib.sha256(content).hexdigest() == segment.digest else None


def load_segment(folder: Folder, directory: str, segment: Segment, epochs: Iterable[Epoch]) -> list[WireEntry] | None:
    """Read a segment; None if it has not arrived, or not whole. Raises InvalidInput if an entry is malformed."""
    content = read_segment(folder, directory, segment)
    epoch = next((epoch for epoch in epochs if epoch.name == segment.epoch), None)
    if content is None or epoch is None:
        return None
    try:
        lines = unseal(epoch.key, content, segment.name).decode().split("\n")
    except SealBroken:
        return None
    return [unpack_entry(json.loads(line)) for line in lines if line]


def find_ends(segments: Iterable[Segment]) -> dict[str, int]:
    """Return the last entry of each chain that these segments contain."""
    return {segment.chain: segment.last for segment in sorted(segments, key=lambda segment: segment.last)}


def count_waiting(store: Store, head: Head) -> int:
    """Count the entries that a device announced and that have not arrived."""
    ends = find_ends(head.segments).items()
    return sum(max(0, end - sync_state.count_entries(store.db, chain)) for chain, end in ends if chain != store.device)


class SegmentReader:
    """Reads the segments of other devices into the store, and collects what happened."""

    def __init__(
        self, store: Store, folder: Folder, state: DeviceState, follow: EraseFollowUp, clean: EraseFromBackups,
        progress: Progress,
    ) -> None:  # fmt: skip
        self._store, self._folder, self._state = store, folder, state
        self._follow, self._clean, self._progress = follow, clean, progress
        self.received = self.erased = 0
        self.missing: list[str] = []
        """Segments that are announced, but torn or not there."""
        self.generations: dict[str, int] = {}
        self.problems: list[str] = []

    def read(self, directory: str, head: Head) -> None:
        """Take in the segments of a device in order, each chain up to the first that has not arrived whole."""
        is_new_generation = head.generation > self._state.generations.get(directory, 0)
        missing_before = len(self.missing)
        chain_names = {segment.chain for segment in head.segments} - {self._store.device}
        try:
            for chain in sorted(chain_names):
                segments = [segment for segment in head.segments if segment.chain == chain]
                segments.sort(key=lambda segment: segment.first)
                self._read_chain(directory, head, segments, 0 if is_new_generation else self._count(chain))
        except (Refused, InvalidInput) as error:
            # What one device got wrong must not keep the others from being read.
            self.problems.append(f"{head.name}: {error}")
            return
        if len(self.missing) == missing_before:
            self.generations[directory] = head.generation

    def _read_chain(self, directory: str, head: Head, segments: Sequence[Segment], after: int) -> None:
        last = segments[-1].last
        new_segments = [segment for segment in segments if segment.last > after]
        end = self._find_arrived_end(directory, new_segments, after)
        if head.moved and segments[0].chain == head.device and not self._count(head.device):
            # All of it is needed to see whether what is here was moved there.
            if end < last:
                return
            self._follow_moves(directory, head, segments)
        erased_ids: list[str] = []
        # Content that an erasure took is not missed once the erasure is here; so both are taken in, or neither.
        with ExitStack() as stack:
            for segment in new_segments:
                entries = self._load(directory, segment)
                if entries is None or max(segment.last, min(segment.needs, last)) > end:
                    break
                if any(_is_stripped(entry) for entry in entries):
                    stack.enter_context(self._store.db.transaction())
                erased_ids += self._store_entries([entry for entry in entries if entry.header.seq > after])
                self._progress(segment.last, last)
        if erased_ids:
            self._clean(erased_ids)

    def _find_arrived_end(self, directory: str, segments: Iterable[Segment], after: int) -> int:
        """Return the last entry up to which everything has arrived; note all files that have not."""
        end = after
        for segment in segments:
            if read_segment(self._folder, directory, segment) is None:
                self.missing.append(segment.name)
            elif segment.first <= end + 1:
                end = segment.last
        return end

    def _follow_moves(self, directory: str, head: Head, segments: Iterable[Segment]) -> None:
        """Move what is here of a device's former chains to its present one, as the device did."""
        loaded_segments = (load_segment(self._folder, directory, segment, self._state.epochs) for segment in segments)
        entries = [entry for segment_entries in loaded_segments for entry in segment_entries or ()]
        for chain, after in head.moved.items():
            if chains.follow_move(self._store.db, chain, after, entries):
                return

    def find_progress(self) -> dict[str, int]:
        """Return the last entry that this store has of each chain, by which the others see what was read."""
        # Also of chains that only this device publishes: somebody may wait for an erasure in one of them.
        ends = sync_state.list_private_chains(self._store.db)
        return {chain: ends[chain] for chain in sorted(ends) if chain != self._store.device}

    def _count(self, chain: str) -> int:
        return sync_state.count_entries(self._store.db, chain)

    def _load(self, directory: str, segment: Segment) -> list[WireEntry] | None:
        entries = load_segment(self._folder, directory, segment, self._state.epochs)
        if entries is None:
            self.missing.append(segment.name)
        elif any(entry.header.device != segment.chain for entry in entries):
            raise Refused("a file contains entries of another device; nothing of it was stored")
        return entries

    def _store_entries(self, entries: Sequence[WireEntry]) -> list[str]:
        """Store entries, carry out the erasures among them, and return the ids of what was erased."""
        erased_ids = [entry.header.about for entry in entries if entry.header.fact == "memory.erased" and entry.content]
        with self._store.db.transaction():
            # Before the entries are applied, because afterwards nothing is left to compare copies with.
            consequences = self._follow(erased_ids) if erased_ids else []
            admitted_entries = self._store.load_own_gate().strip_excluded(entries)
            events = self._store.append_received(admitted_entries, is_shared=False)
            self._store.record(consequences)
        self.received += len(events)
        self.erased += sum(event.about in erased_ids for event in events)
        return erased_ids


def _is_stripped(entry: WireEntry) -> bool:
    """Whether an entry about a memory of the person has no content, as after an erasure."""
    header = entry.header
    return entry.content is None and header.scope != Scope.TEAM and header.fact.startswith(MEMORY_FACTS)


def select_content(entry: WireEntry, state: DeviceState, excluded_ids: Collection[str]) -> WireEntry:
    """Return an entry as it may travel: without content if that is the team's, excluded, or of this machine alone."""
    header = entry.header
    facts = (*MEMORY_FACTS, *SESSION_FACTS) if state.choices.with_sessions else MEMORY_FACTS
    is_mine = header.scope != Scope.TEAM and header.fact.startswith(facts)
    is_excluded = header.repo in state.choices.excluded_repos or header.about in excluded_ids
    # Erasures always travel: they contain nothing of what was erased.
    is_erasure = header.fact in FORGETTING_FACTS and header.scope != Scope.TEAM
    return entry if is_erasure or (is_mine and not is_excluded) else replace(entry, salt=b"", content=None)


class SegmentWriter:
    """Writes segments; headers of all entries travel, so that every device can verify the chain."""

    def __init__(self, store: Store, folder: Folder, state: DeviceState) -> None:
        self._store, self._folder, self._state = store, folder, state
        tags = state.choices.excluded_tags
        self._excluded_ids = memories.find_tagged(store.db, tags) if tags else set()
        self.sent = 0

    def write_all(self, damaged_names: Collection[str]) -> tuple[Segment, ...]:
        """Write what is new, write again what is damaged or contains something erased; return the list of segments.

        ``damaged_names`` are the segments that are missing in the folder or that other devices cannot read.
        """
        erased_entries = sync_state.find_erased_entries(self._store.db, self._state.position)
        segments: list[Segment] = []
        for chain in (self._store.device, *self._state.adopted):
            seqs = {seq for name, seq in erased_entries if name == chain}
            own = [
                self._write(chain, self._load(chain, segment.first - 1, segment.last))
                if segment.name in damaged_names or any(segment.first <= seq <= segment.last for seq in seqs)
                else segment
                for segment in self._state.segments
                if segment.chain == chain
            ]
            last = own[-1].last if own else 0
            new_segments = list(self._write_range(chain, last, sync_state.count_entries(self._store.db, chain)))
            self.sent += sum(segment.last - segment.first + 1 for segment in new_segments)
            segments += self._merge_small(chain, own + new_segments)
        return tuple(segments)

    def _write_range(self, chain: str, after: int, last: int) -> Iterator[Segment]:
        while after < last:
            entries = self._load(chain, after, min(last, after + SEGMENT_ENTRIES))
            yield self._write(chain, entries)
            after = entries[-1].header.seq

    def _merge_small(self, chain: str, segments: list[Segment]) -> list[Segment]:
        """Merge the newest segments once they are many, because each exchange adds one."""
        is_small = [segment.last - segment.first < SEGMENT_ENTRIES // 2 for segment in segments]
        small_count = sum(1 for _ in takewhile(bool, reversed(is_small)))
        if small_count <= MOST_SMALL_SEGMENTS:
            return segments
        kept_segments, small = segments[:-small_count], segments[-small_count:]
        return kept_segments + list(self._write_range(chain, small[0].first - 1, small[-1].last))

    def _load(self, chain: str, after: int, last: int) -> list[WireEntry]:
        return sync_state.read_chain(self._store.db, chain, after, last - after, is_shared=False)

    def _write(self, chain: str, entries: Sequence[WireEntry]) -> Segment:
        epoch, name = self._state.epoch, new_name()
        selected_entries = (select_content(entry, self._state, self._excluded_ids) for entry in entries)
        lines = (json.dumps(pack_entry(entry), ensure_ascii=False) for entry in selected_entries)
        content = seal(epoch.key, "\n".join(lines).encode(), name)
        self._folder.write(f"{self._state.directory}/{name}", content)
        return Segment(
            name=name, chain=chain, first=entries[0].header.seq, last=entries[-1].header.seq, epoch=epoch.name,
            digest=hashlib.sha256(content).hexdigest(), needs=sync_state.count_entries(self._store.db, chain),
        )  # fmt: skip
