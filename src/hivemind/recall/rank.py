"""One order out of what was found, each place with its reasons."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from hivemind.model.memory import Kind, Memory, Status, Trust
from hivemind.model.moments import window_named
from hivemind.model.recall import Detail, Hit, Query, Signal
from hivemind.model.scope import elsewhere
from hivemind.model.text import first_line
from hivemind.model.words import share_of, terms
from hivemind.recall.search import Candidate
from hivemind.store.database import Database
from hivemind.store.projections import memories

BY_WORDS = 0.35
"""How much words count against meaning."""
UNRELATED, SAME = 0.5, 0.8
"""How near texts are that have nothing to do with each other, and that say nearly the same, by the model's measure."""
CROWDED, CROWD = 0.2, 3
"""What a text loses, by the logarithm of its passages that were found, up to three: many have many chances."""
PASTED = 400
"""Characters; a question longer than this is a text itself, and long texts are its equals."""
TAIL = 0.2
"""What reaches less than this share of the best hit's score is no answer, only among the closest."""
BY_TRUST = {1: 0.85, 2: 0.97, 3: 1.0}
TRUST_SAYS = {int(trust): f"trust {trust}" for trust in Trust}
EPISODES = [kind.value for kind in Kind if kind.bucket == "episodic"]
EPISODIC = 0.85
"""What tells of one session gives way to what holds in general."""
NAMED_TIME = 1.25
"""A question about last week wants what was learned last week."""
ELSEWHERE = 0.8
"""What was learned in another repository counts less."""


Named = tuple[str, str] | None
"""The time a question names, if it does."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place."""

    candidate: Candidate
    score: float
    words: float
    """How well its words fit, as a share of the best."""
    is_sure: bool = False
    """Whether it fits well enough to be an answer."""


def rank(found: Sequence[Candidate], query: Query, *, is_answered: bool) -> list[Ranked]:
    """Best first, each memory once, by the passage that fits best; those that answer are marked if any does."""
    most_words = max((candidate.words for candidate in found), default=0.0)
    named = window_named(query.text, query.now)
    passages: dict[str, list[Ranked]] = {}
    for candidate in found:
        passages.setdefault(candidate.found.memory_id, []).append(_ranked(candidate, most_words, query, named))
    best = [_best(of_one, query) for of_one in passages.values()]
    newest_first = sorted(best, key=lambda one: one.candidate.found.revised_at, reverse=True)
    in_order = sorted(newest_first, key=lambda one: -one.score)
    return [replace(one, is_sure=is_answered and one.score >= TAIL * in_order[0].score) for one in in_order]


def _best(of_one: list[Ranked], query: Query) -> Ranked:
    """The best passage of a memory, less what it owes to there being many."""
    best = max(of_one, key=lambda one: one.score)
    if len(of_one) == 1 or len(query.text) > PASTED:
        return best
    return replace(best, score=round(best.score - CROWDED * math.log(min(len(of_one), CROWD)), 4))


def hits(db: Database, query: Query, in_order: Sequence[Ranked]) -> Iterator[Hit]:
    """The memories behind the places, loaded as many at once as are wanted, as long as somebody asks for more."""
    named = window_named(query.text, query.now)
    is_answered = any(ranked.is_sure for ranked in in_order)
    asked = terms(query.text)
    rest = iter(in_order)
    while some := list(islice(rest, query.limit)):
        believed = _as_believed(db, query, [ranked.candidate.found.memory_id for ranked in some])
        for ranked in some:
            memory = believed.get(ranked.candidate.found.memory_id)
            if memory is None:
                continue
            is_sure = ranked.is_sure or (is_answered and _is_named(memory, asked))
            yield Hit(
                memory=memory,
                passage=_shown(memory, ranked.candidate.found.text, query.detail if is_sure else Detail.HEADLINE),
                score=ranked.score,
                signals=tuple(_signals(ranked, query, named)),
                labels=labels(memory, query),
                is_sure=is_sure,
            )


