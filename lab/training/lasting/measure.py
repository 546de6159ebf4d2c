"""Measure the model of lasting statements on people it was not trained on.

python -m lab.training.lasting.extract CLONES sentences.jsonl
python -m lab.training.lasting.measure sentences.jsonl
"""

import argparse
import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivemind.embedding.embedder import load_wording
from hivemind.learning.detectors.corrections import is_statement
from hivemind.learning.lasting_statements import WIDEST, load_judge
from hivemind.learning.statement_forms import FORM_NAMES, SpokenSentence
from hivemind.model.memory import Kind

LABELS = Path(__file__).with_name("labels.tsv")
WRITTEN = Path(__file__).with_name("written.tsv")
"""Sentences that we wrote: plain rules are rarer in public prompts than they will be once somebody listens."""
KIND_OF = {"R": Kind.CONVENTION, "C": Kind.CONVENTION, "P": Kind.PREFERENCE, "E": Kind.FACT, "D": Kind.DECISION}
"""Labels that last; a correction states how things are done."""
UNCLEAR = "u"
WRITTEN_WEIGHT = 0.25
"""Sentences that we wrote teach plain rules; with the weight of real ones they make real people look different."""
DRAWN = (1, 4, 6, 7)
"""Rounds before the last whose weights restore the population."""
TEST_SPLIT = "test"
"""People of the last round; all others are fitted on."""
FORM_PENALTY, WORDING_PENALTY = 110.0, 330.0
"""Chosen by cross-validation over owners."""
HEAVIEST = 3.0
CUTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8)
"""0.65 is the default of the setting ``statement_certainty``."""

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A labelled sentence."""

    owner: str
    split: str
    labels: tuple[str, ...]
    """One of each reader; the first is that of the newer guide."""
    weight: float
    """How many sentences of the population it stands for, in the rounds of ``DRAWN``."""
    round: int
    statement: SpokenSentence

    @property
    def target(self) -> float:
        """The share of readers who say that it holds beyond the task."""
        return sum(0.5 if label == UNCLEAR else float(label in KIND_OF) for label in self.labels) / len(self.labels)

    @property
    def lasts(self) -> bool:
        """Whether every reader says that it holds beyond the task."""
        return self.target == 1

    @property
    def kind(self) -> Kind | None:
        """The kind that the first reader gave who says that it lasts."""
        return next((KIND_OF[label] for label in self.labels if label in KIND_OF), None)

    @property
    def is_drawn(self) -> bool:
        """Whether its weight restores the population."""
        return self.round in DRAWN


def main() -> None:
    """Print how well the people of the test are understood."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=Path, nargs="+", help="what lab.training.lasting.extract wrote")
    rows = [row for row in read_rows(parser.parse_args().sentences) if row.split == TEST_SPLIT]
    verdicts = load_judge(load_wording().encode_wording)([row.statement for row in rows])
    measure_ranking(TEST_SPLIT, rows, np.array([verdict.certainty for verdict in verdicts]))
    lasting = [(row, verdict) for row, verdict in zip(rows, verdicts, strict=True) if row.lasts]
    right = sum(row.kind is verdict.kind for row, verdict in lasting)
    print(f"{TEST_SPLIT}: kind right {right} of {len(lasting)}")


def read_rows(paths: list[Path]) -> Iterator[Row]:
    """Yield the labelled sentences whose text was extracted."""
    with LABELS.open(encoding="utf-8") as lines:
        labels = {line["id"]: line for line in csv.DictReader(lines, delimiter="\t")}
    for path in paths:
        with path.open(encoding="utf-8") as texts:
            for text in texts:
                sentence = json.loads(text)
                label = labels.pop(sentence["id"], None)
                if label:
                    yield Row(
                        owner=sentence["repository"].partition("/")[0],
                        split=label["split"],
                        labels=tuple(filter(None, (label["label"], label["second"]))),
                        weight=float(label["weight"]),
                        round=int(label["round"]),
                        statement=make_statement(sentence),
                    )
    if labels:
        print(f"{len(labels)} labelled sentences were not extracted; their repositories may have changed")


