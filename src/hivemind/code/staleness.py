"""Staleness: find memories whose code changed, and label the hits of an answer that are such memories.

The checkout judges anchors; this module says what that means for a memory.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TypeVar

from hivemind.code import git, lazy_modules
from hivemind.code.code_names import surely_names_code
from hivemind.context import Context
from hivemind.model.code import MAX_SHOWN_PART, UNCHANGED, Anchor, Staleness, SymbolChange
from hivemind.model.events import MemoryAnchored
from hivemind.model.memory import CURRENT_STATUSES, Memory
from hivemind.model.recall import Hit, Query, Signal
from hivemind.model.review import StaleMemory
from hivemind.store.projections import memories
from hivemind.text.fence import MAX_FIELD_LENGTH

Judgement = TypeVar("Judgement")
Judge = Callable[[Sequence[Anchor], Sequence[str]], Sequence[Staleness]]
"""Returns the staleness of each anchor, given what its memory says, or nothing at all where it cannot be determined."""

LIGHT_FACTOR = 0.95
"""A hit's score is multiplied by this if a change does not concern what the memory says."""

SCORE_FACTORS = {
    SymbolChange.MEMBERS: 0.9,
    SymbolChange.BODY_MINOR: LIGHT_FACTOR,
    SymbolChange.BODY_MAJOR: 0.7,
    SymbolChange.SIGNATURE: 0.6,
    SymbolChange.MISSING: 0.6,
    SymbolChange.GONE: 0.4,
}
"""The same for other changes; a rename or move alone costs nothing."""

VERIFY_SUFFIX = ": verify before acting"
MIN_NAME_ROOM = 40
"""Characters of a symbol's label that are always shown."""
SHORTEST_PART = 10
"""Characters of changed code that say something."""
ASKED_SECONDS = 0.15
"""Processor time for checking code where somebody waits for the answer; to load the parsers takes as much again."""
MAX_UNLINKED = 2_000
"""Memories without links that are looked at; the newest come first."""
EVERY = 100_000
"""More memories than are tied to one repository."""


def find_stale_memories(
    context: Context, since: str = "", asked_at: float | None = None, *, deadline: float = math.inf
) -> tuple[StaleMemory, ...]:
    """Find memories whose code changed, and how; with ``since``, only by changes after that commit.

    Those that cannot be judged before the deadline, in CPU time, are left out. A tree that was read after ``asked_at``
    is not read again.
    """
    checkout = context.checkout
    commit = git.resolve_commit(checkout.index.root, since) if since else ""
    candidates = find_anchored_memories(context)
    if not candidates:
        return ()
    judge = partial(checkout.judge, asked_at=asked_at, deadline=deadline)
    doubts = []
    for memory, judgements in judge_memories(candidates, judge):
        stale = [staleness for staleness in judgements if staleness.must_verify]
        if commit:
            has_changed_since = lazy_modules.code_changes.has_changed_since
            stale = [staleness for staleness in stale if has_changed_since(checkout.index, staleness, commit)]
        if stale:
            doubts.append(StaleMemory(memory=memory, became=tuple(stale)))
    return tuple(doubts)


def judge_memories(
    candidates: Iterable[Memory], judge: Callable[[list[Anchor], list[str]], Iterable[Judgement]]
) -> Iterator[tuple[Memory, list[Judgement]]]:
    """Yield memories with the judgements of their anchors; one call judges all, so that each file is read once."""
    pairs = [(anchor, memory.text) for memory in candidates for anchor in memory.anchors]
    judgements = iter(judge([anchor for anchor, _ in pairs], [text for _, text in pairs]) if pairs else ())
    yield from ((memory, list(islice(judgements, len(memory.anchors)))) for memory in candidates)


def find_anchored_memories(context: Context) -> list[Memory]:
    """Find the memories linked to code of this tree."""
    query = context.query(limit=EVERY, statuses=CURRENT_STATUSES)
    return [memory for memory in memories.find_anchored(context.store.db, query) if context.checkout.owns(memory)]


def find_unlinked_memories(context: Context, names_code: Callable[[str], bool] = surely_names_code) -> list[Memory]:
    """Find the newest memories about this tree that name code and are not linked to any."""
    query = context.query(limit=MAX_UNLINKED, statuses=CURRENT_STATUSES)
    return [
        memory
        for memory in memories.find_unanchored(context.store.db, query)
        if context.checkout.owns(memory) and (memory.links or names_code(memory.text))
    ]


def count_links(context: Context) -> tuple[int, int]:
    """Count the memories that are linked to code of this tree, and those that name code and are not."""
    return len(find_anchored_memories(context)), len(find_unlinked_memories(context))


