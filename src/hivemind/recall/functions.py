"""SQL functions for vectors: blobs of 32-bit floats, compared by cosine."""

import numpy as np

from hivemind.errors import InvalidInput
from hivemind.recall import similarity
from hivemind.recall.weights import Floats

FLOAT32 = np.dtype("<f4")


def unpack_vector(scale: float | None, numbers: bytes | None) -> bytes | None:
    """Convert a stored vector to a blob of floats."""
    return similarity.unpack(scale, numbers).astype(FLOAT32).tobytes() if scale is not None and numbers else None


def cosine_similarity(vector: bytes | None, other: bytes | None) -> float | None:
    """Return 1 for the same direction, 0 for unrelated vectors, NULL where one is missing."""
    if vector is None or other is None:
        return None
    a, b = _parse_vector(vector), _parse_vector(other)
    if len(a) != len(b):
        raise InvalidInput(
            f"cosine_similarity needs vectors of the same length, but these have {len(a)} and {len(b)} numbers;"
            " use hivemind.embed(text) for one that fits the column embedding"
        )
    # The lower bound avoids a division by zero, since a caller may pass a vector of zeros.
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-9))


def _parse_vector(blob: object) -> Floats:
    if not isinstance(blob, bytes) or len(blob) % FLOAT32.itemsize:
        raise InvalidInput("cosine_similarity needs two vectors; pass embedding, embed('…') or a list of numbers")
    return np.frombuffer(blob, FLOAT32)
