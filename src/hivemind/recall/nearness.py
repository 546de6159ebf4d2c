"""Which passages are near a question in meaning: first by the signs of their numbers, then exactly.

Measured at 384 dimensions: counting differing signs and comparing the best few hundred exactly finds 96 to 98 of
the 100 nearest, at a tenth of the cost of comparing all.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hivemind.model.recall import Query
from hivemind.model.scope import Scope, Sight
from hivemind.store.database import Database
from hivemind.store.projections import vectors
from hivemind.store.projections.vectors import Vector

BLOCK = 256
SURVIVORS = 200
"""How many of the likely ones are compared exactly."""
OUT_OF_SIGHT = 60_000
"""More signs than any two vectors differ in."""

Floats = NDArray[np.float32]


class Signs:
    """The blocks in memory, for as long as a process asks questions."""

    def __init__(self) -> None:
        self._generation = -1
        self._forget()

    def _forget(self) -> None:
        self._last_block = 0
        self._passages = np.empty(0, np.int64)
        self._places = np.empty(0, np.int64)
        # A row for each word of signs, so that all first words lie together and are counted in one go.
        self._signs = np.empty((0, 0), np.uint64)

    @property
    def size(self) -> int:
        """How many passages are in blocks, and a little for those that wait for one."""
        return len(self._passages) + BLOCK // 8

    def refresh(self, db: Database) -> None:
        """Read the blocks that are new; all of them, if the tables were derived again."""
        generation = vectors.generation(db)
        if generation != self._generation:
            self._forget()
            self._generation = generation
        rows = vectors.blocks(db, after=self._last_block)
        if not rows:
            return
        passages = np.frombuffer(b"".join(row[1] for row in rows), np.int64)
        places = np.frombuffer(b"".join(row[2] for row in rows), np.int64)
        signs = np.frombuffer(b"".join(row[3] for row in rows), np.uint64).reshape(len(passages), -1).T
        self._passages = np.concatenate([self._passages, passages])
        self._places = np.concatenate([self._places, places])
        self._signs = np.concatenate([self._signs, signs], axis=1) if len(self._signs) else signs.copy()
        self._last_block = rows[-1][0]

    def likely(self, asked: Floats, sight: Sight, limit: int) -> list[int]:
        """The passages in sight whose signs differ least from the question's."""
        if not len(self._passages):
            return []
        differing = np.zeros(len(self._passages), np.uint16)
        for word, of_question in zip(self._signs, _signs(asked[None])[0], strict=True):
            differing += np.bitwise_count(word ^ of_question)
        if not sight.everywhere:
            differing[~self._inside(sight)] = OUT_OF_SIGHT
        nearest = np.argpartition(differing, limit)[:limit] if len(differing) > limit else np.arange(len(differing))
        found: list[int] = self._passages[nearest[differing[nearest] < OUT_OF_SIGHT]].tolist()
        return found

    def _inside(self, sight: Sight) -> NDArray[np.bool_]:
        inside = np.zeros(len(self._places), np.bool_)
        for place in _places(sight):
            inside |= self._places == place
        return inside


def near(db: Database, signs: Signs, query: Query, model: str, asked: Floats) -> dict[int, float]:
    """The passages in sight that are likely near the question, and how near each is."""
    signs.refresh(db)
    likely = signs.likely(asked, query.sight, SURVIVORS)
    return nearness(vectors.seen(db, query, model, likely), asked)


def nearness(found: Sequence[Vector], asked: Floats) -> dict[int, float]:
    """How near each vector is to the question: the cosine of the angle between them."""
    if not found:
        return {}
    numbers = np.frombuffer(b"".join(one.numbers for one in found), np.int8).reshape(len(found), -1)
    cosines = numbers.astype(np.float32) @ asked * np.array([one.scale for one in found], np.float32)
    return dict(zip((one.passage for one in found), cosines.tolist(), strict=True))


def keep(db: Database, model: str, passages: Sequence[int], rows: Floats) -> None:
    """Store vectors of passages, and pack a block whenever enough wait for one."""
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127
    numbers = np.rint(rows / scales[:, None]).astype(np.int8)
    small = [
        Vector(passage, float(scale), row.tobytes())
        for passage, scale, row in zip(passages, scales, numbers, strict=True)
    ]
    with db.transaction():
        vectors.put(db, model, small)
        while len(waiting := vectors.unpacked(db, BLOCK)) == BLOCK:
            members, places, held = zip(*waiting, strict=True)
            numbers = np.frombuffer(b"".join(held), np.int8).reshape(BLOCK, -1)
            vectors.pack(db, members, np.array(places, np.int64).tobytes(), _signs(numbers).tobytes())


def read(scale: float, numbers: bytes) -> Floats:
    """A stored vector as numbers."""
    return np.frombuffer(numbers, np.int8).astype(np.float32) * np.float32(scale)


def _signs(rows: NDArray[np.float32] | NDArray[np.int8]) -> NDArray[np.uint64]:
    return np.packbits(rows > 0, axis=1).view(np.uint64)


def _places(sight: Sight) -> NDArray[np.int64]:
    return np.array([vectors.place(scope, repo) for scope, repo in product(Scope, (*sight.repos, ""))], np.int64)
