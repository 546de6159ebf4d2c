"""Search past sessions: what people asked, what agents answered, which commands failed and which files were edited."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from hivemind.model.digest import DigestLine
from hivemind.model.ids import SessionId
from hivemind.model.recall import Query, Recall, SessionHit
from hivemind.model.scope import label_other_repository
from hivemind.model.session import ObservationKind
from hivemind.recall import experience
from hivemind.recall.experience import REPETITION, cut_excerpt
from hivemind.recall.rendering import count_tokens, fit_extras, render, render_session_entry
from hivemind.recall.session_ranking import Experience, find_experience
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
"""A passage is to the point from this cosine or this share of the question's terms on; lab/notes/ranking.md."""
NEAR_COSINE, NEAR_TERMS = 0.23, 0.25
"""It is near from these on; the cosine is where the curve of confidence has 0.1 if it has 0.5 at the one above."""
MOST_CLOSEST = 3
"""Sessions that are only close to a question, below those that are to the point."""
REPLACED = (ObservationKind.PROMPT.value, ObservationKind.REPLY.value)
"""Passages in whose place the closest reply of their session is shown."""
REPLY_CHARACTERS, REASON_CHARACTERS = 500, 160
"""Of the closest reply, and of the passage that matches where a list has conclusions beside it."""
SESSION_TOKENS, AMENDMENT_TOKENS = 175, 400
"""For each session, in an answer whichever of them needs them; and for what amends another."""
BEHIND = 0.2
"""How much closer the words of a session must be than those of the session before it, to be shown instead of them."""
MOST_BESIDE_MEMORIES, BUDGET_SHARE = 3, 3
"""Beside memories, sessions get three places and a third of the tokens, and only tokens that memories leave; without a
memory that answers, two thirds."""


def search(
    db: Database, query: Query, meaning: "SemanticIndex | None", excluded_ids: Container[str] = ()
) -> list[SessionHit]:
    """Return the sessions that match by words or by meaning: those to the point, then others.

    Sessions are ranked as wholes; each comes with what it concluded about the question, and its best passage.
    """
    hits, matches = _find(db, query, meaning, excluded_ids)
    return list(_list(matches, hits))


def _find(
    db: Database, query: Query, meaning: "SemanticIndex | None", excluded_ids: Container[str]
) -> tuple[list[SessionHit], Experience]:
    """Find the sessions that match, each with the passage by which it was found, and what they concluded."""
    if not query.fits_sessions or session_passages.is_empty(db):
        return [], Experience()
    by_words = db.index.search_sessions(query, CANDIDATES)
    # A phrase in quotes must match word for word, so meaning adds nothing.
    has_phrases = bool(extract_phrases(query.text))
    cosines = meaning.compare_sessions(db, query) if meaning and not has_phrases else {}
    by_meaning = sorted(cosines, key=lambda key: (-cosines[key], -key))[:CANDIDATES]
    scores = fuse_ranks([by_words, by_meaning])
    # The newer of two equal passages comes first.
    best_first = sorted(scores, key=lambda key: (-scores[key], -key))[: READ_PER_HIT * max(query.limit, FEWEST_READ)]
    passages = session_passages.read_visible(db, query, best_first)
    visible = [passages[key] for key in best_first if key in passages and passages[key].session_id not in excluded_ids]
    hits = list(islice(_make_hits(visible, query, scores, cosines), max(query.limit, FEWEST_READ)))
    matches = Experience() if has_phrases else find_experience(db, query, meaning, excluded_ids)
    hits = _add_amendments(db, query, meaning, matches, hits, excluded_ids)[: query.limit]
    # A place in a ranking says nothing about how far it is to the point.
    sure, closest = [hit for hit in hits if hit.is_sure], [hit for hit in hits if not hit.is_sure]
    return [*sure, *closest[:MOST_CLOSEST]], matches


def _add_amendments(
    db: Database,
    query: Query,
    meaning: "SemanticIndex | None",
    matches: Experience,
    hits: Sequence[SessionHit],
    excluded_ids: Container[str],
) -> list[SessionHit]:
    """Put the session that amends another before it, with the words that do.

    Their order is otherwise that of their passages: on repositories that nobody tuned on, it names the session that
    decided something first more often than the order of their conclusions.
    """
    budget = replace(query, max_tokens=AMENDMENT_TOKENS)
    told_hits = experience.show(db, budget, meaning, matches, excluded_ids)
    # What only its conclusions found comes last.
    concluding_hits = (experience.make_hit(budget, matches, each, 0) for each in matches.list_sessions()[: query.limit])
    added_hits = [replace(hit, conclusions=(), is_sure=False) for hit in (*told_hits, *concluding_hits)]
    by_id = {hit.session_id: hit for hit in (*added_hits, *hits)}
    order = list(dict.fromkeys(hit.session_id for hit in (*hits, *added_hits)))
    if told_hits and told_hits[0].amends:
        newest = told_hits[0]
        # It is as much to the point as what it amends, whose words the question has.
        by_id[newest.session_id] = replace(
            by_id[newest.session_id], conclusions=newest.conclusions, amends=newest.amends, is_sure=True
        )
        first = min(order.index(hit.session_id) for hit in told_hits)
        order.remove(newest.session_id)
        order.insert(first, newest.session_id)
    return [by_id[session_id] for session_id in order]


