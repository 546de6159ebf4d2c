"""The verbs about what agents did: taking it in, looking at it again, learning from it."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from hivemind import agents
from hivemind.agents.steps import without_secrets
from hivemind.app.core import Core, Progress, quietly
from hivemind.capture import backfill, intake, quarantine, spool
from hivemind.codebase import git
from hivemind.codebase.repository import identify
from hivemind.curate import commits, detectors, distil
from hivemind.curate.exclusion import watch
from hivemind.curate.pen import Pen
from hivemind.curate.trail import Trail
from hivemind.errors import NotFound, Refused, StoreError, StoreFull
from hivemind.model import moments
from hivemind.model.events import Event, ObservationCompleted, ObservationMade, ObservationsDropped
from hivemind.model.ids import EventId, derived
from hivemind.model.imprint import Watch
from hivemind.model.memory import Channel
from hivemind.model.plain import as_json
from hivemind.model.proposal import Proposal
from hivemind.model.reports import Backfilled, Distilled, Pruned
from hivemind.model.scope import Repository, Scope, Sight, elsewhere
from hivemind.model.session import LONGEST_RAW, Handover, Observation, Session, SessionState, Skipped
from hivemind.recall import handover as handing_over
from hivemind.store import log, projector
from hivemind.store.projections import sessions

Thing = TypeVar("Thing")

DISTILLING = "distil"
RESTED = timedelta(minutes=10)
"""A session nobody has heard of for so long has come to rest, whether or not it said so."""
EVENTS_AT_ONCE = 500
"""How many events of a backfill make one transaction: long enough to be quick, short enough to let hooks in."""


class Observing(Core):
    """What was seen of agents at work."""

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
        tree = cache(_tree)
        new = 0
        unreadable: deque[Skipped] = deque(maxlen=quarantine.MOST_ITEMS)

        erased = watch(self._store)

        def record(page: Sequence[intake.SpoolLine]) -> int:
            read = list(intake.arrivals(page))
            arrivals = [one for one in read if isinstance(one, intake.Arrival)]
            events = [self._observed(self._pen, one, tree(one.directory).id, erased) for one in arrivals]
            # What is learned from a session later must be found again after its tree's remote has changed.
            names = self._introduced({tree(one.directory) for one in arrivals})
            recorded = len(self._store.record([*names, *events])) - len(names) if events else 0
            unreadable.extend(one for one in read if isinstance(one, Skipped))
            return recorded

        with spool.taken(str(self._settings.home)) as lines:
            for page in _pages(lines):
                new += isolate_failures(
                    page, record, lambda line, error: unreadable.append(intake.unreadable(line, intake.told_by(error)))
                )
            if unreadable:
                self._set_aside(quarantine.Door.HOOK, unreadable)
        return new

    def backfill(
        self,
        names: Iterable[str] = (),
        *,
        since: str = "",
        here: bool = False,
        dry_run: bool = False,
        home: Path | None = None,
        progress: Progress = quietly,
    ) -> Backfilled:
        """Take in what agents kept of their sessions, and learn from it; doing it twice changes nothing.

        ``here`` takes only sessions in the repository at hand.
        """
        begin = moments.parse_past(since, self._clock()) if since else ""
        found = backfill.transcripts(
            home or Path.home(), list(names) or agents.NAMES, moments.read(begin) if begin else None
        )
        # What is recorded here has been redacted already, before it was trimmed.
        pen = replace(self._new_batch("backfill"), redact=str)
        redact = backfill.looking_once(self._pen.redact)
        skipped: Counter[str] = Counter()
        unreadable: deque[Skipped] = deque(maxlen=quarantine.MOST_ITEMS)
        seen: set[str] = set()
        observations = new = 0
        telling = backfill.observations(
            found, partial(log.told_by_hooks, self._store.db), begin, _share(found, progress)
        )
        for page in _pages(self._placed(_counted(telling, skipped, unreadable), here=here)):
            observations += len(page)
            seen |= {one.session_id for one, _ in page}
            new += isolate_failures(
                page,
                lambda part: self._taken_in(part, pen, redact, dry_run=dry_run),
                lambda placed, error: unreadable.append(_unrecordable(placed[0], error)),
            )
        if unreadable and not dry_run:
            self._set_aside(quarantine.Door.TRANSCRIPT, unreadable)
        learned = 0 if dry_run else self._distil_what_rests(replace(self._pen, batch=pen.batch)).proposed
        return Backfilled(
            transcripts=len(found), sessions=len(seen), observations=observations, new=new, learned=learned,
            skipped=tuple(skipped.most_common()), quarantined=len({one.where for one in unreadable}), batch=pen.batch,
        )  # fmt: skip

    def _taken_in(
        self, page: Sequence[tuple[Observation, str]], pen: Pen, redact: Callable[[str], str], *, dry_run: bool = False
    ) -> int:
        """Record what nobody told before, and how commands ended where only the transcript tells; count the first."""
        db, page = self._store.db, [(without_secrets(one, redact), repo) for one, repo in page]
        known = log.known(db, [one.source_id for one, _ in page])
        unknown = {one.source_id: (one, repo) for one, repo in page if one.source_id not in known}
        if not dry_run:
            erased = watch(self._store)
            events = [self._observed(pen, intake.arrival(one, redact), repo, erased) for one, repo in unknown.values()]
            endless = sessions.without_exit_code(db, known)
            ended = [(one, repo) for one, repo in page if one.source_id in endless and one.exit_code is not None]
            self._store.record([*events, *(_completed(pen, one, repo) for one, repo in ended)])
        return len(unknown)

    def _hear_out(self, session: Session, pen: Pen) -> None:
        """Take in what an agent wrote down of a session beyond what its hooks told: what it said between its steps."""
        if log.told_by_hooks(self._store.db, session.id):
            since = moments.read(session.started_at)
            found = backfill.of_session(Path.home(), session.agent, session.id, since)
            telling = backfill.observations(found, partial(log.told_by_hooks, self._store.db))
            its = (one for one in telling if isinstance(one, Observation) and one.session_id == session.id)
            unreadable: list[Skipped] = []
            for page in _pages((one, session.repo) for one in its):
                isolate_failures(
                    page,
                    lambda part: self._taken_in(part, replace(pen, redact=str), self._pen.redact),
                    lambda placed, error: unreadable.append(_unrecordable(placed[0], error)),
                )
            if unreadable:
                self._set_aside(quarantine.Door.TRANSCRIPT, unreadable)

    def backfill_git(self, *, since: str = "", dry_run: bool = False) -> Backfilled:
        """Learn from this repository's commits: what was fixed, and what was decided and why."""
        begin = moments.parse_past(since, self._clock()) if since else ""
        told = list(git.commits(Path(self.repository.root), since=begin))
        found = [proposal for commit in reversed(told) for proposal in commits.proposals(commit)]
        pen = self._new_batch("backfill-git")
        outcome = distil.Outcome()
        if dry_run:
            return Backfilled(batch=pen.batch, learned=len(self._unknown(found)), commits=len(told))
        for page in _pages(found):
            about = self._about(self._unknown(page), self.repository.root)
            with self._store.db.transaction():
                self._record([])
                distil.propose(
                    self._store, pen, page, owner=self._settings.person, repo=self.repository.id, outcome=outcome,
                    about=about,
                )  # fmt: skip
        return Backfilled(batch=pen.batch, learned=outcome.proposed.total(), commits=len(told))

    def distil(self, session: str = "", *, everywhere: bool = False, progress: Progress = quietly) -> Distilled:
        """Learn from a session, or from all that came to rest since last time; what is found is only proposed."""
        if everywhere and self._writer.channel is not Channel.PERSON:
            raise Refused("only a person may learn from a session of another repository")
        if session:
            found, _ = self.session(session, everywhere=everywhere)
            return self._distilled([found.id], self._pen)
        return self._distil_what_rests(self._pen, progress)

    def waits_to_learn(self) -> bool:
        """Whether a session came to rest that nobody has learned from."""
        waiting = log.observed_after(self._store.db, projector.position(self._store.db, DISTILLING, detectors.VERSION))
        going_on = sessions.heard_of_since(self._store.db, moments.written(self._clock() - RESTED)) if waiting else ()
        return any(session not in going_on for session, _ in waiting)

    def _distil_what_rests(self, pen: Pen, progress: Progress = quietly) -> Distilled:
        """The bookmark stays before the first session that is still going on; to read one twice changes nothing."""
        db = self._store.db
        end = log.end(db)
        waiting = log.observed_after(db, projector.position(db, DISTILLING, detectors.VERSION))
        rested = moments.written(self._clock() - RESTED)
        going_on = sessions.heard_of_since(db, rested)
        resting = [session for session, _ in waiting if session not in going_on]
        done = self._distilled(resting, pen, progress)
        begun = [position for session, position in waiting if session in going_on]
        with db.transaction():
            projector.advance(db, DISTILLING, min(begun) - 1 if begun else end, detectors.VERSION)
        self.prune()
        return done

    def _distilled(self, ids: Sequence[str], pen: Pen, progress: Progress = quietly) -> Distilled:
        looking = detectors.chosen(self._settings.detectors.split())
        outcome = distil.Outcome()
        tree = cache(_tree)
        for number, session_id in enumerate(ids, start=1):
            session = sessions.get(self._store.db, session_id, Sight.of(self.repository, everywhere=True))
            # Without a repository nobody could say where the lesson holds.
            if session.repo:
                self._hear_out(session, pen)
                trail = Trail(steps=sessions.trace(self._store.db, session), root=tree(session.directory).root)
                batch = pen.batch or f"distil-{derived('distil', session.id)[:12]}"
                found = list(detectors.found(trail, looking))
                about = self._about(self._unknown(found), trail.root, trail.named)
                with self._store.db.transaction():
                    distil.propose(
                        self._store, replace(pen, batch=batch), found, owner=self._settings.person, repo=session.repo,
                        outcome=outcome, believed=distil.believed_from(self._settings.believed), about=about,
                    )  # fmt: skip
            progress(number, len(ids))
        return Distilled(
            sessions=len(ids), proposed=outcome.proposed.total(), known=outcome.known, refused=outcome.refused,
            by_detector=tuple(sorted(outcome.proposed.items())),
        )  # fmt: skip

    def sessions(
        self, *, limit: int = 20, agent: str = "", before: str = "", everywhere: bool = False
    ) -> tuple[Session, ...]:
        """Sessions of agents in this repository, the one last heard of first; ``before`` ended the page before."""
        sight = self._sight(everywhere=everywhere)
        return tuple(sessions.listed(self._store.db, sight, limit=limit, agent=agent, before=before))

    def session(self, session: str = "", *, everywhere: bool = False) -> tuple[Session, tuple[Observation, ...]]:
        """A session, by its id or the last one here, and what was observed in it, in order."""
        sight = self._sight(everywhere=everywhere)
        if session:
            found = sessions.get(self._store.db, session, sight)
        else:
            newest = sessions.listed(self._store.db, sight, limit=1)
            if not newest:
                raise NotFound("no session was seen in this repository; 'hivemind backfill' takes in the past")
            found = newest[0]
        return found, tuple(sessions.trace(self._store.db, found))

    def session_state(self, session: str = "", *, everywhere: bool = False) -> SessionState:
        """Where a session stands: its current task, the files it edited, its last outputs."""
        return handing_over.state(*self.session(session, everywhere=everywhere))

    def handover(self, session: str = "", *, everywhere: bool = False) -> Handover:
        """What another agent needs to go on where a session stopped."""
        found, trace = self.session(session, everywhere=everywhere)
        return handing_over.handover(found, trace, elsewhere(found.repo) if self.is_elsewhere(found.repo) else "")

    def prune(self, *, dry_run: bool = False) -> Pruned:
        """Let go of observations that are too old or too many by the settings; never one a memory rests on."""
        db, settings = self._store.db, self._settings
        now = self._clock()
        oldest = moments.written(now - timedelta(days=settings.keep_days)) if settings.keep_days else ""
        excess = sessions.weight(db) - settings.keep_megabytes * 1_000_000 if settings.keep_megabytes else 0
        going = list(_too_old_or_too_many(sessions.droppable(db), oldest, excess))
        for page in _pages([] if dry_run else going):
            fact = ObservationsDropped(bodies=tuple(one.id for one in page), reason="kept within the settings")
            self._record([self._pen.event(fact, Scope.USER, "")])
        return Pruned(observations=len(going), bytes=sum(one.size for one in going))

    def _placed(self, telling: Iterable[Observation], *, here: bool) -> Iterator[tuple[Observation, str]]:
        """Each with its repository, which is looked up once for a directory."""
        tree = cache(_tree)
        names_here = (self.repository.id, *self.repository.known_as)
        placed = ((one, tree(one.directory).id) for one in telling)
        return ((one, repo) for one, repo in placed if not here or repo in names_here)

    def _observed(self, pen: Pen, one: intake.Arrival, repo: str, erased: Watch) -> Event:
        """An observation without the passages that were erased before."""
        fact = _without(one.fact, erased) if erased else one.fact
        return pen.event(fact, Scope.PROJECT, repo, channel=Channel.TOOL, id=one.id, at=one.at, actor=one.fact.agent)

    def _unknown(self, found: Iterable[Proposal]) -> list[Proposal]:
        return [one for one in found if not log.ids_about(self._store.db, [one.memory_id])]


