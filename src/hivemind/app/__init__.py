"""Hivemind: the one object behind every door.

Each method is a sentence: take values in, call the package that knows, record what happened.
If a method needs a second paragraph, that paragraph belongs in a package below.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from hivemind import agents, recall
from hivemind.capture import intake, spool
from hivemind.capture.redact import redact, secrets_in
from hivemind.codebase import repository as repositories_on_disk
from hivemind.curate import claims as claims_made
from hivemind.curate import transfer
from hivemind.errors import InvalidInput
from hivemind.model import moments
from hivemind.model.claim import Claim
from hivemind.model.events import (
    Event,
    Fact,
    MemoriesRecalled,
    MemoryRemembered,
    MemoryRevised,
    MemorySuperseded,
    MemoryTagged,
    RepositorySeen,
    Shown,
    strings_changed,
)
from hivemind.model.ids import EventId, MemoryId, ReceiptId, derived, event_id
from hivemind.model.life import Step, steps
from hivemind.model.memory import Channel, Kind, Memory, Status, Trace
from hivemind.model.recall import Query, Recall, Receipt
from hivemind.model.scope import Repository, Scope, Sight
from hivemind.model.text import checked, checked_label, tags
from hivemind.model.writer import Writer
from hivemind.settings import Settings
from hivemind.store import Store, checkup, log
from hivemind.store.projections import memories, receipts, repositories, sessions
from hivemind.store.reader import Reader

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, from the one place that asks for it."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a memory is believed, what became of it, and whom it reached."""

    memory: Memory
    history: tuple[Step, ...]
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How much there is."""

    memories: tuple[tuple[str, str, str, int], ...]
    """Scope, kind, status, count."""
    sessions: int
    observations: int
    events: int
    bytes: int


class Hivemind:
    """A person's memory, open for use, seen from one working tree."""

    def __init__(
        self, store: Store, settings: Settings, repository: Repository, writer: Writer, clock: Clock = utc_now
    ) -> None:
        self._store = store
        self._settings = settings
        self._writer = writer
        self._clock = clock
        self._known_secrets = secrets_in(os.environ)
        known_as = repositories_on_disk.earlier_names(repository, repositories.names_of(store.db, repository.root))
        self.repository = replace(repository, known_as=known_as)

    @classmethod
    def open(
        cls,
        name: str | None = None,
        *,
        directory: Path | None = None,
        settings: Settings | None = None,
        writer: Writer | None = None,
        clock: Clock = utc_now,
    ) -> "Hivemind":
        """Open a store, creating it on first use, as seen from a directory."""
        settings = settings or Settings.load()
        repository = repositories_on_disk.identify(directory or Path.cwd())
        store = Store.open(settings.store_directory(name))
        mind = cls(store, settings, repository, writer or _who_calls(settings), clock)
        mind.take_in_spool()
        return mind

    # -- in ---------------------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        scope: Scope = Scope.PROJECT,
        kind: Kind = Kind.FACT,
        tags: Sequence[str] = (),
        subject: str = "",
        replaces: Sequence[str] = (),
        expires: str = "",
        verify_by: str = "",
        valid_from: str = "",
        valid_to: str = "",
        links: Sequence[str] = (),
        sources: Sequence[str] = (),
        confidence: float = 1.0,
    ) -> Memory:
        """Keep something worth knowing next time."""
        claim = Claim(
            text=text, scope=scope, kind=kind, tags=tags, subject=subject, replaces=replaces, expires=expires,
            verify_by=verify_by, valid_from=valid_from, valid_to=valid_to, links=links, sources=sources,
            confidence=confidence,
        )  # fmt: skip
        return self.remember_all([claim])[0]

    def store_trace(
        self,
        *,
        agent: str,
        action: str,
        reasoning: str = "",
        result: str = "",
        tags: Sequence[str] = (),
        scope: Scope = Scope.PROJECT,
        links: Sequence[str] = (),
    ) -> Memory:
        """Keep what was done, why, and how it ended."""
        trace = Trace(
            agent=checked_label(agent, "the agent"),
            action=checked_label(action, "the action"),
            reasoning=checked(reasoning, "the reasoning") if reasoning else "",
            result=checked_label(result, "the result") if result else "",
        )
        claim = Claim(text=trace.text, kind=Kind.TRACE, scope=scope, tags=tags, links=links, trace=trace)
        return self.remember_all([claim])[0]

    def remember_all(self, claims: Iterable[Claim]) -> tuple[Memory, ...]:
        """Keep several things at once: all of them, or none if one is refused."""
        commit = ""
        events: list[Event] = []
        for claim in claims:
            if claim.sources and not commit:
                commit = repositories_on_disk.head(Path(self.repository.root))
            replaced = [self.show(written) for written in claim.replaces]
            fact = claims_made.stated(
                claim, writer=self._writer, owner=self._settings.person, now=self._clock(), commit=commit,
                replaces=[memory.id for memory in replaced],
            )  # fmt: skip
            events.append(self._event(fact, claim.scope, "" if claim.scope is Scope.USER else self.repository.id))
            events += [self._about(old, MemorySuperseded(memory_id=old.id, by=fact.memory_id)) for old in replaced]
        self._record(*events)
        born = [event.fact.memory_id for event in events if isinstance(event.fact, MemoryRemembered)]
        return tuple(memories.get(self._store.db, one) for one in born)

    def revise(
        self,
        memory: str,
        text: str = "",
        *,
        kind: Kind | None = None,
        subject: str = "",
        expires: str = "",
        verify_by: str = "",
        valid_from: str = "",
        valid_to: str = "",
        confidence: float | None = None,
        reason: str = "",
    ) -> Memory:
        """Make a memory say something else from now on; what it said stays in its history."""
        known = self.show(memory)
        fact = MemoryRevised(
            memory_id=known.id,
            base=known.version,
            text=checked(text) if text else "",
            kind=kind,
            subject=checked_label(subject, "the subject") if subject else "",
            confidence=None if confidence is None else claims_made.confidence(confidence),
            valid_from=moments.parse_date(valid_from) if valid_from else "",
            valid_to=moments.parse_date(valid_to) if valid_to else "",
            expires_at=self._deadline(expires),
            verify_by=self._deadline(verify_by),
            reason=checked(reason, "the reason") if reason else "",
        )
        if fact == MemoryRevised(memory_id=known.id, base=known.version, reason=fact.reason):
            raise InvalidInput("nothing to revise; give a new text or an option to change")
        return self._change(known, fact)

    def tag(self, memory: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Memory:
        """Put labels on a memory or take them off."""
        known = self.show(memory)
        added, removed = _tags(add), _tags(remove)
        if not added and not removed:
            raise InvalidInput("name at least one tag to add or remove")
        return self._change(known, MemoryTagged(memory_id=known.id, added=added, removed=removed))

    def import_lines(self, lines: Iterable[str], *, approve: bool = False) -> tuple[int, int]:
        """Take in exported memories as proposals; return how many were new and how many already known.

        With ``approve`` the person vouches for the file, and they are believed as if just said.
        """
        if approve and self._writer.channel is not Channel.PERSON:
            raise InvalidInput("only a person can approve an import; leave out --approve")
        channel = Channel.PERSON if approve else Channel.IMPORT
        events = [
            self._event(fact, scope, repo, channel=channel, id=EventId(derived("import", fact.memory_id)))
            for scope, repo, fact in transfer.imported(lines)
        ]
        unknown = [event for event in events if not log.about(self._store.db, event.about)]
        return len(self._store.record(unknown)), len(events) - len(unknown)

    def take_in_spool(self) -> int:
        """Record what hooks have left since the store was last open; return how much was new."""
        with spool.taken(str(self._settings.home)) as lines:
            events = [
                self._event(
                    arrival.fact, Scope.PROJECT, repositories_on_disk.identify(Path(arrival.directory)).id,
                    channel=Channel.TOOL, id=arrival.id, at=arrival.at, actor=arrival.fact.agent,
                )
                for arrival in intake.arrivals(lines)
            ]  # fmt: skip
            return len(self._store.record(events)) if events else 0

    # -- out --------------------------------------------------------------------------------------------

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
        everywhere: bool = False,
    ) -> Recall:
        """What is known that bears on the text, with a receipt for each memory shown."""
        query = self._query(
            text=checked(text, "the question"), scope=scope, kinds=kinds, tags=tags, limit=limit,
            max_tokens=max_tokens, as_of=as_of, everywhere=everywhere,
        )  # fmt: skip
        return self._with_receipt(recall.answer(self._store.db, query))

    def search_traces(self, text: str, *, limit: int | None = None, everywhere: bool = False) -> Recall:
        """What was done about something like this before, and how it ended."""
        return self.recall(text, kinds=(Kind.TRACE,), limit=limit, everywhere=everywhere)

    def show(self, memory: str) -> Memory:
        """A memory by its id, which may be shortened."""
        return memories.get(self._store.db, self._id(memory))

    def list(
        self,
        *,
        scope: Scope | None = None,
        kinds: Sequence[Kind] = (),
        tags: Sequence[str] = (),
        statuses: Sequence[Status] = (),
        limit: int = 20,
        before: str = "",
        everywhere: bool = False,
    ) -> tuple[Memory, ...]:
        """Memories in sight, newest first; ``before`` is the last id of the page before."""
        query = self._query(
            text="",
            scope=scope,
            kinds=kinds,
            tags=tags,
            limit=limit,
            statuses=tuple(statuses),
            everywhere=everywhere,
        )
        return tuple(memories.listed(self._store.db, query, before=self._id(before) if before else ""))

    def history(self, memory: str) -> tuple[Step, ...]:
        """Everything that happened to a memory, oldest first."""
        return tuple(steps(log.about(self._store.db, self._id(memory))))

    def explain(self, memory: str) -> Explanation:
        """What a memory rests on, its versions, and whom it reached."""
        known = self.show(memory)
        shown = receipts.of_memory(self._store.db, known.id)
        return Explanation(memory=known, history=self.history(known.id), receipts=tuple(shown))

    def export_lines(self, *, everywhere: bool = False) -> Iterator[str]:
        """The memories in sight as lines of JSON."""
        sight = Sight.of(self.repository, everywhere=everywhere)
        return transfer.exported(memories.each(self._store.db, sight))

    def sharing(self, memory: Memory) -> str:
        """What a writer should know about where a memory goes; nothing if it just stays here."""
        if memory.scope is not Scope.TEAM:
            return ""
        return "kept on this machine, to be shared once a hub is configured"

    # -- care -------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """How much there is."""
        seen_sessions, seen_observations = sessions.count(self._store.db)
        return Stats(
            memories=tuple(memories.counts(self._store.db)),
            sessions=seen_sessions,
            observations=seen_observations,
            events=log.end(self._store.db),
            bytes=sum(file.stat().st_size for file in self._store.directory.glob("memory.db*")),
        )

    def doctor(self) -> tuple[checkup.Finding, ...]:
        """What was looked at, what is wrong, and what to do about it."""
        return tuple(checkup.examine(self._store))

    def rebuild(self, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Derive everything from the log again; no answer changes."""
        self._store.rebuild(progress)

    def close(self) -> None:
        """Give the file back."""
        self._store.close()

    def __enter__(self) -> "Hivemind":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # -- the one way into the log -----------------------------------------------------------------------

    def _change(self, memory: Memory, fact: Fact) -> Memory:
        self._record(self._about(memory, fact))
        return memories.get(self._store.db, memory.id)

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
        event = self._event(fact, Scope.USER, "")
        self._record(event)
        return replace(found, receipt=ReceiptId(event.id))

    def _about(self, memory: Memory, fact: Fact) -> Event:
        return self._event(fact, memory.scope, memory.repo)

    def _event(
        self,
        fact: Fact,
        scope: Scope,
        repo: str,
        *,
        channel: Channel | None = None,
        id: EventId | None = None,
        at: str = "",
        actor: str = "",
    ) -> Event:
        now = self._clock()
        return Event(
            id=id or event_id(int(now.timestamp() * 1000)),
            at=at or moments.written(now),
            actor=actor or self._writer.actor,
            channel=channel or self._writer.channel,
            scope=scope,
            repo=repo,
            fact=strings_changed(fact, lambda text: redact(text, self._known_secrets)),
        )

    def _record(self, *events: Event) -> None:
        at_hand = self.repository
        if any(event.repo == at_hand.id for event in events):
            names = repositories.names_of(self._store.db, at_hand.root)
            if at_hand.id not in names:
                seen = RepositorySeen(repo=at_hand.id, root=at_hand.root)
                events = (*events, self._event(seen, Scope.PROJECT, at_hand.id))
        self._store.record(events)

    # -- what callers write, as values ------------------------------------------------------------------

    def _query(
        self,
        *,
        text: str,
        scope: Scope | None,
        kinds: Sequence[Kind],
        tags: Sequence[str],
        everywhere: bool,
        limit: int | None = None,
        max_tokens: int | None = None,
        as_of: str = "",
        statuses: tuple[Status, ...] = (Status.ACTIVE, Status.DISPUTED),
    ) -> Query:
        return Query(
            text=text,
            sight=Sight.of(self.repository, everywhere=everywhere),
            now=moments.written(self._clock()),
            limit=_positive(limit or self._settings.recall_limit, "the limit"),
            max_tokens=_positive(max_tokens or self._settings.recall_tokens, "the budget"),
            as_of=moments.end_of_day(as_of) if as_of else "",
            scope=scope,
            kinds=tuple(kinds),
            tags=_tags(tags),
            statuses=statuses,
        )

    def _id(self, written: str) -> MemoryId:
        return memories.resolve(self._store.db, written.strip().lower())

    def _deadline(self, written: str) -> str:
        return moments.parse_deadline(written, self._clock()) if written else ""


def connect(name: str | None = None) -> Reader:
    """A connection that reads the memories by SQL; without a name, the default store."""
    settings = Settings.load()
    with Hivemind.open(name, settings=settings):
        return Reader.open(settings.store_directory(name), {})


def _who_calls(settings: Settings) -> Writer:
    """A person, unless an agent runs this process: what its commands write is the agent's word."""
    agent = agents.calling(os.environ)
    if agent is None:
        return Writer(actor=settings.person, channel=Channel.PERSON)
    return Writer(actor=agent[0], channel=Channel.AGENT, session_id=agent[1])


def _tags(labels: Sequence[str]) -> tuple[str, ...]:
    return tags(labels)


def _positive(value: int, what: str) -> int:
    if value < 1:
        raise InvalidInput(f"{what} must be at least 1")
    return value