def read_written() -> Iterator[Row]:
    """Yield the sentences that were written for training, as if they were typed after another sentence."""
    with WRITTEN.open(encoding="utf-8") as lines:
        for line in csv.DictReader(lines, delimiter="\t"):
            text = line["text"]
            statement = SpokenSentence(text=text, previous="Thanks.", position=1, prompt_length=len(text) + 8)
            yield Row(
                owner="written",
                split="train",
                labels=(line["label"],),
                weight=WRITTEN_WEIGHT,
                round=0,
                statement=statement,
            )


def make_statement(line: dict[str, Any]) -> SpokenSentence:
    """Return a sentence that was extracted, as the product sees it."""
    return SpokenSentence(
        text=line["text"],
        previous=line["previous"],
        following=line["following"],
        reply=line["reply"],
        position=line["position"],
        prompt_length=line["length"],
    )


def standardise(features: Array, center: Array, scale: Array) -> Array:
    """Return the features as the model sees them, with a last column of ones."""
    return np.hstack([((features - center) / scale).clip(-WIDEST, WIDEST), np.ones((len(features), 1))])


def fitting_weights(weights: Array) -> Array:
    """Weigh rare draws less than the population would: a few of them would decide everything."""
    limited: Array = np.sqrt(weights).clip(max=HEAVIEST)
    return limited


def fit(features: Array, target: Array, weights: Array) -> Array:
    """Fit a logistic regression with a quadratic penalty by Newton's method; the last column is the intercept."""
    wording = features.shape[1] - len(FORM_NAMES) - 1
    penalty = np.array([FORM_PENALTY] * len(FORM_NAMES) + [WORDING_PENALTY] * wording + [1e-6])
    solution = np.zeros(features.shape[1])
    for _ in range(15):
        probability = logistic(features @ solution)
        gradient = features.T @ (weights * (probability - target)) + penalty * solution
        curvature = (features.T * (weights * probability * (1 - probability))) @ features + np.diag(penalty)
        solution -= np.linalg.solve(curvature, gradient)
    return solution


def measure_ranking(name: str, rows: list[Row], scores: Array) -> None:
    """Print how well people are understood, by how many are proposed."""
    lasts = np.array([row.lasts for row in rows], float)
    weights = np.array([row.weight for row in rows])
    scores = np.where([is_statement(row.statement.text) for row in rows], scores, scores.min())
    people, auc = len({row.owner for row in rows}), measure_auc(scores, lasts, weights)
    order = np.argsort(-scores, kind="stable")
    hits, totals = np.cumsum((weights * lasts)[order]), np.cumsum(weights[order])
    precision, recall = hits / totals, hits / hits[-1]
    average = (precision * (weights * lasts)[order]).sum() / hits[-1]
    print(f"{name}: {len(rows)} sentences of {people} people, {lasts.sum():.0f} last")
    print(f"  AUC {auc:.3f}, average precision {average:.3f}")
    for cut in CUTS:
        count = int((scores >= cut).sum())
        if count:
            share, reach = precision[count - 1], recall[count - 1]
            print(f"  certainty >= {cut:.2f}: {count:4} proposed, precision {share:.2f}, recall {reach:.2f}")


def measure_auc(scores: Array, lasts: Array, weights: Array) -> float:
    """Return how often a lasting sentence of the population scores higher than a passing one."""
    order = np.argsort(scores)
    passing = np.cumsum((weights * (1 - lasts))[order])
    return float((passing * (weights * lasts)[order]).sum() / passing[-1] / (weights * lasts).sum())


def logistic(score: Array) -> Array:
    """Turn a score into a probability."""
    return 1 / (1 + np.exp(-np.clip(score, -30, 30)))


if __name__ == "__main__":
    main()
