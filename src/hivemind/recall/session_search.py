"""Search past sessions: what people asked, what agents answered, which commands failed and which files were edited."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from hivemind.model.ids import SessionId
from hivemind.model.recall import Query, Recall, SessionHit
from hivemind.model.scope import label_other_repository
from hivemind.model.session import ObservationKind
from hivemind.recall import experience
from hivemind.recall.rendering import count_tokens, render, render_session_entry
from hivemind.recall.session_ranking import find_experience
from hivemind.store.database import Database
from hivemind.store.projections import session_passages
from hivemind.store.projections.session_passages import SessionPassage
from hivemind.text.clean import cut_between_words
from hivemind.text.search_terms import extract_phrases, extract_terms, measure_share

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.semantic_index import SemanticIndex

CANDIDATES = 40
"""Passages that words and meaning propose each."""
READ_PER_HIT = 8
"""Passages that are read per wanted session: the best ones are often of the same session."""
FEWEST_READ = 8
"""Sessions whose best passage is looked at, however few are wanted: as wholes they may rank otherwise."""
RRF_K = 60
"""From the reciprocal rank fusion paper; larger values trust first places less."""
SURE_COSINE, SURE_TERMS = 0.39, 0.5
"""A passage is to the point from this cosine or this share of the question's terms on; docs/explanation/ranking.md."""
NEAR_COSINE, NEAR_TERMS = 0.23, 0.25
"""It is near from these on; the cosine is where the curve of confidence has 0.1 if it has 0.5 at the one above."""
EXCERPT_CHARACTERS = 320
"""Of a passage that is shown: enough to tell whether the session is worth opening."""
BLANKS = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)|(?<=\n)\s*\n")
"""Padding inside a line, and empty lines."""
MOST_CLOSEST = 3
"""Sessions that are only close to a question, below those that are to the point."""
REASON_CHARACTERS, SAME_TEXT = 160, 0.8
"""Of the passage, where conclusions say what counts; and the share of its words from which on one of them says it."""
CONCLUSION_TOKENS, OTHER_TOKENS = 400, 100
"""For the conclusions of the best two sessions, and of each other one."""
MOST_BESIDE_MEMORIES, BUDGET_SHARE = 3, 3
"""Beside memories, sessions get three places and a third of the tokens, and only tokens that memories leave; without a
memory that answers, two thirds."""


def search(
    db: Database, query: Query, meaning: "SemanticIndex | None", excluded_ids: Container[str] = ()
) -> list[SessionHit]:
    """Return the sessions that match by words or by meaning: those to the point, then others.

    Sessions are ranked as wholes; each comes with what it concluded about the question, and its best passage.
    """
    if not query.fits_sessions or session_passages.is_empty(db):
        return []
    by_words = db.index.search_sessions(query, CANDIDATES)
    # A phrase in quotes must match word for word, so meaning adds nothing.
    cosines = meaning.compare_sessions(db, query) if meaning and not extract_phrases(query.text) else {}
    by_meaning = sorted(cosines, key=lambda key: (-cosines[key], -key))[:CANDIDATES]
    scores = fuse_ranks([by_words, by_meaning])
    # The newer of two equal passages comes first.
    best_first = sorted(scores, key=lambda key: (-scores[key], -key))[: READ_PER_HIT * max(query.limit, FEWEST_READ)]
    passages = session_passages.read_visible(db, query, best_first)
    visible = [passages[key] for key in best_first if key in passages and passages[key].session_id not in excluded_ids]
    by_passage = list(islice(_make_hits(visible, query, scores, cosines), max(query.limit, FEWEST_READ)))
    hits = _add_conclusions(db, query, meaning, by_passage, excluded_ids)
    # A place in a ranking says nothing about how far it is to the point.
    sure, closest = [hit for hit in hits if hit.is_sure], [hit for hit in hits if not hit.is_sure]
    return [*sure, *closest[:MOST_CLOSEST]]


def _add_conclusions(
    db: Database,
    query: Query,
    meaning: "SemanticIndex | None",
    hits: Sequence[SessionHit],
    excluded_ids: Container[str],
) -> list[SessionHit]:
    """Put the sessions first that fit as wholes, with their conclusions, and amended ones behind what amends them."""
    if extract_phrases(query.text):
        return list(hits)
    by_id = {hit.session_id: hit for hit in hits}
    budget = replace(query, max_tokens=CONCLUSION_TOKENS)
    matches = find_experience(db, budget, meaning, excluded_ids)
    told_hits = {hit.session_id: hit for hit in experience.show(db, budget, meaning, matches, excluded_ids)}
    for session_id in matches.list_sessions()[: query.limit]:
        told_hits.setdefault(SessionId(session_id), experience.make_hit(budget, matches, session_id, OTHER_TOKENS))
    with_passages = [_join_passage(hit, by_id.get(hit.session_id)) for hit in told_hits.values()]
    return [*with_passages, *(hit for hit in hits if hit.session_id not in told_hits)][: query.limit]


