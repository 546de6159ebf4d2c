"""Answer a question from memory: find candidates, decide, rank, check staleness, fit the token budget, render."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from hivemind.code.code_names import find_named_files
from hivemind.code.recall_staleness import Judge, judge_staleness, sort_hits
from hivemind.code.shared_sessions import find_shared_sessions, find_touched_together
from hivemind.context import Context
from hivemind.low_priority import used_cpu_seconds
from hivemind.model import timestamps
from hivemind.model.recall import CODE_BEHIND, Hit, Query, Recall
from hivemind.recall import nearby, session_search
from hivemind.recall.candidates import correct_spelling, find_candidates
from hivemind.recall.confidence import keep_near, level_confidences
from hivemind.recall.conflicting_hits import join_sides, mark_conflicts, put_newer_first
from hivemind.recall.empty_answers import explain_no_memories, explain_no_sessions
from hivemind.recall.nearby import Nearby
from hivemind.recall.ranking import load_hits, rank
from hivemind.recall.rendering import fit, render
from hivemind.recall.session_receipts import SessionReceipts
from hivemind.store.database import Database
from hivemind.store.projections import sessions

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.semantic_index import SemanticIndex

EMBEDDED_PER_RECALL = 32
"""How many passages a recall embeds before it answers; about a third of a second when it is that far behind."""
RUNNING, MOST_RUNNING = timedelta(minutes=30), 10
"""A session that was active so recently may be the one that asks."""
ASKED_SECONDS = 0.15
"""Processor time for checking code where somebody waits for the answer; to load the parsers takes as much again."""
MOST_FILES, MOST_SESSIONS = 5, 3
"""Files, and sessions that touched them, in an answer to a question that names a part of the tree."""


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


class Answers:
    """Answers questions, with receipts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._receipts = SessionReceipts(context)

    def recall(self, query: Query) -> Recall:
        """Search memories, then sessions, and record a receipt."""
        answer = self.add_sessions(self._add_code(self.search(query)))
        return say_if_behind(self._context, self._receipts.record(self.explain_if_empty(answer)))

    def search(self, query: Query) -> Recall:
        """Search memories without a receipt."""
        context = self._context
        if context.embedder.meaning:
            # New passages become searchable by meaning a few at a time.
            context.embedder.meaning.catch_up_in_passing(context.store.db, EMBEDDED_PER_RECALL)
        with context.store.db.reading():
            return answer(context.store.db, query, context.embedder.meaning, self._make_judge())

    def search_sessions(self, query: Query) -> Recall:
        """Search past sessions alone and record a receipt."""
        context = self._context
        with context.store.db.reading():
            hits = session_search.search(context.store.db, query, context.embedder.meaning)
        answer = session_search.attach(
            Recall(query=query, hits=(), text=""), session_search.fit_sessions(hits, query.max_tokens)
        )
        if not answer.session_hits:
            return replace(answer, hint=explain_no_sessions(context, query))
        return self._receipts.record(answer)

    def add_sessions(self, answer: Recall, limit: int = session_search.MOST_BESIDE_MEMORIES) -> Recall:
        """Add matching passages of past sessions, after the memories."""
        context = self._context
        with context.store.db.reading():
            return session_search.add_sessions(
                context.store.db, answer, context.embedder.meaning, limit, self._find_running_sessions(answer.query)
            )

    def explain_if_empty(self, answer: Recall) -> Recall:
        """Add to an answer without any hits why it has none."""
        if answer.hits or answer.session_hits or answer.files:
            return answer
        return replace(answer, hint=explain_no_memories(self._context, answer.query))

    def _find_running_sessions(self, query: Query) -> set[str]:
        """Return the sessions that an agent may be asking from; what they contain is before its eyes already."""
        context = self._context
        if context.is_person:
            return set()
        if context.author.session_id:
            return {context.author.session_id}
        # An MCP client does not say which session it belongs to, so all of its that were active just now are left out.
        since = timestamps.format_timestamp(context.clock() - RUNNING)
        agent = context.author.actor
        latest = sessions.list_sessions(context.store.db, query.sight, limit=MOST_RUNNING, agent=agent)
        return {session.id for session in latest if session.last_seen_at >= since}

    def _add_code(self, answer: Recall) -> Recall:
        """Add memories linked to the files, modules and folders that the question names."""
        query, context = answer.query, self._context
        # Today's tree says nothing about what was believed then.
        is_about_today = context.checkout.exists and not query.as_of and not query.true_at
        # Files that the question names by path, module or folder; most questions name none.
        inside = find_named_files(context.checkout.root, query.text) if is_about_today else ()
        if not inside:
            return answer
        sessions_together = find_shared_sessions(context.store.db, context.repository, inside)
        files = find_touched_together(sessions_together, inside, MOST_FILES)
        near = Nearby(symbols=(), inside=inside, files=files, sessions=sessions_together[:MOST_SESSIONS])
        with context.store.db.reading():
            return add_linked_memories(context.store.db, answer, near, self._make_judge())

    def _make_judge(self) -> Judge:
        """A judge of anchors that leaves to the background what it has no time for."""
        deadline = used_cpu_seconds() + ASKED_SECONDS
        return partial(self._context.checkout.staleness_of, deadline=deadline)


def say_if_behind(context: Context, answer: Recall) -> Recall:
    """Add to an answer that the code is still being read, and see to it that it is."""
    context.index_if_behind()
    if not context.checkout.is_code_behind:
        return answer
    # A server answers again, when the code may have been read.
    context.checkout.index.is_behind = False
    text = f"{answer.text}\n{CODE_BEHIND}" if answer.text else ""
    return replace(answer, is_code_behind=True, text=text)
