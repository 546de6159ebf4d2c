"""Merges memories that say the same and retires those that nobody uses: planned first, and undone as one batch."""

from collections.abc import Iterable, Iterator

from hivemind.app.context import Context
from hivemind.app.staleness import EVERY, stale_memories
from hivemind.curate.consolidate import find_merges, make_consolidation_events
from hivemind.errors import HivemindError
from hivemind.formats.timestamps import format_date
from hivemind.model.code import SymbolChange
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Memory, Status
from hivemind.model.review import Consolidation, Retirement
from hivemind.store.projections import memories, receipts

BATCH = "consolidate"


def plan_consolidation(context: Context, unused_for: str) -> Consolidation:
    """Find what could be merged and retired in this repository; changes nothing.

    ``unused_for`` is a span such as ``180d``: what is older and was not shown to anybody since may be retired.
    """
    db, since = context.store.db, context.past(unused_for)
    active = memories.list_memories(db, context.query(limit=EVERY, statuses=(Status.ACTIVE,)))
    # Traces and summaries tell what happened once.
    standing = [memory for memory in active if memory.kind.bucket != "episodic"]
    last_shown = receipts.find_last_shown(db, [memory.id for memory in standing])
    uses = receipts.count_uses(db, [memory.id for memory in standing], "")
    merges = tuple(find_merges(standing, lambda memory: (int(memory.trust), uses.get(memory.id, 0))))
    merged_ids = {memory.id for merge in merges for memory in (merge.keep, *merge.duplicates)}
    unmerged_memories = [memory for memory in standing if memory.id not in merged_ids]
    retirements = {item.memory.id: item for item in _find_unused(unmerged_memories, last_shown, since)}
    # That its code is gone is the stronger reason.
    retirements |= {item.memory.id: item for item in _find_gone(context, unmerged_memories, since)}
    return Consolidation(merges=merges, retirements=tuple(retirements.values()))


def consolidate(context: Context, plan: Consolidation) -> str:
    """Carry out a plan in one batch, and return its name for a rollback."""
    context.require_person("a consolidation")
    factory = context.new_batch(BATCH)
    context.record(make_consolidation_events(factory, plan))
    return factory.batch


def _find_unused(candidates: Iterable[Memory], last_shown: dict[MemoryId, str], since: str) -> Iterator[Retirement]:
    for memory in candidates:
        if max(memory.revised_at, memory.last_verified_at, last_shown.get(memory.id, "")) < since:
            shown_at = last_shown.get(memory.id)
            why = f"last shown on {format_date(shown_at)}" if shown_at else "never shown to anybody"
            yield Retirement(memory=memory, why=f"{why}, stored on {format_date(memory.recorded_at)}")


def _find_gone(context: Context, candidates: Iterable[Memory], since: str) -> Iterator[Retirement]:
    """Find memories all of whose code was deleted, and that nobody has confirmed for as long."""
    ids = {memory.id for memory in candidates}
    try:
        doubts = stale_memories(context)
    except HivemindError:
        # Without a working tree nothing is known about the code.
        return
    for doubt in doubts:
        memory = doubt.memory
        is_gone = len(doubt.became) == len(memory.anchors) and all(
            staleness.change is SymbolChange.GONE for staleness in doubt.became
        )
        if memory.id in ids and is_gone and max(memory.revised_at, memory.last_verified_at) < since:
            yield Retirement(memory=memory, why=f"its code is gone: {', '.join(memory.about)}")
