"""Functions for SQL: vectors as blobs of 32-bit floats, compared by the angle between them."""

import numpy as np

from hivemind.errors import InvalidInput
from hivemind.recall import embedder, nearness


def embed(text: str | None) -> bytes | None:
    """The vector of a text."""
    return embedder.default().embed([text])[0].tobytes() if text else None


def unpack_vector(scale: float | None, numbers: bytes | None) -> bytes | None:
    """A stored vector, as ``embed`` gives it."""
    return nearness.read(scale, numbers).tobytes() if scale is not None and numbers else None


def cosine_similarity(one: bytes | None, other: bytes | None) -> float | None:
    """1 for the same direction, 0 for unrelated, nothing where a vector is missing."""
    if one is None or other is None:
        return None
    if not isinstance(one, bytes) or not isinstance(other, bytes) or len(one) != len(other):
        raise InvalidInput("cosine_similarity compares two vectors; give it embedding and embed('…')")
    a, b = np.frombuffer(one, np.float32), np.frombuffer(other, np.float32)
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-9))
