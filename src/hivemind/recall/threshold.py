"""Decide whether the best candidate is good enough to be an answer.

There are two ways to qualify: most of the question's significant words occur in the memory, or the memory is closer in
meaning (shared words add a little) than the best of that many unrelated memories would be by chance. The measurements
behind the numbers are in docs/explanation/ranking.md.
"""

import math
from collections.abc import Sequence
from heapq import nlargest

from hivemind.model.recall import Query
from hivemind.recall.search import Candidate
from hivemind.text.tokenise import extract_terms, measure_share

MOST_WORDS = 0.6
HALF_THE_WORDS, SMALL_STORE = 0.5, 32
"""Half of the words are enough among at most 32 passages: there is little to mistake for the answer."""
SOME_WORDS = 0.3
"""Enough when no model is available."""
SHARED_WORDS_BONUS = 0.15
"""Added to the cosine for a full match of words, in proportion to the share of words that match."""
LOWEST_COSINE, HIGHEST_COSINE, COSINE_PER_DOUBLING = 0.634, 0.76, 0.0177
"""The threshold grows with the logarithm of the store's size, because the best of many unrelated passages is closer."""
WORD_MATCHES_CHECKED = 20


def has_answer(candidates: Sequence[Candidate], query: Query, size: int) -> bool:
    """Whether any candidate answers the question, rather than being only the closest there is."""
    word_matches = [candidate for candidate in candidates if candidate.words > 0]
    best_matches = nlargest(WORD_MATCHES_CHECKED, word_matches, key=lambda match: match.words)
    words = extract_terms(query.text)
    texts = (f"{match.passage.text} {match.passage.context}" for match in best_matches)
    share = max((measure_share(words, text) for text in texts), default=0.0)
    cosine = max((candidate.meaning for candidate in candidates if candidate.meaning is not None), default=None)
    if cosine is None:
        return share >= SOME_WORDS
    return share >= (MOST_WORDS if size > SMALL_STORE else HALF_THE_WORDS) or is_near(cosine, share, size)


def is_near(cosine: float, word_share: float, size: int) -> bool:
    """Whether a passage is closer than the best of ``size`` unrelated ones would be by chance; shared words help."""
    threshold = min(HIGHEST_COSINE, LOWEST_COSINE + COSINE_PER_DOUBLING * math.log2(size))
    return cosine + SHARED_WORDS_BONUS * word_share >= threshold