def _completed(pen: Pen, one: Observation, repo: str) -> Event:
    """Said now, so that it comes after what it completes, whatever the two clocks say."""
    fact = ObservationCompleted(
        session_id=one.session_id, observation=EventId(one.source_id), exit_code=one.exit_code or 0
    )
    own_id = EventId(derived("completed", one.source_id))
    return pen.event(fact, Scope.PROJECT, repo, channel=Channel.TOOL, id=own_id, actor=one.agent)


def _without(seen: ObservationMade, erased: Watch) -> ObservationMade:
    said = {name: getattr(seen, name) for name in ("text", "input", "output", "command", "file", "diff")}
    kept: dict[str, Any] = {name: cut for name, text in said.items() if (cut := erased.cut(text)) != text}
    return replace(seen, **kept) if kept else seen


def _pages(things: Iterable[Thing]) -> Iterator[list[Thing]]:
    rest = iter(things)
    while page := list(islice(rest, EVENTS_AT_ONCE)):
        yield page


def _too_old_or_too_many(
    oldest_first: Iterable[sessions.Droppable], oldest: str, excess: int
) -> Iterator[sessions.Droppable]:
    for one in oldest_first:
        if one.at < oldest or excess > 0:
            excess -= one.size
            yield one


def _tree(directory: str) -> Repository:
    """The repository of a directory an agent worked in; none where the agent did not say."""
    return identify(Path(directory)) if directory else Repository(id="", root="")


