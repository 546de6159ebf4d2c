"""Choose what an answer shows of a ranking: what answers the question, then a few that are near, and nothing else.

docs/explanation/ranking.md has the measurements behind the numbers.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from hivemind.model.recall import Hit, Query

MOST_NEAR = 3
"""Hits that are near the question and may not answer it; a caller that sets a limit gets as many as that."""
NEAR = 0.01
"""The confidence from which on a hit is near."""
BEST_NEAR = 0.1
"""If nothing answers, the best hit must be this sure, else nothing is near."""
FEWEST_LOOKED_AT = 5
"""Hits below the answers that are looked at, however low the limit is."""


def keep_near(hits: Iterable[Hit], query: Query) -> Iterator[Hit]:
    """Yield the hits that answer the question, then those that are near it."""
    remaining_hits = iter(hits)
    has_answer = False
    others: list[Hit] = []
    for hit in remaining_hits:
        if not hit.is_sure:
            others = [hit, *islice(remaining_hits, max(query.limit, FEWEST_LOOKED_AT) - 1)]
            break
        has_answer = True
        yield hit
    if not has_answer and max(map(_get_confidence, others), default=0.0) < BEST_NEAR:
        return
    near = (hit for hit in others if _get_confidence(hit) >= NEAR)
    yield from islice(near, query.limit if query.wants_more else MOST_NEAR)


def level_confidences(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Lower confidences to that of the hit above, so that the numbers never contradict the order.

    Trust, staleness and corrections change the order too, and confidence measures only how well a hit matches.
    """
    level_hits: list[Hit] = []
    lowest = 1.0
    for hit in hits:
        if hit.confidence is not None:
            lowest = min(lowest, hit.confidence)
        level_hits.append(hit if hit.confidence in (None, lowest) else replace(hit, confidence=lowest))
    return tuple(level_hits)


def _get_confidence(hit: Hit) -> float:
    return 1.0 if hit.confidence is None else hit.confidence
