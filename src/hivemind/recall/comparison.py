"""How models do on somebody's own memories."""

import time
from collections.abc import Sequence

import numpy as np

from hivemind.errors import InvalidInput
from hivemind.model.reports import Compared
from hivemind.recall import models

FEWEST = 5


def compare(named: str, texts: Sequence[str]) -> Compared:
    """Ask for each text by its first half, and see in which place it comes."""
    if len(texts) < FEWEST:
        raise InvalidInput(f"there are only {len(texts)} memories here; {FEWEST} are needed to compare models")
    model = models.load(named)
    start = time.process_time()
    known = model.embed(texts)
    milliseconds = (time.process_time() - start) * 1000 / len(texts)
    asked = model.embed([text[: max(len(text) // 2, 1)] for text in texts])
    near = asked @ known.T
    places = (near >= np.diagonal(near)[:, None]).sum(axis=1)
    return Compared(name=model.name, found=float((1 / places).mean()), milliseconds=milliseconds)
