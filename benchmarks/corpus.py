"""Made-up memories: sentences over a vocabulary with the frequencies of real text."""

import random
from itertools import accumulate

SYLLABLES = "ba co de fi gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()  # noqa: SIM905
NAMES = "api auth build cache client config deploy error hook index job key log queue route server test token user"


def vocabulary(size: int = 20_000) -> list[str]:
    """Words that look like words, the common ones from software."""
    chance = random.Random(42)
    words = dict.fromkeys(NAMES.split())
    while len(words) < size:
        words["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(words)


def sentences(chance: random.Random, count: int, words_each: int = 20) -> list[str]:
    """Sentences in which the n-th word comes 1/n as often as the first."""
    words = vocabulary()
    weights = list(accumulate(1 / (place + 10) for place in range(len(words))))
    drawn = chance.choices(words, cum_weights=weights, k=count * words_each)
    return [" ".join(drawn[start : start + words_each]) for start in range(0, count * words_each, words_each)]
