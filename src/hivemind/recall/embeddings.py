"""Search by meaning: a model that turns text into vectors, and a stored vector for every passage.

Vectors are made after memories are written. Recall works while some are missing, and makes a few of them each time.
"""

from collections.abc import Callable

from hivemind.model.recall import Query
from hivemind.recall import models, similarity
from hivemind.recall.embedder import Embedder
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
        """Embed a question."""
        return QueryVector(self.embedder, query)


class QueryVector:
    """The vector of a question."""

    def __init__(self, embedder: Embedder, query: Query) -> None:
        self._model = embedder.name
        self._query = query
        self._vector = embedder.embed([query.text])[0]

    def compare(self, db: Database, also: set[int]) -> dict[int, float]:
        """Return the cosines of the closest visible passages and of those in ``also``."""
        cosines = similarity.find_near(db, self._query, self._model, self._vector)
        missing = [key for key in also if key not in cosines]
        vectors_of_missing = vectors.find_by_passages(db, self._model, missing)
        return cosines | similarity.cosines_by_passage(vectors_of_missing, self._vector)

    def compare_with_all(self, db: Database) -> similarity.Neighbourhood:
        """Compare the question with all visible passages, the closest of them if there are many."""
        return similarity.describe_neighbourhood(db, self._query, self._model, self._vector)
