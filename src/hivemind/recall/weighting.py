"""Decide how much the words of a question count beside its meaning.

A question in everyday words shares few of them with code, so meaning decides there. A question that is itself code, a
name or a pasted error shares names and messages with what it is about, so words count. docs/explanation/ranking.md has
the figures.
"""

import re
from collections.abc import Sequence

from hivemind.formats.dataclass import dataclass
from hivemind.model.recall import Query
from hivemind.recall.search import Candidate
from hivemind.text.scripts import is_beyond_latin
from hivemind.text.tokenise import extract_terms, measure_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How words and meaning are mixed; ``python -m lab.benchmarks.retrieval DATA --fusion`` compares other values."""

    prose_weight: float = 0.4
    """The weight of words among candidates that are prose; meaning has the rest."""
    code_weight: float = 0.1
    """The weight of words among candidates that are code."""
    passages_penalty: float = 0.15
    """Taken off per logarithm of the passages found: each passage is one more chance to be close by accident."""


FUSION = Fusion()
OTHER_SCRIPT_WEIGHT = 0.5
"""For a question beyond the Latin script, which the model reads less well."""
PROSE_DENSITY, CODE_DENSITY = 0.01, 0.05
"""The share of brackets, semicolons, equals signs and underscores up to which a text is prose, and from which code."""
FEWEST_WORDS_FACTOR = 0.2
"""What is left of the weight if the best candidates share no word; it is whole if one has all words of the question."""
LOOKED_AT, CHARACTERS_LOOKED_AT = 10, 800
"""The best by words and the best by meaning are enough to see what a store is made of."""
SYMBOLS = str.maketrans("", "", "(){}[];=<>_")
IDENTIFIER = re.compile(r"\w_\w|[a-z][A-Z]|\w\(|::|\.\w+\(|\w/\w+\.\w")
"""What only code, paths and messages of programs contain."""


def weigh_words(query: Query, candidates: Sequence[Candidate], fusion: Fusion = FUSION) -> float:
    """Return the weight of words for this question, between 0 and 1."""
    by_words = sorted(candidates, key=lambda candidate: candidate.passage.score, reverse=True)[:LOOKED_AT]
    shared_words_factor = _weigh_shared_words(query, by_words)
    if is_beyond_latin(query.text):
        return OTHER_SCRIPT_WEIGHT * shared_words_factor
    code_share = 0.0 if IDENTIFIER.search(query.text) else _measure_code(candidates, by_words)
    return (fusion.prose_weight - (fusion.prose_weight - fusion.code_weight) * code_share) * shared_words_factor


def _weigh_shared_words(query: Query, by_words: Sequence[Candidate]) -> float:
    """Return 1 if a candidate has all words of the question, less if the best shares only few of them.

    Scores of words are relative to the best, so a candidate with one common word of five would count fully.
    """
    words = extract_terms(query.text)
    texts = (f"{candidate.passage.text} {candidate.passage.context}" for candidate in by_words if candidate.words > 0)
    share = max((measure_share(words, text) for text in texts), default=0.0)
    return FEWEST_WORDS_FACTOR + (1 - FEWEST_WORDS_FACTOR) * share


def _measure_code(candidates: Sequence[Candidate], by_words: Sequence[Candidate]) -> float:
    """Return how far the best candidates are code: 0 for prose, 1 for code."""
    by_meaning = sorted(candidates, key=lambda candidate: candidate.meaning or 0.0, reverse=True)[:LOOKED_AT]
    return measure_code_share(
        "".join({candidate.passage.text[:CHARACTERS_LOOKED_AT] for candidate in (*by_words, *by_meaning)})
    )


def measure_code_share(text: str) -> float:
    """Return how far a text is code: 0 for prose, 1 for code."""
    density = (len(text) - len(text.translate(SYMBOLS))) / len(text) if text else 0.0
    return min(1.0, max(0.0, (density - PROSE_DENSITY) / (CODE_DENSITY - PROSE_DENSITY)))
