"""Which passages are near a question in meaning: the engine proposes, then they are compared exactly."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hivemind.model.recall import Query
from hivemind.store.database import Database, Vector
from hivemind.store.projections import vectors

SURVIVORS = 200
"""How many of the likely ones are compared exactly."""
FEW = 2_000
"""How many passages that pass a filter on metadata are all compared; more take longer than a recall may."""

Floats = NDArray[np.float32]


def near(db: Database, query: Query, model: str, asked: Floats) -> dict[int, float]:
    """The passages in sight that are likely near the question, and how near each is."""
    # Of the likely ones a narrow filter might leave nothing, although some that pass it are near enough.
    few = vectors.fitting(db, query, model, FEW) if query.where else []
    likely = [] if few else db.index.likely(asked, query.sight, SURVIVORS)
    return nearness(few or vectors.seen(db, query, model, likely), asked)


def nearness(found: Sequence[Vector], asked: Floats) -> dict[int, float]:
    """How near each vector is to the question: the cosine of the angle between them."""
    if not found:
        return {}
    numbers = np.frombuffer(b"".join(one.numbers for one in found), np.int8).reshape(len(found), -1)
    cosines = numbers.astype(np.float32) @ asked * np.array([one.scale for one in found], np.float32)
    return dict(zip((one.passage for one in found), cosines.tolist(), strict=True))


def keep(db: Database, model: str, passages: Sequence[int], rows: Floats) -> None:
    """Store vectors of passages."""
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127
    numbers = np.rint(rows / scales[:, None]).astype(np.int8)
    small = [
        Vector(passage, float(scale), row.tobytes())
        for passage, scale, row in zip(passages, scales, numbers, strict=True)
    ]
    with db.transaction():
        db.index.keep(model, small)
        for passage in passages:
            vectors.no_longer_want(db, passage)


def read(scale: float, numbers: bytes) -> Floats:
    """A stored vector as numbers."""
    return np.frombuffer(numbers, np.int8).astype(np.float32) * np.float32(scale)
