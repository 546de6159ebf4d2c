"""Find candidates: visible passages that match a question by their words or their meaning."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from hivemind.model.recall import Query
from hivemind.store.database import Database, PassageHit
from hivemind.store.projections import words
from hivemind.text.tokenise import extract_phrases

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.recall.embeddings import SemanticIndex

MOST_BY_WORDS, MOST_BY_WORDS_IF_PASTED = 100, 200
"""A pasted text shares words with nearly everything, and a long memory counts by several of its passages."""
MOST_BY_MEANING = 60
SMALLEST_PAGE = 20
"""How many more passages are read at once if some of the closest are not visible."""
PASTED_CHARACTERS = 400
"""A question longer than this is a pasted text."""


# A tuple, because a recall makes hundreds of them.
class Candidate(NamedTuple):
    """A passage that may answer, with the scores of its words and its meaning."""

    passage: PassageHit
    meaning: float | None
    """The cosine to the question; none without a model, or where the passage has no vector yet."""

    @property
    def words(self) -> float:
        """How well its words match, as the search engine scores it."""
        return self.passage.score


def find_candidates(db: Database, query: Query, meaning: "SemanticIndex | None") -> list[Candidate]:
    """Search the visible passages by words and, with a model, by meaning."""
    candidates = _find(db, query, meaning)
    # A phrase in quotes must match word for word. If none does, the question is still answered as well as possible.
    if candidates or not extract_phrases(query.text):
        return candidates
    return _find(db, replace(query, text=query.text.replace('"', " ")), meaning)


def _find(db: Database, query: Query, meaning: "SemanticIndex | None") -> list[Candidate]:
    is_pasted = len(query.text) > PASTED_CHARACTERS
    limit = max(MOST_BY_WORDS_IF_PASTED if is_pasted else MOST_BY_WORDS, query.limit)
    passages = {passage.key: passage for passage in db.index.search(query, limit)}
    cosines = meaning.compare(db, query, also=passages.keys()) if meaning else {}
    # Meaning adds no candidates that lack a phrase in quotes.
    if not extract_phrases(query.text):
        passages |= read_closest(db, query, cosines, max(MOST_BY_MEANING, query.limit), passages)
    return [Candidate(passage, cosines.get(passage.key)) for passage in passages.values()]


def read_closest(
    db: Database, query: Query, cosines: Mapping[int, float], limit: int, visible: Mapping[int, PassageHit]
) -> dict[int, PassageHit]:
    """Read the closest visible passages, in the order of their keys; those in ``visible`` have been read already."""
    keys = sorted(cosines, key=cosines.__getitem__, reverse=True)
    closest: dict[int, PassageHit] = {}
    # Nearly all are visible, so a first page of as many as are wanted is mostly enough.
    while keys and len(closest) < limit:
        count = max(limit - len(closest), SMALLEST_PAGE)
        page, keys = keys[:count], keys[count:]
        unread = words.find_visible(db, query, {key: 0.0 for key in page if key not in visible})
        readable = {**visible, **{passage.key: passage for passage in unread}}
        closest |= {key: readable[key] for key in page if key in readable}
    return {key: closest[key] for key in sorted(islice(closest, limit))}
