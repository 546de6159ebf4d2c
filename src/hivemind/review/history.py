"""History of memories and subjects, receipts, and the log."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta

from hivemind.context import Context
from hivemind.model import timestamps
from hivemind.model.dataclass import dataclass
from hivemind.model.events import FACTS, MemoriesRecalled, MemoryErased, TeamAdministered
from hivemind.model.fold import HistoryStep, build_history
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Memory, Status
from hivemind.model.outcomes import TellingRecord
from hivemind.model.recall import Receipt, Spent
from hivemind.model.review import DailyStats, Explanation
from hivemind.model.scope import Visibility
from hivemind.recall.unasked_hits import find_quiet
from hivemind.store import log
from hivemind.store.log import LogEntry
from hivemind.store.projections import memories, outcomes, receipts
from hivemind.text.clean import plural

PRIVATE_FACTS = ("memories.recalled", "write.refused", "session.examined")
"""Facts of what somebody asked or tried, which are not the team's."""


@dataclass(frozen=True, slots=True)
class WeekSummary:
    """What memory did in the last seven days."""

    sessions: int
    """Sessions that were given something."""
    memories: int
    edits: int
    """Edits at which agents were told something, then commands and failures at which they were."""
    commands: int
    failures: int
    guards: int
    """Calls at which a guard asked or refused."""
    questions: int
    """Questions for which memories were found, also uncertain ones."""
    warnings: int
    """Memories that were shown with a warning that their code had changed."""
    resolutions: int
    """Failures that did not come again after memory was told about them."""
    additions: int
    """New memories that stand."""
    quotations: int
    """Those of them that the person said to an agent."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What happened, for people; nothing where nothing did."""
        reach = f"{plural(self.memories, 'memory')} in {plural(self.sessions, 'session')}"
        actions = ((self.edits, "edit"), (self.commands, "command"), (self.failures, "failure"))
        counts = [plural(count, what) for count, what in actions if count]
        times = "once" if self.guards == 1 else f"{self.guards:,} times"
        parts = (
            (self.sessions, f"Agents got {reach}."),
            (self.resolutions, f"{plural(self.resolutions, 'failure')} did not come again after a fix was told."),
            (counts, f"Notes came with {' and '.join(filter(None, (', '.join(counts[:-1]), *counts[-1:])))}."),
            (self.guards, f"Guards acted {times}."),
            (self.questions, f"{plural(self.questions, 'question')} found memories."),
            (self.warnings, f"{plural(self.warnings, 'memory')} came with a warning that code had changed."),
            (self.additions, self._describe_learned()),
        )
        return tuple(sentence for count, sentence in parts if count)

    def _describe_learned(self) -> str:
        own_words = f", {self.quotations:,} of them in your own words" if self.quotations else ""
        if self.additions == self.quotations == 1:
            own_words = ", in your own words"
        return f"{plural(self.additions, 'memory')} {'was' if self.additions == 1 else 'were'} learned{own_words}."