def _fill(query: Query, matches: Experience, hits: Sequence[SessionHit], max_tokens: int) -> list[SessionHit]:
    """Fill the room with what is closest to the question: conclusions of the sessions, and a reply of each.

    A prompt resembles the question, and says less about its answer than the replies do. A command or file that matches
    stays.
    """
    terms = extract_terms(query.text)
    full_hits: dict[SessionId, SessionHit] = {}
    pieces: list[tuple[float, SessionId, SessionHit | DigestLine]] = []
    for place, hit in enumerate(hits):
        session_id, behind = hit.session_id, BEHIND * place
        conclusions = matches.of(session_id)
        pieces += [(each.closeness - behind, session_id, experience.shorten(each.line)) for each in conclusions]
        reply_rating = matches.replies.get(session_id) if hit.what in REPLACED else None
        if reply_rating:
            closeness, reply = reply_rating
            text = cut_excerpt(reply.text, terms, REPLY_CHARACTERS)
            quoting = replace(hit, text=text, what=reply.seen.value, observation=reply.observation, at=reply.at)
            pieces.append((closeness - behind, session_id, quoting))
        full_hits[session_id] = replace(hit, text="") if reply_rating else hit
    room = max_tokens - sum(map(_count_tokens, full_hits.values()))
    for _, session_id, piece in sorted(pieces, key=lambda piece: -piece[0]):
        before = full_hits[session_id]
        if isinstance(piece, SessionHit):
            after = replace(piece, conclusions=before.conclusions)
        else:
            after = replace(before, conclusions=(*before.conclusions, piece))
        cost = _count_tokens(after) - _count_tokens(before)
        own_texts = (before.text, *(line.text for line in before.conclusions))
        if cost <= room and all(measure_share(extract_terms(piece.text), text) < REPETITION for text in own_texts):
            full_hits[session_id] = after
            room -= cost
    # Where nothing fits, the passages tell at least which sessions match.
    return [hit for hit in full_hits.values() if hit.text or hit.conclusions] or [hit for hit in hits if hit.text]


def _list(matches: Experience, hits: Iterable[SessionHit]) -> Iterator[SessionHit]:
    """Yield the hits as a person reads them in a list: what each concluded, and the passage that matches."""
    for hit in hits:
        fitting = experience.fit_lines((each.line for each in matches.of(hit.session_id)), SESSION_TOKENS)
        lines = hit.conclusions or fitting
        is_said = any(measure_share(extract_terms(hit.text), line.text) >= REPETITION for line in lines)
        text = "" if is_said else cut_between_words(hit.text, REASON_CHARACTERS) if lines else hit.text
        if lines or text:
            yield replace(hit, conclusions=lines, text=text)


def _count_tokens(hit: SessionHit) -> int:
    return count_tokens(render_session_entry(hit))


def add_sessions(
    db: Database,
    recall: Recall,
    meaning: "SemanticIndex | None",
    limit: int | None = None,
    excluded_ids: Container[str] = (),
) -> Recall:
    """Add matching sessions to an answer, after its memories and within what they leave of the budget.

    With a limit, so many are listed for a person.
    """
    query = recall.query
    # Where no memory answers, sessions are all there is.
    share = query.max_tokens // BUDGET_SHARE if recall.answers else query.max_tokens - query.max_tokens // BUDGET_SHARE
    room = min(share, query.max_tokens - count_tokens(recall.text))
    query = replace(query, limit=min(query.limit, MOST_BESIDE_MEMORIES if limit is None else limit))
    hits, matches = _find(db, query, meaning, excluded_ids)
    # Beside a memory that answers, only sessions that are to the point; where none does, the closest are all there is.
    close_hits = [hit for hit in hits if hit.is_sure or not recall.answers]
    if limit is not None:
        return attach(recall, fit_extras(_list(matches, close_hits), room, render_session_entry))
    entries = _fill(query, matches, close_hits, min(room, SESSION_TOKENS * len(close_hits)))
    return attach(recall, fit_extras(entries, room, render_session_entry))


def attach(recall: Recall, hits: Sequence[SessionHit]) -> Recall:
    """Add passages of sessions to an answer and render it."""
    if not hits:
        return recall
    text = render(recall.hits, recall.files, recall.sessions, hits)
    return replace(recall, session_hits=tuple(hits), text=text)


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
