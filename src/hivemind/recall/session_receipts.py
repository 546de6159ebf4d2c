"""Receipts: record what a session is shown, and read it, so that nothing is told twice."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from hivemind.context import Context
from hivemind.errors import StoreUnwritable
from hivemind.model.events import Event, MemoriesRecalled, ShownCommit, ShownMemory, ShownSessionPassage
from hivemind.model.ids import EventId, ReceiptId
from hivemind.model.recall import Occasion, Recall, Receipt, SessionHit, WaitingSession
from hivemind.model.scope import Scope, Visibility
from hivemind.recall.rendering import count_tokens, render_conclusion
from hivemind.store.database import READER_SECONDS
from hivemind.store.projections import receipts, sessions


class SessionReceipts:
    """Records receipts of what is shown to the author's session, and reads them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def record(self, answer: Recall, *, is_unasked: bool = False, occasion: Occasion | None = None) -> Recall:
        """Record a receipt for an answer and return the answer with its id."""
        # Nothing reached anybody, so there is nothing to keep a receipt of.
        if not answer.hits and not answer.session_hits and not answer.commits:
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
            occasion=occasion.value if occasion else "",
            sessions=tuple(passage for hit in answer.session_hits for passage in _list_passages(hit)),
            commits=tuple(ShownCommit(commit_id=hit.commit_id, tokens=hit.tokens) for hit in answer.commits),
        )  # fmt: skip
        # A receipt is the person's own, whatever was recalled.
        event = context.factory.event(fact, Scope.USER, "")
        self._record_event(event)
        return replace(answer, receipt=ReceiptId(event.id))

    def _record_event(self, event: Event) -> None:
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
                with suppress(OSError):
                    context.spool.leave_receipt(str(context.home), event)

    def list_told_ids(self) -> tuple[str, ...]:
        """List the ids of the memories that this session was shown since its last compaction."""
        # A subagent has a context of its own.
        return tuple(line.memory_id for line in self.list_shown() if line.occasion != Occasion.SUBAGENT)

    def list_told_passages(self) -> set[EventId]:
        """List the observations of other sessions that this session was shown since its last compaction."""
        db, session = self._context.store.db, self._context.author.session_id
        told = (
            receipts.find_told_passages(db, session, sessions.find_last_compaction(db, session)) if session else set()
        )
        return told | {EventId(passage.observation) for fact in self._list_waiting_facts() for passage in fact.sessions}

    def list_shown(self) -> Sequence[Receipt]:
        """List what this session was shown since its last compaction."""
        db, session = self._context.store.db, self._context.author.session_id
        if not session:
            return ()
        # Compaction drops what was said before it from the agent's context, so it may be told again.
        since = sessions.find_last_compaction(db, session)
        # Receipts of this one session, whichever repository its memories came from.
        own = Visibility.of(self._context.repository, everywhere=True)
        lines = receipts.find_by_session(db, session, own, 10_000)
        if waiting := self.read_waiting():
            since = max(since, waiting.last_compaction)
            lines += [line for event in waiting.receipts for line in receipts.list_lines(event)]
        return [line for line in lines if line.at > since]

    def list_shown_commits(self) -> set[str]:
        """List the commits that this session was shown since its last compaction."""
        db, session = self._context.store.db, self._context.author.session_id
        if not session:
            return set()
        since, waiting = sessions.find_last_compaction(db, session), self.read_waiting()
        commit_ids = receipts.find_shown_commits(db, session, max(since, waiting.last_compaction if waiting else ""))
        return commit_ids | {commit.commit_id for fact in self._list_waiting_facts() for commit in fact.commits}

    def _list_waiting_facts(self) -> list[MemoriesRecalled]:
        waiting = self.read_waiting()
        facts = [event.fact for event in waiting.receipts] if waiting else []
        return [fact for fact in facts if isinstance(fact, MemoriesRecalled)]

    def read_waiting(self) -> WaitingSession | None:
        """Read what the spool has of the author's session; None unless something could not be recorded."""
        context = self._context
        if context.home is None or not context.has_waiting_lines:
            return None
        return context.spool.read_session(str(context.home), context.author.session_id)


def _list_passages(hit: SessionHit) -> Iterator[ShownSessionPassage]:
    """Yield what a hit shows of a session: its conclusions, each by itself, and the passage that matches."""
    costs = [count_tokens(render_conclusion(line)) for line in hit.conclusions]
    for line, cost in zip(hit.conclusions, costs, strict=True):
        yield ShownSessionPassage(session_id=hit.session_id, observation=line.event, tokens=cost)
    if hit.text:
        rest = max(hit.tokens - sum(costs), 0)
        yield ShownSessionPassage(session_id=hit.session_id, observation=hit.observation, tokens=rest)
