"""How good an order is; ``@k`` looks at exactly the first k."""

import math
from collections.abc import Sequence


def recall(order: Sequence[str], wanted: Sequence[str], k: int) -> float:
    """Which share of what was wanted is among the first k."""
    return sum(one in order[:k] for one in wanted) / len(wanted)


def recall_all(order: Sequence[str], wanted: Sequence[str], k: int) -> float:
    """Whether everything that was wanted is among the first k."""
    return float(all(one in order[:k] for one in wanted))


def recall_any(order: Sequence[str], wanted: Sequence[str], k: int) -> float:
    """Whether anything that was wanted is among the first k."""
    return float(any(one in order[:k] for one in wanted))


def ndcg(order: Sequence[str], wanted: Sequence[str], k: int) -> float:
    """Gain discounted by the logarithm of the place, against the best order possible."""
    gain = sum(1 / math.log2(place + 2) for place, one in enumerate(order[:k]) if one in wanted)
    best = sum(1 / math.log2(place + 2) for place in range(min(len(wanted), k)))
    return gain / best


def mrr(order: Sequence[str], wanted: Sequence[str]) -> float:
    """One over the place of the first that was wanted."""
    return next((1 / (place + 1) for place, one in enumerate(order) if one in wanted), 0.0)