def _counted(
    telling: Iterable[Observation | Skipped], skipped: Counter[str], unreadable: deque[Skipped]
) -> Iterator[Observation]:
    for one in telling:
        if isinstance(one, Observation):
            yield one
            continue
        skipped[backfill.reason(one)] += 1
        if one.raw:
            unreadable.append(one)


def isolate_failures(
    things: Sequence[Thing], record: Callable[[Sequence[Thing]], int], set_aside: Callable[[Thing, Exception], None]
) -> int:
    """Record things together; where that fails because of some of them, set those aside and record the others."""
    try:
        return record(things)
    except (StoreError, OSError, MemoryError):
        # A full disk, a locked or damaged database: nothing is wrong with what was to be recorded.
        raise
    except Exception as error:  # noqa: BLE001 - no input may stop the store from opening
        if len(things) == 1:
            set_aside(things[0], error)
            return 0
    half = len(things) // 2
    return sum(isolate_failures(part, record, set_aside) for part in (things[:half], things[half:]))


def _unrecordable(one: Observation, error: Exception) -> Skipped:
    where = f"{one.agent} session {one.session_id} at {one.at}"
    return Skipped(reason=intake.told_by(error), where=where, raw=as_json(one)[:LONGEST_RAW])


def _share(found: Iterable[backfill.Transcript], progress: Progress) -> Callable[[int], None]:
    """Progress by bytes, told a file at a time."""
    total, done = sum(one.size for one in found), 0

    def finished(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    return finished
