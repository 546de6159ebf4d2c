"""The brief and other notes for an agent that did not ask: conventions, memories to verify, how to search for more.

The order of a brief depends on nothing that changes from session to session, so that agents' prompt caches stay valid.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from hivemind.background import find_deadline
from hivemind.code.staleness import judge_hits
from hivemind.context import Context
from hivemind.errors import StoreError, Unavailable
from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Hit, Occasion, Query, Recall, SessionHit, Signal
from hivemind.model.scope import Visibility
from hivemind.recall import experience
from hivemind.recall.answer import Answers, say_if_behind
from hivemind.recall.conflicting_hits import drop_last, join_sides, mark_conflicts, put_newer_first
from hivemind.recall.rendering import count_tokens, fit, make_fence_mark, render_entry, render_session_entry
from hivemind.recall.session_ranking import find_experience
from hivemind.recall.session_receipts import SessionReceipts
from hivemind.recall.unasked_hits import (
    FRAME_TOKENS,
    KINDS,
    find_for_prompt,
    find_linked,
    find_standing,
    fit_shares,
    leave_out_quiet,
    make_hit,
    may_concern,
)
from hivemind.settings import Unasked
from hivemind.store.projections import digests, memories, receipts
from hivemind.text.clean import validate_text
from hivemind.text.fence import UNASKED_NOTE, wrap_in_fence
from hivemind.text.prose import split_typed

UNASKED_SECONDS = 0.1
"""Processor time for checking code where nobody has asked us."""
CHECKED_AT_ONCE, MOST_CHECKED, MOST_DOUBTS = 10, 100, 5
STALE_IDS = "in doubt"
"""The name under which the code index keeps the memories that were stale at the last look."""
LONGEST_PROMPT = 2000
"""Characters of a prompt that are looked at: the task stands at its beginning."""
EXPERIENCE_TOKENS, FEWEST_EXPERIENCE_TOKENS = 300, 80
"""Tokens for what sessions concluded about a prompt or task; with fewer, no conclusion fits."""
LATEST_SHARE = 6
"""The part of a brief, one in so many, for what the last sessions concluded and left open."""
FROM_EXPERIENCE = "From earlier sessions here:"
MORE = "the `recall` tool or `hivemind recall QUESTION`."


class Briefs:
    """Makes the brief of a session, and notes for a prompt or a task, with receipts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._receipts = SessionReceipts(context)

    def make(self) -> Recall:
        """Return the brief of this repository; empty if the session got it already."""
        context, budget = self._context, self._get_budget(self._context.settings.brief_tokens)
        query = context.query(limit=1, max_tokens=max(budget, 1))
        # A brief is the only receipt without a question; hooks of one session may ask twice.
        if budget < 1 or any(not line.query for line in self._receipts.list_shown()):
            return Recall(query=query, hits=(), text="")
        # All checks share the time: after a switch of a large branch each of them could use up as much.
        end = find_deadline(UNASKED_SECONDS)
        db = context.store.db
        standing = mark_stale(context, leave_out_quiet(db, find_standing(db, query)), query, end)
        standing_ids = {hit.memory.id for hit in standing}
        in_doubt = leave_out_quiet(db, self._find_stale(query, standing, end))
        stale = [hit for hit in in_doubt if hit.memory.id not in standing_ids]
        latest = self._find_latest(query, standing)
        room = query.max_tokens - FRAME_TOKENS - sum(hit.tokens for hit in latest)
        # At most a third for doubts: they warn, but the brief is there for what holds.
        first = fit(_leave_out_disputed(stale), MOST_DOUBTS, room // 3)
        shown_ids = standing_ids | {hit.memory.id for hit in first}
        earlier = self._find_told_before_compaction(query, shown_ids, end)
        first += fit(_leave_out_disputed(earlier), MOST_DOUBTS, room // 3)
        hits = (*first, *fit_shares(standing, room - sum(hit.tokens for hit in first)))
        return self._render(
            query, hits, more=len(first) + len(standing) - len(hits), is_unasked=True, session_hits=latest
        )

    def make_for_prompt(self, prompt: str) -> Recall:
        """Return memories that match a prompt, and what sessions concluded about it, unless this session got them."""
        context, budget = self._context, self._get_budget(self._context.settings.prompt_tokens)
        text = prompt.strip()[:LONGEST_PROMPT]
        query = context.query(text, max_tokens=max(budget, 1))
        if budget < 1 or not text:
            return Recall(query=query, hits=(), text="")
        hits = find_for_prompt(
            context.store.db, query, self._receipts.list_told_ids(), lambda: context.embedder.meaning
        )
        marked_hits = mark_stale(context, leave_out_quiet(context.store.db, hits), query)
        room = query.max_tokens - FRAME_TOKENS - count_entry_tokens(marked_hits)
        session_hits = self._find_experience(query, min(room, EXPERIENCE_TOKENS))
        return self._render(query, marked_hits, is_unasked=True, session_hits=session_hits)

    def _get_budget(self, tokens: int) -> int:
        """Return how many tokens may be told unasked; none if the settings say so."""
        return 0 if self._context.settings.unasked == Unasked.NOTHING else tokens

    @property
    def _tells_experience(self) -> bool:
        return self._context.settings.unasked == Unasked.ALL and self._context.store.db.HAS_SESSIONS

    def _find_experience(self, query: Query, max_tokens: int) -> tuple[SessionHit, ...]:
        """Find what sessions concluded about a prompt, if any have and it is as good as certain."""
        context, db = self._context, self._context.store.db
        typed_words = " ".join(split_typed(query.text))
        if max_tokens < FEWEST_EXPERIENCE_TOKENS or not self._tells_experience or digests.is_empty(db):
            return ()
        about = replace(query, text=typed_words, max_tokens=max_tokens, statuses=())
        # Loading the model takes as long as everything else, so the words decide whether it is worth it.
        if not may_concern(db, about) or (meaning := context.embedder.meaning) is None:
            return ()
        own_session = {context.author.session_id}
        return experience.find_for_prompt(db, about, meaning, self._receipts.list_told_passages(), own_session)

    def _find_latest(self, query: Query, standing: Iterable[Hit]) -> tuple[SessionHit, ...]:
        """Find what the last sessions here concluded and left open, without what a memory says already."""
        if not self._tells_experience:
            return ()
        own_session, max_tokens = self._context.author.session_id, query.max_tokens // LATEST_SHARE
        texts = [hit.passage for hit in standing]
        return experience.find_latest(self._context.store.db, replace(query, max_tokens=max_tokens), own_session, texts)

    def make_for_task(self, task: str, files: Sequence[str]) -> Recall:
        """Return memories about a task and its files, then the rest of the brief that the session did not get yet."""
        context = self._context
        text = " ".join(filter(None, (task.strip(), *files)))
        budget = max(context.settings.brief_tokens, context.settings.recall_tokens)
        query = context.query(validate_text(text, "the task") if text else "", max_tokens=budget)
        linked_hits = find_linked(context.store.db, query, files)
        answers = Answers(context).search(query).answers if text else ()
        asked_ids = [hit.memory.id for hit in (*linked_hits, *answers)]
        known_ids = self._receipts.list_told_ids() if text else ()
        standing = [hit for hit in find_standing(context.store.db, query) if hit.memory.id not in known_ids]
        asked_hits = {hit.memory.id: hit for hit in (*answers, *linked_hits)}
        requested = [asked_hits[memory_id] for memory_id in dict.fromkeys(asked_ids)]
        in_order = mark_stale(context, join_sides(context.store.db, requested, query), query)
        in_order_ids = {hit.memory.id for hit in in_order}
        room = query.max_tokens - FRAME_TOKENS
        # What fits the task comes first; the rest of the brief shares what is left.
        first = fit(in_order, len(in_order) + 1, room)
        others = mark_stale(context, [hit for hit in standing if hit.memory.id not in in_order_ids], query)
        hits = (*first, *fit_shares(others, room - sum(hit.tokens for hit in first)))
        session_hits = self._find_for_task(query) if task.strip() else ()
        return self._render(query, hits, asked_ids, session_hits=session_hits)

    def _find_for_task(self, query: Query) -> tuple[SessionHit, ...]:
        """Find what sessions concluded about a task; the agent asked, so the best there is."""
        context, db = self._context, self._context.store.db
        about = replace(query, max_tokens=EXPERIENCE_TOKENS)
        matches = find_experience(db, about, context.embedder.meaning, {context.author.session_id})
        return experience.show(db, about, context.embedder.meaning, matches, {context.author.session_id})

    def _find_stale(self, query: Query, judged_hits: Iterable[Hit], end: float) -> tuple[Hit, ...]:
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
                memory.id: memory for memory in (*self._load_current(before, broad_query), *changed[:MOST_CHECKED])
            }
            known_hits = {hit.memory.id: hit for hit in judged_hits}
            others = [memory for memory in candidates.values() if memory.id not in known_hits]
            hits = [make_hit(memory, broad_query, "is in doubt") for memory in others]
            known_hits |= {hit.memory.id: hit for hit in mark_stale(self._context, hits, broad_query, end)}
            stale = tuple(known_hits[memory_id] for memory_id in candidates if known_hits[memory_id].is_in_doubt)
            # What there was no time for is checked next time.
            ids = [*candidates] if index.is_behind else [hit.memory.id for hit in stale]
            if ids != before:
                index.set_fact(STALE_IDS, json.dumps(ids))
        except (Unavailable, StoreError):
            # A brief without this is worth more than none.
            return ()
        return stale

    def _find_told_before_compaction(self, query: Query, excluded_ids: Collection[str], end: float) -> tuple[Hit, ...]:
        """Find what this session was told before its context was compacted, as far as it still holds."""
        context, session = self._context, self._context.author.session_id
        if Occasion.COMPACTION not in context.settings.actions.split() or not session:
            return ()
        own = Visibility.of(context.repository, everywhere=True)
        lines = receipts.find_by_session(context.store.db, session, own, MOST_CHECKED)
        ids = dict.fromkeys(line.memory_id for line in lines if line.occasion != Occasion.SUBAGENT)
        earlier = self._load_current([memory_id for memory_id in ids if memory_id not in excluded_ids], query)
        hits = [make_hit(memory, query, "was told before the context was compacted") for memory in earlier]
        return mark_stale(context, hits, query, end)

    def _load_current(self, ids: Iterable[str], query: Query) -> list[Memory]:
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
        session_hits: tuple[SessionHit, ...] = (),
    ) -> Recall:
        """Render the hits that fit the budget and record a receipt."""
        hits = mark_conflicts(mark_unasked(hits) if is_unasked else hits)
        # Labels and conflicts were added after fitting and cost tokens too.
        while hits and count_entry_tokens(hits) > query.max_tokens - FRAME_TOKENS:
            shorter = drop_last(hits)
            hits, more = shorter, more + len(hits) - len(shorter)
        session_hits = experience.admit(self._context, session_hits)
        hits = tuple(experience.label_contradicted(hits, session_hits))
        answer = Recall(query=query, hits=hits, text="", session_hits=session_hits)
        answer = self._receipts.record(answer, is_unasked=is_unasked)
        mark = make_fence_mark(self._context.store.secret, hits, session_hits)
        text = render_brief(answer, mark, asked_ids=asked_ids, more=more)
        return say_if_behind(self._context, replace(answer, text=text))


