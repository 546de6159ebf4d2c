"""The courage to say nothing: whether the best that was found is good enough to be an answer.

Two ways to clear the bar: most of the telling words of the question stand in the memory, or it is near in meaning
(and shares words) by more than the best of so many unrelated memories would be by chance. The figures behind the
numbers are in docs/explanation/ranking.md.
"""

import math
from collections.abc import Sequence

from hivemind.model.recall import Query
from hivemind.model.words import share_of, terms
from hivemind.recall.search import Candidate

MOST_WORDS = 0.6
HALF_THE_WORDS, FEW = 0.5, 32
"""Enough among so few passages: there is little that could be mistaken for the answer."""
SOME_WORDS = 0.3
"""Enough when there is no model to ask."""
WORDS_HELP = 0.15
LOWEST, HIGHEST, PER_DOUBLING = 0.634, 0.76, 0.0177
LOOKED_AT = 20


def clears(found: Sequence[Candidate], query: Query, size: int) -> bool:
    """Whether any of the candidates is an answer rather than just the least far away."""
    by_words = sorted((one for one in found if one.words > 0), key=lambda one: -one.words)[:LOOKED_AT]
    asked = terms(query.text)
    shared = max((share_of(asked, f"{one.found.text} {one.found.context}") for one in by_words), default=0.0)
    nearest = max((one.meaning for one in found if one.meaning is not None), default=None)
    if nearest is None:
        return shared >= SOME_WORDS
    return shared >= (MOST_WORDS if size > FEW else HALF_THE_WORDS) or is_near(nearest, shared, size)


def is_near(meaning: float, shared: float, size: int) -> bool:
    """Whether a passage is nearer than the best of so many unrelated ones would be by chance; shared words help."""
    return meaning + WORDS_HELP * shared >= min(HIGHEST, LOWEST + PER_DOUBLING * math.log2(size))
