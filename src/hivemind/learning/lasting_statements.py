"""Decide whether a sentence that a person typed holds beyond the task at hand, and which kind of memory it is.

A weighted sum of the form of the sentence (`statement_forms`) and of what an encoder reads in it, which was trained to
answer as a network with four times its layers does. `lab/training/lasting` trains both and measures them on people they
were not trained on.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hivemind.errors import Unavailable
from hivemind.learning.statement_forms import (
    FORM_NAMES,
    Judge,
    SentenceVerdict,
    SpokenSentence,
    is_explicit,
    measure_form,
)
from hivemind.model.memory import Kind

Floats = NDArray[np.float32]
WordingEncoder = Callable[[Sequence[str]], Floats]
"""Returns a row for each text that describes its wording."""

WEIGHTS = Path(__file__).with_name("lasting.npy")
SHA256 = "f06171c45156a18cb5abfba1dcbbe87b46eabf324dbbc16c89b1daa16477c245"
KINDS = (Kind.CONVENTION, Kind.PREFERENCE, Kind.FACT, Kind.DECISION)
EXPLICIT_FACTOR = 2
"""Raises a probability: who begins with "always" or "from now on" expects to be heard. It costs no precision."""
WIDEST = 5.0
"""In standard deviations: a longer tail than the model was fitted on must not decide alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingModel:
    """The fitted numbers: what to subtract from each measurement, its scale, and its weight for each answer."""

    center: Floats
    scale: Floats
    weights: Floats
    """A column for lasting and one for each of ``KINDS``; the last row is the intercept."""

    @classmethod
    def read(cls, path: Path = WEIGHTS, sha256: str = SHA256) -> Self:
        """Read the model that is installed with the package, after verifying its checksum."""
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != sha256:
            raise Unavailable(f"the model at {path} is missing or damaged; reinstall hivemind")
        return cls.from_rows(np.load(path, allow_pickle=False))

    @classmethod
    def from_rows(cls, rows: Floats) -> Self:
        """Make a model of its rows: center, scale, then a row for each answer with the intercept last."""
        return cls(center=rows[0, :-1], scale=rows[1, :-1], weights=rows[2:].T)

    def judge(self, statements: Sequence[SpokenSentence], encode: WordingEncoder) -> list[SentenceVerdict]:
        """Return a verdict for each statement."""
        if not statements:
            return []
        scores = self._score(measure(statements, encode))
        probabilities = 1 / (1 + np.exp(-scores[:, 0]))
        kinds = scores[:, 1:].argmax(axis=1)
        return [
            SentenceVerdict(
                certainty=min(1.0, float(probability) * (EXPLICIT_FACTOR if is_explicit(statement) else 1)),
                kind=KINDS[kind],
            )
            for statement, probability, kind in zip(statements, probabilities, kinds, strict=True)
        ]

    def _score(self, measurements: Floats) -> Floats:
        scaled_measurements = ((measurements - self.center) / self.scale).clip(-WIDEST, WIDEST)
        scores: Floats = scaled_measurements @ self.weights[:-1] + self.weights[-1]
        return scores


def measure(statements: Sequence[SpokenSentence], encode: WordingEncoder) -> Floats:
    """Return the measurements of each statement: its form, then its wording."""
    forms = np.array([measure_form(statement) for statement in statements], np.float32).reshape(-1, len(FORM_NAMES))
    return np.hstack([forms, encode([statement.text for statement in statements])])


@cache
def load_judge(encode: WordingEncoder) -> Judge:
    """Return the judgement of the installed model, which is read once per process."""
    return partial(LastingModel.read().judge, encode=encode)
