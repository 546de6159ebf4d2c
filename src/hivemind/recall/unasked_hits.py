"""Find memories that nobody asked for: what holds in this repository, and what a prompt calls for.

A short prompt must share words with a memory and be close to it. A task is long and seldom quotes the rule that governs
it, so there meaning alone decides. lab/notes/ranking.md has the measurements.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING

from hivemind.model.commands import find_command_purposes, find_purposes
from hivemind.model.ids import Timestamp
from hivemind.model.memory import Kind, Memory, Status, Trust
from hivemind.model.recall import Hit, Query, Signal
from hivemind.model.timestamps import format_timestamp, parse_timestamp
from hivemind.recall.candidates import Candidate, find_candidates, measure_word_shares, read_closest
from hivemind.recall.confidence import compute_needed_cosine
from hivemind.recall.conflicting_hits import join_sides
from hivemind.recall.ranking import build_labels, load_hits, rank
from hivemind.recall.rendering import fit
from hivemind.store.database import Database
from hivemind.store.projections import memories, outcomes, receipts, session_passages, sessions
from hivemind.text.clean import first_line
from hivemind.text.search_terms import extract_terms, find_shared, measure_coverage

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.semantic_index import SemanticIndex

KINDS = (
    Kind.FACT, Kind.CONVENTION, Kind.REQUIREMENT, Kind.DECISION, Kind.PROCEDURE, Kind.PREFERENCE, Kind.FIX,
)  # fmt: skip
"""What the brief contains, in this order."""
ONLY_IF_TRUSTED = (Kind.FACT, Kind.FIX)
"""Kinds that the brief includes only if a person said or approved them: agents note too many of these."""

SHARES: dict[Kind, float] = {
    Kind.PROCEDURE: 0.25,
    Kind.CONVENTION: 0.25,
    Kind.PREFERENCE: 0.15,
    Kind.DECISION: 0.15,
    Kind.REQUIREMENT: 0.1,
    Kind.FACT: 0.05,
    Kind.FIX: 0.05,
}
"""The part of the budget that each kind is sure of, the most useful first; what a kind leaves is free for the rest."""
STANDING_RULES = (Kind.CONVENTION, Kind.PREFERENCE, Kind.REQUIREMENT)
"""Kinds that never become quiet if a person stated or approved them."""
RECENT_SESSIONS, RECENT_USE = 5, timedelta(days=60)
"""What counts as recent work, and for how long a use of a memory counts."""

MOST_MEMORIES = 500
MOST_SIDES = 8
"""A dispute with more sides is left out of the brief, which it would fill."""
LONGEST_ENTRY = 400
"""Characters; an agent can recall the rest of a longer memory."""
FRAME_TOKENS = 90
"""Tokens of the fence, the note and the last line."""

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
FEWEST_SESSION_TERMS, FEWEST_SESSION_WORDS = 5, 3
"""Words of a prompt, and words that a passage of a session must share with it, before the model is loaded."""
COMPARED_PASSAGES = 20
"""How many of the closest are loaded; several may belong to one memory or have been shown already."""


def find_standing(db: Database, query: Query) -> tuple[Hit, ...]:
    """Return the memories that hold in this repository, the most trusted first, one kind after the other in turn."""
    kinds_query = replace(query, kinds=KINDS, limit=MOST_MEMORIES)
    current = [
        memory
        for memory in memories.find_most_trusted(db, kinds_query)
        # What is not true now is left to recall.
        if memory.is_valid(query.now) and (memory.trust is Trust.HIGH or memory.kind not in ONLY_IF_TRUSTED)
    ]
    by_use = sorted(current, key=_make_use_key(db, query, current), reverse=True)
    hits = (make_hit(memory, query, "holds here") for memory in _take_turns(_put_commands_first(by_use)))
    # One more than may be, to see which disputes have too many.
    sides_query = replace(query, limit=MOST_SIDES + 1)
    return tuple(hit for hit in join_sides(db, hits, sides_query) if len(hit.sides) < MOST_SIDES)


def leave_out_quiet(db: Database, hits: Iterable[Hit]) -> list[Hit]:
    """Leave out what was told again and again without a sign of use."""
    hits = list(hits)
    quiet_ids = find_quiet(db, [hit.memory for hit in hits])
    return [hit for hit in hits if hit.memory.id not in quiet_ids]


def find_quiet(db: Database, candidates: Iterable[Memory]) -> dict[str, Timestamp]:
    """Those of these memories that were told without a sign of use in several sessions, and since when."""
    ids = [
        memory.id
        for memory in candidates
        # Obeying a standing rule leaves no trace; and of a dispute all sides are told, or none.
        if memory.status is Status.ACTIVE and not (memory.kind in STANDING_RULES and memory.trust is Trust.HIGH)
    ]
    return outcomes.find_quiet(db, ids)


def fit_shares(hits: Sequence[Hit], max_tokens: int) -> tuple[Hit, ...]:
    """Return the hits that fit: first what each kind is sure of, then as many others as the rest of the budget takes.

    Commands to test, lint and build come before everything else, whatever their kind.
    """
    in_order = {hit.memory.id: hit for hit in _list_first_commands(hits)}
    for kind, share in SHARES.items():
        of_kind = [hit for hit in hits if hit.memory.kind is kind]
        in_order |= {hit.memory.id: hit for hit in fit(of_kind, len(of_kind) + 1, int(share * max_tokens))}
    # A key that is set again keeps its place, so what was put first stays first.
    in_order |= {hit.memory.id: hit for hit in hits}
    return fit(in_order.values(), len(hits) + 1, max_tokens)


def _list_first_commands(hits: Iterable[Hit]) -> list[Hit]:
    """List the first hit for each purpose that nearly every task needs a command for."""
    by_purpose: dict[str, Hit] = {}
    for hit in hits:
        for purpose in find_command_purposes(hit.passage):
            by_purpose.setdefault(purpose, hit)
    return list({hit.memory.id: hit for hit in by_purpose.values()}.values())


def _make_use_key(
    db: Database, query: Query, candidates: Sequence[Memory]
) -> Callable[[Memory], tuple[Trust, int, bool, int, str]]:
    """Make a sort key: trust, then what became of it, then fit to the repository's recent work, then use, then age."""
    reputations = outcomes.rate(db, [memory.id for memory in candidates])
    since = format_timestamp(parse_timestamp(query.now) - RECENT_USE)
    uses = receipts.count_uses(db, [memory.id for memory in candidates], since)
    recent_sessions = sessions.list_sessions(db, query.sight, limit=RECENT_SESSIONS)
    recent_files = {file for _, file, _ in sessions.find_touched_files(db, [session.id for session in recent_sessions])}

    def rate(memory: Memory) -> tuple[Trust, int, bool, int, str]:
        level = reputations[memory.id].level if memory.id in reputations else 0
        paths = {anchor.path for anchor in memory.anchors}
        is_recent = any(file == path or file.endswith(f"/{path}") for path in paths for file in recent_files)
        # Doublings and not counts: the order must not change with every single recall.
        return memory.trust, level, is_recent, uses.get(memory.id, 0).bit_length(), memory.recorded_at

    return rate


