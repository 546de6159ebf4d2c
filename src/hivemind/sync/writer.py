"""Publishes the chains that this device answers for: its own, and those of devices that are gone."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from hivemind.model.scope import Scope
from hivemind.model.wire import WireEntry
from hivemind.store import Store, sync_state
from hivemind.store.projections import memories
from hivemind.sync.files import Segment, new_name, pack_segment
from hivemind.sync.folders import Folder
from hivemind.sync.state import DeviceState

SEGMENT_ENTRIES = 2_000
MOST_SMALL_SEGMENTS = 24
"""More small segments than this are merged into one."""
MEMORY_FACTS = ("memory.", "dispute.", "rollback.", "repository.", "device.", "entries.lost", "observations.dropped")
SESSION_FACTS = ("observation.",)
FORGETTING_FACTS = ("memory.erased", "observations.dropped")


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
        forgotten = sync_state.find_forgotten(self._store.db, self._state.position)
        segments: list[Segment] = []
        for chain in (self._store.device, *self._state.adopted):
            seqs = {seq for name, seq in forgotten if name == chain}
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
        content = pack_segment(
            [select_content(entry, self._state, self._excluded_ids) for entry in entries], epoch, name
        )
        self._folder.write(f"{self._state.directory}/{name}", content)
        return Segment(
            name=name, chain=chain, first=entries[0].header.seq, last=entries[-1].header.seq, epoch=epoch.name,
            digest=hashlib.sha256(content).hexdigest(), needs=sync_state.count_entries(self._store.db, chain),
        )  # fmt: skip