def mark_stale(context: Context, hits: Iterable[Hit], query: Query, end: float | None = None) -> tuple[Hit, ...]:
    """Label the hits whose code changed, as far as the time allows: until an end, in CPU time."""
    # What git takes counts too: after a switch of a large branch it is most of the work.
    deadline = find_deadline(UNASKED_SECONDS) if end is None else end
    judge = partial(context.checkout.try_to_judge, deadline=deadline)
    originals = list(hits)
    judged_hits = judge_hits(originals, replace(query, limit=CHECKED_AT_ONCE), judge)
    # Where nobody asked, only a warning counts: score and order stay as they are.
    return tuple(new if new.is_in_doubt else old for old, new in zip(originals, judged_hits, strict=True))


def _leave_out_disputed(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Leave out what is disputed: the rest of the brief has all sides of it, or none."""
    return (hit for hit in hits if hit.memory.status is not Status.DISPUTED)


def mark_unasked(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return the hits with a first reason that says to people that nobody asked for them."""
    signal = Signal(name="unasked", score=1.0, why="unasked")
    return tuple(replace(hit, signals=(signal, *hit.signals)) for hit in hits)


def render_brief(answer: Recall, mark: str, *, asked_ids: Sequence[str] = (), more: int = 0) -> str:
    """Render the brief: memories in ``asked_ids`` first, best first, then by kind and age, then those in doubt.

    What sessions concluded comes last. ``mark`` is that of the fence, and ``more`` how many memories did not fit.
    """
    if not answer.hits and not answer.session_hits:
        return ""
    requested = [hit for hit in answer.hits if hit.memory.id in asked_ids]
    standing = sorted((hit for hit in answer.hits if hit.memory.id not in asked_ids), key=_make_order_key)
    # No headings and no kinds: they cost tokens, and a model solves as much without them.
    entries = [render_entry(hit, with_kind=False) for hit in put_newer_first([*requested, *standing])]
    if answer.session_hits:
        entries += [FROM_EXPERIENCE, *map(render_session_entry, answer.session_hits)]
    label = f"{more} more that did not fit" if more else "More"
    return wrap_in_fence(UNASKED_NOTE, "\n".join([*entries, f"{label}: {MORE} Receipt {answer.receipt or ''}"]), mark)


def _make_order_key(hit: Hit) -> tuple[bool, int, str, str]:
    """Make a key for an order that is the same in each session, unlike that of scores: prompt caches stay valid."""
    memory = hit.memory
    place = KINDS.index(memory.kind) if memory.kind in KINDS else -1
    return bool(hit.labels), place, memory.recorded_at, memory.id


def count_entry_tokens(hits: Iterable[Hit]) -> int:
    """Count the tokens of the entries."""
    return sum(count_tokens(render_entry(hit, with_kind=False)) for hit in hits)
