"""The verbs that give something back."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hivemind import recall
from hivemind.app.core import Core
from hivemind.curate import transfer
from hivemind.model.events import MemoriesRecalled, Shown
from hivemind.model.ids import ReceiptId
from hivemind.model.life import Step, steps
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.recall import Detail, Query, Recall, Receipt
from hivemind.model.reports import Explanation
from hivemind.model.scope import Scope, Sight
from hivemind.model.text import checked
from hivemind.store import log
from hivemind.store.projections import memories, receipts, vectors

EMBEDDED_PER_RECALL = 32
"""How many passages a recall embeds before it answers; about a third of a second when it is that far behind."""


class Reading(Core):
    """What a person or agent can ask."""

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
    ) -> Recall:
        """What is known that bears on the text, with a receipt for each memory shown.

        ``as_of`` asks what was believed then, ``true_at`` what, as far as we know today, was true then.
        """
        query = self._query(
            checked(text, "the question"), scope=scope, kinds=kinds, tags=tags, limit=limit, max_tokens=max_tokens,
            as_of=as_of, true_at=true_at, everywhere=everywhere, detail=detail,
        )  # fmt: skip
        return self._with_receipt(self._answer(query))

    def search_traces(self, text: str, *, limit: int | None = None, everywhere: bool = False) -> Recall:
        """What was done about something like this before, and how it ended."""
        return self.recall(text, kinds=(Kind.TRACE,), limit=limit, everywhere=everywhere)

    def show(self, memory: str) -> Memory:
        """A memory by its id, which may be shortened."""
        return self._known(memory)

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
    ) -> tuple[Memory, ...]:
        """Memories in sight, newest first; ``before`` is the last id of the page before."""
        query = self._query(
            scope=scope, kinds=kinds, tags=tags, limit=limit, statuses=statuses, everywhere=everywhere, agent=agent,
            since=since, until=until,
        )  # fmt: skip
        return tuple(memories.listed(self._store.db, query, before=self._id(before) if before else ""))

    def history(self, memory: str) -> tuple[Step, ...]:
        """Everything that happened to a memory, oldest first."""
        return tuple(steps(log.about(self._store.db, self._id(memory))))

    def history_of_subject(self, subject: str) -> tuple[Memory, ...]:
        """Every value a subject has had here, oldest first: how a requirement evolved."""
        return tuple(memories.of_subject(self._store.db, subject, self.repository.id))

    def explain(self, memory: str) -> Explanation:
        """What a memory rests on, its versions, and whom it reached."""
        known = self._known(memory)
        shown = receipts.of_memory(self._store.db, known.id)
        return Explanation(memory=known, history=self.history(known.id), receipts=tuple(shown))

    def receipts(self, session: str = "", *, limit: int = 200) -> tuple[Receipt, ...]:
        """Which memories were put before whom, and why; of one session, or the newest of all."""
        return tuple(receipts.of_session(self._store.db, session, limit))

    def log(
        self,
        memory: str = "",
        *,
        facts: Sequence[str] = (),
        actor: str = "",
        batch: str = "",
        before: int = 0,
        limit: int = 50,
    ) -> tuple[log.Entry, ...]:
        """What happened, newest first: to one memory, of some sorts, by somebody, or at all."""
        about = self._id(memory) if memory else ""
        return tuple(
            log.entries(self._store.db, about=about, facts=facts, actor=actor, batch=batch, before=before, limit=limit)
        )

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

    def sharing(self, memory: Memory) -> str:
        """What a writer should know about where a memory goes; nothing if it just stays here."""
        if memory.scope is not Scope.TEAM:
            return ""
        member = self._store.membership
        return "" if member else "kept on this machine, to be shared once a hub is configured"

    def _to_export(self, *, everywhere: bool, session: str, owner: str) -> Iterator[Memory]:
        found = memories.each(self._store.db, Sight.of(self.repository, everywhere=everywhere))
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
        fact = MemoriesRecalled(query=found.query.text, shown=lines, session_id=self._writer.session_id)
        # A receipt is the person's own, whatever was recalled.
        event = self._pen.event(fact, Scope.USER, "")
        self._store.record([event])
        return replace(found, receipt=ReceiptId(event.id))
