"""Measure how sure it is that a memory answers a question, rather than being only the closest there is.

A memory answers if it is closer in meaning than the best of that many unrelated memories would be by chance; where most
of the question's significant words occur in it, less closeness is enough. How it ranks says little by itself, because
scores are relative to the best hit. The measurements behind the numbers are in lab/notes/ranking.md.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from hivemind.model.recall import Hit, Query

SURE = 0.5
"""The confidence from which on a hit is an answer."""
ENOUGH_WORDS, ENOUGH_WORDS_ALONE = 0.6, 0.3
"""The share of the question's words that is enough where there is no cosine, with a model and without one."""
BY_WORDS = 0.1
"""The least for the best match of words where there is no cosine: a concept, or a form in another language, is a match
that shares no whole word."""
SMALL_STORE, LOWEST_COSINE, COSINE_PER_DOUBLING, MOST_DOUBLINGS = 32, 0.34, 0.02, 5
"""Passages, and the cosine that is enough; it grows with the store, because the best of many unrelated passages is
closer."""
NO_WORDS_COSINE, COSINE_PER_SHARE = 0.76, 0.8
"""In a store of any size, this cosine is enough, less this times the share of the question's words."""
RARE_WORD_WEIGHT = 3
"""How many words a word counts for that the model's vocabulary does not have, such as a name."""
BEHIND_BEST_WEIGHT = 0.6
"""How much of the distance to the best score is taken off the cosine: what ranks far behind seldom answers too."""
STEEPNESS = 14
"""Of the logistic curve; like the weight above, fitted on small stores by ``python -m lab.evals.recall --fit``."""
MOST_NEAR = 3
"""Hits that are near the question and may not answer it; a caller that sets a limit gets as many as that."""
NEAR = 0.01
"""The confidence from which on a hit is near."""
BEST_NEAR = 0.1
"""If nothing answers, the best hit must be this sure, else nothing is near."""
FEWEST_LOOKED_AT = 5
"""Hits below the answers that are looked at, however low the limit is."""


def repeat_rare_words(words: Sequence[str], rank_word: Callable[[str], int | None]) -> list[str]:
    """Return the words of a question, each as often as it counts."""
    return [word for word in words for _ in range(RARE_WORD_WEIGHT if rank_word(word) is None else 1)]


def measure_confidence(
    cosine: float | None, behind_best: float, word_share: float, size: int, word_score: float = 0.0
) -> float:
    """Return how sure a hit is, from 0 to 1; ``size`` is that of the store in passages, 0 without a model.

    ``word_score`` is how well the search by words scores it, as a share of the best hit's score.
    """
    if cosine is None:
        by_share = SURE * word_share / (ENOUGH_WORDS if size else ENOUGH_WORDS_ALONE)
        return round(min(1.0, max(by_share, BY_WORDS * word_score)), 2)
    needed = min(compute_needed_cosine(size), NO_WORDS_COSINE - COSINE_PER_SHARE * word_share)
    surplus = cosine - BEHIND_BEST_WEIGHT * behind_best - needed
    return round(1 / (1 + math.exp(-STEEPNESS * surplus)), 2)


def compute_needed_cosine(size: int) -> float:
    """Return the cosine that is enough for an answer in a store of this many passages."""
    doublings = min(MOST_DOUBLINGS, math.log2(max(size, SMALL_STORE) / SMALL_STORE))
    return LOWEST_COSINE + COSINE_PER_DOUBLING * doublings


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
