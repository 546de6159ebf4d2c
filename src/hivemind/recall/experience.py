"""Find the earlier sessions that dealt with a question or task, and what they concluded about it.

A question seldom resembles its answer, but it resembles the talk in which the answer was found. So each conclusion is
rated together with the messages around it and with its session as a whole. docs/explanation/experience.md has the
measurements.
"""

import math
import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from hivemind.memory.contradiction import find_statement_conflict
from hivemind.memory.statements import parse_statements
from hivemind.model.digest import DigestLine, Part
from hivemind.model.ids import shorten_id
from hivemind.model.recall import Hit, Query, SessionHit
from hivemind.model.scope import label_other_repository
from hivemind.model.timestamps import format_date
from hivemind.recall.rendering import BYTES_PER_TOKEN, count_tokens, render_conclusion
from hivemind.store.database import Database
from hivemind.store.projections import digests, session_passages
from hivemind.store.projections.session_passages import SessionPassage, TalkPassage
from hivemind.text.clean import cut_between_words
from hivemind.text.search_terms import extract_terms, find_shared, measure_share

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
READ_LINES = 16
"""Conclusions of a session whose surroundings are searched for the question's words: those closest in meaning."""
MOST_TERMS = 60
TASK_CHARACTERS = 600
"""Of a question or task, from its beginning; embedding takes time in proportion to the length."""
OWN_WEIGHT, OWN_WORDS_WEIGHT = 1.5, 0.6
"""How much the closeness and the words of a conclusion itself count, beside those of what stands around it, which count
1. Any weights near these rank equally well."""
SUMMARY_BONUS = 0.2
"""Added to a summary that the person confirmed, among the conclusions of one session."""

ENOUGH_SHARED = 35.0
"""What shared words must say, in sums of logarithms: half a dozen words that one passage in 300 has."""
SMALL_STORE, CERTAIN, PER_DOUBLING, MOST_DOUBLINGS = 1_600, 1.62, 0.1, 5
"""Passages, and how far a conclusion must stand out to be told unasked; it grows with the store, because the best of
many unrelated sessions is closer."""
SURER = 0.2
"""How much further where only an agent said it."""
MOST_SESSIONS, CLOSE_TO_BEST, FIRST_SHARE = 2, 0.25, 0.6
"""Sessions that are told, how far the second may be behind the first, and the first one's share of the room."""
LINE_CHARACTERS, ABOUT_CHARACTERS, SUMMARY_CHARACTERS = 350, 120, 600
"""Of a conclusion that is shown, of what it rules on, and of a summary that the person confirmed."""
SHORT_RULING = 8
"""Terms; a shorter ruling is shown with what it rules on."""
SHORTEST_CUT, CUT_MARGIN = 160, 8
"""Characters; what would be cut shorter is left out. The margin is for the mark of a cut and for longer letters."""

LATEST_SESSIONS = 5
"""Sessions that the brief looks at."""
SAID_SHARE = 0.5
"""The share of a conclusion's words in a memory from which on the memory says it already."""
SAME_SUBJECT, SHARED_WORDS = 0.95, 0.3
"""How close two sessions must be for the later to amend the earlier: cosine and share of words together, and the share
alone."""
AMENDS = re.compile(
    r"\bamend|\bsupersed|\breplac(?:e[sd]?|ing)\b|\binstead of\b|\bno longer\b|\brather than\b|\bany ?more\b"
    r"|\bchang(?:e|ed|ing) (?:to|from|that|this|it|our|my|the)\b|\bswitch|\brevert|\broll(?:ed|ing)? back"
    r"|\bdeprecat|\bused to\b|\bwe (?:decided|agreed|settled|said)\b",
    re.IGNORECASE,
)
"""Words with which people and agents change what was decided before."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A line of a digest, the session it belongs to, and how well it fits."""

    session_id: str
    line: DigestLine
    score: float
    shared: float = 0.0
    """How much the words say that it shares with the question: a few rare ones, or many common ones."""

    @property
    def rank(self) -> float:
        """Its score among those of its session, where summaries come first."""
        return self.score + SUMMARY_BONUS * self.line.is_summary


