"""Search by meaning: a model that turns text into vectors, and a stored vector for every passage.

Vectors are made after memories are written. Recall works while some are missing, and makes a few of them each time.
The index proposes passages that are likely close to a question, then exact cosines decide.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np

from hivemind.embedding import models
from hivemind.embedding.embedder import Embedder
from hivemind.embedding.weights import Floats
from hivemind.errors import InvalidInput, StoreUnwritable
from hivemind.model.dataclass import dataclass
from hivemind.model.recall import SHIPPED_MODEL, Query
from hivemind.store.database import READER_SECONDS, Database, Vector
from hivemind.store.projections import session_passages, vectors
from hivemind.text.thesaurus import name_concepts

BATCH_SIZE = 32
LIKELY_PASSAGES = 200
"""How many of the passages that the index proposes are compared exactly."""
LIKELY_SESSION_PASSAGES = 60
"""The same of sessions, of which only a few are shown."""
MOST_FILTERED_PASSAGES = 2_000
"""How many passages that match a metadata filter are compared exactly; more would take longer than a recall may."""
TASK_MODEL_FILE = Path(__file__).with_name("task_model.npy")
FLOAT32 = np.dtype("<f4")
"""Of the vectors that SQL functions take and return, as blobs."""


def load(model: str, mark: Path | None = None) -> "SemanticIndex":
    """Load the model that the setting ``model`` names; the file ``mark`` says when its checksum was verified."""
    return SemanticIndex(models.load(model, mark))


class SemanticIndex:
    """Embeds passages and questions with one model, and compares them."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._latest: tuple[str, Floats] | None = None
        """The newest question and its vector. Nothing else is kept: who asks may see other memories each time."""

    def catch_up(
        self,
        db: Database,
        limit: int,
        progress: Callable[[int, int], None] | None = None,
        *,
        include_sessions: bool = False,
        threads: int = 1,
    ) -> int:
        """Embed at most ``limit`` passages that have no vector yet, and return how many were embedded.

        Passages of sessions come last, and only with ``include_sessions``: a recall has no time for them.
        """
        if db.HAS_WORKER:
            return 0
        if vectors.read_model(db) not in (None, self.embedder.name):
            # Vectors of two models cannot be compared. Until the new ones are made, recall searches by words.
            vectors.mark_all_missing(db, session_passages.find_meaningful(db))
        # Counting takes longer than a recall may, so it is done only for a caller that shows progress.
        have, want = vectors.count(db, self.embedder.name) if progress else (0, 0)
        count = 0
        while count < limit:
            size = min(BATCH_SIZE * threads, limit - count)
            rows = vectors.find_missing(db, size)
            if not rows and include_sessions:
                rows = session_passages.find_missing_vectors(db, size)
            if not rows:
                break
            self.store_vectors(db, rows, self.embed_passages(rows, threads))
            count += len(rows)
            if progress:
                progress(have + count, have + want)
        return count

    def catch_up_in_passing(self, db: Database, limit: int) -> None:
        """Embed a few passages for a question, unless nothing can be written now."""
        with suppress(StoreUnwritable), db.waiting_at_most(READER_SECONDS):
            self.catch_up(db, limit)

    def embed_passages(self, passages: Sequence[tuple[int, str]], threads: int = 1) -> Floats:
        """Return a vector for the text of each passage; needs no database, so that nothing waits for it."""
        texts = [name_concepts(text) for _, text in passages]
        # Every second text, because neighbours are of similar length.
        shares = [texts[first::threads] for first in range(min(threads, len(texts)))]
        if len(shares) < 2:
            return self.embedder.embed(texts)
        # Every recall loads this module and none needs threads, which would take 3 ms to import.
        from concurrent.futures import ThreadPoolExecutor

        rows = np.empty((len(texts), self.embedder.dimension), np.float32)
        with ThreadPoolExecutor(len(shares)) as pool:
            for first, vectors_of_share in enumerate(pool.map(self.embedder.embed, shares)):
                rows[first::threads] = vectors_of_share
        return rows

    def store_vectors(self, db: Database, passages: Sequence[tuple[int, str]], rows: Floats) -> None:
        """Store the vectors of passages."""
        store_vectors(db, self.embedder.name, [key for key, _ in passages], rows)

    def compare(self, db: Database, query: Query, also: Collection[int]) -> dict[int, float]:
        """Return the cosines of the passages closest to a question, visible or not, and of those in ``also``."""
        return find_near(db, query, self.embedder.name, self._embed_query(query), also)

    def compare_sessions(self, db: Database, query: Query) -> dict[int, float]:
        """Return the cosines of the visible passages of sessions that are closest to a question, by key."""
        query_vector = self._embed_query(query)
        likely = db.index.find_likely_in_sessions(query_vector, query.sight, LIKELY_SESSION_PASSAGES)
        passages = session_passages.read_visible_vectors(db, query, self.embedder.name, likely)
        return {-key: cosine for key, cosine in _compute_cosines(passages, query_vector).items()}

    def compare_talk(self, query: Query, passages: Sequence[session_passages.TalkPassage]) -> list[float]:
        """Return the cosine between a question and each passage of a talk; 0 for those without a vector."""
        vectors = [Vector(passage.key, passage.scale or 0.0, passage.numbers or b"") for passage in passages]
        cosines = _compute_cosines(vectors, self._embed_query(query))
        return [cosines.get(passage.key, 0.0) for passage in passages]

    def compare_task(self, db: Database, query: Query) -> tuple[dict[int, float], float]:
        """Return the cosines of the passages closest to a task, and how far a rule may be from it beside the usual."""
        vector, need = self.embedder.embed([name_concepts(query.text)])[0], 0.0
        # What was learned about tasks holds for the vectors of one model.
        if self.embedder.name == SHIPPED_MODEL:
            model = load_task_model()
            vector, need = model.adjust(vector), model.measure_need(vector)
        return find_near(db, query, self.embedder.name, vector), need

    def _embed_query(self, query: Query) -> Floats:
        """Embed a question; a recall asks twice, for memories and for sessions, and embeds it once."""
        # Read once: on a hub, another thread may ask something else meanwhile.
        latest = self._latest
        if latest is None or latest[0] != query.text:
            latest = self._latest = query.text, self.embedder.embed([name_concepts(query.text)])[0]
        return latest[1]


