"""Rank candidates by words and meaning, and load the memories behind them with the reasons for their rank."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from heapq import nlargest
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Memory, Status, Trust
from hivemind.model.outcomes import NO_REPUTATIONS, Reputation
from hivemind.model.recall import Detail, Hit, Query, Signal
from hivemind.model.scope import label_other_repository
from hivemind.model.timestamps import find_time_window, format_date
from hivemind.recall.candidates import PASTED_CHARACTERS, Candidate, measure_word_shares
from hivemind.recall.confidence import SURE, measure_confidence, repeat_rare_words
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.text.clean import first_line
from hivemind.text.search_terms import SHORTEST_STEM, extract_phrases, extract_terms, is_beyond_latin

UNRELATED_COSINE, SAME_COSINE = -0.01, 0.59
"""The model's cosine of unrelated texts, and of texts that say nearly the same."""
WORD_PASSAGES = 3
"""A long memory's words count by the average of its three best passages: one passage of many has some of the words of a
long question by accident. Its meaning counts by the closest passage."""
MOST_PENALISED = 3
"""How many passages of a memory count as chances to be close by accident."""
NEIGHBOUR_DISTANCE, NEIGHBOUR_WEIGHT = 2, 0.5
"""How far apart two memories of a session may have been stored to be neighbours, and how much of the distance to a
closer neighbour is added to a memory's cosine: a short remark is often understood only from what was said around it.
What matches best by itself stays first."""
TRUST_FACTORS = {1: 0.85, 2: 0.97, 3: 1.0}
TRUST_REASONS = {int(trust): f"trust {trust}" for trust in Trust}
EPISODIC_KINDS = [kind.value for kind in Kind if kind.bucket == "episodic"]
EPISODIC_FACTOR = 0.85
"""What describes one session ranks below what holds in general."""
TIME_FACTOR = 1.25
"""A question about last week wants what was learned last week."""
ELSEWHERE_FACTOR = 0.8
"""What was learned in another repository counts less."""
REPUTATION_FACTORS = {-1: 0.95, 1: 1.02}
"""Small, so that what became of a memory decides only between equal matches: agents ignore a rule for many reasons."""
REPUTATION_REASONS = {-1: "was unheeded in several sessions", 1: "helped in several sessions"}
HIGHEST_UNSURE = SURE - 0.01
"""The confidence of what matches well and does not answer: it is about another number, or not true at that time."""
SMALLEST_PAGE = 5
"""Memories that are loaded at once, so that with a limit of one, too, what is valid comes before what no longer is."""

MOST_NAMED = 5
"""Of the memories that contradict one; each costs ten characters in every answer."""

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

Factor = tuple[str, float, str]
"""The name of a factor, the factor and its reason."""


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


# A tuple, for the same reason as a candidate.
class Ranked(NamedTuple):
    """A memory with its score and its best passage."""

    candidate: Candidate
    """The passage that matches best."""
    score: float
    words: float
    """The score of its words, as a share of the best passage's."""
    meaning: float | None
    """The cosine of its closest passage."""
    lift: float
    """How much of the score is due to a closer neighbour in its session."""
    factors: list[Factor]
    """What raises or lowers the score besides its text."""


class _LoadedPlace(NamedTuple):
    """A place of the ranking with its memory."""

    place: Ranked
    memory: Memory
    is_valid: bool
    """At the time that the answer is about."""


def rank(
    candidates: Sequence[Candidate],
    query: Query,
    fusion: Fusion = FUSION,
    reputations: Mapping[str, Reputation] = NO_REPUTATIONS,
) -> list[Ranked]:
    """Sort the memories of the candidates by how well they match, best first.

    ``reputations`` say of some memories what became of them when they were told.
    """
    # BM25 scores have no fixed scale, so they are compared with the best of this query.
    most_words = max((candidate.passage.score for candidate in candidates), default=0.0) or 1.0
    terms = extract_terms(query.text)
    weight = _weigh_words(query.text, terms, candidates, fusion)
    # A pasted text matches long memories for good reason.
    penalty = fusion.passages_penalty if len(query.text) <= PASTED_CHARACTERS else 0.0
    window = find_time_window(query.text, query.now)
    passages: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        passages.setdefault(candidate.passage.memory_id, []).append(candidate)
    lifts = _measure_lifts(candidates)
    # While others have a vector, a passage without one counts by its words; by the rest of its score it would be last.
    has_vectors = any(candidate.meaning is not None for candidate in candidates)
    counted_terms = terms if has_vectors else []
    # Hundreds of memories have the same few lists.
    list_factors = cache(partial(_list_factors, query))
    places = []
    for memory_id, of_memory in passages.items():
        passage = of_memory[0].passage
        is_in_window = window is not None and window[0] <= passage.revised_at <= window[1]
        level = reputations[memory_id].level if memory_id in reputations else 0
        factors = list_factors(passage.trust, passage.kind, passage.repo, is_in_window, level)
        places.append(_score(of_memory, most_words, weight, penalty, lifts, counted_terms, factors))
    # Sorting is stable, so the newer of two equal scores stays first.
    places.sort(key=attrgetter("candidate.passage.revised_at"), reverse=True)
    if lifts:
        places = _keep_best_first(places)
    return sorted(places, key=attrgetter("score"), reverse=True)