def _is_named(memory: Memory, asked: Sequence[str]) -> bool:
    """Whether the question names one of the memory's tags, its subject, or its kind in the plural.

    A person tags a note "conventions" so that a question about conventions gets it. A kind in the singular does not
    count: "fix the build" does not ask for every fix.
    """
    names = (*memory.tags, memory.subject, memory.kind.plural)
    return any(share_of([word], name.lower()) for name in names if name for word in asked)


def _shown(memory: Memory, passage: str, detail: Detail) -> str:
    """The first line, the passage that answers, or all of it."""
    match detail:
        case Detail.HEADLINE:
            return first_line(memory.text)
        case Detail.STANDARD:
            return passage
        case Detail.FULL:
            return memory.text


def _ranked(candidate: Candidate, most_words: float, query: Query, named: Named) -> Ranked:
    words = candidate.words / most_words if most_words > 0 else 0.0
    fit = BY_WORDS * words
    if candidate.meaning is not None:
        fit += (1 - BY_WORDS) * _nearness(candidate.meaning)
    if fit > 0:
        for _, counts, _ in _standing(candidate, query, named):
            fit *= counts
    return Ranked(candidate, round(fit, 4), words)


def _signals(ranked: Ranked, query: Query, named: Named) -> Iterator[Signal]:
    """Why it stands there; told only of what is shown."""
    candidate = ranked.candidate
    if ranked.words:
        yield Signal(name="words", score=ranked.words, why=_words_say(ranked.words))
    if candidate.meaning is not None:
        yield Signal(name="meaning", score=candidate.meaning, why=_meaning_says(_nearness(candidate.meaning)))
    for name, counts, why in _standing(candidate, query, named):
        yield Signal(name=name, score=counts, why=why)


def _nearness(cosine: float) -> float:
    return (cosine - UNRELATED) / (SAME - UNRELATED)


def _standing(candidate: Candidate, query: Query, named: Named) -> list[tuple[str, float, str]]:
    """What speaks for or against a memory, whatever the question: name, what it counts, why."""
    found = candidate.found
    said = [("trust", BY_TRUST[found.trust], TRUST_SAYS[found.trust])]
    if found.kind in EPISODES and Kind.TRACE not in query.kinds:
        said.append(("kind", EPISODIC, "tells of one session"))
    if named and named[0] <= found.revised_at <= named[1]:
        said.append(("time", NAMED_TIME, "is from the time the question names"))
    if found.repo and any(query.sight.repos) and found.repo not in query.sight.repos:
        said.append(("place", ELSEWHERE, "was learned in another repository"))
    return said


def _as_believed(db: Database, query: Query, ids: Sequence[str]) -> dict[str, Memory]:
    """Memories as they are, or as they were at the time the question is about."""
    if not query.as_of:
        return {memory.id: memory for memory in memories.get_all(db, ids)}
    then = filter(None, (memories.as_of(db, memory_id, query.as_of) for memory_id in ids))
    return {memory.id: memory for memory in then if _stood(memory, query)}


def _stood(memory: Memory, query: Query) -> bool:
    if memory.is_expired(query.as_of) or memory.status is Status.RETRACTED:
        return False
    return not query.statuses or memory.status in query.statuses


def _words_say(words: float) -> str:
    return "shares the telling words of the question" if words > 0.6 else "shares words with the question"


def _meaning_says(meaning: float) -> str:
    return "is near the question in meaning" if meaning > 0.6 else "has something to do with the question"


def labels(memory: Memory, query: Query) -> tuple[str, ...]:
    """What a reader must know before using it: disputed, elsewhere, overdue, past."""
    said = [] if memory.status is Status.ACTIVE else [memory.status.value]
    if memory.repo and memory.repo not in query.sight.repos:
        said.append(elsewhere(memory.repo))
    if memory.is_overdue(query.moment):
        said.append(f"was to be verified by {memory.verify_by[:10]}: verify before acting")
    if memory.valid_to and memory.valid_to <= query.moment:
        said.append(f"was true until {memory.valid_to[:10]}")
    return tuple(said)
