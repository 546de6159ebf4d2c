"""The review queue, and decisions about memories."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from hivemind.app.context import Context, checked_reason
from hivemind.app.staleness import StaleMemory, stale_memories
from hivemind.curate import files, verdicts
from hivemind.curate import rollback as rollbacks
from hivemind.curate.reconcile import find_possible_conflicts
from hivemind.errors import InvalidInput
from hivemind.model.events import Fact, MemoryAnchored, MemoryVerified
from hivemind.model.ids import derive_id
from hivemind.model.memory import Channel, Memory, Status
from hivemind.model.review import MemoryChange, ReviewItem, ReviewReason, Selection
from hivemind.store.projections import memories

PROPOSERS = {
    Channel.PERSON: "a person",
    Channel.FILE: "an instruction file",
    Channel.AGENT: "an agent",
    Channel.TOOL: "a tool's output",
    Channel.IMPORT: "an import",
    Channel.DERIVED: "a detector",
}
WEIGHT = {reason: weight for weight, reason in enumerate(ReviewReason)}


class Review:
    """Lists what needs review, and records decisions."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def queue(self, *, limit: int = 50, doubts: Sequence[StaleMemory] | None = None) -> tuple[ReviewItem, ...]:
        """List the memories that need review: disputed, stale, overdue, proposed.

        ``doubts`` is the result of ``code.stale``, if the caller has it already.
        """
        context, db = self._context, self._context.store.db
        undecided_query = context.query(limit=limit, statuses=(Status.DISPUTED, Status.PROPOSED))
        items = [self._make_undecided_item(memory) for memory in memories.find_pending(db, undecided_query)]
        items += [_overdue(memory) for memory in memories.find_overdue(db, context.query(limit=limit))]
        items += [_stale(doubt) for doubt in (stale_memories(context) if doubts is None else doubts)]
        items.sort(key=lambda item: WEIGHT[item.reason])
        # A memory waits once, for its weightiest reason; when that is settled, the next one shows.
        once: dict[str, ReviewItem] = {}
        for item in items:
            once.setdefault(item.memory.id, item)
        return tuple(once.values())[:limit]

    def possible_conflicts(self, memory: Memory) -> tuple[Memory, ...]:
        """Find memories that may contradict this one, but not clearly enough for a dispute."""
        return tuple(find_possible_conflicts(self._context.store.db, memory))

    def dispute(self, memory_id: str, other_id: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Mark two memories as contradicting each other."""
        context = self._context
        memory = context.memory_to_change(memory_id, everywhere=everywhere)
        against = context.memory_to_change(other_id, everywhere=everywhere)
        return context.change(memory, verdicts.dispute(context.factory, memory, against, checked_reason(reason)))

    def verify(self, memory: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Mark a memory as still correct, for the code as it is now."""
        context = self._context
        target = context.memory_to_change(memory, everywhere=everywhere)
        facts: list[Fact] = [MemoryVerified(memory_id=target.id, reason=checked_reason(reason))]
        anchors = context.checkout.current_anchors(target, context.edited_files)
        if anchors != target.anchors:
            facts.append(MemoryAnchored(memory_id=target.id, anchors=anchors))
        return context.change(target, [context.factory.about(target, fact) for fact in facts])

    def batch(self, name: str) -> AbstractContextManager[str]:
        """Put everything written in the block into one batch that ``rollback`` can undo; yields its name."""
        return self._context.batch(name)

    def rollback(
        self, selection: Selection, *, reason: str = "", dry_run: bool = False
    ) -> tuple[str, tuple[MemoryChange, ...]]:
        """Roll back selected changes; return the name for ``undo_rollback``, and the changes."""
        context = self._context
        context.require_person("a rollback")
        changes = rollbacks.plan_rollback(context.store, replace(selection, since=context.past(selection.since)))
        # Short enough to type, because a person names it to undo the rollback.
        name = derive_id("rollback", context.now)[:12]
        if changes and not dry_run:
            context.record(rollbacks.make_rollback_events(context.factory, changes, name, checked_reason(reason)))
        return name, tuple(changes)

    def undo_rollback(self, name: str) -> int:
        """Undo a rollback; return the number of memories."""
        self._context.require_person("undoing a rollback")
        return len(self._context.record(rollbacks.make_undo_events(self._context.store, self._context.factory, name)))

    def promote(self, memory: str, file: str) -> tuple[Path, str, str]:
        """Plan to write a memory into an instruction file: the file, its text now, and its new text."""
        root = self._context.checkout.root
        target = (root / file).resolve()
        # A name such as ../../.ssh/config must not be written to.
        if not target.is_relative_to(root.resolve()):
            raise InvalidInput(f"{file!r} does not lie in the repository")
        before = target.read_text() if target.exists() else ""
        return target, before, files.insert_memory(before, self._context.memory(memory))

    def _make_undecided_item(self, memory: Memory) -> ReviewItem:
        """Make the item of a disputed or proposed memory."""
        against = tuple(memories.get_visible(self._context.store.db, memory.contradicts, self._context.sight()))
        if memory.rivals:
            edits = "; ".join(f"{rival.by} made of an older version: {rival.text}" for rival in memory.rivals)
            reason, why = ReviewReason.DISPUTED, f"disputed: {edits}"
        elif memory.status is Status.DISPUTED:
            reason, why = ReviewReason.DISPUTED, "disputed by what was said elsewhere"
        else:
            reason, why = ReviewReason.PROPOSED, f"proposed by {PROPOSERS[memory.channel]}"
        return ReviewItem(memory=memory, reason=reason, why=why, against=against)


def _overdue(memory: Memory) -> ReviewItem:
    return ReviewItem(memory=memory, reason=ReviewReason.OVERDUE, why=f"to be verified by {memory.verify_by[:10]}")


def _stale(doubt: StaleMemory) -> ReviewItem:
    return ReviewItem(memory=doubt.memory, reason=ReviewReason.STALE, why=f"in doubt: {doubt.became[0].text}")
