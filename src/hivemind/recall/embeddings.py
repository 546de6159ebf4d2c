"""Search by meaning: a model that turns text into vectors, and a stored vector for every passage.

Vectors are made after memories are written. Recall works while some are missing, and makes a few of them each time.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from hivemind.errors import StoreUnwritable
from hivemind.model.recall import SHIPPED_MODEL, Query
from hivemind.recall import models, similarity
from hivemind.recall.embedder import Embedder
from hivemind.recall.task_model import load_task_model
from hivemind.recall.weights import Floats
from hivemind.store.database import READER_SECONDS, Database
from hivemind.store.projections import session_passages, vectors
from hivemind.text.thesaurus import name_concepts

BATCH_SIZE = 32


def load(model: str, mark: Path | None = None) -> "SemanticIndex":
    """Load the model that the setting ``model`` names; the file ``mark`` says when its checksum was verified."""
    return SemanticIndex(models.load(model, mark))


class SemanticIndex:
    """Embeds passages and questions with one model."""

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
        find_missing = partial(_find_missing, db, include_sessions=include_sessions)
        while count < limit and (rows := find_missing(min(BATCH_SIZE, limit - count))):
            self.store_vectors(db, rows, self.embed_passages(rows))
            count += len(rows)
            if progress:
                progress(have + count, have + want)
        return count

    def catch_up_in_passing(self, db: Database, limit: int) -> None:
        """Embed a few passages for a question, unless nothing can be written now."""
        with suppress(StoreUnwritable), db.waiting_at_most(READER_SECONDS):
            self.catch_up(db, limit)

    def embed_passages(self, passages: Sequence[tuple[int, str]]) -> Floats:
        """Return a vector for the text of each passage; needs no database, so that nothing waits for it."""
        return self.embedder.embed([name_concepts(text) for _, text in passages])

    def store_vectors(self, db: Database, passages: Sequence[tuple[int, str]], rows: Floats) -> None:
        """Store the vectors of passages."""
        similarity.store_vectors(db, self.embedder.name, [key for key, _ in passages], rows)

    def embed_query(self, query: Query) -> "QueryVector":
        """Embed a question; a recall asks twice, for memories and for sessions, and embeds it once."""
        # Read once: on a hub, another thread may ask something else meanwhile.
        latest = self._latest
        if latest is None or latest[0] != query.text:
            latest = self._latest = query.text, self.embedder.embed([name_concepts(query.text)])[0]
        return QueryVector(self.embedder.name, query, latest[1])

    def embed_task(self, query: Query) -> tuple["QueryVector", float]:
        """Embed a task for a comparison with rules, and return how far a rule may be from it beside what is usual."""
        vector = self.embedder.embed([name_concepts(query.text)])[0]
        # What was learned about tasks holds for the vectors of one model.
        if self.embedder.name != SHIPPED_MODEL:
            return QueryVector(self.embedder.name, query, vector), 0.0
        model = load_task_model()
        return QueryVector(self.embedder.name, query, model.adjust(vector)), model.measure_need(vector)

    def compare_sessions(self, db: Database, query: Query) -> dict[int, float]:
        """Cosines of the passages of sessions that are closest to a question, by key."""
        return self.embed_query(query).compare_sessions(db, query)


class QueryVector:
    """The vector of a question."""

    def __init__(self, model: str, query: Query, vector: Floats) -> None:
        self._model = model
        self._query = query
        self._vector = vector

    def compare(self, db: Database, also: set[int]) -> dict[int, float]:
        """Return the cosines of the closest passages, visible or not, and of those in ``also``."""
        return similarity.find_near(db, self._query, self._model, self._vector, also)

    def compare_sessions(self, db: Database, query: Query) -> dict[int, float]:
        """Return the cosines of the closest visible passages of sessions, by key."""
        cosines = similarity.find_near_in_sessions(db, query, self._model, self._vector)
        return {-vector_key: cosine for vector_key, cosine in cosines.items()}


def _find_missing(db: Database, limit: int, *, include_sessions: bool) -> list[tuple[int, str]]:
    """Passages of memories without a vector, or, when there are none, passages of sessions."""
    return vectors.find_missing(db, limit) or (
        session_passages.find_missing_vectors(db, limit) if include_sessions else []
    )
