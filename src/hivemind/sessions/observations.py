"""Importing observations from the spool and from transcripts, and deleting old ones."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from hivemind.agents.decoder import redact_observation
from hivemind.code.repository import find_existing_root, is_directory, locate_tree
from hivemind.context import Context
from hivemind.errors import StoreError, StoreUnwritable
from hivemind.model import timestamps
from hivemind.model.codec import to_json
from hivemind.model.dataclass import dataclass
from hivemind.model.events import Event, ObservationCompleted, ObservationsDropped
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.session import MAX_RAW_CHARACTERS, Observation, SkippedInput
from hivemind.sessions import intake, quarantine, spool_reader
from hivemind.sessions.quarantine import set_aside
from hivemind.store import log
from hivemind.store.database import READER_SECONDS
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import sessions
from hivemind.text import switch

Item = TypeVar("Item")
Placed = tuple[Observation, str]
"""An observation and the repository it was made in."""

EVENTS_AT_ONCE = 500
"""How many events of an import make one transaction: long enough to be quick, short enough to let hooks in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """How much was deleted to keep within the limits of the settings."""

    observations: int
    bytes: int


class Observations:
    """Records and deletes observations."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def take_in_spool(self) -> int:
        """Record what hooks have written to the spool; return how much was new.

        On a full or read-only disk, or while another process writes for long, it is left for later: reading and
        erasing must still work.
        """
        context = self._context
        try:
            with context.store.db.waiting_at_most(READER_SECONDS):
                # Tried first, because it takes longer to read the lines.
                with context.store.db.transaction():
                    pass
                new_count = self._take_in_spool()
        except (StoreUnwritable, OSError):
            context.has_waiting_lines = True
            return 0
        context.has_waiting_lines = False
        return new_count

    def _take_in_spool(self) -> int:
        context = self._context
        tree, is_off = cache(partial(locate_tree, context)), cache(partial(is_memory_off, context))
        # No more than the quarantine holds, or a flood of bad lines would fill the memory.
        unreadable: deque[SkippedInput] = deque(maxlen=quarantine.MOST_ITEMS)

        def record(page: Sequence[intake.SpoolLine]) -> int:
            read = list(intake.parse_spool_lines(line for line in page if not intake.is_receipt(line)))
            receipts = [intake.parse_receipt(line) for line in page if intake.is_receipt(line)]
            arrivals = [
                arrival for arrival in read if isinstance(arrival, intake.Arrival) and not is_off(arrival.directory)
            ]
            events = [
                make_observation_event(context.factory, arrival, tree(arrival.directory).id) for arrival in arrivals
            ]
            # What is learned from a session later must be found again after its tree's remote has changed.
            names = context.new_names({tree(arrival.directory) for arrival in arrivals})
            new_count = len(context.store.record([*names, *events])) - len(names) if events else 0
            if receipts:
                context.store.record(receipts)
            unreadable.extend(item for item in read if isinstance(item, SkippedInput))
            return new_count

        def set_line_aside(line: intake.SpoolLine, error: Exception) -> None:
            unreadable.append(intake.describe_unreadable(line, intake.describe_error(error)))

        with spool_reader.take_lines(str(context.settings.home)) as lines:
            new = sum(isolate_failures(page, record, set_line_aside) for page in split_into_pages(lines))
            if unreadable:
                set_aside(context, quarantine.ItemOrigin.HOOK, unreadable)
        return new

    def record_all(
        self,
        observations: Iterable[Placed],
        factory: EventFactory,
        redact: Callable[[str], str],
        unreadable: "deque[SkippedInput] | list[SkippedInput]",
        *,
        dry_run: bool = False,
    ) -> int:
        """Record new observations page by page; return their number, and add failures to ``unreadable``."""
        return sum(
            isolate_failures(
                page,
                lambda part: self._record_page(part, factory, redact, dry_run=dry_run),
                lambda item, error: unreadable.append(_describe_unrecordable(item[0], error)),
            )
            for page in split_into_pages(observations)
        )

    def _record_page(
        self, page: Sequence[Placed], factory: EventFactory, redact: Callable[[str], str], *, dry_run: bool
    ) -> int:
        """Record new observations, and exit codes that only the transcript has; return the number of new ones."""
        db, page = self._context.store.db, [(redact_observation(step, redact), repo) for step, repo in page]
        known_ids = log.find_known_ids(db, [step.source_id for step, _ in page])
        new = {step.source_id: (step, repo) for step, repo in page if step.source_id not in known_ids}
        if not dry_run:
            events = [
                make_observation_event(factory, intake.make_arrival(step, redact), repo) for step, repo in new.values()
            ]
            unfinished_ids = sessions.find_without_exit_code(db, known_ids)
            completions = [
                (step, repo) for step, repo in page if step.source_id in unfinished_ids and step.exit_code is not None
            ]
            self._context.store.record(
                [*events, *(_make_completion(factory, step, repo) for step, repo in completions)]
            )
        return len(new)

    def prune(self, *, dry_run: bool = False) -> PruneReport:
        """Delete observations beyond the limits of the settings, except sources of memories."""
        db, settings = self._context.store.db, self._context.settings
        now = self._context.clock()
        # Both limits are off at 0.
        oldest = timestamps.format_timestamp(now - timedelta(days=settings.keep_days)) if settings.keep_days else ""
        excess = sessions.count_bytes(db) - settings.keep_megabytes * 1_000_000 if settings.keep_megabytes else 0
        superfluous = list(_select_superfluous(sessions.find_droppable(db), oldest, excess))
        # A page is one fact, which names the entries it deleted.
        for page in split_into_pages([] if dry_run else superfluous):
            fact = ObservationsDropped(
                bodies=tuple(observation.id for observation in page), reason="kept within the settings"
            )
            self._context.record([self._context.factory.event(fact, Scope.USER, "")])
        return PruneReport(observations=len(superfluous), bytes=sum(observation.size for observation in superfluous))


def is_memory_off(context: Context, directory: str) -> bool:
    """Whether memory is off in the repository of an agent's directory, which may be a worktree that is gone."""
    if not directory:
        return False
    if is_directory(Path(directory)):
        return switch.is_off(directory)
    root = find_existing_root(context, locate_tree(context, directory).id)
    return bool(root) and switch.is_off(root)