def _join_passage(hit: SessionHit, by_passage: SessionHit | None) -> SessionHit:
    """Add to a hit with conclusions the passage that matches; it is to the point if either is."""
    if by_passage is None:
        return replace(hit, is_sure=bool(hit.amends))
    text = by_passage.text
    if any(measure_share(extract_terms(text), line.text) >= SAME_TEXT for line in hit.conclusions):
        text = ""
    elif hit.conclusions:
        text = cut_between_words(text, REASON_CHARACTERS)
    # What amends another is as much to the point as that one, whose words the question has.
    is_sure = by_passage.is_sure or bool(hit.amends)
    return replace(by_passage, conclusions=hit.conclusions, text=text, amends=hit.amends, is_sure=is_sure)


def add_sessions(
    db: Database,
    recall: Recall,
    meaning: "SemanticIndex | None",
    limit: int = MOST_BESIDE_MEMORIES,
    excluded_ids: Container[str] = (),
) -> Recall:
    """Add matching passages of sessions to an answer, after its memories and within what they leave of the budget."""
    query = recall.query
    # Where no memory answers, sessions are all there is.
    share = query.max_tokens // BUDGET_SHARE if recall.answers else query.max_tokens - query.max_tokens // BUDGET_SHARE
    room = min(share, query.max_tokens - count_tokens(recall.text))
    hits = search(db, replace(query, limit=min(query.limit, limit)), meaning, excluded_ids)
    # Who asks for memories gets sessions only where they are to the point; 'session search' gives the closest too.
    return attach(recall, fit_sessions((hit for hit in hits if hit.is_sure), room))


def attach(recall: Recall, hits: Sequence[SessionHit]) -> Recall:
    """Add passages of sessions to an answer and render it."""
    if not hits:
        return recall
    text = render(recall.hits, recall.files, recall.sessions, hits)
    return replace(recall, session_hits=tuple(hits), text=text)


def fit_sessions(hits: Iterable[SessionHit], max_tokens: int) -> tuple[SessionHit, ...]:
    """Return the first hits that fit the budget."""
    selection: list[SessionHit] = []
    for hit in hits:
        cost = count_tokens(render_session_entry(hit))
        if cost <= max_tokens:
            selection.append(replace(hit, tokens=cost))
            max_tokens -= cost
    return tuple(selection)


def fuse_ranks(rankings: Iterable[Sequence[int]]) -> dict[int, float]:
    """Return a score for each key by its places in several rankings."""
    # Places, not scores: BM25 and cosines have no common scale, and this needs no constants of a model.
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + 1 / (RRF_K + place)
    return scores


def _make_hits(
    passages: Iterable[SessionPassage], query: Query, scores: Mapping[int, float], cosines: Mapping[int, float]
) -> Iterator[SessionHit]:
    """Yield the first passage of each session; a text that several sessions share only once."""
    terms = extract_terms(query.text)
    session_ids: set[str] = set()
    texts: set[str] = set()
    for passage in passages:
        if passage.session_id in session_ids or passage.text in texts:
            continue
        session_ids.add(passage.session_id)
        texts.add(passage.text)
        cosine, term_share = cosines.get(passage.key, 0.0), measure_share(terms, passage.text)
        if cosine < NEAR_COSINE and term_share < NEAR_TERMS:
            continue
        yield SessionHit(
            session_id=passage.session_id, observation=passage.observation, agent=passage.agent,
            repo=passage.repo, at=passage.at, what=_describe(passage), text=cut_excerpt(passage.text, terms),
            score=round(scores[passage.key], 4), is_sure=cosine >= SURE_COSINE or term_share >= SURE_TERMS,
            labels=(label_other_repository(passage.repo),) if query.sight.is_elsewhere(passage.repo) else (),
        )  # fmt: skip


def _describe(passage: SessionPassage) -> str:
    if passage.seen in (ObservationKind.PROMPT, ObservationKind.REPLY):
        # An agent's prompt to a subagent must not pass for a person's.
        return f"subagent's {passage.seen}" if passage.is_subagents else passage.seen.value
    if passage.is_command:
        return "failed command" if passage.is_failed else "command"
    return "edited file"


def cut_excerpt(text: str, terms: Sequence[str]) -> str:
    """Return the part of a passage that has the most of the terms, cut between words."""
    text = BLANKS.sub(lambda blank: "" if "\n" in blank[0] else " ", text)
    if len(text) <= EXCERPT_CHARACTERS:
        return text
    lower_text = text.lower()
    # Windows that overlap by half, so that no sentence is cut in two in each of them.
    starts = range(0, len(text) - EXCERPT_CHARACTERS // 2, EXCERPT_CHARACTERS // 2)
    best = max(starts, key=lambda start: sum(term in lower_text[start : start + EXCERPT_CHARACTERS] for term in terms))
    first = 0 if best == 0 else text.find(" ", best) + 1
    last = len(text) if first + EXCERPT_CHARACTERS >= len(text) else text.rfind(" ", first, first + EXCERPT_CHARACTERS)
    excerpt = text[first : last if last > first else first + EXCERPT_CHARACTERS].strip()
    return f"{'… ' if first else ''}{excerpt}{' …' if last < len(text) else ''}"