def load_hits(
    db: Database,
    query: Query,
    ranking: Sequence[Ranked],
    size: int | None = None,
    rank_word: Callable[[str], int | None] | None = None,
) -> Iterator[Hit]:
    """Load the memories of a ranking in order, one page of ``query.limit`` at a time as the caller asks for more.

    ``size`` is how many passages the question was compared with by meaning; without it, the caller judges the hits.
    ``rank_word`` says how common a word is; it has no rank for a rare one.
    """
    words = extract_terms(query.text)
    if rank_word:
        words = repeat_rare_words(words, rank_word)
    best = ranking[0].score if ranking else 0.0
    places = iter(ranking)
    # The sure part ends at the first hit that is not sure, so that it never changes the order of the ranking.
    is_sure = True
    while page := list(islice(places, max(query.limit, SMALLEST_PAGE))):
        loaded_memories = _load_memories(db, query, [place.candidate.passage.memory_id for place in page])
        # With as_of, a memory may not have existed yet, or not have been current.
        current = [
            _LoadedPlace(place, memory, query.is_valid(memory))
            for place in page
            if (memory := loaded_memories.get(place.candidate.passage.memory_id))
        ]
        # What is valid comes first, however well the others match.
        current.sort(key=lambda row: not row.is_valid)
        confidences = [None] * len(current) if size is None else _measure_confidences(current, best, words, query, size)
        for (place, memory, is_valid), confidence in zip(current, confidences, strict=True):
            is_sure = is_sure and (confidence is None or confidence >= SURE)
            detail = query.detail if is_sure else Detail.HEADLINE
            yield Hit(
                memory=memory,
                passage=_select_text(memory, place.candidate.passage.text, detail),
                score=place.score,
                signals=tuple(_explain(place)),
                labels=build_labels(memory, query),
                is_sure=is_sure,
                confidence=confidence,
                is_valid=is_valid,
            )


def _measure_confidences(
    page: Sequence[_LoadedPlace], best: float, words: list[str], query: Query, size: int
) -> list[float]:
    """Return the confidence of each hit: its own, raised where the question names a memory."""
    candidates = [row.place.candidate for row in page]
    shares = list(measure_word_shares(words, candidates))
    confidences = [
        _measure_own_confidence(row.place, best, share, size) for row, share in zip(page, shares, strict=True)
    ]
    confidences = _doubt_other_numbers(candidates, confidences, words)
    # Who quotes a phrase asks for what has it.
    if phrases := [phrase.lower() for phrase in extract_phrases(query.text)]:
        texts = [candidate.passage.text.lower() for candidate in candidates]
        confidences = [
            max(own, SURE) if all(phrase in text for phrase in phrases) else own
            for own, text in zip(confidences, texts, strict=True)
        ]
    # A tag alone does not make an answer, so something must be sure by itself.
    if max(confidences, default=0.0) >= SURE:
        named_positions = [position for position, row in enumerate(page) if _is_named(row.memory, words)]
        # What matches better than an answer is one too.
        last_named = max(named_positions, default=-1)
        confidences = [max(own, SURE) if position <= last_named else own for position, own in enumerate(confidences)]
    return [own if row.is_valid else min(own, HIGHEST_UNSURE) for own, row in zip(confidences, page, strict=True)]


def _measure_own_confidence(place: Ranked, best: float, share: float, size: int) -> float:
    """Return the confidence of one hit; what stands beside something closer is near too, but not sure for that."""
    behind_best = best - place.score
    own = measure_confidence(place.meaning, behind_best, share, size, place.words)
    if place.meaning is None or not place.lift:
        return own
    lifted = place.meaning + place.lift * (SAME_COSINE - UNRELATED_COSINE)
    return max(own, min(HIGHEST_UNSURE, measure_confidence(lifted, behind_best, share, size)))


def _doubt_other_numbers(candidates: Sequence[Candidate], confidences: list[float], words: list[str]) -> list[float]:
    """Make hits unsure that lack a number of the question which a better hit has: of service 17, not of 18."""
    numbers = [word for word in words if word.isdigit()]
    if not numbers:
        return confidences
    shares = list(measure_word_shares(numbers, candidates))
    return [
        min(confidence, HIGHEST_UNSURE) if share < max(shares[: position + 1]) else confidence
        for position, (share, confidence) in enumerate(zip(shares, confidences, strict=True))
    ]