@dataclass(frozen=True, slots=True)
class Experience:
    """The conclusions that fit a question, best first, and the passage by which each session was found."""

    conclusions: tuple[Conclusion, ...] = ()
    passages: Mapping[str, SessionPassage] | None = None

    def list_sessions(self) -> list[str]:
        """List the sessions, best first."""
        return list(dict.fromkeys(conclusion.session_id for conclusion in self.conclusions))

    def of(self, session_id: str) -> list[Conclusion]:
        """Return the conclusions of a session, best first."""
        return sorted((each for each in self.conclusions if each.session_id == session_id), key=lambda each: -each.rank)

    def measure_certainty(self) -> float:
        """Return how far the best conclusion stands out: its score, and its lead over sessions that are not told.

        Prompts that share only a few common words with it, such as "commit this", count for less.
        """
        best = [self.get_best_score(session_id) for session_id in self.list_sessions()]
        if not best:
            return 0.0
        others = best[MOST_SESSIONS:] or best[-1:]
        lead = best[0] - sum(others) / len(others)
        return (best[0] + lead) * min(1.0, self.conclusions[0].shared / ENOUGH_SHARED)

    def get_best_score(self, session_id: str) -> float:
        """Return the best score of a session."""
        return next(each.score for each in self.conclusions if each.session_id == session_id)


def find_experience(
    db: Database, query: Query, meaning: "SemanticIndex | None", excluded_ids: Container[str] = ()
) -> Experience:
    """Return what sessions that dealt with a question concluded; without a model, by words alone."""
    if not query.fits_sessions or digests.is_empty(db):
        return Experience()
    query = replace(query, text=query.text[:TASK_CHARACTERS])
    found = _pick_passages(db, query, meaning, excluded_ids)
    lines = digests.read_speaking(db, found)
    model = meaning.embedder.name if meaning else ""
    passages = session_passages.read_talk(db, query, model, lines, MOST_TALK)
    closeness = meaning.compare_talk(query, passages) if meaning else [0.0] * len(passages)
    weights = _weigh_terms(db, query)
    conclusions: list[Conclusion] = []
    ratings = zip(passages, closeness, strict=True)
    for session_id, group in groupby(ratings, key=lambda rating: rating[0].session_id):
        conclusions += _rate(session_id, lines[session_id], Talk.of([*group]), weights)
    return Experience(tuple(sorted(conclusions, key=lambda each: -each.score)), found)


def _pick_passages(
    db: Database, query: Query, meaning: "SemanticIndex | None", excluded_ids: Container[str]
) -> dict[str, SessionPassage]:
    """Return the best passage of each candidate: sessions close in meaning and sessions with the words, in turn."""
    cosines = meaning.compare_sessions(db, query) if meaning else {}
    orders = (sorted(cosines, key=lambda key: -cosines[key]), db.index.search_sessions(query, CANDIDATES))
    visible = session_passages.read_visible(db, query, {key for keys in orders for key in keys})
    ranked = [[visible[key] for key in keys if key in visible] for keys in orders]
    in_turn = [passages[place] for place in range(CANDIDATES) for passages in ranked if place < len(passages)]
    found: dict[str, SessionPassage] = {}
    for passage in in_turn:
        if passage.session_id not in excluded_ids and len(found) < CANDIDATE_SESSIONS:
            found.setdefault(passage.session_id, passage)
    return found


def _weigh_terms(db: Database, query: Query) -> dict[str, float]:
    """Return how much each word of the question says: the rarer in all sessions, the more."""
    terms = extract_terms(query.text)[:MOST_TERMS]
    counts = db.index.count_session_passages(terms)
    total = session_passages.count_roughly(db)
    return {term: math.log(1 + total / (1 + counts[term])) for term in terms}


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
        around = [talk.closeness[passage.observation] for passage in talk.find_around(line.event)]
        own = talk.closeness.get(line.event, 0.0)
        by_meaning.append((OWN_WEIGHT * own + max([own, *around]) + sum(talk.closest), line))
    by_meaning.sort(key=lambda rating: -rating[0])
    whole = sum(weights.values()) or 1.0
    conclusions: list[Conclusion] = []
    for closeness, line in by_meaning[:READ_LINES]:
        own_text = f"{line.text}\n{line.about}"
        around_text = "\n".join([own_text, *(passage.text for passage in talk.find_around(line.event))])
        own, shared = (sum(map(weights.__getitem__, find_shared(weights, text))) for text in (own_text, around_text))
        score = (closeness + (shared + OWN_WORDS_WEIGHT * own) / whole) / 2
        conclusions.append(Conclusion(session_id, line, score, shared))
    return conclusions


