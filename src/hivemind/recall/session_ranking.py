"""Rank earlier sessions as wholes by how well they fit a question or task, and their conclusions.

A question seldom resembles its answer, but it resembles the talk in which the answer was found. So each conclusion is
rated together with the messages around it and with its session as a whole. docs/explanation/recall.md has the
measurements.
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from hivemind.model.digest import DigestLine, Part
from hivemind.model.recall import Query
from hivemind.model.session import ObservationKind
from hivemind.store.database import Database
from hivemind.store.projections import digests, session_passages
from hivemind.store.projections.session_passages import SessionPassage, TalkPassage
from hivemind.text.search_terms import extract_terms, find_shared

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.semantic_index import SemanticIndex

CANDIDATES = 40
"""Passages that words propose; meaning proposes its own number."""
CANDIDATE_SESSIONS = 8
"""Sessions that are looked at as wholes."""
MOST_TALK = 400
"""Passages of a session that are compared, the last ones."""
BEFORE, AFTER = 2, 1
"""Messages around a conclusion that belong to it: what was asked, what was proposed, and the answer to it."""
CLOSEST = 3
"""The passages of a session whose closeness counts for the session as a whole."""
READ_LINES = 12
"""Conclusions of a session whose surroundings are searched for the question's words: those closest in meaning."""
MOST_TERMS = 60
TASK_CHARACTERS = 600
"""Of a question or task, from its beginning; embedding takes time in proportion to the length."""
OWN_WEIGHT, OWN_WORDS_WEIGHT = 1.5, 0.6
"""How much the closeness and the words of a conclusion itself count, beside those of what stands around it, which count
1. Any weights near these rank equally well."""
LENGTH_WEIGHT, SHORT_TALK = 0.08, 9
"""Taken off for each doubling of a talk of so many passages: the best of many messages is close by chance."""
SUMMARY_BONUS = 0.2
"""Added to a summary that the person confirmed, among the conclusions of one session."""

ENOUGH_SHARED = 3.3
"""What words shared with one passage must say, counted in words that no other passage has: four rare ones, or many
common ones."""
LEAD_ALONE = 0.3
"""The lead of sessions beside which there is no other; the usual one of sessions that deal with a question."""
TOLD_SESSIONS = 2
"""Sessions that may be told; the lead is measured against the others."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A line of a digest, the session it belongs to, and how well it fits."""

    session_id: str
    line: DigestLine
    score: float
    closeness: float = 0.0
    """How close it is by itself, in meaning and words."""

    @property
    def rank(self) -> float:
        """Its score among those of its session, where summaries come first."""
        return self.score + SUMMARY_BONUS * self.line.is_summary


@dataclass(frozen=True, slots=True)
class Experience:
    """The conclusions that fit a question, best first, and the passage by which each session was found."""

    conclusions: tuple[Conclusion, ...] = ()
    passages: Mapping[str, SessionPassage] | None = None
    replies: Mapping[str, tuple[float, TalkPassage]] = field(default_factory=dict)
    """Of each session the reply closest in meaning, and how close it is in meaning and words; none without a model."""
    shared_weight: float = 0.0
    """How much the words say that one passage shares with the question: a few rare ones, or many common ones."""

    def list_sessions(self) -> list[str]:
        """List the sessions, best first."""
        return list(dict.fromkeys(conclusion.session_id for conclusion in self.conclusions))

    def of(self, session_id: str) -> list[Conclusion]:
        """Return the conclusions of a session, best first."""
        return sorted((each for each in self.conclusions if each.session_id == session_id), key=lambda each: -each.rank)

    def measure_certainty(self) -> float:
        """Return how far the best conclusion stands out: its score, and its lead over sessions that are not told.

        Prompts that share only a few common words with any passage, such as "commit this", count for less.
        """
        best = [self.get_best_score(session_id) for session_id in self.list_sessions()]
        if not best:
            return 0.0
        others = best[TOLD_SESSIONS:]
        lead = best[0] - sum(others) / len(others) if others else LEAD_ALONE
        return (best[0] + lead) * min(1.0, self.shared_weight / ENOUGH_SHARED)

    def get_best_score(self, session_id: str) -> float:
        """Return the best score of a session."""
        return next(each.score for each in self.conclusions if each.session_id == session_id)


def find_experience(
    db: Database,
    query: Query,
    meaning: "SemanticIndex | None",
    excluded_ids: Container[str] = (),
    *,
    with_replies: bool = False,
) -> Experience:
    """Return what sessions that dealt with a question concluded, and if wanted replied; without a model, by words."""
    if not query.fits_sessions or digests.is_empty(db):
        return Experience()
    query = replace(query, text=query.text[:TASK_CHARACTERS])
    best_passages = _pick_passages(db, query, meaning, excluded_ids)
    lines = digests.read_speaking(db, best_passages)
    if not with_replies:
        conclusions_by_id = {key: [line for line in own if line.part is not Part.REPLY] for key, own in lines.items()}
        lines = {key: own for key, own in conclusions_by_id.items() if own}
    model = meaning.embedder.name if meaning else ""
    passages = session_passages.read_talk(db, query, model, lines, MOST_TALK)
    closeness = meaning.compare_talk(query, passages) if meaning else [0.0] * len(passages)
    weights = _weigh_terms(db, query)
    conclusions: list[Conclusion] = []
    replies: dict[str, tuple[float, TalkPassage]] = {}
    all_ratings = zip(passages, closeness, strict=True)
    for session_id, group in groupby(all_ratings, key=lambda rating: rating[0].session_id):
        ratings = [*group]
        conclusions += _rate(session_id, lines[session_id], Talk.of(ratings), weights)
        of_replies = [rating for rating in ratings if rating[0].seen is ObservationKind.REPLY]
        reply, cosine = max(of_replies, key=lambda rating: rating[1], default=(None, 0.0))
        if reply and cosine > 0:
            replies[session_id] = cosine + _sum_shared(weights, reply.text) / (sum(weights.values()) or 1.0), reply
    total = session_passages.count_roughly(db) + 1
    # In a small store, even a word that stands in one passage says little by itself.
    rare_weight = math.log(1 + total / 2) / math.log(1 + total)
    shared_weights = (_sum_shared(weights, passage.text) / rare_weight for passage in best_passages.values())
    return Experience(
        tuple(sorted(conclusions, key=lambda each: -each.score)),
        best_passages,
        replies,
        max(shared_weights, default=0.0),
    )


