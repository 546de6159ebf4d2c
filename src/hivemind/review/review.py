"""The review queue, and decisions about memories."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hivemind.agents import file_changes
from hivemind.agents.file_changes import FileChange
from hivemind.code.staleness import EVERY, find_stale_memories
from hivemind.context import Context, validate_reason
from hivemind.errors import InvalidInput, NotFound
from hivemind.learning.proposals import find_detector
from hivemind.memory import verdicts
from hivemind.model.events import Fact, MemoryAnchored, MemoryVerified
from hivemind.model.ids import derive_id, shorten_id
from hivemind.model.memory import Channel, Memory, Status
from hivemind.model.outcomes import UNHEEDED, TellingOutcome
from hivemind.model.review import BranchDiff, MemoryChange, ReviewItem, ReviewReason, Selection, StaleMemory
from hivemind.model.timestamps import format_date
from hivemind.review.branch_diff import compare_branch, select_public
from hivemind.review.rollback import make_rollback_events, make_undo_events, plan_rollback
from hivemind.store.projections import memories, outcomes
from hivemind.text.clean import plural
from hivemind.text.untrusted import read_limited
from hivemind.transfer import rules_files
from hivemind.transfer.skills import plan_skill

PROPOSERS = {
    Channel.PERSON: "a person",
    Channel.FILE: "an instruction file",
    Channel.AGENT: "an agent",
    Channel.TOOL: "a tool's output",
    Channel.IMPORT: "an import",
    Channel.DERIVED: "a detector",
}
PENDING_STATUSES = (Status.DISPUTED, Status.PROPOSED)
WEIGHT = {reason: weight for weight, reason in enumerate(ReviewReason)}


class Review:
    """Lists what needs review, and records decisions."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def may_decide(self) -> bool:
        """Whether the caller may approve and reject: a person, or an agent where the settings let it."""
        return self._context.may_review

    def queue(
        self,
        *,
        limit: int = 50,
        doubts: Sequence[StaleMemory] | None = None,
        everywhere: bool = False,
        older: bool = False,
    ) -> tuple[ReviewItem, ...]:
        """List what needs review: disputed, stale, overdue or unheeded memories, then proposals, the most useful first.

        A dispute is one item, under its newest memory, with the other sides in ``against``.

        ``doubts`` is the result of ``code.stale``, if the caller has it already. ``everywhere`` includes other
        repositories; only this one's code is there to find stale memories. ``older`` includes proposals that nobody
        has looked at for 30 days.
        """
        context, db = self._context, self._context.store.db
        pending = self._find_pending(limit, everywhere=everywhere, older=older)
        items = self._make_undecided_items(pending, everywhere=everywhere)
        overdue_query = context.query(limit=limit, everywhere=everywhere)
        for memory in memories.find_overdue(db, overdue_query):
            why = f"to be verified by {format_date(memory.verify_by)}"
            items.append(ReviewItem(memory=memory, reason=ReviewReason.OVERDUE, why=why))
        items += self._make_unheeded_items(everywhere=everywhere)
        for doubt in find_stale_memories(context) if doubts is None else doubts:
            why = f"in doubt: {doubt.became[0].text}"
            items.append(ReviewItem(memory=doubt.memory, reason=ReviewReason.STALE, why=why))
        items.sort(key=lambda item: WEIGHT[item.reason])
        # A memory waits once, for its weightiest reason; when that is settled, the next one shows.
        queue: list[ReviewItem] = []
        listed_ids: set[str] = set()
        for item in items:
            if item.memory.id not in listed_ids:
                queue.append(item)
                listed_ids |= {item.memory.id, *(side.id for side in item.against)}
        return tuple(queue[:limit])

    def diff(self, branch: str = "") -> BranchDiff:
        """Say what a branch taught and which memories it affects; by default, this one since the default branch."""
        return compare_branch(self._context, branch)

    def select_public(self, diff: BranchDiff) -> BranchDiff:
        """Return a diff that may be published: with memories of the team alone, and how many others there are."""
        return select_public(diff)

    def count_older(self, *, everywhere: bool = False) -> int:
        """Count the proposals that have left the queue because nobody looked at them for 30 days."""
        context = self._context
        _, older = memories.count_proposals(context.store.db, context.query(everywhere=everywhere), context.queue_start)
        return older

    def proposals_from(self, name: str, *, everywhere: bool = False) -> tuple[ReviewItem, ...]:
        """List the proposals of a detector, a session or a batch, except those that contradict a memory."""
        items = [
            _make_undecided_item(memory, self.find_other_sides(memory, everywhere=everywhere))
            for memory in self._find_pending(EVERY, everywhere=everywhere, older=True)
        ]
        matches = [item for item in items if name in (item.detector, item.memory.session_id, item.memory.batch)]
        if not matches:
            origins = sorted({origin for item in items for origin in (item.detector, item.memory.batch) if origin})
            remedy = f"proposals came from {', '.join(origins)}" if origins else "there are no proposals here"
            raise NotFound(f"no proposal came from a detector, session or batch {name!r}; {remedy}")
        return tuple(item for item in matches if item.is_plain_proposal)

    def dispute(self, memory_id: str, other_id: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Mark two memories as contradicting each other."""
        context = self._context
        memory = context.find_memory_to_change(memory_id, everywhere=everywhere)
        against = context.find_memory_to_change(other_id, everywhere=everywhere)
        # An agent may doubt what agents said, not set two reviewed memories against each other.
        if context.author.channel.trust < min(memory.trust, against.trust):
            context.require_person("a dispute between two memories of higher trust")
        return context.change(memory, verdicts.dispute(context.factory, memory, against, validate_reason(reason)))

    def settle(self, memory_id: str, *other_ids: str, reason: str = "", everywhere: bool = False) -> Memory:
        """End the disputes of a memory with others, because all of them are true."""
        context = self._context
        context.require_person("settling a dispute")
        memory, *others = (
            context.find_memory_to_change(each_id, everywhere=everywhere) for each_id in (memory_id, *other_ids)
        )
        events = verdicts.settle(context.factory, memory, others, validate_reason(reason))
        if not events:
            raise InvalidInput(f"{memory.id[:8]} is in no dispute with these; 'hivemind review' lists the disputes")
        return context.change(memory, events)

    def find_superseded_by(self, memory_ids: Sequence[str], *, everywhere: bool = False) -> tuple[Memory, ...]:
        """Return the memories that approving these would supersede; refuses to approve two sides of one dispute."""
        context = self._context
        chosen = [context.find_memory_to_change(memory_id, everywhere=everywhere) for memory_id in memory_ids]
        superseded: dict[str, Memory] = {}
        for memory in chosen:
            sides = self.find_other_sides(memory, everywhere=everywhere)
            superseded |= {side.id: side for side in sides if verdicts.may_name(side.scope, memory.scope)}
        if both := [memory.id[:8] for memory in chosen if memory.id in superseded]:
            raise InvalidInput(f"{' and '.join(both)} contradict each other; approve the one that is right")
        return tuple(superseded.values())

    def look_again(self, item: ReviewItem, *, everywhere: bool = False) -> ReviewItem | None:
        """Return an item of the queue as it is now; None if somebody has decided it."""
        sight = self._context.limit_sight(everywhere=everywhere)
        memory = next(iter(memories.get_visible(self._context.store.db, [item.memory.id], sight)), None)
        if memory is None or memory.status is not item.memory.status:
            return None
        if item.reason.asks_for_verification:
            return item
        return _make_undecided_item(memory, self.find_other_sides(memory, everywhere=everywhere))

    def verify(self, memory: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Mark a memory as still correct, for the code as it is now."""
        context = self._context
        target = context.find_memory_to_change(memory, everywhere=everywhere)
        facts: list[Fact] = [MemoryVerified(memory_id=target.id, reason=validate_reason(reason))]
        anchors = context.checkout.find_current_anchors(target, context.list_edited_files)
        if anchors != target.anchors:
            facts.append(MemoryAnchored(memory_id=target.id, anchors=anchors))
        return context.change(target, [context.factory.about(target, fact) for fact in facts])

    @contextmanager
    def batch(self, name: str) -> Iterator[str]:
        """Put everything written in the block into one batch that ``rollback`` can undo; yields its name."""
        context = self._context
        # Swapped, so that every verb in the block writes to the batch without an argument for it.
        factory, context.factory = context.factory, context.new_batch(name)
        try:
            yield context.factory.batch
        finally:
            context.factory = factory

    def rollback(
        self,
        selection: Selection,
        *,
        reason: str = "",
        dry_run: bool = False,
        include_approved: bool = False,
        everywhere: bool = False,
    ) -> tuple[str, tuple[MemoryChange, ...]]:
        """Roll back selected changes; return the name for ``undo_rollback``, and the changes.

        It reaches this repository, and what holds everywhere unless a session elsewhere said it; with ``everywhere``,
        or for a batch that a person names, all repositories. What a person approved since it was stored stays, unless
        ``include_approved``.
        """
        context = self._context
        context.require_person("a rollback")
        plan = self._plan_rollback(selection, everywhere=everywhere)
        changes = [change for change in plan if include_approved or not change.is_approved]
        # Short enough to type, because a person names it to undo the rollback.
        name = derive_id("rollback", context.now)[:12]
        if changes and not dry_run:
            context.record(make_rollback_events(context.factory, changes, name, validate_reason(reason)))
        return name, tuple(changes)

    def count_kept_by_rollback(self, selection: Selection, *, everywhere: bool = False) -> tuple[int, int]:
        """Count what a rollback leaves: memories that a person approved since, and memories of other repositories."""
        plan = self._plan_rollback(selection, everywhere=everywhere)
        every_change = self._plan_rollback(selection, everywhere=self._context.is_person)
        return sum(change.is_approved for change in plan), max(0, len(every_change) - len(plan))

    def _plan_rollback(self, selection: Selection, *, everywhere: bool) -> list[MemoryChange]:
        context = self._context
        # A batch is one act, such as an import, and may have written about several repositories.
        is_whole_batch = bool(selection.batch) and context.is_person
        sight = context.limit_changes(everywhere=everywhere or is_whole_batch)
        return plan_rollback(context.store, replace(selection, since=context.parse_past(selection.since)), sight)

    def undo_rollback(self, name: str) -> int:
        """Undo a rollback; return the number of memories."""
        self._context.require_person("undoing a rollback")
        return len(self._context.record(make_undo_events(self._context.store, self._context.factory, name)))

    def promote(self, memory: str, file: str) -> tuple[FileChange, ...]:
        """Plan to write a memory into an instruction file; empty if it is there already."""
        root = self._context.checkout.root
        target = (root / file).resolve()
        # A name such as ../../.ssh/config must not be written to.
        if not target.is_relative_to(root.resolve()):
            raise InvalidInput(f"{file!r} does not lie in the repository")
        try:
            before = read_limited(target, rules_files.LARGEST_FILE).decode("utf-8-sig") if target.exists() else None
        except ValueError as error:
            raise InvalidInput(f"{file!r} cannot be read: {error}; name another file") from None
        after = rules_files.insert_memory(before or "", self._context.find_memory(memory))
        return (FileChange(path=target, before=before, after=after),) if after != before else ()

    def promote_as_skill(self, memory: str) -> tuple[FileChange, ...]:
        """Plan to write a procedure as a skill of this repository; empty if it is there already."""
        return plan_skill(self._context, memory)

    def write(self, changes: Iterable[FileChange]) -> None:
        """Write a planned promotion; refuses if a file has changed since."""
        file_changes.apply(changes)

    def _find_pending(self, limit: int, *, everywhere: bool, older: bool) -> list[Memory]:
        context = self._context
        query = context.query(limit=limit, statuses=PENDING_STATUSES, everywhere=everywhere)
        return memories.find_pending(context.store.db, query, "" if older else context.queue_start)

    def _make_undecided_items(self, pending: Sequence[Memory], *, everywhere: bool) -> list[ReviewItem]:
        """Make the items of disputed and proposed memories, one for the sides of a dispute together."""
        items: list[ReviewItem] = []
        listed_ids: set[str] = set()
        for memory in pending:
            if memory.id in listed_ids:
                continue
            # The newest leads; a memory that stands undisputed only joins the item of what contradicts it.
            sides = [memory, *self.find_other_sides(memory, everywhere=everywhere)]
            waiting = [side for side in sides if side.status in PENDING_STATUSES and side.id not in listed_ids]
            newest = max(waiting, key=lambda side: (side.recorded_at, side.id))
            against = self.find_other_sides(newest, everywhere=everywhere)
            listed_ids |= {newest.id, *(side.id for side in against)}
            items.append(_make_undecided_item(newest, against))
        return items

    def _make_unheeded_items(self, *, everywhere: bool) -> list[ReviewItem]:
        """Make the items of memories that were unheeded more often than they helped, with the evidence."""
        db, sight = self._context.store.db, self._context.limit_sight(everywhere=everywhere)
        reputations = outcomes.rate(db, outcomes.find_unheeded(db, sight))
        unheeded_ids = [memory_id for memory_id, reputation in reputations.items() if reputation.level < 0]
        return [
            _make_unheeded_item(memory, outcomes.find_by_memory(db, memory.id, sight))
            for memory in memories.get_all(db, unheeded_ids)
        ]

    def find_other_sides(self, memory: Memory, *, everywhere: bool = False) -> tuple[Memory, ...]:
        """Return the visible memories that this one contradicts or that contradict it, newest first."""
        sight = self._context.limit_sight(everywhere=everywhere)
        return tuple(verdicts.find_other_sides(self._context.store.db, memory, sight))


def _make_undecided_item(memory: Memory, against: tuple[Memory, ...]) -> ReviewItem:
    detector = find_detector(memory)
    if memory.status is Status.DISPUTED:
        reason, why = ReviewReason.DISPUTED, f"disputed since {format_date(memory.disputed_at)}"
    else:
        proposer = f"the {detector} detector" if detector else PROPOSERS[memory.channel]
        reason, why = ReviewReason.PROPOSED, f"proposed by {proposer}"
    # No texts, so that nobody's words can pass for ours.
    contradiction = f"contradicts {', '.join(shorten_id(other.id) for other in against)}" if against else ""
    editors = dict.fromkeys(rival.by for rival in memory.rivals)
    edits = f"an edit by {', '.join(editors)} waits for a decision" if editors else ""
    why = "; ".join(filter(None, (why, contradiction, edits)))
    return ReviewItem(memory=memory, reason=reason, why=why, against=against, detector=detector)


def _make_unheeded_item(memory: Memory, evidence: Iterable[TellingOutcome]) -> ReviewItem:
    since = max(memory.revised_at, memory.last_verified_at)
    lines = [outcome for outcome in evidence if outcome.kind in UNHEEDED and outcome.at > since]
    sessions = {kind: {outcome.session_id for outcome in lines if outcome.kind is kind} for kind in UNHEEDED}
    counts = [f"{kind.label} in {plural(len(ids), 'session')}" for kind, ids in sessions.items() if ids]
    last = lines[0]
    why = f"told, and {', '.join(counts)}; last {format_date(last.at)} in {shorten_id(last.session_id)}"
    return ReviewItem(memory=memory, reason=ReviewReason.UNHEEDED, why=why)
