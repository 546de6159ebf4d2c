"""Generate memories: sentences over a vocabulary with the word frequencies of real text."""

import random
from itertools import accumulate

SYLLABLES = "ba co de fi gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()  # noqa: SIM905
NAMES = "api auth build cache client config deploy error hook index job key log queue route server test token user"


def vocabulary(size: int = 20_000) -> list[str]:
    """Return invented words; the most frequent ones are real words from software."""
    chance = random.Random(42)
    words = dict.fromkeys(NAMES.split())
    while len(words) < size:
        words["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(words)


def sentences(chance: random.Random, count: int, words_each: int = 20) -> list[str]:
    """Return sentences in which the n-th word occurs about 1/n as often as the first, as in natural text (Zipf)."""
    words = vocabulary()
    weights = list(accumulate(1 / (place + 10) for place in range(len(words))))
    stream = chance.choices(words, cum_weights=weights, k=count * words_each)
    return [" ".join(stream[start : start + words_each]) for start in range(0, count * words_each, words_each)]
