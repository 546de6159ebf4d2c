"""Staleness: find memories whose code changed, and label the hits of an answer that are such memories.

The checkout judges anchors; this module says what that means for a memory.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from hivemind.code import git, lazy_modules
from hivemind.code.code_names import surely_names_code
from hivemind.context import Context
from hivemind.model.code import Anchor, Staleness, SymbolChange
from hivemind.model.memory import CURRENT_STATUSES, Memory
from hivemind.model.recall import Hit, Query, Signal
from hivemind.model.review import StaleMemory
from hivemind.store.projections import memories
from hivemind.text.fence import MAX_FIELD_LENGTH

Judge = Callable[[Sequence[Anchor]], Sequence[Staleness]]
"""Returns the staleness of each anchor, or nothing at all where it cannot be determined."""

SCORE_FACTORS = {
    SymbolChange.MEMBERS: 0.9,
    SymbolChange.BODY_MINOR: 0.95,
    SymbolChange.BODY_MAJOR: 0.7,
    SymbolChange.SIGNATURE: 0.6,
    SymbolChange.MISSING: 0.6,
    SymbolChange.GONE: 0.4,
}
"""A hit's score is multiplied by this; a rename or move alone costs nothing."""

VERIFY_SUFFIX = ": verify before acting"
MIN_WORD = 3
"""Letters of a name in the code that is looked for in a memory; shorter ones are ordinary words."""
MAX_OUTDATED_WORDS = 2
ASKED_SECONDS = 0.15
"""Processor time for checking code where somebody waits for the answer; to load the parsers takes as much again."""
MAX_UNLINKED = 2_000
"""Memories without links that are looked at; the newest come first."""
EVERY = 100_000
"""More memories than are tied to one repository."""
UNLABELLED_CHANGES = (SymbolChange.FRESH, SymbolChange.COSMETIC, SymbolChange.DOCS, SymbolChange.MEMBERS)
"""Too small, or for a whole file too common, to take a reader's attention."""


def find_stale_memories(context: Context, since: str = "", deadline: float = math.inf) -> tuple[StaleMemory, ...]:
    """Find memories whose code changed, and how; with ``since``, only by changes after that commit.

    Those that cannot be judged before the deadline, in CPU time, are left out.
    """
    checkout = context.checkout
    commit = git.resolve_commit(checkout.index.root, since) if since else ""
    candidates = find_anchored_memories(context)
    if not candidates:
        return ()
    anchors = [anchor for memory in candidates for anchor in memory.anchors]
    judgements = iter(checkout.judge(anchors, deadline=deadline))
    doubts = []
    for memory in candidates:
        stale = [staleness for staleness in islice(judgements, len(memory.anchors)) if staleness.must_verify]
        if commit:
            stale = [
                staleness
                for staleness in stale
                if lazy_modules.code_changes.has_changed_since(checkout.index, staleness, commit)
            ]
        if stale:
            doubts.append(StaleMemory(memory=memory, became=tuple(stale)))
    return tuple(doubts)


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


def judge_hits(hits: Iterable[Hit], query: Query, judge: Judge) -> Iterator[Hit]:
    """Yield each hit with the staleness of its code, judged in pages of ``query.limit``; none is dropped."""
    # One page is usually all that is shown, and judging reads the working tree.
    remaining_hits = iter(hits)
    while page := list(islice(remaining_hits, query.limit)):
        yield from _judge_page(page, query, judge)


def _find_worst(changes: Iterable[Staleness]) -> Staleness:
    return min(changes, key=lambda staleness: (_get_factor(staleness), staleness.change in UNLABELLED_CHANGES))


def _describe(staleness: Staleness) -> str:
    """Describe in one line what changed about a symbol, and name it."""
    # The text about a symbol that is gone names the symbol itself.
    is_gone = staleness.change is SymbolChange.GONE
    text = staleness.text if is_gone else f"{staleness.anchor.label}: {staleness.text}"
    return " ".join(text.split())


def _judge_page(hits: Sequence[Hit], query: Query, judge: Judge) -> Iterator[Hit]:
    anchors_by_hit = [hit.memory.anchors if _can_judge(hit.memory, query) else () for hit in hits]
    all_anchors = [anchor for anchors in anchors_by_hit for anchor in anchors]
    # One call for the whole page, so that a file with several anchors is read once.
    judgements = iter(judge(all_anchors) if all_anchors else ())
    for hit, anchors in zip(hits, anchors_by_hit, strict=True):
        changes = list(islice(judgements, len(anchors)))
        yield _apply(hit, _find_worst(changes)) if changes else hit


def _can_judge(memory: Memory, query: Query) -> bool:
    """Whether today's working tree says anything about the memory: not for other repositories or a past ``as_of``."""
    return memory.repo in query.sight.repos and not query.as_of


def _apply(hit: Hit, staleness: Staleness) -> Hit:
    factor = _get_factor(staleness)
    labels = _label(staleness)
    # Lines of code are shown and not recorded with the receipt, because the log must not copy the code.
    details = (staleness.excerpt, describe_outdated_words(hit.memory.text, staleness)) if staleness.must_verify else ()
    return replace(
        hit,
        # A factor below one would raise a negative score.
        score=round(hit.score * factor, 4) if hit.score > 0 else hit.score,
        signals=(*hit.signals, Signal(name="code", score=factor, why=next(iter(labels), _describe(staleness)))),
        labels=(*hit.labels, *labels, *filter(None, details)),
        is_in_doubt=hit.is_in_doubt or staleness.must_verify,
    )


def describe_outdated_words(text: str, staleness: Staleness) -> str:
    """Say which words of a memory the code no longer has: `it says 5, the code now says 7`; empty if there are none."""
    statement = _join_digits(text)
    sentences = [
        f"it says {old}, the code now says {new}" if new else f"it says {old}, which the code no longer has"
        for old, new in dict.fromkeys(staleness.replaced)
        if old != new and _says(statement, old) and not (new and _says(statement, new))
    ]
    return "; ".join(sentences[:MAX_OUTDATED_WORDS])


def _says(text: str, token: str) -> bool:
    word = _join_digits(token.strip("\"'`"))
    if not (word.isdigit() or (len(word) >= MIN_WORD and re.search(r"\w", word))):
        return False
    return re.search(rf"(?<![\w.]){re.escape(word)}(?!\w|\.\d)", text) is not None


def _join_digits(text: str) -> str:
    """The text with `10_000` and `10,000` as `10000`."""
    return re.sub(r"(?<=\d)[_,](?=\d{3})", "", text)


def _get_factor(staleness: Staleness) -> float:
    return SCORE_FACTORS.get(staleness.edit, 1.0)


def _label(staleness: Staleness) -> tuple[str, ...]:
    if staleness.must_verify:
        # Labels are cut at their end, and a long signature must not cut off the warning itself.
        return (_cut(_describe(staleness), MAX_FIELD_LENGTH - len(VERIFY_SUFFIX)) + VERIFY_SUFFIX,)
    return () if staleness.change in UNLABELLED_CHANGES else (_describe(staleness),)


def _cut(description: str, room: int) -> str:
    """Cut a description that is too long after its last part that fits, else between words."""
    if len(description) <= room:
        return description
    kept = description[: room - 2]
    return kept.rpartition("; ")[0] or f"{kept.rpartition(' ')[0] or kept} …"
