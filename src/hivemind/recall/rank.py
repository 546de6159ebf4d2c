"""Rank candidates by words and meaning, and load the memories behind them with the reasons for their rank."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from hivemind.formats.dataclass import dataclass
from hivemind.formats.timestamps import find_time_window
from hivemind.model.memory import Kind, Memory, Status, Trust
from hivemind.model.recall import Detail, Hit, Query, Signal
from hivemind.model.scope import label_other_repository
from hivemind.recall.search import Candidate
from hivemind.recall.weighting import weigh_words
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.text.clean import first_line
from hivemind.text.tokenise import extract_terms, measure_share

UNRELATED_COSINE, SAME_COSINE = 0.15, 0.63
"""The model's cosine of unrelated texts, and of texts that say nearly the same."""
MANY_PASSAGES_PENALTY, MOST_PENALISED = 0.1, 3
"""Times the logarithm of the passages found, up to three: each passage is one more chance to match by accident."""
PASTED_CHARACTERS = 400
"""A question longer than this is a pasted text, which long memories match for good reason: no penalty."""
ANSWER_SHARE = 0.3
"""A hit below this share of the best score is no answer, only among the closest."""
TRUST_FACTORS = {1: 0.85, 2: 0.97, 3: 1.0}
TRUST_REASONS = {int(trust): f"trust {trust}" for trust in Trust}
EPISODIC_KINDS = [kind.value for kind in Kind if kind.bucket == "episodic"]
EPISODIC_FACTOR = 0.85
"""What describes one session ranks below what holds in general."""
TIME_FACTOR = 1.25
"""A question about last week wants what was learned last week."""
ELSEWHERE_FACTOR = 0.8
"""What was learned in another repository counts less."""


Window = tuple[str, str] | None
"""The start and end of the time that a question names, if it names one."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score."""

    candidate: Candidate
    score: float
    words: float
    """The score of its words, as a share of the best."""
    is_sure: bool = False
    """Whether it matches well enough to be an answer."""


def rank(candidates: Sequence[Candidate], query: Query, *, is_answered: bool) -> list[Ranked]:
    """Sort memories by their best passage, best first; mark those that answer if the question has an answer."""
    # BM25 scores have no fixed scale, so they are compared with the best of this query.
    most_words = max((candidate.words for candidate in candidates), default=0.0)
    weight = weigh_words(query, candidates)
    window = find_time_window(query.text, query.now)
    passages: dict[str, list[Ranked]] = {}
    for candidate in candidates:
        place = _score(candidate, most_words, weight, query, window)
        passages.setdefault(candidate.passage.memory_id, []).append(place)
    best = [_pick_best(of_memory, query) for of_memory in passages.values()]
    # Sorting is stable, so the newer of two equal scores stays first.
    newest_first = sorted(best, key=lambda place: place.candidate.passage.revised_at, reverse=True)
    best_first = sorted(newest_first, key=lambda place: -place.score)
    return [
        replace(place, is_sure=is_answered and place.score >= ANSWER_SHARE * best_first[0].score)
        for place in best_first
    ]


def _pick_best(passages: list[Ranked], query: Query) -> Ranked:
    """Return the best passage of one memory, with a penalty if many of its passages were found."""
    best = max(passages, key=lambda place: place.score)
    if len(passages) == 1 or len(query.text) > PASTED_CHARACTERS:
        return best
    penalty = MANY_PASSAGES_PENALTY * math.log(min(len(passages), MOST_PENALISED))
    return replace(best, score=round(best.score - penalty, 4))


def load_hits(db: Database, query: Query, ranking: Sequence[Ranked]) -> Iterator[Hit]:
    """Load the memories of a ranking in order, one page of ``query.limit`` at a time as the caller asks for more."""
    window = find_time_window(query.text, query.now)
    is_answered = any(place.is_sure for place in ranking)
    words = extract_terms(query.text)
    places = iter(ranking)
    while page := list(islice(places, query.limit)):
        loaded_memories = _load_memories(db, query, [place.candidate.passage.memory_id for place in page])
        for place in page:
            memory = loaded_memories.get(place.candidate.passage.memory_id)
            # With as_of, a memory may not have existed yet, or not have been current.
            if memory is None:
                continue
            # Only where the question has an answer at all: a tag alone does not make one.
            is_sure = place.is_sure or (is_answered and _is_named(memory, words))
            detail = query.detail if is_sure else Detail.HEADLINE
            yield Hit(
                memory=memory,
                passage=_select_text(memory, place.candidate.passage.text, detail),
                score=place.score,
                signals=tuple(_explain(place, query, window)),
                labels=build_labels(memory, query),
                is_sure=is_sure,
            )