def _pick_passages(
    db: Database, query: Query, meaning: "SemanticIndex | None", excluded_ids: Container[str]
) -> dict[str, SessionPassage]:
    """Return the best passage of each candidate: sessions close in meaning and sessions with the words, in turn."""
    cosines = meaning.compare_sessions(db, query) if meaning else {}
    orders = (sorted(cosines, key=lambda key: -cosines[key]), db.index.search_sessions(query, CANDIDATES))
    visible = session_passages.read_visible(db, query, {key for keys in orders for key in keys})
    ranked = [[visible[key] for key in keys if key in visible] for keys in orders]
    in_turn = [passages[place] for place in range(CANDIDATES) for passages in ranked if place < len(passages)]
    best_passages: dict[str, SessionPassage] = {}
    for passage in in_turn:
        if passage.session_id not in excluded_ids and len(best_passages) < CANDIDATE_SESSIONS:
            best_passages.setdefault(passage.session_id, passage)
    return best_passages


def _weigh_terms(db: Database, query: Query) -> dict[str, float]:
    """Return how much each word of the question says: 1 for one that no passage has, less the more have it."""
    terms = extract_terms(query.text)[:MOST_TERMS]
    counts = db.index.count_session_passages(terms)
    total = session_passages.count_roughly(db) + 1
    return {term: math.log(1 + total / (1 + counts[term])) / math.log(1 + total) for term in terms}


def _sum_shared(weights: Mapping[str, float], text: str) -> float:
    """Return how much the words of the question say that a text has."""
    return sum(map(weights.__getitem__, find_shared(weights, text)))


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said in a session, in order, and how close each message is to the question."""

    messages: list[list[TalkPassage]]
    closeness: dict[str, float]
    """Of each observation: that of its closest passage."""
    closest: tuple[float, float]
    """Of the session: its closest passage, and the mean of the few closest."""
    places: dict[str, int]
    """Where each observation stands among the messages; a failed command at the message before it."""

    @classmethod
    def of(cls, ratings: Sequence[tuple[TalkPassage, float]]) -> "Talk":
        """Put the passages of one session together."""
        messages: list[list[TalkPassage]] = []
        places: dict[str, int] = {}
        closeness: dict[str, float] = {}
        for passage, cosine in ratings:
            if passage.is_said and passage.observation not in places:
                messages.append([])
            places.setdefault(passage.observation, max(len(messages) - 1, 0))
            if passage.is_said:
                messages[-1].append(passage)
            closeness[passage.observation] = max(cosine, closeness.get(passage.observation, 0.0))
        best = sorted((cosine for _, cosine in ratings), reverse=True)[:CLOSEST]
        return cls(messages, closeness, (best[0], sum(best) / len(best)), places)

    def find_around(self, observation: str) -> list[TalkPassage]:
        """Return the passages of the messages around an observation."""
        place = self.places.get(observation)
        if place is None:
            return []
        around = self.messages[max(place - BEFORE, 0) : place + AFTER + 1]
        return [passage for message in around for passage in message]


def _rate(session_id: str, lines: Sequence[DigestLine], talk: Talk, weights: Mapping[str, float]) -> list[Conclusion]:
    """Rate the conclusions of a session: how close they, the messages around them and the whole session are."""
    by_meaning: list[tuple[float, DigestLine]] = []
    for line in lines:
        cosines = [talk.closeness[passage.observation] for passage in talk.find_around(line.event)]
        own_cosine = talk.closeness.get(line.event, 0.0)
        by_meaning.append((OWN_WEIGHT * own_cosine + max([own_cosine, *cosines]) + sum(talk.closest), line))
    by_meaning.sort(key=lambda rating: -rating[0])
    whole = sum(weights.values()) or 1.0
    chance = LENGTH_WEIGHT * math.log2(max(1.0, sum(map(len, talk.messages)) / SHORT_TALK))
    conclusions: list[Conclusion] = []
    terms_by_key: dict[int, list[str]] = {}
    for closeness, line in by_meaning[:READ_LINES]:
        own_terms = find_shared(weights, f"{line.text}\n{line.about}")
        terms = set(own_terms)
        for passage in talk.find_around(line.event):
            # Messages stand around several lines.
            if passage.key not in terms_by_key:
                terms_by_key[passage.key] = find_shared(weights, passage.text)
            terms.update(terms_by_key[passage.key])
        own, around = (sum(map(weights.__getitem__, each)) for each in (own_terms, terms))
        score = (closeness + (around + OWN_WORDS_WEIGHT * own) / whole) / 2 - chance
        own_closeness = talk.closeness.get(line.event, 0.0) + own / whole
        conclusions.append(Conclusion(session_id, line, score, own_closeness))
    return conclusions