def _put_commands_first(candidates: Sequence[Memory]) -> list[Memory]:
    """Put the memories that quote a command to test, lint or build before others of the same trust."""
    # Sorting is stable: the order within both parts stays.
    return sorted(candidates, key=lambda memory: (-memory.trust, not find_command_purposes(memory.text)))


def _take_turns(memories: Sequence[Memory]) -> Iterator[Memory]:
    """Yield memories by trust, then one of each kind in turn."""
    for trust in sorted(Trust, reverse=True):
        kinds = [[memory for memory in memories if (memory.trust, memory.kind) == (trust, kind)] for kind in SHARES]
        yield from (memory for turn in zip_longest(*kinds) for memory in turn if memory)


def find_linked(db: Database, query: Query, files: Sequence[str]) -> tuple[Hit, ...]:
    """Return the memories linked to these files or symbols."""
    linked_memories = memories.find_linked(db, query, files)
    return tuple(make_hit(memory, query, "is linked to the code in question") for memory in linked_memories)


def find_commands(db: Database, query: Query) -> list[Hit]:
    """Find the most trusted command for each purpose that a prompt names, such as to run the tests."""
    purposes = find_purposes(query.text)
    if not purposes:
        return []
    kinds_query = replace(query, text="", kinds=(Kind.PROCEDURE, Kind.CONVENTION), limit=MOST_MEMORIES)
    standing = memories.find_most_trusted(db, kinds_query)
    candidates = _take_turns([memory for memory in standing if memory.is_valid(query.now)])
    hits = [make_hit(memory, query, "is a command that the prompt needs") for memory in candidates]
    return [
        hit for hit in _list_first_commands(hits) if not set(purposes).isdisjoint(find_command_purposes(hit.passage))
    ]


