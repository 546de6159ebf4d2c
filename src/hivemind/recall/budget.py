"""Fit hits into a token budget."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from hivemind.model.recall import Hit
from hivemind.text.fence import quote_text

BYTES_PER_TOKEN = 3
"""English prose has four bytes to a token, code three to four: counting three errs on the safe side."""
LABEL_TOKENS = 26
"""Tokens of the label in front of each entry: id, kind, scope, origin, date, trust, match; most need fewer."""
DUPLICATE_SHARE = 0.85
"""The share of common word pairs above which a second entry says nothing new."""


def count_tokens(text: str) -> int:
    """Estimate how many tokens a text costs at most; fast, and too high rather than too low."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def fit(hits: Iterable[Hit], limit: int, max_tokens: int) -> tuple[Hit, ...]:
    """Return the first hits that fit; one that is too long is skipped for a shorter one after it.

    All sides of a dispute fit, or none; where the limit is smaller than their number, the first are taken.
    """
    selection: list[Hit] = []
    selection_pairs: list[set[tuple[str, str]]] = []
    tokens_left = max_tokens
    for sides in _join_disputes(hits):
        group = [replace(hit, tokens=_count_cost(hit)) for hit in sides[:limit]]
        pairs = [_word_pairs(hit.passage) for hit in group]
        # The sides of a dispute differ in a word or two, and each of them says something new.
        is_repetition = len(group) == 1 and any(_is_duplicate(pairs[0], other) for other in selection_pairs)
        cost = sum(hit.tokens for hit in group)
        if cost > tokens_left or len(selection) + len(group) > limit or is_repetition:
            continue
        selection += group
        selection_pairs += pairs
        tokens_left -= cost
        if len(selection) == limit:
            break
    return tuple(selection)


def _join_disputes(hits: Iterable[Hit]) -> Iterator[list[Hit]]:
    """Yield each hit by itself, but the sides of a dispute together, as soon as the last of them has come."""
    incomplete: dict[frozenset[str], list[Hit]] = {}
    for hit in hits:
        dispute = frozenset((hit.memory.id, *hit.sides))
        group = incomplete.setdefault(dispute, [])
        group.append(hit)
        if len(group) == len(dispute):
            yield incomplete.pop(dispute)


def _count_cost(hit: Hit) -> int:
    # Counted as rendered: quoting adds characters to each line, and labels may be long.
    return count_tokens(quote_text(hit.passage)) + count_tokens(" · ".join(hit.labels)) + LABEL_TOKENS


def _is_duplicate(pairs: set[tuple[str, str]], other: set[tuple[str, str]]) -> bool:
    common = len(pairs & other)
    return common >= DUPLICATE_SHARE * (len(pairs) + len(other) - common)


def _word_pairs(text: str) -> set[tuple[str, str]]:
    """Return neighbouring words; single words would not tell "red door, blue window" from the reverse."""
    words = ["", *text.lower().split()]
    return set(pairwise(words))
