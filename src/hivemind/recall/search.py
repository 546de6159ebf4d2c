"""Candidates: passages in sight that may bear on the question, by their words and by their meaning."""

from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING

from hivemind.model.recall import Query
from hivemind.model.words import phrases
from hivemind.store.database import Database, Found
from hivemind.store.projections import words

if TYPE_CHECKING:
    # A numerical library, which recalling by words alone does not load.
    from hivemind.recall.meaning import Meaning

BY_WORDS = 100
BY_MEANING = 60


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage, how well its words fit, and how near it is in meaning."""

    found: Found
    meaning: float | None

    @property
    def words(self) -> float:
        """How well its words fit."""
        return self.found.score


def candidates(db: Database, query: Query, meaning: "Meaning | None") -> list[Candidate]:
    """What the words and the meaning of the question find within sight."""
    asked = meaning.ask(query) if meaning else None
    by_words = max(BY_WORDS, query.limit)
    found = {one.key: one for one in db.index.search(query, by_words)}
    near = asked.near(db, also=set(found)) if asked else {}
    # What must stand together is a matter of words alone.
    nearest = [] if phrases(query.text) else nlargest(max(BY_MEANING, query.limit), near, key=lambda key: near[key])
    found |= {one.key: one for one in words.read(db, set(nearest) - set(found))}
    return [Candidate(one, near.get(one.key)) for one in found.values()]
