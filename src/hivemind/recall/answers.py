"""Answers within a token budget: to questions, and what a session gets without asking."""

import hashlib
import hmac
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from hivemind.code.code_names import find_named_files
from hivemind.code.recall_staleness import Judge, label_stale
from hivemind.code.shared_sessions import find_shared_sessions, find_touched_together
from hivemind.context import Context
from hivemind.errors import StoreError, StoreUnwritable, Unavailable
from hivemind.low_priority import used_cpu_seconds
from hivemind.model import timestamps
from hivemind.model.events import Event, MemoriesRecalled, ShownMemory, ShownSessionPassage
from hivemind.model.ids import ReceiptId
from hivemind.model.memory import Memory, Status
from hivemind.model.recall import CODE_BEHIND, Hit, Occasion, Query, Recall, Receipt
from hivemind.model.scope import Scope, Visibility
from hivemind.recall import at_action, session_search
from hivemind.recall import brief as briefs
from hivemind.recall.answer import add_linked_memories
from hivemind.recall.answer import answer as answer_query
from hivemind.recall.conflicting_hits import drop_last, join_sides, mark_conflicts
from hivemind.recall.empty_answers import explain_no_memories, explain_no_sessions
from hivemind.recall.nearby import Nearby
from hivemind.recall.prompt import find_for_prompt
from hivemind.recall.rendering import fit
from hivemind.store.database import READER_SECONDS
from hivemind.store.projections import memories, receipts, sessions
from hivemind.text.clean import validate_text

if TYPE_CHECKING:
    from hivemind.sessions.intake import WaitingSession

EMBEDDED_PER_RECALL = 32
"""How many passages a recall embeds before it answers; about a third of a second when it is that far behind."""
RUNNING, MOST_RUNNING = timedelta(minutes=30), 10
"""A session that was active so recently may be the one that asks."""
UNASKED_SECONDS = 0.1
"""Processor time for checking code where nobody has asked us."""
ASKED_SECONDS = 0.15
"""Processor time for checking code where somebody waits for the answer; to load the parsers takes as much again."""
CHECKED_AT_ONCE, MOST_CHECKED, MOST_DOUBTS = 10, 100, 5
STALE_IDS = "in doubt"
"""The name under which the code index keeps the memories that were stale at the last look."""
MOST_FILES, MOST_SESSIONS = 5, 3
"""Files, and sessions that touched them, in an answer to a question that names a part of the tree."""
LONGEST_PROMPT = 2000
"""Characters of a prompt that are looked at: the task stands at its beginning."""


