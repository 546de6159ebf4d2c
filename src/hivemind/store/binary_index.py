"""Binary index of vectors: the signs of their numbers, for a quick first comparison with all of them.

Measured at 384 dimensions: counting differing signs and comparing the best few hundred exactly finds 96 to 98 of
the 100 nearest, at a tenth of the cost of comparing all.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hivemind.model.scope import Scope, Visibility
from hivemind.store.database import Row
from hivemind.store.projections import vectors

OUT_OF_SIGHT = 60_000
"""Greater than the number of signs in which any two vectors differ; fits in 16 bits."""


class Signs:
    """The blocks in memory, loaded once per process."""

    def __init__(self) -> None:
        self.last_block = 0
        self._passages = np.empty(0, np.int64)
        self._places = np.empty(0, np.int64)
        # One row per 64-bit word of signs: all first words lie together, so that NumPy counts them in one pass.
        self._signs = np.empty((0, 0), np.uint64)

    def __len__(self) -> int:
        return len(self._passages)

    def add(self, blocks: Sequence[Row]) -> None:
        """Add rows of new blocks: key, passages, places, signs."""
        if not blocks:
            return
        passages = np.frombuffer(b"".join(row[1] for row in blocks), np.int64)
        places = np.frombuffer(b"".join(row[2] for row in blocks), np.int64)
        signs = np.frombuffer(b"".join(row[3] for row in blocks), np.uint64).reshape(len(passages), -1).T
        self._passages = np.concatenate([self._passages, passages])
        self._places = np.concatenate([self._places, places])
        self._signs = np.concatenate([self._signs, signs], axis=1) if len(self._signs) else signs.copy()
        self.last_block = blocks[-1][0]

    def find_nearest(self, query_vector: NDArray[np.float32], sight: Visibility, limit: int) -> list[int]:
        """The passages in sight whose signs differ least from the query's."""
        if not len(self._passages):
            return []
        distances = np.zeros(len(self._passages), np.uint16)
        for word, query_word in zip(self._signs, _sign_words(query_vector[None])[0], strict=True):
            distances += np.bitwise_count(word ^ query_word)
        if not sight.everywhere:
            distances[~self._is_in_sight(sight)] = OUT_OF_SIGHT
        # Not sorted: the caller compares the nearest exactly. An erased slot has key 0, which no passage has.
        nearest = np.argpartition(distances, limit)[:limit] if len(distances) > limit else np.arange(len(distances))
        passages: list[int] = self._passages[nearest[distances[nearest] < OUT_OF_SIGHT]].tolist()
        return passages

    def _is_in_sight(self, sight: Visibility) -> NDArray[np.bool_]:
        is_in_sight = np.zeros(len(self._places), np.bool_)
        for place in places(sight):
            is_in_sight |= self._places == place
        return is_in_sight


def places(sight: Visibility) -> list[int]:
    """The numbers of every scope and repository in sight."""
    return [vectors.hash_place(scope, repo) for scope, repo in product(Scope, (*sight.repos, ""))]


def pack_signs(numbers: Sequence[bytes]) -> bytes:
    """The packed signs of several vectors, one after the other."""
    return _sign_words(np.frombuffer(b"".join(numbers), np.int8).reshape(len(numbers), -1)).tobytes()


def _sign_words(rows: NDArray[np.float32] | NDArray[np.int8]) -> NDArray[np.uint64]:
    return np.packbits(rows > 0, axis=1).view(np.uint64)
