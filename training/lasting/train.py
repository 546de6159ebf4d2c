"""Fit the model of lasting statements, and measure it on people it was not fitted on.

    python -m training.lasting.extract CLONES sentences.jsonl
    python -m training.lasting.train sentences.jsonl

Run both again after a change of the embedding model or of `statement_forms`, and copy the checksum that is printed.
"""

import argparse
import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hivemind.curate.detectors.corrections import is_statement
from hivemind.curate.lasting import KINDS, WEIGHTS, WIDEST, find_certainty, measure
from hivemind.curate.statement_forms import FORM_NAMES, SpokenSentence
from hivemind.model.memory import Kind
from hivemind.recall.embedder import load_default

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
FOLDS = 6
CUTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""0.5 is the default of the setting ``statement_certainty``."""

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


@dataclass(frozen=True, kw_only=True)
class Data:
    """What is fitted and measured: a row for each labelled sentence."""

    rows: list[Row]
    features: Array
    targets: Array
    lasts: Array
    weights: Array

    def choose(self, mask: NDArray[np.bool_]) -> "Data":
        """Return the rows where the mask is true."""
        rows = [row for row, keep in zip(self.rows, mask, strict=True) if keep]
        return Data(
            rows=rows,
            features=self.features[mask],
            targets=self.targets[mask],
            lasts=self.lasts[mask],
            weights=self.weights[mask],
        )


def main() -> None:
    """Fit, report and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=Path, nargs="+", help="what training.lasting.extract wrote")
    arguments = parser.parse_args()
    data = load([*read_rows(arguments.sentences), *read_written()])
    splits = np.array([row.split for row in data.rows])
    known = data.choose(splits != TEST_SPLIT)
    center, scale = known.features.mean(axis=0), known.features.std(axis=0) + 1e-3
    report_cross_validation(known, center, scale)
    weights = fit(standardise(known.features, center, scale), known.targets, fitting_weights(known))
    kinds = fit_kinds(known, center, scale)
    test = data.choose(splits == TEST_SPLIT)
    if test.rows:
        features = standardise(test.features, center, scale)
        report(TEST_SPLIT, test, features @ weights)
        report_kinds(TEST_SPLIT, test, features @ kinds.T)
    rows = np.vstack([[*center, 0], [*scale, 0], weights, kinds]).astype(np.float32)
    np.save(WEIGHTS, rows)
    print(f"{WEIGHTS.name} {rows.shape} sha256 {hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()}")


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
                        statement=SpokenSentence(
                            text=sentence["text"],
                            previous=sentence["previous"],
                            following=sentence["following"],
                            reply=sentence["reply"],
                            position=sentence["position"],
                            prompt_length=sentence["length"],
                        ),
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


def load(labelled: list[Row]) -> Data:
    """Measure the rows."""
    features = measure([row.statement for row in labelled], load_default().encode_wording).astype(np.float64)
    return Data(
        rows=labelled,
        features=features,
        targets=np.array([row.target for row in labelled]),
        lasts=np.array([row.lasts for row in labelled], float),
        weights=np.array([row.weight for row in labelled]),
    )


def standardise(features: Array, center: Array, scale: Array) -> Array:
    """Return the features as the model sees them, with a last column of ones."""
    return np.hstack([((features - center) / scale).clip(-WIDEST, WIDEST), np.ones((len(features), 1))])


def fitting_weights(data: Data) -> Array:
    """Weigh rare draws less than the population would: a few of them would decide everything."""
    weights: Array = np.sqrt(data.weights).clip(max=HEAVIEST)
    return weights


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


def fit_kinds(data: Data, center: Array, scale: Array) -> Array:
    """Fit one regression for each kind, on the sentences that last."""
    lasting = data.choose(data.lasts > 0)
    features = standardise(lasting.features, center, scale)
    targets = [np.array([row.kind is kind for row in lasting.rows], float) for kind in KINDS]
    return np.vstack([fit(features, target, np.ones(len(target))) for target in targets])


def report_cross_validation(data: Data, center: Array, scale: Array) -> None:
    """Print how well each of the owners is understood by a model that was fitted on others."""
    owners = sorted({row.owner for row in data.rows})
    fold_of = dict(zip(owners, np.random.RandomState(0).permutation(len(owners)) % FOLDS, strict=True))
    folds = np.array([fold_of[row.owner] for row in data.rows])
    features, scores = standardise(data.features, center, scale), np.zeros(len(data.rows))
    for fold in range(FOLDS):
        fitted = fit(features[folds != fold], data.targets[folds != fold], fitting_weights(data)[folds != fold])
        scores[folds == fold] = features[folds == fold] @ fitted
    drawn = np.array([row.round in DRAWN for row in data.rows])
    report("cross-validation", data.choose(drawn), scores[drawn])


def report(name: str, data: Data, scores: Array) -> None:
    """Print how well people are understood."""
    people = len({row.owner for row in data.rows})
    auc = measure_auc(scores, data.lasts, data.weights)
    print(f"{name}: {len(data.rows)} sentences of {people} people, {data.lasts.sum():.0f} last, AUC {auc:.3f}")
    certainties = np.array(
        [
            find_certainty(row.statement, probability) if is_statement(row.statement.text) else 0.0
            for row, probability in zip(data.rows, logistic(scores), strict=True)
        ]
    )
    for cut in CUTS:
        above = certainties >= cut
        hits = (data.weights * data.lasts)[above].sum()
        precision, recall = hits / max(data.weights[above].sum(), 1e-9), hits / (data.weights * data.lasts).sum()
        print(f"  certainty >= {cut:.2f}: {above.sum():4} proposed, precision {precision:.2f}, recall {recall:.2f}")


def report_kinds(name: str, data: Data, scores: Array) -> None:
    """Print how often the kind of a lasting sentence is right."""
    lasting = data.lasts > 0
    kinds = [row.kind for row in data.rows if row.lasts]
    right = sum(KINDS[best] is kind for best, kind in zip(scores[lasting].argmax(axis=1), kinds, strict=True))
    print(f"{name}: kind right {right} of {len(kinds)}")


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
