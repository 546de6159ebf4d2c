"""Correct words of a question that are misspelled: neither a memory nor the model's vocabulary has them."""

import re
from collections.abc import Callable
from dataclasses import replace
from string import ascii_lowercase
from typing import TYPE_CHECKING

from hivemind.model.recall import Query
from hivemind.store.database import Database
from hivemind.text.tokenise import extract_terms

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.recall.embeddings import SemanticIndex

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
    for words in (common_words, list(ranks)):
        unknown_words = set(db.index.find_unknown(words)) if words else set()
        if in_memories := [similar for similar in words if similar not in unknown_words]:
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
