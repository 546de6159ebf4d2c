"""Compare embedding models on a person's own memories."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hivemind.errors import InvalidInput
from hivemind.recall import models

FEWEST_MEMORIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """The search quality and speed of a model on the memories of this store."""

    name: str
    found: float
    """Mean reciprocal rank of memories when the first half of each is the question."""
    milliseconds: float
    """Time to embed one text."""


def compare(model_name: str, texts: Sequence[str]) -> ModelComparison:
    """Search for each text by its first half, and return the mean reciprocal rank at which it is found."""
    if len(texts) < FEWEST_MEMORIES:
        raise InvalidInput(f"comparing models needs at least {FEWEST_MEMORIES} memories; found {len(texts)} here")
    model = models.load(model_name)
    start = time.process_time()
    text_vectors = model.embed(texts)
    milliseconds = (time.process_time() - start) * 1000 / len(texts)
    query_vectors = model.embed([text[: max(len(text) // 2, 1)] for text in texts])
    cosines = query_vectors @ text_vectors.T
    # Texts with the same cosine as the right one count as better, so that ties do not flatter a model.
    ranks = (cosines >= np.diagonal(cosines)[:, None]).sum(axis=1)
    return ModelComparison(name=model.name, found=float((1 / ranks).mean()), milliseconds=milliseconds)