def find_for_prompt(
    db: Database, query: Query, meaning: "SemanticIndex", told_ids: Collection[str], excluded_ids: Container[str]
) -> tuple[SessionHit, ...]:
    """Return what sessions concluded about a prompt, if that is as good as certain: nobody asked."""
    experience = find_experience(db, query, meaning, excluded_ids)
    certainty, needed = experience.measure_certainty(), compute_needed_certainty(db)
    if certainty < needed:
        return ()
    # An agent's own words need a surer match, and nothing is told twice in a session.
    tellable = tuple(
        conclusion
        for conclusion in experience.conclusions
        if (conclusion.line.evidence.is_reliable or certainty >= needed + SURER)
        and conclusion.line.event not in told_ids
    )
    return show(db, query, meaning, replace(experience, conclusions=tellable), excluded_ids)


def compute_needed_certainty(db: Database) -> float:
    """Return how far a conclusion must stand out in a store of this size to be told unasked."""
    size = max(session_passages.count_roughly(db), SMALL_STORE)
    return CERTAIN + PER_DOUBLING * min(MOST_DOUBLINGS, math.log2(size / SMALL_STORE))


def show(
    db: Database,
    query: Query,
    meaning: "SemanticIndex | None",
    experience: Experience,
    excluded_ids: Container[str] = (),
) -> tuple[SessionHit, ...]:
    """Return the best sessions with those of their conclusions that fit, what amends them first."""
    session_ids = experience.list_sessions()[:MOST_SESSIONS]
    if not session_ids:
        return ()
    first = make_hit(query, experience, session_ids[0], query.max_tokens)
    amendment = _find_amendment(db, query, meaning, first, excluded_ids) if meaning else None
    if amendment:
        rest = query.max_tokens - amendment.tokens
        return (amendment, *_keep_full([make_hit(query, experience, session_ids[0], rest)]))
    best, *others = (experience.get_best_score(session_id) for session_id in session_ids)
    if not others or others[0] < best - CLOSE_TO_BEST:
        return tuple(_keep_full([first]))
    first = make_hit(query, experience, session_ids[0], int(query.max_tokens * FIRST_SHARE))
    second = make_hit(query, experience, session_ids[1], query.max_tokens - first.tokens)
    return tuple(order_by_time(_keep_full([first, second])))


def _keep_full(hits: Iterable[SessionHit]) -> list[SessionHit]:
    return [hit for hit in hits if hit.conclusions]


def make_hit(query: Query, experience: Experience, session_id: str, max_tokens: int) -> SessionHit:
    """Make the hit of a session: its conclusions that fit, best first, and the passage by which it was found."""
    conclusions = experience.of(session_id)
    lines = fit_lines((conclusion.line for conclusion in conclusions), max_tokens)
    passage = (experience.passages or {})[session_id]
    return SessionHit(
        session_id=passage.session_id, observation=passage.observation, agent=passage.agent, repo=passage.repo,
        at=max((line.at for line in lines), default=passage.at), what="conclusion", text="",
        score=round(conclusions[0].score, 4) if conclusions else 0.0, conclusions=lines,
        labels=(label_other_repository(passage.repo),) if query.sight.is_elsewhere(passage.repo) else (),
        tokens=sum(map(_count_line_tokens, lines)),
    )  # fmt: skip


def fit_lines(lines: Iterable[DigestLine], max_tokens: int) -> tuple[DigestLine, ...]:
    """Return the lines that fit; one that is too long is cut, unless too little of it would be left."""
    selection: list[DigestLine] = []
    for line in map(shorten, lines):
        fitting = line if _count_line_tokens(line) <= max_tokens else _cut_line(line, max_tokens)
        if fitting:
            selection.append(fitting)
            max_tokens -= _count_line_tokens(fitting)
    return tuple(selection)


def _cut_line(line: DigestLine, max_tokens: int) -> DigestLine | None:
    bare = replace(line, about="")
    room = len(bare.text) - BYTES_PER_TOKEN * max(_count_line_tokens(bare) - max_tokens, 0) - CUT_MARGIN
    return replace(bare, text=cut_between_words(bare.text, room)) if room >= SHORTEST_CUT else None


def shorten(line: DigestLine) -> DigestLine:
    """Return a line as it is shown: cut, and with what it rules on only where it says little by itself."""
    longest = SUMMARY_CHARACTERS if line.is_summary else LINE_CHARACTERS
    about = line.about if len(extract_terms(line.text)) < SHORT_RULING else ""
    return replace(line, text=cut_between_words(line.text, longest), about=cut_between_words(about, ABOUT_CHARACTERS))


def _count_line_tokens(line: DigestLine) -> int:
    return count_tokens(render_conclusion(line))


