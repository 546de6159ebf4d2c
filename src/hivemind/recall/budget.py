"""What fits."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from hivemind.model.quoting import quoted
from hivemind.model.recall import Hit

BYTES_PER_TOKEN = 3
"""English prose has four bytes to a token, code three to four: counting three errs on the safe side."""
OVERHEAD = 24
"""Tokens of the line that says where an entry comes from."""
ALIKE = 0.85
"""Share of common word pairs above which a second entry says nothing new."""


def tokens(text: str) -> int:
    """How many tokens a text costs at most, by a cheap and cautious count."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def fit(hits: Iterable[Hit], limit: int, max_tokens: int) -> tuple[Hit, ...]:
    """The best hits that fit; one too long is passed over for a shorter one after it."""
    chosen: list[Hit] = []
    said: list[set[tuple[str, str]]] = []
    left = max_tokens
    for hit in hits:
        cost = tokens(quoted(hit.passage)) + tokens(" · ".join(hit.labels)) + OVERHEAD
        pairs = _pairs(hit.passage)
        if cost > left or any(_alike(pairs, other) for other in said):
            continue
        chosen.append(replace(hit, tokens=cost))
        said.append(pairs)
        left -= cost
        if len(chosen) == limit:
            break
    return tuple(chosen)


def _alike(one: set[tuple[str, str]], other: set[tuple[str, str]]) -> bool:
    shared = len(one & other)
    return shared >= ALIKE * (len(one) + len(other) - shared)


def _pairs(text: str) -> set[tuple[str, str]]:
    """Neighbouring words; single words would not tell "red door, blue window" from the reverse."""
    words = ["", *text.lower().split()]
    return set(pairwise(words))