def _is_named(memory: Memory, words: Sequence[str]) -> bool:
    """Whether the question names one of the memory's tags, its subject, or its kind in the plural.

    A person tags a note "conventions" so that a question about conventions gets it. A kind in the singular does not
    count: "fix the build" does not ask for every fix.
    """
    names = [part for name in (*memory.tags, memory.subject) if name for part in extract_terms(name)]
    # The plural of a kind is a single word.
    names.append(memory.kind.plural)
    return any(_is_same_word(word, name) for word in words for name in names)


def _is_same_word(word: str, other: str) -> bool:
    """Whether two words differ at most in their endings; short words must be equal."""
    stem = word[: max(SHORTEST_STEM, len(word) - 2)]
    return word == other or (len(stem) >= SHORTEST_STEM and other.startswith(stem))


def _select_text(memory: Memory, passage: str, detail: Detail) -> str:
    """Return the first line, the matching passage or the whole text."""
    match detail:
        case Detail.HEADLINE:
            return first_line(memory.text)
        case Detail.STANDARD:
            return passage
        case Detail.FULL:
            return memory.text


def _score(
    passages: Sequence[Candidate],
    most_words: float,
    weight: float,
    penalty: float,
    lifts: Mapping[int, float],
    terms: list[str],
    factors: list[Factor],
) -> Ranked:
    """Score a memory by those of its passages that were found."""
    # Most memories have one passage, and this runs for every candidate.
    if len(passages) == 1:
        best = passages[0]
        words, meaning, penalty = best.passage.score, best.meaning, 0.0
    else:
        best = max(passages, key=lambda place: _fit(place, most_words, weight))
        best_scores = nlargest(WORD_PASSAGES, (candidate.passage.score for candidate in passages))
        words = sum(best_scores) / len(best_scores)
        meaning = max((candidate.meaning for candidate in passages if candidate.meaning is not None), default=None)
        penalty *= math.log(min(len(passages), MOST_PENALISED))
    words /= most_words
    lift = lifts.get(best.passage.memory, 0.0)
    score = weight * words - penalty
    if meaning is not None:
        lift *= (1 - weight) / (SAME_COSINE - UNRELATED_COSINE)
        score += (1 - weight) * _rescale(meaning) + lift
    else:
        score += (1 - weight) * next(measure_word_shares(terms, [best]))
    # A factor below one would raise a negative score (a cosine below that of unrelated texts).
    if score > 0:
        for _, factor, _ in factors:
            score, lift = score * factor, lift * factor
    return Ranked(best, round(score, 4), words, meaning, round(lift, 4) if lift else 0.0, factors)


def _measure_lifts(candidates: Sequence[Candidate]) -> dict[int, float]:
    """Return what closer neighbours add to the cosines of memories, by the memories' keys."""
    cosines: dict[tuple[str, int], float] = {}
    for passage, cosine in candidates:
        if passage.session_id and cosine is not None:
            place = passage.session_id, passage.memory
            cosines[place] = max(cosine, cosines.get(place, cosine))
    lifts = {}
    for (session_id, memory), cosine in cosines.items():
        nearby = range(memory - NEIGHBOUR_DISTANCE, memory + NEIGHBOUR_DISTANCE + 1)
        closest = max(cosines.get((session_id, other), cosine) for other in nearby)
        lifts[memory] = NEIGHBOUR_WEIGHT * (closest - cosine)
    return lifts


def _keep_best_first(places: list[Ranked]) -> list[Ranked]:
    """Lower scores to that of the memory that matches best without its neighbours, and put that one first."""
    best = max(places, key=lambda place: place.score - place.lift)
    highest = best.score - best.lift
    others = [place._replace(score=min(place.score, highest)) for place in places if place is not best]
    return [best._replace(score=highest, lift=0.0), *others]


def _fit(candidate: Candidate, most_words: float, weight: float) -> float:
    """Return how well one passage matches, by its words and its meaning."""
    words = candidate.passage.score / most_words
    return weight * words + (1 - weight) * _rescale(candidate.meaning or UNRELATED_COSINE)


def _explain(place: Ranked) -> Iterator[Signal]:
    """List the reasons for a rank; made only for the hits that are shown."""
    if place.words:
        which = "the most significant words of" if place.words > 0.6 else "words with"
        yield Signal(name="words", score=place.words, why=f"shares {which} the question")
    if place.meaning is not None:
        fit = _rescale(place.meaning)
        how = "close to" if fit > 0.6 else "somewhat close to" if fit > 0.4 else "far from"
        yield Signal(name="meaning", score=place.meaning, why=f"is {how} the question in meaning")
    if place.lift:
        yield Signal(name="neighbour", score=place.lift, why="was stored next to something closer in its session")
    for name, factor, why in place.factors:
        yield Signal(name=name, score=factor, why=why)


