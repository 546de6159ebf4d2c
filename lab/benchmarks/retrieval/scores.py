"""Score a ranking (``@k`` looks at exactly the first k), and how well confidence separates answers from the rest."""

import math
from collections.abc import Sequence

KEPT = 0.99
"""Share of answerable questions that a threshold of confidence must keep."""


def recall(order: Sequence[str], relevant: Sequence[str], k: int) -> float:
    """Return the share of relevant texts among the first k."""
    return sum(text_id in order[:k] for text_id in relevant) / len(relevant)


def recall_all(order: Sequence[str], relevant: Sequence[str], k: int) -> float:
    """Return 1 if all relevant texts are among the first k, else 0."""
    return float(all(text_id in order[:k] for text_id in relevant))


def recall_any(order: Sequence[str], relevant: Sequence[str], k: int) -> float:
    """Return 1 if any relevant text is among the first k, else 0."""
    return float(any(text_id in order[:k] for text_id in relevant))


def ndcg(order: Sequence[str], relevant: Sequence[str], k: int) -> float:
    """Return the gain, discounted by the logarithm of the rank, relative to the best possible ranking."""
    gain = sum(1 / math.log2(place + 2) for place, text_id in enumerate(order[:k]) if text_id in relevant)
    best = sum(1 / math.log2(place + 2) for place in range(min(len(relevant), k)))
    return gain / best


def mrr(order: Sequence[str], relevant: Sequence[str]) -> float:
    """Return one over the rank of the first relevant text."""
    return next((1 / (place + 1) for place, text_id in enumerate(order) if text_id in relevant), 0.0)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return how often a positive value is above a negative one; a tie counts half."""
    wins = sum((high > low) + (high == low) / 2 for high in positive for low in negative)
    return wins / (len(positive) * len(negative))


def precision_at_kept(positive: Sequence[float], negative: Sequence[float], kept: float = KEPT) -> float:
    """Return the share of answerable questions above the threshold that keeps this share of them."""
    threshold = sorted(positive)[int(len(positive) * (1 - kept))]
    right, wrong = (sum(value >= threshold for value in values) for values in (positive, negative))
    return right / (right + wrong)