class Answers:
    """Answers questions and makes briefs, with receipts."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def recall(self, query: Query) -> Recall:
        """Search memories, then sessions, and record a receipt."""
        answer = self.with_sessions(self._with_code(self.search(query)))
        return self.say_if_behind(self.with_receipt(self.explain_if_empty(answer)))

    def explain_if_empty(self, answer: Recall) -> Recall:
        """Add to an answer without any hits why it has none."""
        if answer.hits or answer.session_hits or answer.files:
            return answer
        return replace(answer, hint=explain_no_memories(self._context, answer.query))

    def with_sessions(self, answer: Recall, limit: int = session_search.MOST_BESIDE_MEMORIES) -> Recall:
        """Add matching passages of past sessions, after the memories."""
        context = self._context
        with context.store.db.reading():
            return session_search.add_sessions(
                context.store.db, answer, context.embedder.meaning, limit, self._find_running_sessions(answer.query)
            )

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
        return self.with_receipt(answer)

    def search(self, query: Query) -> Recall:
        """Search memories without a receipt."""
        context = self._context
        if context.embedder.meaning:
            # New passages become searchable by meaning a few at a time.
            context.embedder.meaning.catch_up_in_passing(context.store.db, EMBEDDED_PER_RECALL)
        with context.store.db.reading():
            return answer_query(context.store.db, query, context.embedder.meaning, self._make_judge())

    def with_receipt(self, answer: Recall, *, is_unasked: bool = False, occasion: str = "") -> Recall:
        """Record a receipt for an answer and return the answer with its id."""
        # Nothing reached anybody, so there is nothing to keep a receipt of.
        if not answer.hits and not answer.session_hits:
            return answer
        context = self._context
        lines = tuple(
            ShownMemory(
                memory_id=hit.memory.id,
                rank=place,
                score=hit.score,
                tokens=hit.tokens,
                why="; ".join(signal.why for signal in hit.signals),
                is_in_doubt=hit.is_in_doubt,
            )
            for place, hit in enumerate(answer.hits, start=1)
        )
        fact = MemoriesRecalled(
            query=answer.query.text, shown=lines, session_id=context.author.session_id, is_unasked=is_unasked,
            occasion=occasion,
            sessions=tuple(
                ShownSessionPassage(session_id=hit.session_id, observation=hit.observation, tokens=hit.tokens)
                for hit in answer.session_hits
            ),
        )  # fmt: skip
        # A receipt is the person's own, whatever was recalled.
        event = context.factory.event(fact, Scope.USER, "")
        self._record_receipt(event)
        return replace(answer, receipt=ReceiptId(event.id))

    def _record_receipt(self, event: Event) -> None:
        """Record what was shown to somebody; if nobody can write now, whoever opens the store next records it."""
        context = self._context
        try:
            with context.store.db.waiting_at_most(READER_SECONDS):
                context.store.record_receipt(event)
        except StoreUnwritable:
            # The spool belongs to the default store. A hub has none, and there a receipt must not get lost.
            if context.home is None:
                raise
            if context.store.directory == context.home:
                context.has_waiting_lines = True
                # Imported here for the same reason as below.
                from hivemind.sessions import intake

                with suppress(OSError):
                    intake.leave_receipt(str(context.home), event)

    def read_waiting_session(self) -> "WaitingSession | None":
        """Read what the spool has of the author's session; None unless something could not be recorded."""
        context = self._context
        if context.home is None or not context.has_waiting_lines:
            return None
        # Hardly ever needed, and a hook pays for each import.
        from hivemind.sessions import intake

        return intake.read_session(str(context.home), context.author.session_id)

    def brief(self) -> Recall:
        """Return the brief of this repository; empty if the session got it already."""
        context, budget = self._context, self._context.settings.brief_tokens
        query = context.query(limit=1, max_tokens=max(budget, 1))
        # A brief is the only receipt without a question; hooks of one session may ask twice.
        if budget < 1 or any(not line.query for line in self.lines_in_session()):
            return Recall(query=query, hits=(), text="")
        # All checks share the time: after a switch of a large branch each of them could use up as much.
        end = used_cpu_seconds() + UNASKED_SECONDS
        standing = self.mark_stale(briefs.find_standing(context.store.db, query), query, end)
        standing_ids = {hit.memory.id for hit in standing}
        stale = [hit for hit in self._stale(query, standing, end) if hit.memory.id not in standing_ids]
        room = query.max_tokens - briefs.FRAME_TOKENS
        # At most a third for doubts: they warn, but the brief is there for what holds.
        first = fit(_without_disputed(stale), MOST_DOUBTS, room // 3)
        shown_ids = standing_ids | {hit.memory.id for hit in first}
        earlier = self._told_before_compaction(query, shown_ids, end)
        first += fit(_without_disputed(earlier), MOST_DOUBTS, room // 3)
        hits = (*first, *briefs.fit_shares(standing, room - sum(hit.tokens for hit in first)))
        return self._render(query, hits, more=len(first) + len(standing) - len(hits), is_unasked=True)

    def on_prompt(self, prompt: str) -> Recall:
        """Return memories that match a prompt and that this session did not get yet."""
        context, budget = self._context, self._context.settings.prompt_tokens
        text = prompt.strip()[:LONGEST_PROMPT]
        query = context.query(text, max_tokens=max(budget, 1))
        if budget < 1 or not text:
            return Recall(query=query, hits=(), text="")
        hits = find_for_prompt(context.store.db, query, self._told_before(), lambda: context.embedder.meaning)
        return self._render(query, self.mark_stale(hits, query), is_unasked=True)

    def for_task(self, task: str, files: Sequence[str]) -> Recall:
        """Return memories about a task and its files, then the rest of the brief that the session did not get yet."""
        context = self._context
        text = " ".join(filter(None, (task.strip(), *files)))
        budget = max(context.settings.brief_tokens, context.settings.recall_tokens)
        query = context.query(validate_text(text, "the task") if text else "", max_tokens=budget)
        linked_hits = briefs.find_linked(context.store.db, query, files)
        answers = self.search(query).answers if text else ()
        asked_ids = [hit.memory.id for hit in (*linked_hits, *answers)]
        known_ids = self._told_before() if text else ()
        standing = [hit for hit in briefs.find_standing(context.store.db, query) if hit.memory.id not in known_ids]
        asked_hits = {hit.memory.id: hit for hit in (*answers, *linked_hits)}
        requested = [asked_hits[memory_id] for memory_id in dict.fromkeys(asked_ids)]
        in_order = self.mark_stale(join_sides(context.store.db, requested, query), query)
        in_order_ids = {hit.memory.id for hit in in_order}
        room = query.max_tokens - briefs.FRAME_TOKENS
        # What fits the task comes first; the rest of the brief shares what is left.
        first = fit(in_order, len(in_order) + 1, room)
        others = self.mark_stale([hit for hit in standing if hit.memory.id not in in_order_ids], query)
        return self._render(
            query, (*first, *briefs.fit_shares(others, room - sum(hit.tokens for hit in first))), asked_ids
        )

    def _with_code(self, answer: Recall) -> Recall:
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

    def say_if_behind(self, answer: Recall) -> Recall:
        """Add to an answer that the code is still being read, and see to it that it is."""
        self._context.index_if_behind()
        if not self._context.checkout.is_code_behind:
            return answer
        # A server answers again, when the code may have been read.
        self._context.checkout.index.is_behind = False
        text = f"{answer.text}\n{CODE_BEHIND}" if answer.text else ""
        return replace(answer, is_code_behind=True, text=text)

    def mark_stale(self, hits: Iterable[Hit], query: Query, end: float | None = None) -> tuple[Hit, ...]:
        """Label the hits whose code changed, as far as the time allows: until an end, in CPU time."""
        # What git takes counts too: after a switch of a large branch it is most of the work.
        deadline = used_cpu_seconds() + UNASKED_SECONDS if end is None else end
        judge = partial(self._context.checkout.staleness_of, in_passing=True, deadline=deadline)
        return tuple(label_stale(hits, replace(query, limit=CHECKED_AT_ONCE), judge))

    def _stale(self, query: Query, judged_hits: Iterable[Hit], end: float) -> tuple[Hit, ...]:
        """Find memories whose code changed by commits since the last brief, or was stale already then."""
        db, broad_query = self._context.store.db, replace(query, limit=MOST_CHECKED)
        if not memories.has_anchors(db, broad_query):
            return ()
        try:
            index = self._context.checkout.index
            # Files of commits since the last look; to judge every anchor at each start would take too long.
            last_look, paths = index.list_new_commits()
            before = json.loads(index.get_fact(STALE_IDS) or "[]")
            changed = memories.find_anchored(db, broad_query, paths) if paths or not last_look else []
            candidates = {
                memory.id: memory for memory in (*self._still_standing(before, broad_query), *changed[:MOST_CHECKED])
            }
            known_hits = {hit.memory.id: hit for hit in judged_hits}
            others = [memory for memory in candidates.values() if memory.id not in known_hits]
            hits = [briefs.make_hit(memory, broad_query, "is in doubt") for memory in others]
            known_hits |= {hit.memory.id: hit for hit in self.mark_stale(hits, broad_query, end)}
            stale = tuple(known_hits[memory_id] for memory_id in candidates if known_hits[memory_id].is_in_doubt)
            # What there was no time for is checked next time.
            ids = [*candidates] if index.is_behind else [hit.memory.id for hit in stale]
            if ids != before:
                index.set_fact(STALE_IDS, json.dumps(ids))
        except (Unavailable, StoreError):
            # A brief without this is worth more than none.
            return ()
        return stale

    def _told_before_compaction(self, query: Query, excluded_ids: Collection[str], end: float) -> tuple[Hit, ...]:
        """Find what this session was told before its context was compacted, as far as it still holds."""
        context, session = self._context, self._context.author.session_id
        if Occasion.COMPACTION not in context.settings.actions.split() or not session:
            return ()
        own = Visibility.of(context.repository, everywhere=True)
        lines = receipts.find_by_session(context.store.db, session, own, MOST_CHECKED)
        ids = dict.fromkeys(line.memory_id for line in lines if line.occasion != Occasion.SUBAGENT)
        earlier = self._still_standing([memory_id for memory_id in ids if memory_id not in excluded_ids], query)
        hits = [briefs.make_hit(memory, query, "was told before the context was compacted") for memory in earlier]
        return self.mark_stale(hits, query, end)

    def _still_standing(self, ids: Iterable[str], query: Query) -> list[Memory]:
        visible = memories.get_visible(self._context.store.db, ids, query.sight)
        return [memory for memory in visible if memory.status in query.statuses]

    def _render(
        self,
        query: Query,
        hits: tuple[Hit, ...],
        asked_ids: Sequence[str] = (),
        more: int = 0,
        *,
        is_unasked: bool = False,
    ) -> Recall:
        """Render the hits that fit the budget and record a receipt."""
        hits = mark_conflicts(briefs.mark_unasked(hits) if is_unasked else hits)
        # Labels and conflicts were added after fitting and cost tokens too.
        while hits and briefs.count_entry_tokens(hits) > query.max_tokens - briefs.FRAME_TOKENS:
            shorter = drop_last(hits)
            hits, more = shorter, more + len(hits) - len(shorter)
        answer = self.with_receipt(Recall(query=query, hits=hits, text=""), is_unasked=is_unasked)
        frame = briefs.Frame(mark=self._make_mark(hits), receipt=answer.receipt or "", more=more)
        return self.say_if_behind(replace(answer, text=briefs.render_brief(hits, frame, asked_ids=asked_ids)))

    def at_action(self, query: Query, hits: Iterable[Hit], heading: str, occasion: Occasion) -> Recall:
        """Render the memories that concern an action and fit the budget, and record a receipt with the occasion."""
        all_sides = join_sides(self._context.store.db, hits, query)
        marked_hits = mark_conflicts(briefs.mark_unasked(self.mark_stale(all_sides, query)))
        fitting = fit(marked_hits, at_action.MOST_HITS, query.max_tokens - at_action.FRAME_TOKENS)
        answer = self.with_receipt(Recall(query=query, hits=fitting, text=""), is_unasked=True, occasion=occasion.value)
        text = at_action.render_note(heading, fitting, self._make_mark(fitting), answer.receipt or "")
        return replace(answer, text=text)

    def _make_mark(self, hits: Iterable[Hit]) -> str:
        """Make the mark of a fence: unknown to whoever wrote the memories, and the same each time they are told."""
        content = "\n".join(hit.memory.id + hit.passage for hit in hits)
        digest = hmac.new(self._context.store.secret, content.encode("utf-8", "replace"), hashlib.sha256)
        return digest.hexdigest()[:8]

    def _told_before(self) -> tuple[str, ...]:
        # A subagent has a context of its own.
        return tuple(line.memory_id for line in self.lines_in_session() if line.occasion != Occasion.SUBAGENT)

    def lines_in_session(self) -> Sequence[Receipt]:
        """List what this session was shown since its last compaction."""
        db, session = self._context.store.db, self._context.author.session_id
        if not session:
            return ()
        # Compaction drops what was said before it from the agent's context, so it may be told again.
        since = sessions.find_last_compaction(db, session)
        # Receipts of this one session, whichever repository its memories came from.
        own = Visibility.of(self._context.repository, everywhere=True)
        lines = receipts.find_by_session(db, session, own, 10_000)
        if waiting := self.read_waiting_session():
            since = max(since, waiting.last_compaction)
            lines += [line for event in waiting.receipts for line in receipts.list_lines(event)]
        return [line for line in lines if line.at > since]


def _without_disputed(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Leave out what is disputed: the rest of the brief has all sides of it, or none."""
    return (hit for hit in hits if hit.memory.status is not Status.DISPUTED)