def order_by_time(hits: Sequence[SessionHit]) -> list[SessionHit]:
    """Put the newer of two sessions about the same first."""
    if len(hits) < MOST_SESSIONS:
        return list(hits)
    first, second = hits[:MOST_SESSIONS]
    is_same = _share_words(second, first) >= SHARED_WORDS
    return [second, first, *hits[2:]] if is_same and second.at > first.at else list(hits)


def _share_words(hit: SessionHit, other: SessionHit) -> float:
    other_text = _join_texts(other.conclusions)
    return max((_measure_overlap(line.text, other_text) for line in hit.conclusions), default=0.0)


def _measure_overlap(text: str, other: str) -> float:
    """Return the share of a text's words in another; of few words, less, because they are shared by chance."""
    terms = extract_terms(text)
    return measure_share(terms, other) * len(terms) / (len(terms) + 3)


def _join_texts(lines: Iterable[DigestLine]) -> str:
    return " ".join(line.text for line in lines)


def _find_amendment(
    db: Database, query: Query, meaning: "SemanticIndex", hit: SessionHit, excluded_ids: Container[str]
) -> SessionHit | None:
    """Find the newest session that changed what a session concluded: about the same, later, and in such words."""
    text = _join_texts(hit.conclusions)[:TASK_CHARACTERS]
    similar = replace(query, text=text)
    cosines = meaning.compare_sessions(db, similar)
    passages = session_passages.read_visible(db, similar, cosines)
    later: dict[str, tuple[float, SessionPassage]] = {}
    for key in sorted(passages, key=lambda key: -cosines[key]):
        passage = passages[key]
        is_other = passage.session_id != hit.session_id and passage.session_id not in excluded_ids
        if is_other and passage.at > hit.at:
            later.setdefault(passage.session_id, (cosines[key], passage))
    lines = digests.read_speaking(db, later)
    amendments = [
        (line.at, passage, line)
        for session_id, (cosine, passage) in later.items()
        for line in lines.get(session_id, ())
        if AMENDS.search(line.text)
        and (share := _measure_overlap(line.text, text)) >= SHARED_WORDS
        and cosine + share >= SAME_SUBJECT
    ]
    if not amendments:
        return None
    _, passage, line = max(amendments, key=lambda amendment: amendment[0])
    conclusion = Conclusion(passage.session_id, line, hit.score)
    experience = Experience((conclusion,), {passage.session_id: passage})
    amendment = make_hit(query, experience, passage.session_id, int(query.max_tokens * FIRST_SHARE))
    label = f"amends {format_date(hit.at)}"
    return replace(amendment, labels=(*amendment.labels, label)) if amendment.conclusions else None


def find_latest(db: Database, query: Query, own_session: str, known: Sequence[str]) -> tuple[SessionHit, ...]:
    """Return what the sessions that were active last concluded and left open, without what is known already."""
    told: list[SessionHit] = []
    room = query.max_tokens
    for session, lines in digests.find_latest(db, query.sight, LATEST_SESSIONS):
        if session.id == own_session:
            continue
        new = [line for line in lines if not any(_measure_overlap(line.text, text) >= SAID_SHARE for text in known)]
        reliable = [line for line in new if line.evidence.is_reliable]
        # The last conclusion is where the session ended, and what it left open is where the next may begin.
        chosen = [line for line in reliable if line.part is Part.CONCLUSION][-1:]
        chosen += [line for line in reliable if line.part is Part.OPEN][:1]
        fitting = fit_lines(chosen, room)
        cost = sum(map(_count_line_tokens, fitting))
        room -= cost
        if fitting:
            told.append(
                SessionHit(
                    session_id=session.id,
                    observation=fitting[0].event,
                    agent=session.agent,
                    repo=session.repo,
                    at=session.last_seen_at,
                    what="conclusion",
                    text="",
                    score=0.0,
                    conclusions=fitting,
                    tokens=cost,
                )
            )
    return tuple(told)


def label_contradicted(hits: Sequence[Hit], session_hits: Sequence[SessionHit]) -> list[Hit]:
    """Label the memories that a later conclusion among the shown ones contradicts."""
    lines = [line for hit in session_hits for line in hit.conclusions if line.evidence.is_reliable]
    return [_label_contradicted(hit, lines) for hit in hits] if lines else list(hits)


def _label_contradicted(hit: Hit, lines: Sequence[DigestLine]) -> Hit:
    memory = hit.memory
    for line in lines:
        is_later = line.at > memory.stated_at
        if is_later and find_statement_conflict(parse_statements(line.text), parse_statements(memory.text)):
            label = f"a later session says otherwise: {shorten_id(line.event)}, {format_date(line.at)}"
            return replace(hit, labels=(*hit.labels, label))
    return hit
