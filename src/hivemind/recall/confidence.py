"""Measure how sure it is that a memory answers a question, rather than being only the closest there is.

There are two ways to be sure: most of the question's significant words occur in the memory, or the memory is closer in
meaning than the best of that many unrelated memories would be by chance. How it ranks says little by itself, because
scores are relative to the best hit. The measurements behind the numbers are in docs/explanation/ranking.md.
"""

import math

SURE = 0.5
"""The confidence from which on a hit is an answer."""
ENOUGH_WORDS, ENOUGH_WORDS_ALONE = 0.6, 0.3
"""The share of the question's words that is enough for an answer, with a model and without one."""
SMALL_STORE, LOWEST_COSINE, COSINE_PER_DOUBLING, MOST_DOUBLINGS = 32, 0.34, 0.02, 5
"""Passages, and the cosine that is enough; it grows with the store, because the best of many unrelated passages is
closer."""
BEHIND_BEST_WEIGHT = 0.6
"""How much of the distance to the best score is taken off the cosine: what ranks far behind seldom answers too."""
STEEPNESS = 14
"""Of the logistic curve; like the weight above, fitted on small stores by ``python -m evals.recall --fit``."""


def measure_confidence(cosine: float | None, behind_best: float, word_share: float, size: int) -> float:
    """Return how sure a hit is, from 0 to 1; ``size`` is that of the store in passages, 0 without a model."""
    by_words = min(1.0, SURE * word_share / (ENOUGH_WORDS if size else ENOUGH_WORDS_ALONE))
    if cosine is None:
        return round(by_words, 2)
    surplus = cosine - BEHIND_BEST_WEIGHT * behind_best - compute_needed_cosine(size)
    return round(max(by_words, 1 / (1 + math.exp(-STEEPNESS * surplus))), 2)


def compute_needed_cosine(size: int) -> float:
    """Return the cosine that is enough for an answer in a store of this many passages."""
    doublings = min(MOST_DOUBLINGS, math.log2(max(size, SMALL_STORE) / SMALL_STORE))
    return LOWEST_COSINE + COSINE_PER_DOUBLING * doublings
