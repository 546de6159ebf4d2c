"""The context of all components: store, settings, author, clock, working tree and model."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Never

from hivemind import background
from hivemind.embedding.lazy_embedder import LazyEmbedder
from hivemind.errors import InvalidInput, NotFound, Refused
from hivemind.model import timestamps
from hivemind.model.claim import Claim
from hivemind.model.events import Event, RepositorySeen, WriteRefused
from hivemind.model.ids import SHORTEST_PREFIX, MemoryId, derive_id
from hivemind.model.memory import Channel, Kind, Memory, Status, Writer
from hivemind.model.metadata import MetadataValue, validate_metadata
from hivemind.model.recall import Detail, Query, WaitingSession
from hivemind.model.scope import Repository, Scope, Visibility
from hivemind.model.timestamps import When
from hivemind.settings import Settings
from hivemind.store import log
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories, repositories, sessions
from hivemind.store.review_queue import DAYS_IN_QUEUE
from hivemind.store.store import Store
from hivemind.system import BackgroundProcess
from hivemind.text.clean import check_text, parse_tags, validate_text

if TYPE_CHECKING:
    # The type alone: whoever makes a context makes the checkout.
    from hivemind.code.checkout import Checkout

LOOK_EVERYWHERE = ", and --everywhere looks in other repositories too"
EVERYWHERE_SETTING = "a person can allow more: hivemind config set agents_may_look_everywhere true"
REVIEW_RULE = "only a person may do that; the setting agents_may_review changes it"

Clock = Callable[[], datetime]
Progress = Callable[[int, int], None]


def utc_now() -> datetime:
    """Return the current time; tests pass another clock."""
    return datetime.now(UTC)


def quietly(count: int, total: int) -> None:
    """Ignore progress."""


def report_part(progress: Progress, part: int, parts: int) -> Progress:
    """Return the progress of one of several parts of a work, the first of which is 0, all of the same length."""
    return lambda count, total: progress(part * total + count, parts * total)


LARGEST_NUMBER = 10**9
"""A database can store numbers of 18 digits, and adds to them."""
REDACTIONS_KEPT = 32
INDEXING_PAUSE_SECONDS = 60.0
"""A process starts indexing in the background at most this often."""


class ReceiptSpool(NamedTuple):
    """How receipts are left in the spool and read there; both functions take the folder first."""

    leave_receipt: Callable[[str, Event], None]
    read_session: Callable[[str, str], WaitingSession]
    """Reads the lines of a session id."""


class Context:
    """The context of all components, with the rules they share: who may see and change what."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        checkout: "Checkout",
        author: Writer,
        clock: Clock = utc_now,
        embedder: LazyEmbedder | None = None,
        *,
        redact: Callable[[str], str],
        spool: ReceiptSpool,
        is_hurried: bool = False,
    ) -> None:
        self.store = store
        self.settings = settings
        self.author = author
        self.clock = clock
        self.embedder = embedder or LazyEmbedder(settings.model, self.home)
        self.is_hurried = is_hurried
        """Whether an agent waits for this process, so that nothing may wait for others."""
        self.spool = spool
        self.has_waiting_lines = False
        """Whether something is left in the spool that could not be recorded yet."""
        self._indexing_started_at = -math.inf
        # Receipts repeat the same few reasons.
        self.factory = EventFactory(writer=author, clock=clock, redact=lru_cache(REDACTIONS_KEPT)(redact))
        self.checkout = checkout

    @property
    def repository(self) -> Repository:
        """The current repository."""
        return self.checkout.repository

    @property
    def is_person(self) -> bool:
        """Whether the author is a person, not an agent."""
        return self.author.channel is Channel.PERSON

    @property
    def may_review(self) -> bool:
        """Whether the author may decide what waits for review."""
        return self.is_person or self.settings.agents_may_review

    @property
    def home(self) -> Path | None:
        """The folder of all stores and of the spool; a hub has none."""
        return self.settings.home if self.store.directory else None

    @property
    def now(self) -> str:
        """The time, as the log writes it."""
        return timestamps.format_timestamp(self.clock())

    @property
    def queue_start(self) -> str:
        """The time since which proposals wait for review; older ones have left the queue."""
        return timestamps.parse_past(f"{DAYS_IN_QUEUE}d", self.clock())

    def close(self) -> None:
        """Close the files."""
        self.index_if_behind()
        self.checkout.close()
        self.store.close()

    def index_if_behind(self) -> None:
        """Index the working tree in the background if an answer needed more of it than could be read in time."""
        is_due = self.checkout.has_code_work and monotonic() - self._indexing_started_at > INDEXING_PAUSE_SECONDS
        if is_due and self.store.directory and not self.checkout.index.is_being_refreshed():
            self._indexing_started_at = monotonic()
            tree = str(self.checkout.root.absolute())
            self.start_in_background("code", "index", "--background", "--tree", tree)

    def start_in_background(self, *command: str) -> BackgroundProcess:
        """Start a command that works on this store, which need not be the one that the environment names."""
        return background.start(*self._store_options(), *command, home=str(self.settings.home.absolute()))

    def _store_options(self) -> list[str]:
        """The options with which another process opens this store."""
        directory, named_stores = self.store.directory, self.settings.find_store_directory("x").parent
        is_named = directory is not None and directory.is_relative_to(named_stores)
        return ["--store", str(directory.relative_to(named_stores))] if directory and is_named else []

    def record(self, events: Iterable[Event]) -> list[Event]:
        """Record events, and the id of this working tree if it is new."""
        return self.store.record([*self.new_names([self.repository]), *events])

    def new_names(self, trees: Iterable[Repository]) -> list[Event]:
        """Make events for working trees whose ids are new to the log."""
        unknown = [tree for tree in trees if tree.root and not repositories.is_known(self.store.db, tree)]
        return [
            self.factory.event(RepositorySeen(repo=tree.id, root=tree.root, tree=tree.tree), Scope.PROJECT, tree.id)
            for tree in unknown
        ]

    def new_batch(self, name: str) -> EventFactory:
        """Make a factory with a batch of its own, so that a learning run can be rolled back at once."""
        # With random bytes, because two runs may start in the same millisecond.
        batch = f"{name}-{derive_id(name, self.now, os.urandom(8).hex())[:8]}"
        return replace(self.factory, batch=batch)

    def require_person(self, what: str) -> None:
        """Refuse agents, unless the settings let them review."""
        if not self.may_review:
            self.refuse(what, REVIEW_RULE)

    def refuse(self, what: str, rule: str, scope: Scope = Scope.USER, repo: str = "") -> Never:
        """Record a refusal, and raise it."""
        self.store.record([self.factory.event(WriteRefused(what=what, rule=rule), scope, repo)])
        raise Refused(f"{what} was refused: {rule}")

    def query(
        self,
        text: str = "",
        *,
        scope: Scope | str | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        everywhere: bool = False,
        limit: int | None = None,
        max_tokens: int | None = None,
        as_of: When = "",
        true_at: When = "",
        detail: Detail | str = Detail.STANDARD,
        agent: str = "",
        since: When = "",
        until: When = "",
        statuses: Sequence[str] = (Status.ACTIVE, Status.DISPUTED),
        where: Mapping[str, MetadataValue] | None = None,
    ) -> Query:
        """Make a validated query, limited to what the caller may see."""
        return Query(
            text=text,
            sight=self.limit_sight(everywhere=everywhere),
            now=self.now,
            limit=_check_positive(self.settings.recall_limit if limit is None else limit, "the limit"),
            max_tokens=_check_positive(self.settings.recall_tokens if max_tokens is None else max_tokens, "the budget"),
            as_of=timestamps.parse_end_of_day(as_of) if as_of else "",
            true_at=timestamps.parse_end_of_day(true_at) if true_at else "",
            detail=Detail.parse(detail),
            scope=Scope.parse(scope) if scope else None,
            kinds=Kind.parse_all(kinds),
            tags=parse_tags(tags),
            agent=check_text(agent, "the agent") if agent else "",
            since=self.parse_past(since),
            until=timestamps.parse_end_of_day(until) if until else "",
            statuses=Status.parse_all(statuses),
            wants_more=limit is not None,
            where=validate_metadata(where or {}),
        )

    def limit_sight(self, *, everywhere: bool = False) -> Visibility:
        """Return what the caller may see; on a hub, which has no working tree, all memories of the team."""
        # Refused and not narrowed in silence, so that an agent does not take an empty answer for the truth.
        if everywhere and self.checkout.exists and not self.may_look_everywhere:
            raise Refused(f"an agent may look only in the repository it works in; {EVERYWHERE_SETTING}")
        return Visibility.of(self.repository, everywhere=everywhere)

    @property
    def may_look_everywhere(self) -> bool:
        """Whether the caller may look in other repositories."""
        return self.is_person or self.settings.agents_may_look_everywhere

    def find_memory(self, memory_id: str, *, everywhere: bool = False) -> Memory:
        """Return a visible memory by its id or a prefix of it."""
        return memories.get(self.store.db, self.resolve(memory_id, everywhere=everywhere))

    def find_memory_to_change(self, memory_id: str, *, everywhere: bool = False) -> Memory:
        """Return a memory that the caller may change; agents change nothing in other repositories."""
        return memories.get(self.store.db, self._resolve(memory_id, self.limit_changes(everywhere=everywhere)))

    def limit_changes(self, *, everywhere: bool = False) -> Visibility:
        """Return what the caller may change; with ``everywhere`` a person may also change other repositories."""
        if everywhere and not self.is_person:
            raise Refused("only a person may change what belongs to another repository")
        return self.limit_sight(everywhere=everywhere)

    def change(self, memory: Memory, events: Sequence[Event]) -> Memory:
        """Record events about a memory; return the memory as it is now."""
        self.record(events)
        return memories.get(self.store.db, memory.id)

    def resolve(self, memory_id: str, *, everywhere: bool = False) -> MemoryId:
        """Find the full id of a visible memory."""
        return self._resolve(memory_id, self.limit_sight(everywhere=everywhere))

    def _resolve(self, memory_id: str, sight: Visibility) -> MemoryId:
        # People paste ids from tables, with spaces and in capitals.
        prefix = check_text(memory_id, "an id").strip().lower()
        # Every id begins with nothing, so a script's unset variable would mean the only memory there is.
        if not prefix:
            raise InvalidInput("an id is empty; 'hivemind list' shows what there is")
        try:
            full_id = memories.resolve_id(self.store.db, prefix, sight)
        except NotFound as error:
            erasure = log.find_erasure(self.store.db, prefix, sight)
            if erasure:
                raise NotFound(
                    f"{prefix[:8]} was erased on {timestamps.format_date(erasure.at)} by {erasure.actor}"
                ) from None
            # The same sentence whether or not another repository has it.
            hint = "" if sight.everywhere or not self.may_look_everywhere else LOOK_EVERYWHERE
            raise NotFound(f"{error}{hint}") from None
        if len(prefix) < SHORTEST_PREFIX:
            raise InvalidInput(
                f"{prefix!r} is too short for an id; give at least {SHORTEST_PREFIX} characters, as in {full_id[:8]}"
            )
        return full_id

    def parse_past(self, when: When) -> str:
        """Parse a time in the past, such as ``2h`` or a date; empty for an empty text."""
        return timestamps.parse_past(when, self.clock()) if when else ""

    def list_edited_files(self, claim: Claim) -> list[str]:
        """The files that were edited so far in the session of a claim."""
        session = claim.session_id or self.author.session_id
        return list(sessions.find_edited_files(self.store.db, session)) if session else []


def validate_reason(text: str) -> str:
    """Validate the length of a reason, which may be empty."""
    return validate_text(text, "the reason", longest=2000) if text else ""


def _check_positive(value: int, what: str) -> int:
    if not isinstance(value, int) or not 1 <= value < LARGEST_NUMBER:
        raise InvalidInput(f"{what} must be a number, at least 1 and less than {LARGEST_NUMBER:,}")
    return value
