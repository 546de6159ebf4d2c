"""What a person's own verdicts keep out of entries that other devices send."""

from collections.abc import Sequence
from dataclasses import replace

from hivemind.model.events import (
    NAME_BY_FACT,
    Event,
    MemoryRejected,
    MemoryRetracted,
    MemoryRolledBack,
    MemorySuperseded,
)
from hivemind.model.free_text import iterate_text
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.wire import WireEntry
from hivemind.store import Store, log
from hivemind.store.gate import ExclusionGate, is_written

WITHDRAWALS = (MemoryRejected, MemoryRetracted, MemoryRolledBack, MemorySuperseded)
"""They only take something away, and an entry cannot be changed: a reason in them is not worth losing the verdict."""


def strip_excluded(store: Store, entries: Sequence[WireEntry]) -> list[WireEntry]:
    """Return entries, without content where this person rejected or erased a value in it before."""
    # The team's verdicts are not consulted: a hub does that itself.
    gate = ExclusionGate(store.db, dict.fromkeys((Scope.USER, Scope.PROJECT), store.known_keys_for(Scope.USER)))
    # A first sync brings every memory of another machine, and most people have rejected nothing.
    if gate.is_empty:
        return list(entries)
    return [
        replace(entry, salt=b"", content=None) if entry.event and _is_excluded(gate, entry.event) else entry
        for entry in entries
    ]


def _is_excluded(gate: ExclusionGate, event: Event) -> bool:
    if is_written(event.fact):
        refusal = gate.find_refusal(
            iterate_text(event.fact), event.repo, by_person=event.channel is Channel.PERSON, besides=event.about
        )
        return refusal is not None and not isinstance(event.fact, WITHDRAWALS)
    return NAME_BY_FACT.get(type(event.fact)) in log.REPEATING_FACTS and gate.is_cleaned(event)
