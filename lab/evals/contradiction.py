"""Fit the weights of ``memory/contradiction.py`` on the pairs that are not held out, print them, and count both parts.

The threshold is judged by cross-validation: each voice and each field of work is predicted with weights that were
fitted without it.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hivemind.memory.contradiction import BIAS, POSSIBLE, WEIGHTS, Difference, compare_statements, measure_evidence
from hivemind.memory.statements import parse_statements

PAIRS = Path(__file__).parents[1] / "yardstick" / "cases" / "contradiction" / "pairs.jsonl"
UNRELATED_PAIRS = 1_500
"""Drawn at random from all notes, so that the weights also know what has nothing to do with each other."""
NEWTON_STEPS, RIDGE = 25, 1.0
CERTAIN, NEVER = np.inf, -np.inf


class Pair(NamedTuple):
    """Two notes, and the evidence of every two statements that have to be weighed."""

    group: str
    is_held_out: bool
    contradicts: bool
    is_certain: bool
    """Whether the alignment alone says that they contradict each other."""
    evidence: tuple[dict[str, float], ...]


class Weights(NamedTuple):
    """What a fit returns: a weight for each kind of evidence, and the bias."""

    values: dict[str, float]
    bias: float

    def score(self, pair: Pair) -> float:
        """The highest score of any two statements of a pair."""
        if pair.is_certain:
            return CERTAIN
        scores = (
            self.bias + sum(self.values[name] * value for name, value in evidence.items()) for evidence in pair.evidence
        )
        return max(scores, default=NEVER)


def run() -> None:
    """Print the weights and the figures."""
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    # What differs only in the time it is valid is decided elsewhere.
    pairs = [_make_pair(row) for row in rows if not any("valid" in name for name in row)]
    tuning = [pair for pair in pairs if not pair.is_held_out]
    unrelated = list(_draw_unrelated([row for row in rows if row["split"] != "held-out"]))
    fitted = fit([*tuning, *unrelated])
    print(f"BIAS = {fitted.bias:.2f}")
    print("\n".join(f'    "{name}": {value:.2f},' for name, value in fitted.values.items()))
    scores = []
    for group in sorted({pair.group for pair in tuning}):
        weights = fit([*(pair for pair in tuning if pair.group != group), *unrelated])
        scores += [(weights.score(pair), pair.contradicts) for pair in tuning if pair.group == group]
    for threshold in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0):
        print(f"cross-validated at {threshold}: {_count(scores, threshold)}")
    current = Weights(WEIGHTS, BIAS)
    for name, part in (("tuning", tuning), ("held out", [pair for pair in pairs if pair.is_held_out])):
        print(f"{name}: {_count([(current.score(pair), pair.contradicts) for pair in part], POSSIBLE)}")


def fit(pairs: Sequence[Pair]) -> Weights:
    """Logistic regression with a ridge, over what the alignment leaves open."""
    rows = [
        (evidence, pair.contradicts)
        for pair in pairs
        if not pair.is_certain
        # Two notes contradict each other if any of their statements do; the first is taken for all.
        for evidence in (pair.evidence[:1] if pair.contradicts else pair.evidence)
    ]
    features = np.array([[*evidence.values(), 1.0] for evidence, _ in rows], float)
    labels = np.array([label for _, label in rows], float)
    ridge = np.diag([RIDGE] * len(WEIGHTS) + [0.0])
    weights: NDArray[np.float64] = np.zeros(len(WEIGHTS) + 1)
    for _ in range(NEWTON_STEPS):
        chances = 1 / (1 + np.exp(-features @ weights))
        gradient = features.T @ (chances - labels) + ridge @ weights
        curvature = features.T @ (features * (chances * (1 - chances))[:, None]) + ridge
        weights -= np.linalg.solve(curvature, gradient)
    *values, bias = weights.tolist()
    return Weights(dict(zip(rows[0][0], values, strict=True)), bias)


def _make_pair(row: dict[str, str | bool]) -> Pair:
    comparisons = [
        compare_statements(newer, older)
        for newer in parse_statements(str(row["newer"]))
        for older in parse_statements(str(row["older"]))
    ]
    return Pair(
        group=f"{row['writer']} {row['kind']}" if row["writer"] == "careless" else str(row["writer"]),
        is_held_out=row["split"] == "held-out",
        contradicts=bool(row["contradicts"]),
        is_certain=any(comparison and not isinstance(comparison, Difference) for comparison in comparisons),
        evidence=tuple(
            measure_evidence(comparison) for comparison in comparisons if isinstance(comparison, Difference)
        ),
    )


def _draw_unrelated(rows: Sequence[dict[str, str | bool]]) -> Iterator[Pair]:
    chance = random.Random(7)
    for _ in range(UNRELATED_PAIRS):
        one, other = chance.sample(rows, 2)
        yield _make_pair({**one, "older": other["older"], "contradicts": False})


def _count(scores: Sequence[tuple[float, bool]], threshold: float) -> str:
    noticed = [score >= threshold for score, contradicts in scores if contradicts]
    alarms = [score >= threshold for score, contradicts in scores if not contradicts]
    return (
        f"noticed {sum(noticed)} of {len(noticed)} ({sum(noticed) / len(noticed):.0%}),"
        f" false alarms {sum(alarms)} of {len(alarms)} ({sum(alarms) / len(alarms):.1%})"
    )


if __name__ == "__main__":
    run()
