"""Taking in what agents did: what hooks left in the spool, and what transcripts tell."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from hivemind.agents.decoder import redact_observation
from hivemind.app.context import Context
from hivemind.app.quarantine import set_aside
from hivemind.capture import intake, quarantine, spool
from hivemind.codebase.repository import identify
from hivemind.curate.event_factory import EventFactory
from hivemind.curate.exclusion import load_erased_watch
from hivemind.errors import StoreError, StoreFull
from hivemind.formats import timestamps
from hivemind.formats.codec import to_json
from hivemind.model.events import Event, ObservationCompleted, ObservationMade, ObservationsDropped
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel
from hivemind.model.reports import PruneReport
from hivemind.model.scope import Repository, Scope
from hivemind.model.session import MAX_RAW_CHARACTERS, Observation, SkippedInput
from hivemind.store import log
from hivemind.store.projections import sessions
from hivemind.text.imprint import ErasedTextFilter

Item = TypeVar("Item")
Placed = tuple[Observation, str]
"""An observation and the repository it was made in."""

EVENTS_AT_ONCE = 500
"""How many events of an import make one transaction: long enough to be quick, short enough to let hooks in."""


class Observations:
    """What was observed of agents at work, on its way into the log and out of it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def take_in_spool(self) -> int:
        """Record what hooks have left since the store was last open; return how much was new.

        On a full disk, or where files cannot be written, it stays where it is and the doctor says so: reading and
        erasing must go on.
        """
        try:
            return self._take_in_spool()
        except (StoreFull, OSError):
            return 0

    def _take_in_spool(self) -> int:
        context, tree, erased = self._context, cache(tree_of), load_erased_watch(self._context.store)
        unreadable: deque[SkippedInput] = deque(maxlen=quarantine.MOST_ITEMS)

        def record(page: Sequence[intake.SpoolLine]) -> int:
            read = list(intake.parse_spool_lines(page))
            arrivals = [arrival for arrival in read if isinstance(arrival, intake.Arrival)]
            events = [
                observation_event(context.factory, arrival, tree(arrival.directory).id, erased) for arrival in arrivals
            ]
            # What is learned from a session later must be found again after its tree's remote has changed.
            names = context.new_names({tree(arrival.directory) for arrival in arrivals})
            recorded = len(context.store.record([*names, *events])) - len(names) if events else 0
            unreadable.extend(skipped for skipped in read if isinstance(skipped, SkippedInput))
            return recorded

        def set_line_aside(line: intake.SpoolLine, error: Exception) -> None:
            unreadable.append(intake.describe_unreadable(line, intake.describe_error(error)))

        with spool.take_lines(str(context.settings.home)) as lines:
            new = sum(isolate_failures(page, record, set_line_aside) for page in pages(lines))
            if unreadable:
                set_aside(context, quarantine.ItemOrigin.HOOK, unreadable)
        return new

    def record_all(
        self,
        placed: Iterable[Placed],
        factory: EventFactory,
        redact: Callable[[str], str],
        unreadable: "deque[SkippedInput] | list[SkippedInput]",
        *,
        dry_run: bool = False,
    ) -> int:
        """Record what nobody told before, a page at a time; return how much is new, and add what cannot be recorded."""
        return sum(
            isolate_failures(
                page,
                lambda part: self._record_page(part, factory, redact, dry_run=dry_run),
                lambda one, error: unreadable.append(_unrecordable(one[0], error)),
            )
            for page in pages(placed)
        )

    def _record_page(
        self, page: Sequence[Placed], factory: EventFactory, redact: Callable[[str], str], *, dry_run: bool
    ) -> int:
        """Record what is new, and how commands ended where only the transcript tells; count the first."""
        db, page = self._context.store.db, [(redact_observation(seen, redact), repo) for seen, repo in page]
        known = log.find_known_ids(db, [seen.source_id for seen, _ in page])
        new = {seen.source_id: (seen, repo) for seen, repo in page if seen.source_id not in known}
        if not dry_run:
            erased = load_erased_watch(self._context.store)
            events = [
                observation_event(factory, intake.make_arrival(seen, redact), repo, erased)
                for seen, repo in new.values()
            ]
            endless = sessions.find_without_exit_code(db, known)
            ended = [(seen, repo) for seen, repo in page if seen.source_id in endless and seen.exit_code is not None]
            self._context.store.record([*events, *(_completed(factory, seen, repo) for seen, repo in ended)])
        return len(new)

    def prune(self, *, dry_run: bool = False) -> PruneReport:
        """Delete observations that are too old or too many by the settings; never one a memory rests on."""
        db, settings = self._context.store.db, self._context.settings
        now = self._context.clock()
        oldest = timestamps.format_timestamp(now - timedelta(days=settings.keep_days)) if settings.keep_days else ""
        excess = sessions.total_bytes(db) - settings.keep_megabytes * 1_000_000 if settings.keep_megabytes else 0
        superfluous = list(_too_old_or_too_many(sessions.find_droppable(db), oldest, excess))
        for page in pages([] if dry_run else superfluous):
            fact = ObservationsDropped(bodies=tuple(one.id for one in page), reason="kept within the settings")
            self._context.record([self._context.factory.event(fact, Scope.USER, "")])
        return PruneReport(observations=len(superfluous), bytes=sum(one.size for one in superfluous))


def tree_of(directory: str) -> Repository:
    """The repository of a directory an agent worked in; none where the agent did not say."""
    return identify(Path(directory)) if directory else Repository(id="", root="")


def pages(items: Iterable[Item]) -> Iterator[list[Item]]:
    """The items in lists that are recorded together."""
    rest = iter(items)
    while page := list(islice(rest, EVENTS_AT_ONCE)):
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


def observation_event(factory: EventFactory, arrival: intake.Arrival, repo: str, erased: ErasedTextFilter) -> Event:
    """An observation without the passages that were erased before."""
    fact = _without(arrival.fact, erased) if erased else arrival.fact
    return factory.event(
        fact, Scope.PROJECT, repo, channel=Channel.TOOL, id=arrival.id, at=arrival.at, actor=fact.agent
    )


def _without(seen: ObservationMade, erased: ErasedTextFilter) -> ObservationMade:
    texts = {name: getattr(seen, name) for name in ("text", "input", "output", "command", "file", "diff")}
    kept: dict[str, Any] = {
        name: cut for name, text in texts.items() if (cut := erased.replace_erased_texts(text)) != text
    }
    return replace(seen, **kept) if kept else seen


def _completed(factory: EventFactory, seen: Observation, repo: str) -> Event:
    """Recorded now, so that it comes after what it completes, whatever the two clocks say."""
    fact = ObservationCompleted(
        session_id=seen.session_id, observation=EventId(seen.source_id), exit_code=seen.exit_code or 0
    )
    own_id = EventId(derive_id("completed", seen.source_id))
    return factory.event(fact, Scope.PROJECT, repo, channel=Channel.TOOL, id=own_id, actor=seen.agent)


def _unrecordable(seen: Observation, error: Exception) -> SkippedInput:
    where = f"{seen.agent} session {seen.session_id} at {seen.at}"
    return SkippedInput(reason=intake.describe_error(error), where=where, raw=to_json(seen)[:MAX_RAW_CHARACTERS])


def _too_old_or_too_many(
    oldest_first: Iterable[sessions.DroppableObservation], oldest: str, excess: int
) -> Iterator[sessions.DroppableObservation]:
    for observation in oldest_first:
        if observation.at < oldest or excess > 0:
            excess -= observation.size
            yield observation
