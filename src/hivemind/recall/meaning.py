"""Search by meaning: a model that turns text into vectors, and the vectors kept for every passage.

Vectors follow the log at their own pace. Recall works while they are behind, and lets them catch up a little.
"""

from collections.abc import Callable
from threading import Thread

from hivemind.model.recall import Query
from hivemind.recall import models, nearness
from hivemind.recall.embedder import Embedder
from hivemind.recall.weights import Floats
from hivemind.store.database import Database
from hivemind.store.projections import vectors

AT_ONCE = 32


def load(named: str) -> "Meaning":
    """The model that a setting names."""
    return Meaning(models.load(named))


class Meaning:
    """A model in use."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def catch_up(self, db: Database, limit: int, progress: Callable[[int, int], None] | None = None) -> int:
        """Embed passages that have no vector yet, at most so many; return how many were done."""
        if vectors.model(db) not in (None, self.embedder.name):
            # Vectors of two models cannot be compared. Words answer while the new ones come.
            vectors.want_all(db)
        # Counting them takes longer than a recall may, so it is done once, and for somebody who watches.
        have, want = vectors.count(db) if progress else (0, 0)
        done = 0
        while done < limit and (rows := vectors.wanted(db, min(AT_ONCE, limit - done))):
            keys, texts = zip(*rows, strict=True)
            nearness.keep(db, self.embedder.name, keys, self.embedder.embed(texts))
            done += len(rows)
            if progress:
                progress(have + done, have + want)
        return done

    def ask(self, query: Query) -> "Asked":
        """Begin to read a question."""
        asked = Asked(self.embedder, query)
        asked.start()
        return asked


class Asked(Thread):
    """A question that is read while its words are searched; on two cores that takes a third off a recall."""

    def __init__(self, embedder: Embedder, query: Query) -> None:
        super().__init__(daemon=True)
        self._embedder = embedder
        self._query = query
        self._vector: Floats | None = None
        self._failure: Exception | None = None

    def run(self) -> None:
        """Make the question's vector."""
        try:
            self._vector = self._embedder.embed([self._query.text])[0]
        except Exception as error:  # noqa: BLE001 - raised again where somebody waits for the vector
            self._failure = error

    def near(self, db: Database, also: set[int]) -> dict[int, float]:
        """How near passages are to the question: the nearest in sight, and certain others."""
        self.join()
        if self._vector is None:
            assert self._failure is not None
            raise self._failure
        model = self._embedder.name
        found = nearness.near(db, self._query, model, self._vector)
        rest = [key for key in also if key not in found]
        return found | nearness.nearness(vectors.of_passages(db, model, rest), self._vector)