def _rescale(cosine: float) -> float:
    """Map the model's range of cosines to 0 for unrelated and 1 for the same; below and above are possible."""
    return (cosine - UNRELATED_COSINE) / (SAME_COSINE - UNRELATED_COSINE)


def _list_factors(query: Query, trust: int, kind: str, repo: str, is_in_window: bool, level: int) -> list[Factor]:
    """List what raises or lowers a memory's score besides its text; ``level`` is that of its reputation."""
    factors = [("trust", TRUST_FACTORS[trust], TRUST_REASONS[trust])]
    if kind in EPISODIC_KINDS and Kind.TRACE not in query.kinds:
        factors.append(("kind", EPISODIC_FACTOR, "is about a single session"))
    if is_in_window:
        factors.append(("time", TIME_FACTOR, "is from the time the question names"))
    if repo and any(query.sight.repos) and repo not in query.sight.repos:
        factors.append(("place", ELSEWHERE_FACTOR, "was learned in another repository"))
    if level:
        factors.append(("reputation", REPUTATION_FACTORS[level], REPUTATION_REASONS[level]))
    return factors


def _load_memories(db: Database, query: Query, ids: Sequence[str]) -> dict[str, Memory]:
    """Load memories by id as they are now, or as they were at the query's ``as_of``."""
    if not query.as_of:
        return {memory.id: memory for memory in memories.get_all(db, ids)}
    statuses = set(query.statuses or Status) - {Status.RETRACTED}
    past = filter(None, (memories.get_as_of(db, memory_id, query.as_of) for memory_id in ids))
    return {memory.id: memory for memory in past if memory.status in statuses and not memory.is_expired(query.as_of)}


def _describe_status(memory: Memory) -> str:
    if memory.status is not Status.DISPUTED:
        return memory.status.value
    names = [shorten_id(other) for other in memory.contradicts]
    if len(names) > MOST_NAMED:
        # What contradicted it later stands last.
        names = [*names[-MOST_NAMED:], f"{len(names) - MOST_NAMED} more"]
    by = f" by {', '.join(names)}" if names else ""
    return f"disputed{by} since {format_date(memory.disputed_at)}"


def build_labels(memory: Memory, query: Query) -> tuple[str, ...]:
    """List the warnings a reader needs: disputed, from another repository, overdue for verification, no longer true."""
    labels = [] if memory.status is Status.ACTIVE else [_describe_status(memory)]
    if memory.repo and memory.repo not in query.sight.repos:
        labels.append(label_other_repository(memory.repo))
    if memory.is_overdue(query.moment):
        labels.append(f"verification was due by {memory.verify_by[:10]}: verify before acting")
    if memory.valid_to and memory.valid_to <= query.moment:
        labels.append(f"was true until {memory.valid_to[:10]}")
    if memory.valid_from > query.moment:
        labels.append(f"will be true from {memory.valid_from[:10]}")
    return tuple(labels)


def _weigh_words(question: str, terms: list[str], candidates: Sequence[Candidate], fusion: Fusion) -> float:
    """Return the weight of words for this question, between 0 and 1."""
    by_words = sorted(candidates, key=lambda candidate: candidate.passage.score, reverse=True)[:LOOKED_AT]
    # Scores of words are relative to the best, so a candidate with one common word of five would count fully.
    shares = measure_word_shares(terms, (candidate for candidate in by_words if candidate.passage.score > 0))
    shared_words_factor = FEWEST_WORDS_FACTOR + (1 - FEWEST_WORDS_FACTOR) * max(shares, default=0.0)
    if is_beyond_latin(question):
        return OTHER_SCRIPT_WEIGHT * shared_words_factor
    if IDENTIFIER.search(question):
        return fusion.prose_weight * shared_words_factor
    by_meaning = sorted(candidates, key=lambda candidate: candidate.meaning or 0.0, reverse=True)[:LOOKED_AT]
    texts = {candidate.passage.text[:CHARACTERS_LOOKED_AT] for candidate in (*by_words, *by_meaning)}
    code_share = measure_code_share("".join(texts))
    return (fusion.prose_weight - (fusion.prose_weight - fusion.code_weight) * code_share) * shared_words_factor


def measure_code_share(text: str) -> float:
    """Return how far a text is code: 0 for prose, 1 for code."""
    density = (len(text) - len(text.translate(SYMBOLS))) / len(text) if text else 0.0
    return min(1.0, max(0.0, (density - PROSE_DENSITY) / (CODE_DENSITY - PROSE_DENSITY)))
