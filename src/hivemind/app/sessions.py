"""Sessions of agents: looking at them, importing past ones, learning from them."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path

from hivemind import agents
from hivemind.app import learning
from hivemind.app.context import Context, Progress, quietly
from hivemind.app.observations import Observations, Placed, pages, tree_of
from hivemind.app.quarantine import set_aside
from hivemind.capture import backfill, quarantine
from hivemind.codebase import git
from hivemind.curate import commits, detectors, distil
from hivemind.curate.event_factory import EventFactory
from hivemind.curate.session_view import SessionView
from hivemind.errors import NotFound, Refused
from hivemind.formats import timestamps
from hivemind.model.claim import Proposal
from hivemind.model.ids import derive_id
from hivemind.model.memory import Memory
from hivemind.model.reports import BackfillReport, DistillReport, PruneReport
from hivemind.model.scope import Visibility, label_other_repository
from hivemind.model.session import Handover, Observation, Session, SessionState, SkippedInput
from hivemind.recall import handover as handovers
from hivemind.store import log, projector
from hivemind.store.projections import memories, sessions

BOOKMARK = "distil"
REST = timedelta(minutes=10)
"""A session nobody has heard of for so long has come to rest, whether or not it said so."""


class Sessions:
    """What agents did, and what can be learned from it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._observations = Observations(context)

    def list(
        self, *, limit: int = 20, agent: str = "", before: str = "", everywhere: bool = False
    ) -> tuple[Session, ...]:
        """Sessions in this repository, the one last heard of first; ``before`` ended the page before."""
        sight = self._context.sight(everywhere=everywhere)
        return tuple(sessions.list_sessions(self._context.store.db, sight, limit=limit, agent=agent, before=before))

    def show(self, session: str = "", *, everywhere: bool = False) -> tuple[Session, tuple[Observation, ...]]:
        """A session, by its id or the last one here, and what was observed in it, in order."""
        chosen = self._session(session, everywhere=everywhere)
        return chosen, tuple(sessions.read_observations(self._context.store.db, chosen))

    def state(self, session: str = "", *, everywhere: bool = False) -> SessionState:
        """Where a session stands: its current task, the files it edited, its last outputs."""
        return handovers.summarise_state(*self.show(session, everywhere=everywhere))

    def handover(self, session: str = "", *, everywhere: bool = False) -> Handover:
        """What another agent needs to go on where a session stopped."""
        chosen, trace = self.show(session, everywhere=everywhere)
        is_elsewhere = self._context.checkout.is_elsewhere(chosen.repo)
        return handovers.build_handover(chosen, trace, label_other_repository(chosen.repo) if is_elsewhere else "")

    def memories(self, session: str, *, everywhere: bool = False) -> tuple[Memory, ...]:
        """The memories that were learned in a session, in order."""
        db, sight = self._context.store.db, self._context.sight(everywhere=everywhere)
        learned = memories.find_by_session(db, session)
        visible = {memory.id for memory in memories.get_visible(db, [memory.id for memory in learned], sight)}
        return tuple(memory for memory in learned if memory.id in visible)

    def observation(self, event: str) -> Observation | None:
        """The observation that a source points at, if it is still there."""
        return sessions.get_observation(self._context.store.db, event)

    def take_in_spool(self) -> int:
        """Record what hooks have left since the store was last open; return how much was new."""
        return self._observations.take_in_spool()

    def prune(self, *, dry_run: bool = False) -> PruneReport:
        """Delete observations that are too old or too many by the settings; never one a memory rests on."""
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
        """Import past transcripts of agents, and learn from them; doing it twice changes nothing.

        ``here`` takes only sessions in the repository at hand.
        """
        context, begin = self._context, self._context.past(since)
        found = backfill.find_transcripts(
            home or Path.home(), [*names] or agents.NAMES, timestamps.parse_timestamp(begin) if begin else None
        )
        # What is recorded here has been redacted already, before it was trimmed.
        factory = replace(context.new_batch("backfill"), redact=str)
        skipped: Counter[str] = Counter()
        unreadable: deque[SkippedInput] = deque(maxlen=quarantine.MOST_ITEMS)
        told_by_hooks = partial(log.has_hook_observations, context.store.db)
        observed = backfill.read_observations(found, told_by_hooks, begin, _by_bytes(found, progress))
        seen: Counter[str] = Counter()
        placed = _counted_by_session(self._placed(_readable(observed, skipped, unreadable), here=here), seen)
        new = self._observations.record_all(
            placed, factory, backfill.cache_redaction(context.factory.redact), unreadable, dry_run=dry_run
        )
        if unreadable and not dry_run:
            set_aside(context, quarantine.ItemOrigin.TRANSCRIPT, unreadable)
        learned = 0 if dry_run else self._learn_from_resting(replace(context.factory, batch=factory.batch)).proposed
        return BackfillReport(
            transcripts=len(found), sessions=len(seen), observations=seen.total(), new=new, learned=learned,
            skipped=tuple(skipped.most_common()), quarantined=len({one.where for one in unreadable}),
            batch=factory.batch,
        )  # fmt: skip

    def import_git(self, *, since: str = "", dry_run: bool = False) -> BackfillReport:
        """Learn from this repository's commits: what was fixed, and what was decided and why."""
        context = self._context
        history = [*git.read_commits(context.checkout.root, since=context.past(since))]
        proposals = [proposal for commit in reversed(history) for proposal in commits.propose_from_commit(commit)]
        factory = context.new_batch("backfill-git")
        if dry_run:
            return BackfillReport(batch=factory.batch, learned=len(self._unknown(proposals)), commits=len(history))
        outcome = learning.Outcome()
        for page in pages(proposals):
            anchors = context.checkout.anchors_for_proposals(self._unknown(page), context.repository.root)
            learning.propose(context, factory, page, context.repository.id, outcome, anchors=anchors)
        return BackfillReport(batch=factory.batch, learned=outcome.proposed.total(), commits=len(history))

    def learn(self, session: str = "", *, everywhere: bool = False, progress: Progress = quietly) -> DistillReport:
        """Learn from a session, or from all that came to rest since last time; what is found is only proposed."""
        if everywhere and not self._context.is_person:
            raise Refused("only a person may learn from a session of another repository")
        if session:
            return self._learn_from([self._session(session, everywhere=everywhere).id], self._context.factory)
        return self._learn_from_resting(self._context.factory, progress)

    def waits_to_learn(self) -> bool:
        """Whether a session came to rest that nobody has learned from."""
        db = self._context.store.db
        waiting = log.find_sessions_observed_after(db, projector.read_bookmark(db, BOOKMARK, detectors.VERSION))
        active = self._active() if waiting else set()
        return any(session not in active for session, _ in waiting)

    def _learn_from_resting(self, factory: EventFactory, progress: Progress = quietly) -> DistillReport:
        """The bookmark stays before the first session that is still active; to read one twice changes nothing."""
        db = self._context.store.db
        end = log.last_position(db)
        waiting = log.find_sessions_observed_after(db, projector.read_bookmark(db, BOOKMARK, detectors.VERSION))
        active = self._active()
        report = self._learn_from([session for session, _ in waiting if session not in active], factory, progress)
        begun = [position for session, position in waiting if session in active]
        with db.transaction():
            projector.set_bookmark(db, BOOKMARK, min(begun) - 1 if begun else end, detectors.VERSION)
        self.prune()
        return report

    def _learn_from(self, ids: Sequence[str], factory: EventFactory, progress: Progress = quietly) -> DistillReport:
        outcome = learning.Outcome()
        everything = Visibility.of(self._context.repository, everywhere=True)
        root_of = cache(lambda directory: tree_of(directory).root)
        for number, session_id in enumerate(ids, start=1):
            session = sessions.get(self._context.store.db, session_id, everything)
            # Without a repository nobody could say where the lesson holds.
            if session.repo:
                self._complete_from_transcript(session, factory)
                self._propose_from(session, root_of(session.directory), factory, outcome)
            progress(number, len(ids))
        return DistillReport(
            sessions=len(ids), proposed=outcome.proposed.total(), known=outcome.known, refused=outcome.refused,
            by_detector=tuple(sorted(outcome.proposed.items())),
        )  # fmt: skip

    def _propose_from(self, session: Session, root: str, factory: EventFactory, outcome: learning.Outcome) -> None:
        """Propose what the detectors find in a session."""
        context = self._context
        view = SessionView(steps=sessions.read_observations(context.store.db, session), root=root)
        proposals = [*detectors.run_detectors(view, detectors.select_detectors(context.settings.detectors.split()))]
        anchors = context.checkout.anchors_for_proposals(self._unknown(proposals), view.root, view.make_relative)
        batch = factory.batch or f"distil-{derive_id('distil', session.id)[:12]}"
        learning.propose(
            context, replace(factory, batch=batch), proposals, session.repo, outcome, anchors=anchors,
            believed=distil.parse_believed(context.settings.believed),
        )  # fmt: skip

    def _complete_from_transcript(self, session: Session, factory: EventFactory) -> None:
        """Take in what an agent wrote down of a session beyond what its hooks told: what it said between its steps."""
        context, told_by_hooks = self._context, partial(log.has_hook_observations, self._context.store.db)
        if not told_by_hooks(session.id):
            return
        found = backfill.find_session_transcripts(
            Path.home(), session.agent, session.id, timestamps.parse_timestamp(session.started_at)
        )
        observed = (seen for seen in backfill.read_observations(found, told_by_hooks) if isinstance(seen, Observation))
        placed = ((seen, session.repo) for seen in observed if seen.session_id == session.id)
        unreadable: deque[SkippedInput] = deque()
        self._observations.record_all(placed, replace(factory, redact=str), context.factory.redact, unreadable)
        if unreadable:
            set_aside(context, quarantine.ItemOrigin.TRANSCRIPT, unreadable)

    def _session(self, session: str, *, everywhere: bool) -> Session:
        """A session by its id, or the last one here."""
        db, sight = self._context.store.db, self._context.sight(everywhere=everywhere)
        if session:
            return sessions.get(db, session, sight)
        newest = sessions.list_sessions(db, sight, limit=1)
        if not newest:
            raise NotFound("no sessions in this repository yet; import past ones with 'hivemind import transcripts'")
        return newest[0]

    def _active(self) -> set[str]:
        """The sessions that something was heard of a short time ago."""
        return sessions.find_active_since(
            self._context.store.db, timestamps.format_timestamp(self._context.clock() - REST)
        )

    def _placed(self, observed: Iterable[Observation], *, here: bool) -> Iterator[Placed]:
        """Each with its repository, which is looked up once for a directory."""
        tree = cache(tree_of)
        placed = ((seen, tree(seen.directory).id) for seen in observed)
        return ((seen, repo) for seen, repo in placed if not here or repo in self._context.checkout.names)

    def _unknown(self, proposals: Iterable[Proposal]) -> Sequence[Proposal]:
        """The proposals that were not made before."""
        return [one for one in proposals if not log.find_ids_about(self._context.store.db, [one.memory_id])]


def _counted_by_session(placed: Iterable[Placed], seen: Counter[str]) -> Iterator[Placed]:
    for observation, repo in placed:
        seen[observation.session_id] += 1
        yield observation, repo


def _readable(
    observed: Iterable[Observation | SkippedInput], skipped: Counter[str], unreadable: deque[SkippedInput]
) -> Iterator[Observation]:
    """The observations; what was skipped is counted by its reason, and kept where there is something to keep."""
    for seen in observed:
        if isinstance(seen, Observation):
            yield seen
            continue
        skipped[backfill.summarise_reason(seen)] += 1
        if seen.raw:
            unreadable.append(seen)


def _by_bytes(transcripts: Iterable[backfill.Transcript], progress: Progress) -> Callable[[int], None]:
    """Progress by bytes, told a file at a time."""
    total, done = sum(transcript.size for transcript in transcripts), 0

    def finished(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    return finished
