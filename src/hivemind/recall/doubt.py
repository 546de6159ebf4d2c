"""Whether what is about code still fits the code at hand: marked and moved down, never left out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from hivemind.model.code import Anchor, Change, Staleness
from hivemind.model.memory import Memory
from hivemind.model.recall import TO_VERIFY, Hit, Query, Signal

Judge = Callable[[Sequence[Anchor]], Sequence[Staleness]]
"""What became of each anchor; nothing at all where that cannot be told."""

COUNTS = {
    Change.MEMBERS: 0.98,
    Change.BODY_MINOR: 0.95,
    Change.BODY_MAJOR: 0.7,
    Change.SIGNATURE: 0.6,
    Change.GONE: 0.4,
}
"""What a hit keeps of its score; a new name or place alone costs nothing."""

UNTOLD = (Change.FRESH, Change.COSMETIC, Change.DOCS, Change.MEMBERS)
"""Too little, or for a whole file too common, to spend a reader's attention on."""


def doubted(hits: Iterable[Hit], query: Query, judge: Judge) -> Iterator[Hit]:
    """Each hit with what became of its code, asked for as many at once as are likely to be shown."""
    rest = iter(hits)
    while some := list(islice(rest, query.limit)):
        yield from _judged(some, query, judge)


def verified(hits: Iterable[Hit], query: Query, judge: Judge) -> list[Hit]:
    """The same hits, in the same order; those that the code at hand puts in doubt say so, the others nothing new."""
    known = list(hits)
    judged = doubted(known, query, judge)
    return [new if new.is_in_doubt else old for old, new in zip(known, judged, strict=True)]


def in_order(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Answers before what is only close, best first, after doubt has taken from some."""
    return tuple(sorted(hits, key=lambda hit: (not hit.is_sure, -hit.score)))


def worst(judged: Iterable[Staleness]) -> Staleness:
    """What matters most of what became of a memory's code."""
    return min(judged, key=lambda one: (_counts(one), one.change in UNTOLD))


def told(one: Staleness) -> str:
    """What became of a symbol, in one line that names it."""
    about = one.text if one.change is Change.GONE else f"{one.anchor.label}: {one.text}"
    return " ".join(about.split())


def _judged(hits: Sequence[Hit], query: Query, judge: Judge) -> Iterator[Hit]:
    about = [hit.memory.anchors if _is_of_here(hit.memory, query) else () for hit in hits]
    every = [anchor for anchors in about for anchor in anchors]
    answers = iter(judge(every) if every else ())
    for hit, anchors in zip(hits, about, strict=True):
        became = list(islice(answers, len(anchors)))
        yield _weighed(hit, worst(became)) if became else hit


def _is_of_here(memory: Memory, query: Query) -> bool:
    """Whether today's tree is the one to ask; what was believed in March is not judged by it."""
    return memory.repo in query.sight.repos and not query.as_of


def _weighed(hit: Hit, one: Staleness) -> Hit:
    share = _counts(one)
    return replace(
        hit,
        score=round(hit.score * share, 4) if hit.score > 0 else hit.score,
        signals=(*hit.signals, Signal(name="code", score=share, why=next(iter(_label(one)), told(one)))),
        labels=(*hit.labels, *_label(one)),
        is_in_doubt=hit.is_in_doubt or one.must_verify,
    )


def _counts(one: Staleness) -> float:
    return COUNTS.get(one.edit, 1.0)


def _label(one: Staleness) -> tuple[str, ...]:
    if one.must_verify:
        return (told(one) + TO_VERIFY,)
    return () if one.change in UNTOLD else (told(one),)