def split_into_pages(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Split items into lists that are recorded together."""
    iterator = iter(items)
    while page := list(islice(iterator, EVENTS_AT_ONCE)):
        yield page


def isolate_failures(
    items: Sequence[Item], record: Callable[[Sequence[Item]], int], set_item_aside: Callable[[Item, Exception], None]
) -> int:
    """Record items together; where that fails because of some of them, set those aside and record the others."""
    try:
        return record(items)
    except (StoreError, OSError, MemoryError):
        # A full disk, a locked or damaged database: nothing is wrong with what was to be recorded.
        raise
    except Exception as error:  # noqa: BLE001 - no input may stop the store from opening
        if len(items) == 1:
            set_item_aside(items[0], error)
            return 0
    half = len(items) // 2
    return sum(isolate_failures(part, record, set_item_aside) for part in (items[:half], items[half:]))


def make_observation_event(factory: EventFactory, arrival: intake.Arrival, repo: str) -> Event:
    """Make the event of an observation."""
    return factory.event(
        arrival.fact, Scope.PROJECT, repo, channel=Channel.TOOL, id=arrival.id, at=arrival.at, actor=arrival.fact.agent
    )


def _make_completion(factory: EventFactory, step: Observation, repo: str) -> Event:
    # Dated now, so that it comes after what it completes, whatever the two clocks say.
    fact = ObservationCompleted(
        session_id=step.session_id, observation=EventId(step.source_id), exit_code=step.exit_code or 0
    )
    own_id = EventId(derive_id("completed", step.source_id))
    return factory.event(fact, Scope.PROJECT, repo, channel=Channel.TOOL, id=own_id, actor=step.agent)


def _describe_unrecordable(step: Observation, error: Exception) -> SkippedInput:
    where = f"{step.agent} session {step.session_id} at {step.at}"
    return SkippedInput(reason=intake.describe_error(error), where=where, raw=to_json(step)[:MAX_RAW_CHARACTERS])


def _select_superfluous(
    oldest_first: Iterable[sessions.DroppableObservation], oldest: str, excess: int
) -> Iterator[sessions.DroppableObservation]:
    for observation in oldest_first:
        if observation.at < oldest or excess > 0:
            excess -= observation.size
            yield observation
