"""Answer a question from memory: find candidates, decide, rank, check staleness, fit the token budget, render."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hivemind.code.recall_staleness import Judge, judge_staleness, sort_hits
from hivemind.model.recall import Hit, Query, Recall
from hivemind.recall import nearby
from hivemind.recall.candidates import correct_spelling, find_candidates
from hivemind.recall.confidence import keep_near, level_confidences
from hivemind.recall.conflicting_hits import join_sides, mark_conflicts, put_newer_first
from hivemind.recall.nearby import Nearby
from hivemind.recall.ranking import load_hits, rank
from hivemind.recall.rendering import fit, render
from hivemind.store.database import Database

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.embeddings import SemanticIndex


def answer(
    db: Database, query: Query, meaning: "SemanticIndex | None" = None, judge: Judge = lambda anchors: ()
) -> Recall:
    """Return the memories that answer the query, then a few near it, within its budget; without a model, by words."""
    corrected_query = correct_spelling(db, query, meaning)
    candidates = find_candidates(db, corrected_query, meaning)
    size, rank_word = (db.index.size, meaning.embedder.rank_word) if meaning else (0, None)
    hits_by_rank = load_hits(db, corrected_query, rank(candidates, corrected_query), size, rank_word)
    matches = judge_staleness(join_sides(db, keep_near(hits_by_rank, query), query), query, judge)
    # Sort by staleness only after fitting: it changes the order of the chosen hits, never which ones are chosen.
    in_order = put_newer_first(_mark_conflicts(sort_hits(fit(matches, query.limit, query.max_tokens)), query))
    hits = level_confidences(in_order)
    return Recall(query=query, hits=hits, text=render(hits))


def answer_about_code(db: Database, query: Query, near: Nearby, judge: Judge) -> Recall:
    """Return the memories about some code and the files near it that fit the budget."""
    matches = judge_staleness(join_sides(db, nearby.load_hits(db, query, near), query), query, judge)
    near = nearby.drop_if_too_long(near, query.max_tokens)
    room = replace(query, max_tokens=query.max_tokens - nearby.count_nearby_tokens(near))
    hits = put_newer_first(_mark_conflicts(sort_hits(fit(matches, room.limit, room.max_tokens)), room))
    return nearby.attach(near, Recall(query=query, hits=hits, text=""))


def add_files(recall: Recall, near: Nearby) -> Recall:
    """Add the files near the code in question to an answer, where the budget allows."""
    near = nearby.drop_if_too_long(near, recall.query.max_tokens)
    hits = fit(recall.hits, recall.query.limit, recall.query.max_tokens - nearby.count_nearby_tokens(near))
    return nearby.attach(near, replace(recall, hits=hits))


def add_linked_memories(db: Database, recall: Recall, near: Nearby, judge: Judge) -> Recall:
    """Add the memories linked to the code that the question names, and the files near that code, to an answer."""
    query, answers = recall.query, recall.answers
    answer_ids = {hit.memory.id for hit in answers}
    matches = join_sides(db, nearby.load_hits(db, query, replace(near, files=())), query)
    # Half of the places at most, so that a file with many memories does not displace the answers.
    linked_hits = [hit for hit in matches if hit.memory.id not in answer_ids][: max(1, query.limit // 2)]
    first_hits = (*answers[: query.limit - len(linked_hits)], *sort_hits(judge_staleness(linked_hits, query, judge)))
    first_ids = {hit.memory.id for hit in first_hits}
    closest = [hit for hit in recall.hits if not hit.is_sure and hit.memory.id not in first_ids]
    # Not by score: a link and a match have no common scale.
    hits = sorted((*first_hits, *closest), key=lambda hit: (not hit.is_sure, not hit.is_valid))
    return add_files(replace(recall, hits=tuple(hits[: query.limit])), near)


def _mark_conflicts(hits: Sequence[Hit], query: Query) -> tuple[Hit, ...]:
    """Label hits that may conflict; the labels cost tokens, so hits that no longer fit are dropped."""
    labelled_hits = mark_conflicts(hits)
    has_conflict = any(hit.may_conflict for hit in labelled_hits)
    return fit(labelled_hits, query.limit, query.max_tokens) if has_conflict else labelled_hits
