"""Compare passages with a question by their vectors: the index proposes likely ones, then exact cosines decide."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hivemind.model.recall import Query
from hivemind.store.database import Database, Vector
from hivemind.store.projections import session_passages, vectors

LIKELY_PASSAGES = 200
"""How many of the passages that the index proposes are compared exactly."""
LIKELY_SESSION_PASSAGES = 60
"""The same of sessions, of which only a few are shown."""
MOST_FILTERED_PASSAGES = 2_000
"""How many passages that match a metadata filter are compared exactly; more would take longer than a recall may."""

Floats = NDArray[np.float32]


def find_near(
    db: Database, query: Query, model: str, query_vector: Floats, also: Iterable[int] = ()
) -> dict[int, float]:
    """Return the cosines of passages that are likely close to the question, and of those in ``also``.

    The caller must check which of them are visible: it needs only the closest, and checking all takes twice as long.
    """
    # A narrow filter may reject all passages that the index proposes, although others that match it are close enough.
    matches = vectors.find_matching(db, query, model, MOST_FILTERED_PASSAGES) if query.where else []
    likely = [] if matches else db.index.find_likely(model, query_vector, query.sight, LIKELY_PASSAGES)
    others = {*likely, *also}.difference(vector.passage for vector in matches)
    return cosines_by_passage([*matches, *vectors.get_all(db, model, others)], query_vector)


def find_near_in_sessions(db: Database, query: Query, model: str, query_vector: Floats) -> dict[int, float]:
    """Return the visible passages of sessions that are likely close to the question, with their cosines."""
    likely = db.index.find_likely_in_sessions(query_vector, query.sight, LIKELY_SESSION_PASSAGES)
    return cosines_by_passage(session_passages.read_visible_vectors(db, query, model, likely), query_vector)


def cosines_by_passage(passages: Sequence[Vector], query_vector: Floats) -> dict[int, float]:
    """Return the cosine between the question and each passage."""
    # A damaged vector is left out; the doctor reports it.
    passages = [passage for passage in passages if len(passage.numbers) == len(query_vector)]
    if not passages:
        return {}
    keys, scales, numbers = zip(*passages, strict=True)
    rows = np.frombuffer(b"".join(numbers), np.int8).reshape(len(keys), -1).astype(np.float32)
    cosines = rows @ query_vector * np.array(scales, np.float32)
    return dict(zip(keys, cosines.tolist(), strict=True))


def store_vectors(db: Database, model: str, passages: Sequence[int], rows: Floats) -> None:
    """Store the vectors of passages, rounded to signed bytes with one scale each."""
    # Bytes take a quarter of the room of floats.
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127
    numbers = np.rint(rows / scales[:, None]).astype(np.int8)
    byte_vectors = [
        Vector(passage, float(scale), row.tobytes())
        for passage, scale, row in zip(passages, scales, numbers, strict=True)
    ]
    # One transaction, so that a passage is never without both its vector and its mark as waiting for one.
    with db.transaction():
        db.index.store_vectors(model, byte_vectors)
        for passage in passages:
            vectors.unmark_missing(db, passage)


def unpack(scale: float, numbers: bytes) -> Floats:
    """Return a stored vector as floats."""
    return np.frombuffer(numbers, np.int8).astype(np.float32) * np.float32(scale)
