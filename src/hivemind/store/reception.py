"""What a person's own verdicts keep out of entries that other devices send."""

from collections.abc import Sequence
from dataclasses import replace

from hivemind.model.events import MemoryRemembered, MemoryRevised
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.wire import WireEntry
from hivemind.store import Store
from hivemind.store.projections import tombstones
from hivemind.text.imprint import ErasedTextFilter
from hivemind.text.normalise import digest_value


def strip_excluded(store: Store, entries: Sequence[WireEntry]) -> list[WireEntry]:
    """Return entries, without content where this person rejected or erased that value before."""
    # A first sync brings every memory of another machine, and most people have rejected nothing.
    if tombstones.is_empty(store.db):
        return list(entries)
    # The team's verdicts are not consulted: a hub does that itself.
    keys = dict.fromkeys((Scope.USER, Scope.PROJECT), store.known_keys_for(Scope.USER))
    watch = tombstones.load_watch(store.db, keys)
    return [
        replace(entry, salt=b"", content=None) if _is_excluded(store, entry, keys[Scope.USER], watch) else entry
        for entry in entries
    ]


def _is_excluded(store: Store, entry: WireEntry, keys: Sequence[bytes], watch: ErasedTextFilter) -> bool:
    event = entry.event
    if event is None or not isinstance(event.fact, MemoryRemembered | MemoryRevised):
        return False
    reason = tombstones.find_refusal(
        store.db, [digest_value(event.fact.text, key) for key in keys], event.repo,
        by_person=event.channel is Channel.PERSON, besides=event.about,
    )  # fmt: skip
    return bool(reason) or watch.contains_erased_text(event.fact.text)
