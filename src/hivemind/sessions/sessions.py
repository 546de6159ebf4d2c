"""Sessions of agents: listing, searching, showing, handing over and importing them."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from hivemind.agents import callers
from hivemind.code.repository import locate_tree, make_moved_tree_events
from hivemind.context import Context, Progress, quietly, report_part, validate_reason
from hivemind.errors import NotFound
from hivemind.model import timestamps
from hivemind.model.digest import Digest, ExplainedConclusion
from hivemind.model.events import ConclusionForgotten, ConclusionRestored, ConclusionVerdict
from hivemind.model.memory import Memory
from hivemind.model.recall import Query, Recall
from hivemind.model.scope import Scope
from hivemind.model.session import BackfillReport, Handover, Observation, Session, SessionState, SkippedInput
from hivemind.sessions import handover as handovers
from hivemind.sessions import quarantine
from hivemind.sessions.digests import make_digest
from hivemind.sessions.observations import Observations, Placed, PruneReport, is_memory_off
from hivemind.sessions.quarantine import set_aside
from hivemind.sessions.transcripts import (
    cache_redaction,
    find_transcripts,
    read_observations,
    summarise_reason,
)
from hivemind.store import log
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import digests, memories, sessions
from hivemind.text.clean import validate_text

CONTEXT_MESSAGES = 2
"""Messages before and after a conclusion that explain it."""


class Sessions:
    """Lists, searches, shows and imports sessions.

    ``answer`` searches sessions, and ``learn`` learns from those that became inactive; both are features of their own.
    """

    def __init__(
        self, context: Context, answer: Callable[[Query], Recall], learn: Callable[[EventFactory, Progress], int]
    ) -> None:
        self._context = context
        self._answer = answer
        self._learn = learn
        self._observations = Observations(context)

    def list(
        self, *, limit: int = 20, agent: str = "", before: str = "", everywhere: bool = False
    ) -> tuple[Session, ...]:
        """List sessions of this repository, most recent first; ``before`` is the last id of the previous page."""
        sight = self._context.limit_sight(everywhere=everywhere)
        return tuple(sessions.list_sessions(self._context.store.db, sight, limit=limit, agent=agent, before=before))

    def search(
        self,
        text: str,
        *,
        agent: str = "",
        since: str = "",
        until: str = "",
        limit: int | None = None,
        everywhere: bool = False,
    ) -> Recall:
        """Search prompts, replies, commands and edited files of past sessions; ``session_hits`` has the results."""
        query = self._context.query(
            validate_text(text, "the question"), agent=agent, since=since, until=until, limit=limit,
            everywhere=everywhere,
        )  # fmt: skip
        return self._answer(query)

    def show(self, session: str = "", *, everywhere: bool = False) -> tuple[Session, tuple[Observation, ...]]:
        """Return a session by id, or the latest, and its observations in order."""
        target = find_session(self._context, session, everywhere=everywhere)
        return target, tuple(sessions.read_observations(self._context.store.db, target))

    def state(self, session: str = "", *, everywhere: bool = False) -> SessionState:
        """Summarise a session: its current task, edited files and last outputs."""
        return handovers.summarise_state(*self.show(session, everywhere=everywhere))

    def digest(self, session: str = "", *, everywhere: bool = False) -> Digest:
        """Return the digest of a session by id, or of the latest: what it was asked, concluded, did and left open."""
        target = find_session(self._context, session, everywhere=everywhere)
        stored = digests.get(self._context.store.db, target.id)
        if stored and stored.version == target.observations:
            return stored
        # It goes on, or rests only since a moment ago; the one that is told is made when it rests.
        db = self._context.store.db
        return digests.drop_forgotten(db, make_digest(target, sessions.read_observations(db, target)))

    def conclusion(self, event: str, *, everywhere: bool = False) -> ExplainedConclusion | None:
        """Return a conclusion by the id of the entry it quotes, with the messages around it; None if there is none."""
        db, sight = self._context.store.db, self._context.limit_sight(everywhere=everywhere)
        found = digests.find_line(db, event, sight)
        if found is None:
            return None
        session_id, line = found
        session = sessions.get(db, session_id, sight)
        talk = [step for step in sessions.read_observations(db, session) if step.text and not step.subagent]
        place = next((place for place, step in enumerate(talk) if step.source_id == line.event), len(talk) - 1)
        around = talk[max(place - CONTEXT_MESSAGES, 0) : place + CONTEXT_MESSAGES + 1]
        return ExplainedConclusion(
            session=session, line=line, around=tuple(around), is_forgotten=digests.is_forgotten(db, line.event)
        )

    def forget_conclusion(
        self, event: str, reason: str = "", *, everywhere: bool = False
    ) -> ExplainedConclusion | None:
        """Never tell a conclusion again; None if there is none with this id."""
        return self._record_verdict(ConclusionForgotten, event, reason, everywhere=everywhere)

    def restore_conclusion(
        self, event: str, reason: str = "", *, everywhere: bool = False
    ) -> ExplainedConclusion | None:
        """Let a forgotten conclusion be told again; None if there is none with this id."""
        return self._record_verdict(ConclusionRestored, event, reason, everywhere=everywhere)

    def _record_verdict(
        self, verdict: type[ConclusionVerdict], event: str, reason: str, *, everywhere: bool
    ) -> ExplainedConclusion | None:
        context = self._context
        conclusion = self.conclusion(event, everywhere=everywhere)
        if conclusion is None:
            return None
        session, line = conclusion.session, conclusion.line
        fact = verdict(session_id=session.id, observation=line.event, reason=validate_reason(reason))
        context.record([context.factory.event(fact, Scope.PROJECT, session.repo)])
        context.store.discard_cues()
        return replace(conclusion, is_forgotten=verdict is ConclusionForgotten)

    def handover(self, session: str = "", *, everywhere: bool = False) -> Handover:
        """Return what another agent needs to continue a session."""
        target, trace = self.show(session, everywhere=everywhere)
        return handovers.build_handover(target, trace, self._context.checkout.label_elsewhere(target.repo))

    def memories(self, session: str, *, everywhere: bool = False) -> tuple[Memory, ...]:
        """List the memories recorded in a session, in order."""
        db, sight = self._context.store.db, self._context.limit_sight(everywhere=everywhere)
        session_memories = memories.find_by_session(db, session)
        visible = {memory.id for memory in memories.get_visible(db, [memory.id for memory in session_memories], sight)}
        return tuple(memory for memory in session_memories if memory.id in visible)

    def observation(self, event: str) -> Observation | None:
        """Return the observation of a source; None if it was deleted."""
        return sessions.get_observation(self._context.store.db, event)

    def take_in_spool(self) -> int:
        """Record what hooks have written to the spool; return how much was new."""
        return self._observations.take_in_spool()

    def prune(self, *, dry_run: bool = False) -> PruneReport:
        """Delete observations beyond the limits of the settings, except sources of memories."""
        return self._observations.prune(dry_run=dry_run)

    def import_transcripts(
        self,
        names: Iterable[str] = (),
        *,
        since: str = "",
        here: bool = False,
        dry_run: bool = False,
        home: Path | None = None,
        progress: Progress = quietly,
    ) -> BackfillReport:
        """Import past transcripts of agents and learn from them; a second run changes nothing.

        ``here`` imports only sessions of the current repository.
        """
        context, begin = self._context, self._context.parse_past(since)
        transcripts = find_transcripts(
            home or Path.home(), [*names] or callers.NAMES, timestamps.parse_timestamp(begin) if begin else None
        )
        # What is recorded here has been redacted already, before it was trimmed.
        factory = replace(context.new_batch("backfill"), redact=str)
        skip_counts: Counter[str] = Counter()
        unreadable: deque[SkippedInput] = deque(maxlen=quarantine.MOST_ITEMS)
        came_by_hook = partial(log.has_hook_observations, context.store.db)
        # Learning from sessions takes as long as reading them.
        parts = 1 if dry_run else 2
        items = read_observations(transcripts, came_by_hook, begin, report_part(progress, 0, parts))
        counts: Counter[str] = Counter()
        sessions_off: set[str] = set()
        observations = self._locate(_select_readable(items, skip_counts, unreadable), counts, sessions_off, here=here)
        new = self._observations.record_all(
            observations, factory, cache_redaction(context.factory.redact), unreadable, dry_run=dry_run
        )
        lesson_count = 0
        if not dry_run:
            if unreadable:
                set_aside(context, quarantine.ItemOrigin.TRANSCRIPT, unreadable)
            # Sessions of earlier imports whose directory was gone already.
            context.store.record(make_moved_tree_events(context))
            own_factory = replace(context.factory, batch=factory.batch)
            lesson_count = self._learn(own_factory, report_part(progress, 1, parts))
        return BackfillReport(
            transcripts=len(transcripts), sessions=len(counts), observations=counts.total(), new=new,
            learned=lesson_count, skipped=tuple(skip_counts.most_common()),
            quarantined=len({item.where for item in unreadable}), batch=factory.batch,
            sessions_off=len(sessions_off),
        )  # fmt: skip

    def _locate(
        self, observations: Iterable[Observation], counts: Counter[str], sessions_off: set[str], *, here: bool
    ) -> Iterator[Placed]:
        """Yield observations with their repositories, and count them by session; name those where memory is off."""
        # A transcript has thousands of observations in one directory, and identifying it starts git.
        tree = cache(partial(locate_tree, self._context))
        is_off = cache(partial(is_memory_off, self._context))
        for observation in observations:
            # A step without a directory is in that of the step before.
            if is_off(observation.directory) or (not observation.directory and observation.session_id in sessions_off):
                sessions_off.add(observation.session_id)
                continue
            repo = tree(observation.directory).id
            if not here or repo in self._context.checkout.names:
                counts[observation.session_id] += 1
                yield observation, repo


def find_session(context: Context, session: str, *, everywhere: bool = False) -> Session:
    """Return a session by its id, or the latest."""
    db, sight = context.store.db, context.limit_sight(everywhere=everywhere)
    if session:
        return sessions.get(db, session, sight)
    newest = sessions.list_sessions(db, sight, limit=1)
    if not newest:
        raise NotFound("no sessions in this repository yet; import past ones with 'hivemind import transcripts'")
    return newest[0]


def _select_readable(
    items: Iterable[Observation | SkippedInput], skip_counts: Counter[str], unreadable: deque[SkippedInput]
) -> Iterator[Observation]:
    """Yield the observations; count skipped input by reason and collect what has content."""
    for item in items:
        if isinstance(item, Observation):
            yield item
            continue
        skip_counts[summarise_reason(item)] += 1
        if item.raw:
            unreadable.append(item)