class History:
    """Reads the log and the receipts."""

    def __init__(self, context: Context, *, own_only: bool = False) -> None:
        """With ``own_only``, questions and receipts of other people are left out."""
        self._context = context
        self._own_only = own_only

    def steps(self, memory: str, *, everywhere: bool = False) -> tuple[HistoryStep, ...]:
        """List all changes of a memory, oldest first."""
        memory_id = self._context.resolve(memory, everywhere=everywhere)
        return tuple(build_history(log.read_events_about(self._context.store.db, memory_id)))

    def of_subject(self, subject: str) -> tuple[Memory, ...]:
        """List all memories of a subject in this repository, oldest first."""
        return tuple(memories.find_by_subject(self._context.store.db, subject, self._context.repository.id))

    def explain(self, memory_id: str, *, everywhere: bool = False) -> Explanation:
        """Return a memory with its sources, its history and its receipts."""
        context = self._context
        memory = context.find_memory(memory_id, everywhere=everywhere)
        lines = receipts.find_by_memory(context.store.db, memory.id, context.limit_sight(everywhere=everywhere))
        history = self.steps(memory.id, everywhere=everywhere)
        return Explanation(
            memory=memory, history=history, receipts=self._filter_visible(lines),
            record=self._read_record(memory, context.limit_sight(everywhere=everywhere)),
        )  # fmt: skip

    def _read_record(self, memory: Memory, sight: Visibility) -> TellingRecord:
        db = self._context.store.db
        telling_count, session_count = receipts.count_tellings(db, memory.id, sight)
        return TellingRecord(
            tellings=telling_count, sessions=session_count,
            outcomes=tuple(outcomes.find_by_memory(db, memory.id, sight)),
            quiet_since=find_quiet(db, [memory]).get(memory.id, ""),
        )  # fmt: skip

    def receipts(self, session: str = "", *, limit: int = 200, everywhere: bool = False) -> tuple[Receipt, ...]:
        """List which memories were shown to whom, and why: in one session, or the newest of all."""
        sight = self._context.limit_sight(everywhere=everywhere)
        return self._filter_visible(receipts.find_by_session(self._context.store.db, session, sight, limit))

    def _filter_visible(self, lines: Iterable[Receipt]) -> tuple[Receipt, ...]:
        own = self._context.author.actor
        return tuple(line for line in lines if not self._own_only or line.actor == own)

    def tokens_spent(self) -> tuple[Spent, ...]:
        """Sum the tokens that memory cost each session, newest first."""
        return tuple(receipts.summarise_sessions(self._context.store.db))

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
    ) -> tuple[LogEntry, ...]:
        """List log entries, newest first, filtered by memory, facts, actor and batch."""
        context = self._context
        # What others asked and tried is theirs; the rest of the log is the team's. A question belongs to no repository,
        # so an agent would also read what was asked in others.
        if self._own_only or not context.may_look_everywhere:
            shared_facts = tuple(name for name in facts or FACTS if name not in PRIVATE_FACTS)
            facts, actor = (shared_facts, actor) if shared_facts else (facts, context.author.actor)
        about = context.resolve(memory, everywhere=everywhere) if memory else ""
        sight = context.limit_sight(everywhere=everywhere)
        entries = log.read_entries(
            context.store.db, sight, about=about, facts=facts, actor=actor, batch=batch, before=before, limit=limit
        )
        return tuple(entries)

    def log_length(self) -> int:
        """Count the entries of the log."""
        return log.count_entries(self._context.store.db)

    def log_texts(self, entries: Iterable[LogEntry], *, everywhere: bool = False) -> tuple[str, ...]:
        """Return for each log entry the text of its memory or its question; "(erased)" if that is gone."""
        entries = tuple(entries)
        sight = self._context.limit_sight(everywhere=everywhere)
        visible = memories.get_visible(self._context.store.db, {entry.about for entry in entries}, sight)
        texts = {memory.id: memory.text for memory in visible}
        return tuple(texts.get(MemoryId(entry.about)) or _describe_entry(entry) for entry in entries)

    def week(self) -> WeekSummary:
        """Count what memory did in the last seven days."""
        since = timestamps.format_timestamp(self._context.clock() - timedelta(days=7))
        actor = self._context.author.actor if self._own_only else ""
        db, sight = self._context.store.db, self._context.limit_sight()
        counts = receipts.summarise_since(db, sight, since, actor)
        names = ("sessions", "memories", "edits", "commands", "failures", "guards", "questions", "warnings")
        additions, quotations = memories.count_learned(db, sight, since)
        return WeekSummary(
            **dict(zip(names, counts, strict=True)),
            resolutions=outcomes.count_resolved(db, sight, since), additions=additions, quotations=quotations,
        )  # fmt: skip

    def days(self, count: int = 30) -> tuple[DailyStats, ...]:
        """Count memories, recalls, briefs and tokens of the last days, today last."""
        db, today = self._context.store.db, self._context.clock()
        moments = (timestamps.format_timestamp(today - timedelta(days=back)) for back in reversed(range(count)))
        dates = [*map(timestamps.format_date, moments)]
        new_by_date: dict[str, dict[str, int]] = defaultdict(dict)
        for date, status, number in memories.count_by_day(db, self._context.limit_sight(), dates[0]):
            new_by_date[date][status] = number
        receipts_by_date = {row[0]: row[1:] for row in receipts.count_by_day(db, dates[0])}
        # The empty date counts everything before the first day.
        total = new_by_date.pop("", {})
        days = []
        for date in dates:
            total = {status: total.get(status, 0) + new_by_date[date].get(status, 0) for status in Status}
            recalls, to_verify, briefs, tokens = receipts_by_date.get(date, (0, 0, 0, 0))
            days.append(
                DailyStats(
                    date=date,
                    learned=sum(new_by_date[date].values()),
                    memories=tuple(total.items()),
                    recalls=recalls,
                    to_verify=to_verify,
                    briefs=briefs,
                    brief_tokens=tokens,
                )
            )
        return tuple(days)


def _describe_entry(entry: LogEntry) -> str:
    match entry.event and entry.event.fact:
        case None | MemoryErased():
            return "(erased)"
        case MemoriesRecalled(query=question):
            return question
        case TeamAdministered() as act:
            return act.summary
    return ""
