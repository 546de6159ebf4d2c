"""Takes in what other devices published."""

import hashlib
from collections.abc import Callable, Iterable, Sequence

from hivemind.errors import InvalidInput, Refused
from hivemind.model.events import Event
from hivemind.model.wire import WireEntry
from hivemind.store import Store, sync_state
from hivemind.store.reception import strip_excluded
from hivemind.sync import keys
from hivemind.sync.files import Epoch, Folder, Head, Segment, unpack_segment
from hivemind.sync.state import DeviceState

EraseFollowUp = Callable[[list[str]], list[Event]]
"""Returns the events that erase copies and quotes, on this device, of memories that another device erased."""
EraseFromBackups = Callable[[list[str]], None]
"""Erases memories from the backups beside the store."""
Progress = Callable[[int, int], None]


def load_segment(folder: Folder, directory: str, segment: Segment, epochs: Iterable[Epoch]) -> list[WireEntry] | None:
    """Read a segment; None if it has not arrived, or not whole."""
    content = folder.read(f"{directory}/{segment.name}")
    epoch = next((epoch for epoch in epochs if epoch.name == segment.epoch), None)
    if content is None or epoch is None or hashlib.sha256(content).hexdigest() != segment.digest:
        return None
    try:
        return unpack_segment(content, epoch.key, segment.name)
    except keys.SealBroken:
        return None


def count_waiting(store: Store, head: Head) -> int:
    """Count the entries that a device announced and that have not arrived."""
    ends: dict[str, int] = {}
    for segment in head.segments:
        if segment.chain != store.device:
            ends[segment.chain] = max(segment.last, ends.get(segment.chain, 0))
    return sum(max(0, end - sync_state.count_entries(store.db, chain)) for chain, end in ends.items())


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
        for segment in sorted(head.segments, key=lambda segment: (segment.chain, segment.first)):
            have = self._count(segment.chain)
            if segment.chain == self._store.device or (segment.last <= have and not is_new_generation):
                continue
            if segment.first > have + 1:
                # One before it is missing; looked at all the same, so that all missing ones are asked for at once.
                if load_segment(self._folder, directory, segment, self._state.epochs) is None:
                    self.missing.append(segment.name)
                continue
            try:
                self._take_in(directory, segment, 0 if is_new_generation else have)
            except (Refused, InvalidInput) as error:
                # What one device got wrong must not keep the others from being read.
                self.problems.append(f"{head.name}: {error}")
                return
            self._progress(segment.last, max(other.last for other in head.segments if other.chain == segment.chain))
        if len(self.missing) == missing_before:
            self.generations[directory] = head.generation

    def find_progress(self, heads: Iterable[Head]) -> dict[str, int]:
        """Return the last entry that this store has of each chain, by which the others see what was read."""
        chains = {segment.chain for head in heads for segment in head.segments} - {self._store.device}
        return {chain: self._count(chain) for chain in sorted(chains)}

    def _count(self, chain: str) -> int:
        return sync_state.count_entries(self._store.db, chain)

    def _take_in(self, directory: str, segment: Segment, after: int) -> None:
        entries = load_segment(self._folder, directory, segment, self._state.epochs)
        if entries is None:
            self.missing.append(segment.name)
            return
        if any(entry.header.device != segment.chain for entry in entries):
            raise Refused("a file contains entries of another device; nothing of it was stored")
        self._store_entries([entry for entry in entries if entry.header.seq > after])

    def _store_entries(self, entries: Sequence[WireEntry]) -> None:
        erased_ids = [entry.header.about for entry in entries if entry.header.fact == "memory.erased" and entry.content]
        with self._store.db.transaction():
            # Before the entries are applied, because afterwards nothing is left to compare copies with.
            consequences = self._follow(erased_ids) if erased_ids else []
            events = self._store.append_received(strip_excluded(self._store, entries), is_shared=False)
            self._store.record(consequences)
        if erased_ids:
            self._clean(erased_ids)
        self.received += len(events)
        self.erased += sum(event.about in erased_ids for event in events)