def make_hit(memory: Memory, query: Query, why: str) -> Hit:
    """Make a hit of a memory for the brief, shortened and with its warnings."""
    passage = memory.text if len(memory.text) <= LONGEST_ENTRY else first_line(memory.text, LONGEST_ENTRY)
    signal = Signal(name="standing", score=1.0, why=why)
    labels = build_labels(memory, query)
    return Hit(memory=memory, passage=passage, score=float(memory.trust), signals=(signal,), labels=labels)


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
    reputations = outcomes.rate(db, {candidate.passage.memory_id for candidate in candidates})
    ranking = rank(candidates, query, reputations=reputations)
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
    candidates = [candidate for candidate in find_candidates(db, query, meaning) if candidate.meaning is not None]
    return [
        candidate
        for candidate, count in zip(candidates, _count_shared_words(terms, candidates), strict=True)
        if count >= FEWEST_SHARED_WORDS and _is_near(candidate.meaning or 0.0, count / len(terms), db.index.size)
    ]


def _is_near(cosine: float, word_share: float, size: int) -> bool:
    """Whether a passage is closer than the best of ``size`` unrelated ones would be by chance; shared words help."""
    threshold = min(HIGHEST_COSINE, LOWEST_COSINE + COSINE_PER_DOUBLING * math.log2(size))
    return cosine + SHARED_WORDS_BONUS * word_share >= threshold


def _share_words(query: Query, candidates: Sequence[Candidate]) -> bool:
    terms = extract_terms(query.text)
    return any(count >= FEWEST_SHARED_WORDS for count in _count_shared_words(terms, candidates))


def may_concern(db: Database, query: Query) -> bool:
    """Whether a passage of a session shares enough words with a prompt for its meaning to be worth comparing."""
    terms = extract_terms(query.text)
    if len(terms) < FEWEST_SESSION_TERMS:
        return False
    keys = db.index.search_sessions(query, COMPARED_PASSAGES)
    passages = session_passages.read_visible(db, query, keys).values()
    return any(len(find_shared(terms, passage.text)) >= FEWEST_SESSION_WORDS for passage in passages)


def _count_shared_words(terms: list[str], candidates: Iterable[Candidate]) -> Iterator[int]:
    """Count for each candidate the words of the prompt that its passage has, or its context such as its tags."""
    return (round(share * len(terms)) for share in measure_word_shares(terms, candidates))


def _is_about(prompt: str, passage: str) -> bool:
    """Whether half of the prompt's significant words occur in the memory, or most of the memory's in the prompt."""
    return _occurs_in(prompt, passage, *PROMPT_IN_MEMORY) or _occurs_in(passage, prompt, *MEMORY_IN_PROMPT)


def _occurs_in(text: str, other: str, lowest_share: float, fewest_words: int) -> bool:
    share = measure_coverage(text, other)
    return share >= lowest_share and round(share * len(extract_terms(text))) >= fewest_words
