"""The verbs that speak before being asked, within a budget, and never twice in a session."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from time import process_time

from hivemind.app.reading import Reading
from hivemind.errors import StoreError, Unavailable
from hivemind.model.recall import Hit, Query, Recall, Receipt
from hivemind.model.reports import Spent
from hivemind.model.text import checked
from hivemind.recall import brief as briefs
from hivemind.recall import fit
from hivemind.recall.doubt import is_in_doubt, verified
from hivemind.store.projections import memories, receipts, sessions

UNASKED_SECONDS = 0.1
"""Processor time for asking the code where nobody has asked us."""
AT_ONCE, LOOKED_AT, MOST_DOUBTS = 10, 100, 5
DOUBTED = "in doubt"
LONGEST_PROMPT = 2000
"""Characters of a prompt that are looked at: the task stands at its beginning."""


class Briefing(Reading):
    """What an agent is told at the start, on a prompt, and about a task."""

    def brief(self) -> Recall:
        """What holds here; nothing if this session has it before its eyes already."""
        query = self._query(limit=1, max_tokens=max(self._settings.brief_tokens, 1))
        if self._settings.brief_tokens < 1 or any(not line.query for line in self._lines_in_session()):
            return Recall(query=query, hits=(), text="")
        holding = self._verified(briefs.standing(self._store.db, query), query)
        shown = {hit.memory.id for hit in holding}
        doubtful = [hit for hit in self._put_in_doubt(query) if hit.memory.id not in shown]
        room = query.max_tokens - briefs.FRAME
        first = fit(doubtful, MOST_DOUBTS, room // 3)
        return self._told(query, briefs.unasked(fit((*first, *holding), len(first) + len(holding) + 1, room)))

    def on_prompt(self, prompt: str) -> Recall:
        """What a prompt calls for and this session was not told yet."""
        text = prompt.strip()[:LONGEST_PROMPT]
        query = self._query(text, max_tokens=max(self._settings.prompt_tokens, 1))
        if self._settings.prompt_tokens < 1 or not text:
            return Recall(query=query, hits=(), text="")
        found = briefs.on_prompt(self._store.db, query, self._given())
        return self._told(query, briefs.unasked(self._verified(found, query)))

    def context(self, task: str = "", *, files: Sequence[str] = ()) -> Recall:
        """What bears on a task and the files it touches, and what holds here as far as it was not told yet."""
        text = " ".join(filter(None, (task.strip(), *files)))
        most = max(self._settings.brief_tokens, self._settings.recall_tokens)
        query = self._query(checked(text, "the task") if text else "", max_tokens=most)
        tied = briefs.about(self._store.db, query, files)
        found = self._answer(query).hits if text else ()
        asked = [hit.memory.id for hit in (*tied, *found)]
        given = self._given() if text else ()
        holding = [one for one in briefs.standing(self._store.db, query) if one.memory.id not in given]
        wanted = {hit.memory.id: hit for hit in (*holding, *found, *tied)}
        in_order = self._verified([wanted[one] for one in dict.fromkeys([*asked, *wanted])], query)
        return self._told(query, fit(in_order, len(in_order) + 1, query.max_tokens - briefs.FRAME), asked)

    def tokens_spent(self) -> tuple[Spent, ...]:
        """What memory cost each session in tokens, newest first, and how much of it was told before."""
        return tuple(receipts.spent(self._store.db))

    def _verified(self, hits: Iterable[Hit], query: Query) -> tuple[Hit, ...]:
        """With what the code at hand puts in doubt; what takes too long to tell is told when somebody asks."""
        end = process_time() + UNASKED_SECONDS
        judge = partial(self._became, in_passing=True)
        few = replace(query, limit=AT_ONCE)
        return tuple(verified(hits, few, lambda anchors: judge(anchors) if process_time() < end else ()))

    def _put_in_doubt(self, query: Query) -> tuple[Hit, ...]:
        """What else is in doubt: by what came in through git since the last look, or already then."""
        wanted, end = replace(query, limit=LOOKED_AT), process_time() + UNASKED_SECONDS
        if not memories.has_anchors(self._store.db, wanted):
            return ()
        try:
            then, paths = self._index.look_at_git()
            known = json.loads(self._index.fact(DOUBTED) or "[]")
            touched = memories.anchored(self._store.db, wanted, paths) if paths or not then else []
            before = [one for one in memories.get_all(self._store.db, known) if one.status in wanted.statuses]
            both = {one.id: one for one in (*before, *touched[:LOOKED_AT])}
            hits = self._verified([briefs.hit(one, wanted, "is in doubt") for one in both.values()], wanted)
            doubtful = tuple(hit for hit in hits if is_in_doubt(hit))
            # What there was no time for is looked at next time.
            ids = [hit.memory.id for hit in doubtful] if process_time() < end else [*both]
            if ids != known:
                self._index.note(DOUBTED, json.dumps(ids))
        except (Unavailable, StoreError):
            # A brief without this is worth more than none.
            return ()
        return doubtful

    def _told(self, query: Query, hits: tuple[Hit, ...], asked: Sequence[str] = ()) -> Recall:
        while hits and briefs.cost(hits) > query.max_tokens - briefs.FRAME:
            hits = hits[:-1]
        found = self._with_receipt(Recall(query=query, hits=hits, text=""))
        said = "\n".join(hit.memory.id + hit.passage for hit in hits)
        # Unknown to whoever wrote the memories, and the same each time they are told.
        mark = hmac.new(self._store.secret, said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:8]
        frame = briefs.Frame(mark=mark, receipt=found.receipt or "")
        return replace(found, text=briefs.rendered(hits, frame, asked=asked))

    def _given(self) -> tuple[str, ...]:
        return tuple(line.memory_id for line in self._lines_in_session())

    def _lines_in_session(self) -> Sequence[Receipt]:
        """What was put before this session since its context was last cut down."""
        session = self._writer.session_id
        if not session:
            return ()
        since = sessions.last_compacted(self._store.db, session)
        return [line for line in receipts.of_session(self._store.db, session, 10_000) if line.at > since]
