"""Answer a question from memory: find candidates, decide, rank, check staleness, fit the token budget, render."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from hivemind.background import find_deadline
from hivemind.code.staleness import ASKED_SECONDS, Judge, judge_hits
from hivemind.context import Context, Progress
from hivemind.model import timestamps
from hivemind.model.recall import CODE_BEHIND, Query, Recall, RelatedContext
from hivemind.recall import about_code, commits, session_search
from hivemind.recall.candidates import correct_spelling, find_candidates
from hivemind.recall.confidence import keep_near, level_confidences
from hivemind.recall.conflicting_hits import arrange_hits, join_sides
from hivemind.recall.empty_answers import explain_no_memories, explain_no_sessions
from hivemind.recall.ranking import load_hits, rank
from hivemind.recall.rendering import fit_extras, render, render_session_entry
from hivemind.recall.session_receipts import SessionReceipts
from hivemind.store.database import Database
from hivemind.store.projections import outcomes, sessions

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.semantic_index import SemanticIndex

EMBEDDED_PER_RECALL = 32
"""How many passages a recall embeds before it answers; about a third of a second when it is that far behind."""
RUNNING, MOST_RUNNING = timedelta(minutes=30), 10
"""A session that was active so recently may be the one that asks."""


def answer(
    db: Database, query: Query, meaning: "SemanticIndex | None" = None, judge: Judge = lambda anchors, texts: ()
) -> Recall:
    """Return the memories that answer the query, then a few near it, within its budget; without a model, by words."""
    corrected_query = correct_spelling(db, query, meaning)
    candidates = find_candidates(db, corrected_query, meaning)
    reputations = outcomes.rate(db, {candidate.passage.memory_id for candidate in candidates})
    size, rank_word = (db.index.size, meaning.embedder.rank_word) if meaning else (0, None)
    ranking = rank(candidates, corrected_query, reputations=reputations)
    hits_by_rank = load_hits(db, corrected_query, ranking, size, rank_word)
    matches = judge_hits(join_sides(db, keep_near(hits_by_rank, query), query), query, judge)
    hits = level_confidences(arrange_hits(matches, query))
    return Recall(query=query, hits=hits, text=render(hits))


class Answers:
    """Answers questions, with receipts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._receipts = SessionReceipts(context)

    def recall(self, query: Query) -> Recall:
        """Search memories, then sessions and commits, and record a receipt."""
        answer = self.add_sessions(about_code.add_named_code(self._context, self.search(query), self._make_judge))
        answer = commits.add_commits(self._context, answer)
        return say_if_behind(self._context, self._receipts.record(self.explain_if_empty(answer)))

    def find_related(self, target: str, limit: int, progress: Progress) -> RelatedContext:
        """Find memories, files and callers related to code or a task, and record a receipt."""
        related = about_code.find_related(self._context, target, limit, progress, self.search, self.add_sessions)
        return replace(related, recall=self._receipts.record(say_if_behind(self._context, related.recall)))

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
        fitting = fit_extras(hits, query.max_tokens, render_session_entry)
        answer = session_search.attach(Recall(query=query, hits=(), text=""), fitting)
        if not answer.session_hits:
            return replace(answer, hint=explain_no_sessions(context, query))
        return self._receipts.record(answer)

    def add_sessions(self, answer: Recall, limit: int | None = None) -> Recall:
        """Add matching passages of past sessions, after the memories."""
        context = self._context
        with context.store.db.reading():
            return session_search.add_sessions(
                context.store.db, answer, context.embedder.meaning, limit, self._find_running_sessions(answer.query)
            )

    def explain_if_empty(self, answer: Recall) -> Recall:
        """Add to an answer without any hits why it has none."""
        if answer.hits or answer.session_hits or answer.files or answer.commits:
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

    def _make_judge(self) -> Judge:
        """A judge of anchors that leaves to the background what it has no time for."""
        deadline = find_deadline(ASKED_SECONDS)
        return partial(self._context.checkout.try_to_judge, deadline=deadline)


def say_if_behind(context: Context, answer: Recall) -> Recall:
    """Add to an answer that the code is still being read, and see to it that it is."""
    context.index_if_behind()
    if not context.checkout.is_code_behind:
        return answer
    # A server answers again, when the code may have been read.
    context.checkout.index.is_behind = False
    text = f"{answer.text}\n{CODE_BEHIND}" if answer.text else ""
    return replace(answer, is_code_behind=True, text=text)