def follow_moved(context: Context) -> None:
    """Link memories to where their code is now, if that moved or was renamed and is otherwise the same."""
    checkout, head = context.checkout, context.checkout.read_head()
    own = [memory for memory in find_anchored_memories(context) if memory.owner == context.settings.person]
    # On another branch than that of the link the code may be at its old place only for now.
    commits = {anchor.commit for memory in own for anchor in memory.anchors}
    past = {commit for commit in commits if not commit or git.is_ancestor(checkout.root, commit, head)}
    # Judging all also remembers where other code went, so that the next answer need not search for it.
    for memory, verdicts in judge_memories(own, lambda anchors, _: checkout.judge(anchors, commit=head)):
        places = [
            verdict.now if verdict.is_followed and verdict.now and verdict.anchor.commit in past else verdict.anchor
            for verdict in verdicts
        ]
        if places != [*memory.anchors]:
            anchor_memory(context, memory, lazy_modules.links.deduplicate_anchors(places))


def anchor_memory(context: Context, memory: Memory, anchors: tuple[Anchor, ...]) -> Memory:
    """Link a memory to this code instead of any other."""
    context.checkout.keep_code(anchors)
    return context.change(memory, [context.factory.about(memory, MemoryAnchored(memory_id=memory.id, anchors=anchors))])


def judge_hits(hits: Iterable[Hit], query: Query, judge: Judge) -> Iterator[Hit]:
    """Yield each hit with the staleness of its code, judged in pages of ``query.limit``; none is dropped."""
    # One page is usually all that is shown, and judging reads the working tree.
    remaining_hits = iter(hits)
    while page := list(islice(remaining_hits, query.limit)):
        yield from _judge_page(page, query, judge)


def _judge_page(hits: Sequence[Hit], query: Query, judge: Judge) -> Iterator[Hit]:
    # Today's working tree says nothing about memories of other repositories, nor about a past ``as_of``.
    repos = () if query.as_of else query.sight.repos
    anchors_by_hit = [hit.memory.anchors if hit.memory.repo in repos else () for hit in hits]
    all_anchors = [anchor for anchors in anchors_by_hit for anchor in anchors]
    texts = [hit.memory.text for hit, anchors in zip(hits, anchors_by_hit, strict=True) for _ in anchors]
    # One call for the whole page, so that a file with several anchors is read once.
    judgements = iter(judge(all_anchors, texts) if all_anchors else ())
    for hit, anchors in zip(hits, anchors_by_hit, strict=True):
        changes = islice(judgements, len(anchors))
        worst = min(changes, key=lambda change: (_get_factor(change), change.change in UNCHANGED), default=None)
        yield _apply(hit, worst) if worst else hit


def _apply(hit: Hit, staleness: Staleness) -> Hit:
    factor = _get_factor(staleness)
    is_worth_saying = staleness.must_verify or staleness.change not in UNCHANGED
    return replace(
        hit,
        # A factor below one would raise a negative score.
        score=round(hit.score * factor, 4) if hit.score > 0 else hit.score,
        # Lines of code are shown and not recorded with the receipt, because the log must not copy the code.
        signals=(*hit.signals, Signal(name="code", score=factor, why=_label(staleness, with_lines=False))),
        # Lines of code are for whoever must verify; otherwise it is enough that something changed.
        labels=(*hit.labels, *([_label(staleness, with_lines=staleness.must_verify)] if is_worth_saying else ())),
        is_in_doubt=hit.is_in_doubt or staleness.must_verify,
    )


def _get_factor(staleness: Staleness) -> float:
    factor = SCORE_FACTORS.get(staleness.edit, 1.0)
    return factor if staleness.must_verify or factor == 1.0 else LIGHT_FACTOR


def _label(staleness: Staleness, *, with_lines: bool) -> str:
    suffix = VERIFY_SUFFIX if staleness.must_verify else ""
    room = MAX_FIELD_LENGTH - len(suffix)
    name, summary, line = staleness.anchor.label, staleness.summary, next(iter(staleness.lines), None)
    # Of a long path the end says most.
    short_name = name if len(name) <= MIN_NAME_ROOM else f"…{name[1 - MIN_NAME_ROOM :]}"
    # All that is known, else one change, else the beginning of one, else none.
    parts = [line.show(most) for most in range(MAX_SHOWN_PART, SHORTEST_PART, -1)] if line else []
    texts = [staleness.text, *(f"{summary}: {part}" for part in parts)] if with_lines else []
    labels = (f"{shown}: {text}" for texts in (texts, [summary]) for shown in (name, short_name) for text in texts)
    return next((label for label in labels if len(label) <= room), f"{short_name}: {summary}"[:room]) + suffix
