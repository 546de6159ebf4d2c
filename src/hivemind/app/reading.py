"""The verbs that give something back when asked, and before: then within a budget, and never twice in a session."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time

from hivemind import recall
from hivemind.app.core import Core
from hivemind.app.shared_sessions import shared_sessions
from hivemind.codebase import touches
from hivemind.codebase.questions import named_files
from hivemind.curate import transfer
from hivemind.curate.exclusion import watch
from hivemind.curate.reconcile import possible_conflicts
from hivemind.errors import StoreError, Unavailable
from hivemind.model.events import MemoriesRecalled, Shown
from hivemind.model.ids import ReceiptId
from hivemind.model.life import Step, steps
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.metadata import Value
from hivemind.model.recall import Detail, Hit, Query, Recall, Receipt
from hivemind.model.reports import Explanation, Spent
from hivemind.model.scope import Scope, Sight
from hivemind.model.text import checked
from hivemind.recall import brief as briefs
from hivemind.recall import fit
from hivemind.recall.conflict import mark_conflicts
from hivemind.recall.doubt import is_in_doubt, verified
from hivemind.store import log
from hivemind.store.projections import memories, receipts, sessions, vectors

EMBEDDED_PER_RECALL = 32
"""How many passages a recall embeds before it answers; about a third of a second when it is that far behind."""
UNASKED_SECONDS = 0.1
"""Processor time for asking the code where nobody has asked us."""
AT_ONCE, LOOKED_AT, MOST_DOUBTS = 10, 100, 5
DOUBTED = "in doubt"
MOST_FILES, MOST_SESSIONS = 5, 3
"""Files, and sessions that touched them, in an answer to a question that names a part of the tree."""
LONGEST_PROMPT = 2000
"""Characters of a prompt that are looked at: the task stands at its beginning."""


class Reading(Core):
    """What a person or agent can ask, and what an agent is told at the start, on a prompt and about a task."""

    def recall(
        self,
        text: str,
        *,
        scope: Scope | None = None,
        kinds: Sequence[Kind] = (),
        tags: Sequence[str] = (),
        limit: int | None = None,
        max_tokens: int | None = None,
        as_of: str = "",
        true_at: str = "",
        everywhere: bool = False,
        detail: Detail = Detail.STANDARD,
        where: Mapping[str, Value] | None = None,
    ) -> Recall:
        """What is known that bears on the text, with a receipt for each memory shown.

        ``as_of`` asks what was believed then, ``true_at`` what, as far as we know today, was true then, and ``where``
        for memories whose metadata has these values.
        """
        query = self._query(
            checked(text, "the question"), scope=scope, kinds=kinds, tags=tags, limit=limit, max_tokens=max_tokens,
            as_of=as_of, true_at=true_at, everywhere=everywhere, detail=detail, where=where,
        )  # fmt: skip
        return self._with_receipt(self._with_code(self._answer(query)))

    def search_traces(self, text: str, *, limit: int | None = None, everywhere: bool = False) -> Recall:
        """What was done about something like this before, and how it ended."""
        return self.recall(text, kinds=(Kind.TRACE,), limit=limit, everywhere=everywhere)

    def show(self, memory: str, *, everywhere: bool = False) -> Memory:
        """A memory by its id, which may be shortened; with ``everywhere``, also of another repository."""
        return self._known(memory, everywhere=everywhere)

    def list(
        self,
        *,
        scope: Scope | None = None,
        kinds: Sequence[Kind] = (),
        tags: Sequence[str] = (),
        statuses: Sequence[Status] = (),
        agent: str = "",
        since: str = "",
        until: str = "",
        limit: int = 20,
        before: str = "",
        everywhere: bool = False,
        where: Mapping[str, Value] | None = None,
    ) -> tuple[Memory, ...]:
        """Memories in sight, newest first; ``before`` is the last id of the page before."""
        query = self._query(
            scope=scope, kinds=kinds, tags=tags, limit=limit, statuses=statuses, everywhere=everywhere, agent=agent,
            since=since, until=until, where=where,
        )  # fmt: skip
        last = self._id(before, everywhere=everywhere) if before else ""
        return tuple(memories.listed(self._store.db, query, before=last))

    def history(self, memory: str, *, everywhere: bool = False) -> tuple[Step, ...]:
        """Everything that happened to a memory, oldest first."""
        return tuple(steps(log.about(self._store.db, self._id(memory, everywhere=everywhere))))

    def history_of_subject(self, subject: str) -> tuple[Memory, ...]:
        """Every value a subject has had here, oldest first: how a requirement evolved."""
        return tuple(memories.of_subject(self._store.db, subject, self.repository.id))

    def explain(self, memory: str, *, everywhere: bool = False) -> Explanation:
        """What a memory rests on, its versions, and whom it reached."""
        known = self._known(memory, everywhere=everywhere)
        shown = receipts.of_memory(self._store.db, known.id, self._sight(everywhere=everywhere))
        history = self.history(known.id, everywhere=everywhere)
        return Explanation(memory=known, history=history, receipts=tuple(shown))

    def receipts(self, session: str = "", *, limit: int = 200, everywhere: bool = False) -> tuple[Receipt, ...]:
        """Which memories were put before whom, and why; of one session, or the newest of all."""
        return tuple(receipts.of_session(self._store.db, session, self._sight(everywhere=everywhere), limit))

    def log(
        self,
        memory: str = "",
        *,
        facts: Sequence[str] = (),
        actor: str = "",
        batch: str = "",
        before: int = 0,
        limit: int = 50,
        everywhere: bool = False,
    ) -> tuple[log.Entry, ...]:
        """What happened here, newest first: to one memory, of some sorts, by somebody, or at all."""
        about = self._id(memory, everywhere=everywhere) if memory else ""
        return tuple(
            log.entries(
                self._store.db, self._sight(everywhere=everywhere), about=about, facts=facts, actor=actor, batch=batch,
                before=before, limit=limit,
            )
        )  # fmt: skip

    def export_lines(self, *, everywhere: bool = False, session: str = "", owner: str = "") -> Iterator[str]:
        """The memories in sight as lines of JSON."""
        return transfer.exported(self._to_export(everywhere=everywhere, session=session, owner=owner))

    def export_pages(
        self, *, everywhere: bool = False, session: str = "", owner: str = ""
    ) -> Iterator[tuple[str, str]]:
        """The memories in sight as Markdown files: name and content, one a memory."""
        return map(transfer.page, self._to_export(everywhere=everywhere, session=session, owner=owner))

    def caveat(self) -> str:
        """What a reader should know about how recall searched; nothing if all was searched by words and meaning."""
        member = self._store.membership
        if member and not member.synchronised_at:
            return "the team's memories are not here until the hub was asked again; 'hivemind sync' brings them"
        if self._model.without:
            return f"searched by words alone: {self._model.without}"
        waiting = vectors.waiting(self._store.db)
        return (
            f"{waiting:,} passages were searched by words alone; 'hivemind model catch-up' mends it" if waiting else ""
        )

    def possible_conflicts(self, memory: Memory) -> tuple[Memory, ...]:
        """Memories that may say otherwise, where that is too uncertain for a dispute."""
        return tuple(possible_conflicts(self._store.db, memory))

    def sharing(self, memory: Memory) -> str:
        """What a writer should know about where a memory goes; nothing if it just stays here."""
        if memory.scope is not Scope.TEAM:
            return ""
        member = self._store.membership
        return "" if member else "kept on this machine, to be shared once a hub is configured"

    def _to_export(self, *, everywhere: bool, session: str, owner: str) -> Iterator[Memory]:
        found = memories.each(self._store.db, self._sight(everywhere=everywhere))
        return (
            memory
            for memory in found
            if (not session or memory.session_id == session) and (not owner or memory.owner == owner)
        )

    def _answer(self, query: Query) -> Recall:
        """By words and meaning, which is let catch up a little first."""
        if self._model.meaning:
            self._model.meaning.catch_up(self._store.db, EMBEDDED_PER_RECALL)
        with self._store.db.reading():
            return recall.answer(self._store.db, query, self._model.meaning, self._became)

    def _with_code(self, found: Recall) -> Recall:
        """The answer, with what is tied to the modules, folders and files of this tree that its question names."""
        query, root = found.query, self.repository.root
        # Today's tree says nothing about what was believed then.
        inside = named_files(Path(root), query.text) if root and not query.as_of and not query.true_at else ()
        if not inside:
            return found
        shared = shared_sessions(self._store.db, self.repository, inside)
        files = touches.related(shared, inside, MOST_FILES)
        near = recall.Nearby(symbols=(), inside=inside, files=files, sessions=shared[:MOST_SESSIONS])
        with self._store.db.reading():
            return recall.with_code(self._store.db, found, near, self._became)

    def _with_receipt(self, found: Recall) -> Recall:
        if not found.hits:
            return found
        lines = tuple(
            Shown(
                memory_id=hit.memory.id,
                rank=place,
                score=hit.score,
                tokens=hit.tokens,
                why="; ".join(signal.why for signal in hit.signals),
            )
            for place, hit in enumerate(found.hits, start=1)
        )
        asked = watch(self._store).cut(found.query.text)
        fact = MemoriesRecalled(query=asked, shown=lines, session_id=self._writer.session_id)
        # A receipt is the person's own, whatever was recalled.
        event = self._pen.event(fact, Scope.USER, "")
        self._store.record([event])
        return replace(found, receipt=ReceiptId(event.id))

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
        chosen = fit((*first, *holding), len(first) + len(holding) + 1, room)
        return self._told(query, briefs.unasked(chosen), more=len(first) + len(holding) - len(chosen))

    def on_prompt(self, prompt: str) -> Recall:
        """What a prompt calls for and this session was not told yet."""
        text = prompt.strip()[:LONGEST_PROMPT]
        query = self._query(text, max_tokens=max(self._settings.prompt_tokens, 1))
        if self._settings.prompt_tokens < 1 or not text:
            return Recall(query=query, hits=(), text="")
        found = briefs.on_prompt(self._store.db, query, self._given(), lambda: self._model.meaning)
        return self._told(query, briefs.unasked(self._verified(found, query)))

    def context(self, task: str = "", *, files: Sequence[str] = ()) -> Recall:
        """What bears on a task and the files it touches, and what holds here as far as it was not told yet."""
        text = " ".join(filter(None, (task.strip(), *files)))
        most = max(self._settings.brief_tokens, self._settings.recall_tokens)
        query = self._query(checked(text, "the task") if text else "", max_tokens=most)
        tied = briefs.about(self._store.db, query, files)
        found = self._answer(query).answers if text else ()
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
            doubted = memories.get_visible(self._store.db, known, wanted.sight)
            before = [one for one in doubted if one.status in wanted.statuses]
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

    def _told(self, query: Query, hits: tuple[Hit, ...], asked: Sequence[str] = (), more: int = 0) -> Recall:
        hits = mark_conflicts(hits)
        while hits and briefs.cost(hits) > query.max_tokens - briefs.FRAME:
            hits, more = hits[:-1], more + 1
        found = self._with_receipt(Recall(query=query, hits=hits, text=""))
        said = "\n".join(hit.memory.id + hit.passage for hit in hits)
        # Unknown to whoever wrote the memories, and the same each time they are told.
        mark = hmac.new(self._store.secret, said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:8]
        frame = briefs.Frame(mark=mark, receipt=found.receipt or "", more=more)
        return replace(found, text=briefs.rendered(hits, frame, asked=asked))

    def _given(self) -> tuple[str, ...]:
        return tuple(line.memory_id for line in self._lines_in_session())

    def _lines_in_session(self) -> Sequence[Receipt]:
        """What was put before this session since its context was last cut down."""
        session = self._writer.session_id
        if not session:
            return ()
        since = sessions.last_compacted(self._store.db, session)
        own = Sight.of(self.repository, everywhere=True)
        return [line for line in receipts.of_session(self._store.db, session, own, 10_000) if line.at > since]