def _is_named(memory: Memory, words: Sequence[str]) -> bool:
    """Whether the question names one of the memory's tags, its subject, or its kind in the plural.

    A person tags a note "conventions" so that a question about conventions gets it. A kind in the singular does not
    count: "fix the build" does not ask for every fix.
    """
    names = (*memory.tags, memory.subject, memory.kind.plural)
    return any(measure_share([word], name.lower()) for name in names if name for word in words)


def _select_text(memory: Memory, passage: str, detail: Detail) -> str:
    """Return the first line, the matching passage or the whole text."""
    match detail:
        case Detail.HEADLINE:
            return first_line(memory.text)
        case Detail.STANDARD:
            return passage
        case Detail.FULL:
            return memory.text


def _score(candidate: Candidate, most_words: float, weight: float, query: Query, window: Window) -> Ranked:
    words = candidate.words / most_words if most_words > 0 else 0.0
    score = weight * words
    if candidate.meaning is not None:
        score += (1 - weight) * _rescale(candidate.meaning)
    # A factor below one would raise a negative score (a cosine below that of unrelated texts).
    if score > 0:
        for _, factor, _ in _factors(candidate, query, window):
            score *= factor
    return Ranked(candidate, round(score, 4), words)


def _explain(place: Ranked, query: Query, window: Window) -> Iterator[Signal]:
    """List the reasons for a rank; made only for the hits that are shown."""
    candidate = place.candidate
    if place.words:
        yield Signal(name="words", score=place.words, why=_describe_words(place.words))
    if candidate.meaning is not None:
        yield Signal(name="meaning", score=candidate.meaning, why=_describe_meaning(_rescale(candidate.meaning)))
    for name, factor, why in _factors(candidate, query, window):
        yield Signal(name=name, score=factor, why=why)


def _rescale(cosine: float) -> float:
    """Map the model's range of cosines to 0 for unrelated and 1 for the same; below and above are possible."""
    return (cosine - UNRELATED_COSINE) / (SAME_COSINE - UNRELATED_COSINE)


def _factors(candidate: Candidate, query: Query, window: Window) -> list[tuple[str, float, str]]:
    """List what raises or lowers a memory's score besides its text, as name, factor and reason."""
    passage = candidate.passage
    factors = [("trust", TRUST_FACTORS[passage.trust], TRUST_REASONS[passage.trust])]
    if passage.kind in EPISODIC_KINDS and Kind.TRACE not in query.kinds:
        factors.append(("kind", EPISODIC_FACTOR, "is about a single session"))
    if window and window[0] <= passage.revised_at <= window[1]:
        factors.append(("time", TIME_FACTOR, "is from the time the question names"))
    if passage.repo and any(query.sight.repos) and passage.repo not in query.sight.repos:
        factors.append(("place", ELSEWHERE_FACTOR, "was learned in another repository"))
    return factors


def _load_memories(db: Database, query: Query, ids: Sequence[str]) -> dict[str, Memory]:
    """Load memories by id as they are now, or as they were at the query's ``as_of``."""
    if not query.as_of:
        return {memory.id: memory for memory in memories.get_all(db, ids)}
    past = filter(None, (memories.get_as_of(db, memory_id, query.as_of) for memory_id in ids))
    return {memory.id: memory for memory in past if _was_current(memory, query)}


def _was_current(memory: Memory, query: Query) -> bool:
    if memory.is_expired(query.as_of) or memory.status is Status.RETRACTED:
        return False
    return not query.statuses or memory.status in query.statuses


def _describe_words(share: float) -> str:
    return "shares the most significant words of the question" if share > 0.6 else "shares words with the question"


def _describe_meaning(meaning: float) -> str:
    return "is close to the question in meaning" if meaning > 0.6 else "is loosely related to the question"


def build_labels(memory: Memory, query: Query) -> tuple[str, ...]:
    """List the warnings a reader needs: disputed, from another repository, overdue for verification, no longer true."""
    labels = [] if memory.status is Status.ACTIVE else [memory.status.value]
    if memory.repo and memory.repo not in query.sight.repos:
        labels.append(label_other_repository(memory.repo))
    if memory.is_overdue(query.moment):
        labels.append(f"verification was due by {memory.verify_by[:10]}: verify before acting")
    if memory.valid_to and memory.valid_to <= query.moment:
        labels.append(f"was true until {memory.valid_to[:10]}")
    return tuple(labels)
