"""Find memories that a prompt calls for, although nobody asked: by its words, else by its meaning.

A short prompt must share words with a memory and be close to it. A task is long and seldom quotes the rule that governs
it, so there meaning alone decides. docs/explanation/ranking.md has the measurements.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hivemind.model.recall import Hit, Query
from hivemind.recall.brief import FRAME_TOKENS, find_commands
from hivemind.recall.candidates import Candidate, find_candidates, read_closest
from hivemind.recall.confidence import compute_needed_cosine
from hivemind.recall.conflicting_hits import join_sides
from hivemind.recall.ranking import load_hits, rank
from hivemind.recall.rendering import fit
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.text.tokenise import extract_terms, measure_coverage

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.embeddings import SemanticIndex

FEWEST_SHARED_WORDS = 2
"""Words that a short prompt and a memory must share, besides being close in meaning."""
NEW_PASSAGES = 8
"""How many passages without a vector are embedded before a prompt is answered, so that new memories are found."""
PROMPT_IN_MEMORY, MEMORY_IN_PROMPT = (0.5, 2), (0.6, 3)
"""The share of significant words that must occur in the other text, and how many of them: a few words in common are
chance, and a long prompt has many."""

SHARE_OF_BEST = 0.3
"""A memory below this share of the best score says something else."""

LOWEST_COSINE, HIGHEST_COSINE, COSINE_PER_DOUBLING = 0.265, 0.51, 0.034
"""How close a short prompt must be; it grows with the logarithm of the store's size, because the best of many unrelated
passages is closer."""
SHARED_WORDS_BONUS = 0.29
"""Added to the cosine for a full match of words, in proportion to the share of words that match."""

TASK_WORDS = 20
"""A prompt with fewer words is a question or a remark. With few words, an unrelated memory is close by chance."""
TASK_CHARACTERS = 600
"""Of a task, from its beginning. More changes little, and embedding takes time in proportion to the length."""
UNASKED_MARGIN = 0.04
"""How much closer than an answer a memory must be, because nobody asked."""
CLOSE_TO_BEST, MOST_RULES = 0.13, 3
"""Others are shown too if their cosine is nearly that of the best: the right one is first for 54 % of the tasks of
part A, among the first three for 86 %."""
COMPARED_PASSAGES = 20
"""How many of the closest are loaded; several may belong to one memory or have been shown already."""


def find_for_prompt(
    db: Database, query: Query, given_ids: Iterable[str], load_model: Callable[[], "SemanticIndex | None"]
) -> tuple[Hit, ...]:
    """Return memories that match a prompt, without those the session was given."""
    excluded_ids = set(given_ids)
    word_matches = find_candidates(db, query, None)
    hits = [hit for hit in _load_best_hits(db, query, word_matches, excluded_ids) if _is_about(query.text, hit.passage)]
    if not hits:
        is_task = len(query.text.split()) >= TASK_WORDS
        # Loading the model takes as long as everything else, so it is loaded only if it can make a difference.
        is_worthwhile = memories.has_others(db, query, excluded_ids) if is_task else _share_words(query, word_matches)
        meaning = load_model() if is_worthwhile else None
        if meaning:
            meaning.catch_up_in_passing(db, NEW_PASSAGES)
            find = _find_for_task if is_task else _find_by_meaning
            hits = list(_load_best_hits(db, query, find(db, query, excluded_ids, meaning), excluded_ids))
    found_ids = {hit.memory.id for hit in hits} | excluded_ids
    hits += [hit for hit in find_commands(db, query) if hit.memory.id not in found_ids]
    return fit(join_sides(db, hits, query), query.limit, query.max_tokens - FRAME_TOKENS)


def _load_best_hits(
    db: Database, query: Query, candidates: Sequence[Candidate], excluded_ids: Container[str]
) -> Iterator[Hit]:
    """Load the memories that score not much worse than the best; callers decide whether that calls for them."""
    ranking = rank(candidates, query)
    lowest_score = SHARE_OF_BEST * ranking[0].score if ranking else 0.0
    close = [place for place in ranking if place.score >= lowest_score]
    hits = load_hits(db, query, close)
    # Unasked, only what is true now is told.
    return (hit for hit in hits if hit.is_valid and hit.memory.id not in excluded_ids)


def _find_for_task(
    db: Database, query: Query, excluded_ids: Container[str], meaning: "SemanticIndex"
) -> list[Candidate]:
    """Find the memories that are closer to a task than unrelated ones are by chance."""
    cosines, need = meaning.compare_task(db, replace(query, text=query.text[:TASK_CHARACTERS]))
    closest = read_closest(db, query, cosines, COMPARED_PASSAGES, visible={})
    candidates = [
        Candidate(passage, cosines[key]) for key, passage in closest.items() if passage.memory_id not in excluded_ids
    ]
    best = max((candidate.meaning or 0.0 for candidate in candidates), default=0.0)
    if best + need < compute_needed_cosine(db.index.size) + UNASKED_MARGIN:
        return []
    close = [candidate for candidate in candidates if (candidate.meaning or 0.0) >= best - CLOSE_TO_BEST]
    return sorted(close, key=lambda candidate: -(candidate.meaning or 0.0))[:MOST_RULES]


def _find_by_meaning(
    db: Database, query: Query, excluded_ids: Container[str], meaning: "SemanticIndex"
) -> list[Candidate]:
    """Find passages that share words with the prompt and are closer in meaning than chance would have it."""
    terms = extract_terms(query.text)
    return [
        candidate
        for candidate in find_candidates(db, query, meaning)
        if candidate.meaning is not None
        and (count := _count_shared_words(terms, candidate)) >= FEWEST_SHARED_WORDS
        and _is_near(candidate.meaning, count / len(terms), db.index.size)
    ]


def _is_near(cosine: float, word_share: float, size: int) -> bool:
    """Whether a passage is closer than the best of ``size`` unrelated ones would be by chance; shared words help."""
    threshold = min(HIGHEST_COSINE, LOWEST_COSINE + COSINE_PER_DOUBLING * math.log2(size))
    return cosine + SHARED_WORDS_BONUS * word_share >= threshold


def _share_words(query: Query, candidates: Sequence[Candidate]) -> bool:
    terms = extract_terms(query.text)
    return any(_count_shared_words(terms, candidate) >= FEWEST_SHARED_WORDS for candidate in candidates)


def _count_shared_words(terms: list[str], candidate: Candidate) -> int:
    """Count the words of the prompt that occur in a passage or in its context, such as its tags."""
    return round(candidate.share_words(terms) * len(terms))


def _is_about(prompt: str, passage: str) -> bool:
    """Whether half of the prompt's significant words occur in the memory, or most of the memory's in the prompt."""
    return _occurs_in(prompt, passage, *PROMPT_IN_MEMORY) or _occurs_in(passage, prompt, *MEMORY_IN_PROMPT)


def _occurs_in(text: str, other: str, lowest_share: float, fewest_words: int) -> bool:
    share = measure_coverage(text, other)
    return share >= lowest_share and round(share * len(extract_terms(text))) >= fewest_words
