"""Search by meaning: a model that turns text into vectors, and a stored vector for every passage.

Vectors are made after memories are written. Recall works while some are missing, and makes a few of them each time.
"""

from collections.abc import Callable
from threading import Thread

from hivemind.model.recall import Query
from hivemind.recall import models, similarity
from hivemind.recall.embedder import Embedder
from hivemind.recall.weights import Floats
from hivemind.store.database import Database
from hivemind.store.projections import vectors

BATCH_SIZE = 32


def load(model: str) -> "SemanticIndex":
    """Load the model that the setting ``model`` names."""
    return SemanticIndex(models.load(model))


class SemanticIndex:
    """Embeds passages and questions with one model."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def catch_up(self, db: Database, limit: int, progress: Callable[[int, int], None] | None = None) -> int:
        """Embed at most ``limit`` passages that have no vector yet, and return how many were embedded."""
        if vectors.read_model(db) not in (None, self.embedder.name):
            # Vectors of two models cannot be compared. Until the new ones are made, recall searches by words.
            vectors.mark_all_missing(db)
        # Counting takes longer than a recall may, so it is done only for a caller that shows progress.
        have, want = vectors.count(db) if progress else (0, 0)
        count = 0
        while count < limit and (rows := vectors.find_missing(db, min(BATCH_SIZE, limit - count))):
            keys, texts = zip(*rows, strict=True)
            similarity.store_vectors(db, self.embedder.name, keys, self.embedder.embed(texts))
            count += len(rows)
            if progress:
                progress(have + count, have + want)
        return count

    def embed_query(self, query: Query) -> "QueryVector":
        """Start to embed a question in the background."""
        query_vector = QueryVector(self.embedder, query)
        query_vector.start()
        return query_vector


class QueryVector(Thread):
    """Embeds a question while its words are searched; on two cores that makes a recall a third faster."""

    def __init__(self, embedder: Embedder, query: Query) -> None:
        super().__init__(daemon=True)
        self._embedder = embedder
        self._query = query
        self._vector: Floats | None = None
        self._failure: Exception | None = None

    def run(self) -> None:
        """Embed the question."""
        try:
            self._vector = self._embedder.embed([self._query.text])[0]
        except Exception as error:  # noqa: BLE001 - raised again in compare(), by the thread that needs the vector
            self._failure = error

    def compare(self, db: Database, also: set[int]) -> dict[int, float]:
        """Wait for the vector and return the cosines of the closest visible passages and of those in ``also``."""
        # Waits only here, after the caller has searched the words.
        self.join()
        if self._vector is None:
            assert self._failure is not None
            raise self._failure
        model = self._embedder.name
        cosines = similarity.find_near(db, self._query, model, self._vector)
        missing = [key for key in also if key not in cosines]
        return cosines | similarity.cosines_by_passage(vectors.find_by_passages(db, model, missing), self._vector)
