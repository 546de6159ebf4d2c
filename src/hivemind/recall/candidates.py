"""Find candidates: visible passages that match a question, its spelling corrected, by their words or their meaning."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

from hivemind.model.recall import Query
from hivemind.store.database import Database, PassageHit
from hivemind.store.projections import words
from hivemind.text.search_terms import extract_phrases, extract_terms, measure_share

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.semantic_index import SemanticIndex

MOST_BY_WORDS, MOST_BY_WORDS_IF_PASTED = 100, 200
"""A pasted text shares words with nearly everything, and a long memory counts by several of its passages."""
MOST_BY_MEANING = 60
SMALLEST_PAGE = 20
"""How many more passages are read at once if some of the closest are not visible."""
PASTED_CHARACTERS = 400
"""A question longer than this is a pasted text."""
SHORTEST_WORD = 4
SHORTEST_COMMON_WORD = 6
"""Letters of a word that is corrected to a common word that no memory has; shorter ones are often names."""
MOST_CORRECTIONS = 3
MOST_WORDS = 5
"""Misspelled words that are corrected: each takes up to 7 ms."""
LONGEST_CORRECTED = 200
"""Characters; in a longer question the other words say enough, and most strange words are rare, not misspelled."""

Rank = Callable[[str], int | None]
"""How common a word is, 0 for the most common; None for what the model's vocabulary does not have."""


# A tuple, because a recall makes hundreds of them.
class Candidate(NamedTuple):
    """A passage that may answer, with the scores of its words and its meaning."""

    passage: PassageHit
    meaning: float | None
    """The cosine to the question; none without a model, or where the passage has no vector yet."""


def measure_word_shares(words: list[str], candidates: Iterable[Candidate]) -> Iterator[float]:
    """Yield for each candidate the share of these words that its passage has, or its context such as its tags."""
    return (measure_share(words, f"{passage.text} {passage.context}") for passage, _ in candidates)


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


def correct_spelling(db: Database, query: Query, meaning: "SemanticIndex | None") -> Query:
    """Return the query with every misspelled word replaced by the words it was probably meant to be.

    Without a model nothing is corrected, because a rare word cannot be told from a misspelled one. Neither is a long
    question.
    """
    if meaning is None or len(query.text) > LONGEST_CORRECTED:
        return query
    rank = meaning.embedder.rank_word
    words = [word for word in extract_terms(query.text) if len(word) >= SHORTEST_WORD and word.isalpha()]
    strange_words = [word for word in words if rank(word) is None]
    text = query.text
    unknown_words = db.index.find_unknown(strange_words) if strange_words else []
    for word in unknown_words[:MOST_WORDS]:
        if corrections := _find_corrections(db, word, rank):
            text = re.sub(rf"\b{word}\b", " ".join(corrections), text, flags=re.IGNORECASE)
    return replace(query, text=text) if text != query.text else query


def _find_corrections(db: Database, word: str, rank: Rank) -> list[str]:
    """Return the words that are one slip away: those in memories, else the most common one."""
    ranks = {similar: rank(similar) for similar in sorted(list_slips(word))}
    common_words = sorted((similar for similar in ranks if ranks[similar] is not None), key=lambda it: ranks[it] or 0)
    # Looking up a few common words takes a tenth of the time that all of them take, and mostly suffices.
    for similar_words in (common_words, list(ranks)):
        unknown_words = set(db.index.find_unknown(similar_words)) if similar_words else set()
        if in_memories := [similar for similar in similar_words if similar not in unknown_words]:
            return in_memories[:MOST_CORRECTIONS]
    return common_words[:1] if len(word) >= SHORTEST_COMMON_WORD else []


def list_slips(word: str) -> set[str]:
    """Return what one slip makes of a word: a letter missing, added, replaced, or swapped with the next.

    The first letter stays, because people seldom get it wrong.
    """
    splits = [(word[:place], word[place:]) for place in range(1, len(word) + 1)]
    slips = {head + tail[1:] for head, tail in splits if tail}
    slips |= {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
    slips |= {head + letter + tail[1:] for head, tail in splits if tail for letter in ascii_lowercase}
    slips |= {head + letter + tail for head, tail in splits for letter in ascii_lowercase}
    return slips - {word}
