"""Functions for SQL: vectors as blobs of 32-bit floats, compared by the angle between them."""

import numpy as np

from hivemind.errors import InvalidInput
from hivemind.recall import nearness
from hivemind.recall.weights import Floats

NUMBER = np.dtype("<f4")


def unpack_vector(scale: float | None, numbers: bytes | None) -> bytes | None:
    """A stored vector as a blob."""
    return nearness.read(scale, numbers).astype(NUMBER).tobytes() if scale is not None and numbers else None


def cosine_similarity(one: bytes | None, other: bytes | None) -> float | None:
    """1 for the same direction, 0 for unrelated, nothing where a vector is missing."""
    if one is None or other is None:
        return None
    a, b = _vector(one), _vector(other)
    if len(a) != len(b):
        raise InvalidInput(
            f"cosine_similarity compares vectors of one length, and these have {len(a)} and {len(b)} numbers;"
            " hivemind.embed(text) makes one that fits the column embedding"
        )
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-9))


def _vector(blob: object) -> Floats:
    if not isinstance(blob, bytes) or len(blob) % NUMBER.itemsize:
        raise InvalidInput("cosine_similarity compares two vectors; give it embedding and embed('…') or a list")
    return np.frombuffer(blob, NUMBER)