def find_near(
    db: Database, query: Query, model: str, query_vector: Floats, also: Collection[int] = ()
) -> dict[int, float]:
    """Return the cosines of passages that are likely close to the question, and of those in ``also``.

    The caller must check which of them are visible: it needs only the closest, and checking all takes twice as long.
    """
    # A narrow filter may reject all passages that the index proposes, although others that match it are close enough.
    matches = vectors.find_matching(db, query, model, MOST_FILTERED_PASSAGES) if query.where else []
    likely = [] if matches else db.index.find_likely(model, query_vector, query.sight, LIKELY_PASSAGES)
    others = {*likely, *also}.difference(vector.passage for vector in matches)
    return _compute_cosines([*matches, *vectors.get_all(db, model, others)], query_vector)


def _compute_cosines(passages: Sequence[Vector], query_vector: Floats) -> dict[int, float]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskModel:
    """What was learned about the vectors of tasks; ``python -m lab.evals.recall --fit`` learns it and writes the file.

    Every task is close to notes that sound like tasks, so what all tasks share is removed. Most rules govern changes of
    behaviour, not questions, renamings or documentation, so the kind of a task says whether rules apply.
    """

    common: Floats
    """What is taken off the vector of a task, because all tasks have it."""
    weights: Floats
    """How much each number of a task's vector says that a rule applies."""
    bias: float

    @classmethod
    def from_rows(cls, rows: Floats) -> Self:
        """Make a model of the rows of its file: the common vector, then the weights with the bias last."""
        return cls(common=rows[0, :-1], weights=rows[1, :-1], bias=float(rows[1, -1]))

    def to_rows(self) -> Floats:
        """Return the rows of its file."""
        return np.array([[*self.common, 0.0], [*self.weights, self.bias]], np.float32)

    def adjust(self, vector: Floats) -> Floats:
        """Return the vector to compare with memories instead of the task's own."""
        return vector - self.common

    def measure_need(self, vector: Floats) -> float:
        """Return how much closer or farther than usual a memory may be to be told for this task."""
        return float(vector @ self.weights) + self.bias


@cache
def load_task_model() -> TaskModel:
    """Return the model that was fitted for the shipped embedding model."""
    return TaskModel.from_rows(np.load(TASK_MODEL_FILE, allow_pickle=False))


def unpack_vector(scale: float | None, numbers: bytes | None) -> bytes | None:
    """Convert a stored vector to a blob of floats, for SQL."""
    if scale is None or not numbers:
        return None
    return (np.frombuffer(numbers, np.int8).astype(FLOAT32) * np.float32(scale)).tobytes()


def cosine_similarity(vector: bytes | None, other: bytes | None) -> float | None:
    """Return 1 for the same direction, 0 for unrelated vectors, NULL where one is missing; for SQL."""
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
