"""Sessions of agents: listing, importing and learning from them."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind import agents
from hivemind.code import git
from hivemind.code.repository import is_directory
from hivemind.code.trees import find_existing_root, list_moved_trees, locate_tree
from hivemind.context import Context, Progress, quietly
from hivemind.errors import NotFound, Refused
from hivemind.lazy import when_called
from hivemind.learning import commits, detectors, distil
from hivemind.learning.session_view import SessionView
from hivemind.model import timestamps
from hivemind.model.claim import Proposal
from hivemind.model.code import Anchor
from hivemind.model.ids import derive_id
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.recall import Recall
from hivemind.model.reports import BackfillReport
from hivemind.model.scope import Repository, Visibility
from hivemind.model.session import Handover, Observation, Session, SessionState, SkippedInput
from hivemind.recall import at_action
from hivemind.sessions import backfill, quarantine
from hivemind.sessions import handover as handovers
from hivemind.sessions.observations import Observations, Placed, PruneReport, pages
from hivemind.sessions.set_aside import set_aside
from hivemind.store import log, projector
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories, sessions
from hivemind.text.clean import validate_text
from hivemind.text.commands import CODE_SPAN

if TYPE_CHECKING:
    from hivemind.learning.examination import Announce, Examination, ExaminationReport

# Needs NumPy, as the encoder does.
load_judge = when_called("learning.lasting", "load_judge")

BOOKMARK = "distil"
RECENT = 200
"""Sessions among which those are looked for that no agent has examined."""
REST = timedelta(minutes=10)
"""A session without events for so long counts as inactive, whether or not it reported its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillReport:
    """The result of learning from sessions."""

    sessions: int
    proposed: int
    known: int
    """Already stored, from this or another session."""
    refused: int
    """Refused because they were rejected or erased before."""
    by_detector: tuple[tuple[str, int], ...] = ()


class Outcome(Counter[tuple[distil.Fate, str]]):
    """How many proposals of each detector were new, known and refused."""

    def count(self, fate: distil.Fate) -> int:
        """Count the proposals of all detectors with this fate."""
        return sum(number for (other, _), number in self.items() if other is fate)


class Sessions:
    """Lists sessions, imports past ones and learns from them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._observations = Observations(context)

    def list(
        self, *, limit: int = 20, agent: str = "", before: str = "", everywhere: bool = False
    ) -> tuple[Session, ...]:
        """List sessions of this repository, most recent first; ``before`` is the last id of the previous page."""
        sight = self._context.sight(everywhere=everywhere)
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
        # Not at the top: learning and importing, which run in the background, do not search.
        from hivemind.recall.answers import Answers

        return Answers(self._context).search_sessions(query)

    def show(self, session: str = "", *, everywhere: bool = False) -> tuple[Session, tuple[Observation, ...]]:
        """Return a session by id, or the latest, and its observations in order."""
        target = self._session(session, everywhere=everywhere)
        return target, tuple(sessions.read_observations(self._context.store.db, target))

    def state(self, session: str = "", *, everywhere: bool = False) -> SessionState:
        """Summarise a session: its current task, edited files and last outputs."""
        return handovers.summarise_state(*self.show(session, everywhere=everywhere))

    def handover(self, session: str = "", *, everywhere: bool = False) -> Handover:
        """Return what another agent needs to continue a session."""
        target, trace = self.show(session, everywhere=everywhere)
        return handovers.build_handover(target, trace, self._context.checkout.label_elsewhere(target.repo))

    def memories(self, session: str, *, everywhere: bool = False) -> tuple[Memory, ...]:
        """List the memories recorded in a session, in order."""
        db, sight = self._context.store.db, self._context.sight(everywhere=everywhere)
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
        context, begin = self._context, self._context.past(since)
        transcripts = backfill.find_transcripts(
            home or Path.home(), [*names] or agents.NAMES, timestamps.parse_timestamp(begin) if begin else None
        )
        # What is recorded here has been redacted already, before it was trimmed.
        factory = replace(context.new_batch("backfill"), redact=str)
        skip_counts: Counter[str] = Counter()
        unreadable: deque[SkippedInput] = deque(maxlen=quarantine.MOST_ITEMS)
        came_by_hook = partial(log.has_hook_observations, context.store.db)
        items = backfill.read_observations(transcripts, came_by_hook, begin, _by_bytes(transcripts, progress))
        counts: Counter[str] = Counter()
        observations = self._locate(_readable(items, skip_counts, unreadable), counts, here=here)
        new = self._observations.record_all(
            observations, factory, backfill.cache_redaction(context.factory.redact), unreadable, dry_run=dry_run
        )
        lesson_count = 0
        if not dry_run:
            if unreadable:
                set_aside(context, quarantine.ItemOrigin.TRANSCRIPT, unreadable)
            # Sessions of earlier imports whose directory was gone already.
            context.store.record(list_moved_trees(context))
            lesson_count = self._learn_from_resting(replace(context.factory, batch=factory.batch)).proposed
        return BackfillReport(
            transcripts=len(transcripts), sessions=len(counts), observations=counts.total(), new=new,
            learned=lesson_count, skipped=tuple(skip_counts.most_common()),
            quarantined=len({item.where for item in unreadable}), batch=factory.batch,
        )  # fmt: skip

    def import_git(self, *, since: str = "", dry_run: bool = False) -> BackfillReport:
        """Learn fixes and decisions from this repository's commits."""
        context = self._context
        history = [*git.read_commits(context.checkout.root, since=context.past(since))]
        proposals = [proposal for commit in reversed(history) for proposal in commits.propose_from_commit(commit)]
        factory = context.new_batch("backfill-git")
        if dry_run:
            return BackfillReport(batch=factory.batch, learned=len(self._unknown(proposals)), commits=len(history))
        outcome = Outcome()
        for page in pages(proposals):
            anchors = context.checkout.anchors_for_proposals(self._unknown(page), context.repository.root)
            propose(context, factory, page, context.repository.id, outcome, anchors=anchors)
        return BackfillReport(batch=factory.batch, learned=outcome.count(distil.Fate.NEW), commits=len(history))

    def learn(self, session: str = "", *, everywhere: bool = False, progress: Progress = quietly) -> DistillReport:
        """Learn from a session, or from all that became inactive since the last run and from agents' own notes.

        What is learned are proposals.
        """
        if everywhere and not self._context.is_person:
            raise Refused("only a person may learn from a session of another repository")
        if session:
            return self._learn_from([self._session(session, everywhere=everywhere).id], self._context.factory)
        report = self._learn_from_resting(self._context.factory, progress)
        # Imported here, as is what asks agents: together a fifth of this module's import time, and every hook at the
        # start of a session imports it.
        from hivemind.transfer.notes import sync_notes

        # Agents write their notes in sessions, so this is when notes change.
        notes = sync_notes(self._context)
        return replace(
            report,
            proposed=report.proposed + notes.new,
            refused=report.refused + notes.refused,
            by_detector=(*report.by_detector, *([("notes", notes.new)] if notes.new else [])),
        )

    def learn_with(
        self, agent: str, session: str = "", *, limit: int = 1, announce: "Announce" = lambda *_: None
    ) -> "ExaminationReport":
        """Learn from a session, or the newest inactive ones here, with the person's own agent; results are proposals.

        ``announce`` is called before the text of a session is given to the agent.
        """
        from hivemind.learning.examination import examine_sessions, list_examined_ids

        context = self._context
        if session:
            candidates = [self._session(session, everywhere=False)]
        else:
            excluded_ids = self._active() | list_examined_ids(context)
            recent = sessions.list_sessions(context.store.db, context.sight(), limit=RECENT)
            waiting = [candidate for candidate in recent if candidate.id not in excluded_ids and candidate.task]
            candidates = waiting[:limit]
        return examine_sessions(context, agent, candidates, self._propose_lessons, announce)

    def examinations(self) -> "tuple[Examination, ...]":
        """List which sessions were sent to an agent to learn from, and when, newest first."""
        from hivemind.learning.examination import list_examinations

        return tuple(list_examinations(self._context))

    def _propose_lessons(self, session: Session, proposals: Sequence[Proposal]) -> int:
        outcome = Outcome()
        batch = f"distil-{derive_id('examine', session.id, self._context.now)[:12]}"
        propose(self._context, replace(self._context.factory, batch=batch), proposals, session.repo, outcome)
        return outcome.count(distil.Fate.NEW)

    def waits_to_learn(self) -> bool:
        """Whether there is an inactive session that was not learned from yet."""
        db = self._context.store.db
        waiting = log.find_sessions_observed_after(db, projector.read_bookmark(db, BOOKMARK, detectors.VERSION))
        active = self._active() if waiting else set()
        return any(session not in active for session, _ in waiting)

    def _learn_from_resting(self, factory: EventFactory, progress: Progress = quietly) -> DistillReport:
        """Learn from all inactive sessions after the bookmark."""
        # The bookmark stays before the first session that is still active; reading one twice changes nothing.
        db = self._context.store.db
        end = log.last_position(db)
        waiting = log.find_sessions_observed_after(db, projector.read_bookmark(db, BOOKMARK, detectors.VERSION))
        active = self._active()
        report = self._learn_from([session for session, _ in waiting if session not in active], factory, progress)
        active_positions = [position for session, position in waiting if session in active]
        with db.transaction():
            projector.set_bookmark(
                db, BOOKMARK, min(active_positions) - 1 if active_positions else end, detectors.VERSION
            )
        self.prune()
        return report

    def _learn_from(self, ids: Sequence[str], factory: EventFactory, progress: Progress = quietly) -> DistillReport:
        outcome = Outcome()
        everything = Visibility.of(self._context.repository, everywhere=True)
        locate = cache(partial(locate_tree, self._context))
        for number, session_id in enumerate(ids, start=1):
            session = sessions.get(self._context.store.db, session_id, everything)
            # Without a repository nobody could say where the lesson holds.
            if session.repo:
                # Before learning, because hooks do not tell what the agent said between its steps.
                self._complete_from_transcript(session, factory)
                self._propose_from(session, locate(session.directory), factory, outcome)
            progress(number, len(ids))
        return DistillReport(
            sessions=len(ids), proposed=outcome.count(distil.Fate.NEW), known=outcome.count(distil.Fate.KNOWN),
            refused=outcome.count(distil.Fate.REFUSED),
            by_detector=tuple(sorted((name, n) for (fate, name), n in outcome.items() if fate is distil.Fate.NEW)),
        )  # fmt: skip

    def _propose_from(self, session: Session, tree: Repository, factory: EventFactory, outcome: Outcome) -> None:
        """Propose what the detectors find in a session."""
        context = self._context
        is_gone = not is_directory(Path(session.directory))
        view = SessionView(
            steps=sessions.read_observations(context.store.db, session),
            # A worktree inside of its repository was a tree of its own.
            root=session.directory if is_gone else tree.root,
            judge=load_judge(encode) if (encode := context.embedder.encode_wording) else None,
            least_certainty=context.settings.statement_certainty / 100,
        )
        root = find_existing_root(context, tree.id) if is_gone else tree.root
        selection = detectors.select_detectors(context.settings.detectors.split())
        proposals = [
            proposal for proposal in detectors.run_detectors(view, selection) if not self._is_known_fix(proposal, tree)
        ]
        anchors = context.checkout.anchors_for_proposals(self._unknown(proposals), root, view.make_relative)
        batch = factory.batch or f"distil-{derive_id('distil', session.id)[:12]}"
        propose(
            context, replace(factory, batch=batch), proposals, session.repo, outcome, anchors=anchors,
            trust=distil.parse_believed(context.settings.believed),
        )  # fmt: skip

    def _is_known_fix(self, proposal: Proposal, tree: Repository) -> bool:
        """Whether a memory about the same error already names the command that fixed it, as when the agent was told."""
        if proposal.kind is not Kind.FIX or proposal.edits or proposal.detector != "fixes":
            return False
        error, remedy = proposal.sources[0].quote, CODE_SPAN.findall(proposal.text)[-1]
        query = replace(self._context.query(error, statuses=(Status.ACTIVE,)), sight=Visibility.of(tree))
        hits = at_action.find_for_failure(self._context.store.db, query, [error])
        return any(remedy in hit.memory.text and hit.memory.id != proposal.memory_id for hit in hits)

    def _complete_from_transcript(self, session: Session, factory: EventFactory) -> None:
        """Import from the transcript what hooks do not report: what the agent said between its steps."""
        context, came_by_hook = self._context, partial(log.has_hook_observations, self._context.store.db)
        # A session that came from its transcript is complete already.
        if not came_by_hook(session.id):
            return
        transcripts = backfill.find_session_transcripts(
            Path.home(), session.agent, session.id, timestamps.parse_timestamp(session.started_at)
        )
        steps = (
            step for step in backfill.read_observations(transcripts, came_by_hook) if isinstance(step, Observation)
        )
        own_steps = ((step, session.repo) for step in steps if step.session_id == session.id)
        unreadable: deque[SkippedInput] = deque()
        self._observations.record_all(own_steps, replace(factory, redact=str), context.factory.redact, unreadable)
        if unreadable:
            set_aside(context, quarantine.ItemOrigin.TRANSCRIPT, unreadable)

    def _session(self, session: str, *, everywhere: bool) -> Session:
        """Return a session by its id, or the latest."""
        db, sight = self._context.store.db, self._context.sight(everywhere=everywhere)
        if session:
            return sessions.get(db, session, sight)
        newest = sessions.list_sessions(db, sight, limit=1)
        if not newest:
            raise NotFound("no sessions in this repository yet; import past ones with 'hivemind import transcripts'")
        return newest[0]

    def _active(self) -> set[str]:
        """Find sessions that were active within the last minutes."""
        return sessions.find_active_since(
            self._context.store.db, timestamps.format_timestamp(self._context.clock() - REST)
        )

    def _locate(self, observations: Iterable[Observation], counts: Counter[str], *, here: bool) -> Iterator[Placed]:
        """Yield observations with their repositories, and count them by session."""
        # A transcript has thousands of observations in one directory, and identifying it starts git.
        tree = cache(partial(locate_tree, self._context))
        for observation in observations:
            repo = tree(observation.directory).id
            if not here or repo in self._context.checkout.names:
                counts[observation.session_id] += 1
                yield observation, repo

    def _unknown(self, proposals: Iterable[Proposal]) -> Sequence[Proposal]:
        """Keep the proposals that were not made before."""
        return [
            proposal for proposal in proposals if not log.find_ids_about(self._context.store.db, [proposal.memory_id])
        ]


def _readable(
    items: Iterable[Observation | SkippedInput], skip_counts: Counter[str], unreadable: deque[SkippedInput]
) -> Iterator[Observation]:
    """Yield the observations; count skipped input by reason and collect what has content."""
    for item in items:
        if isinstance(item, Observation):
            yield item
            continue
        skip_counts[backfill.summarise_reason(item)] += 1
        if item.raw:
            unreadable.append(item)


def _by_bytes(transcripts: Iterable[backfill.Transcript], progress: Progress) -> Callable[[int], None]:
    """Make a function that reports progress in bytes, one file at a time."""
    total, bytes_read = sum(transcript.size for transcript in transcripts), 0

    def add_size(size: int) -> None:
        nonlocal bytes_read
        bytes_read += size
        progress(bytes_read, total)

    return add_size


def propose(
    context: Context,
    factory: EventFactory,
    proposals: Iterable[Proposal],
    repo: str,
    outcome: Outcome,
    *,
    anchors: Mapping[str, tuple[Anchor, ...]] | None = None,
    trust: Mapping[str, float] = distil.NO_TRUSTED_DETECTORS,
) -> None:
    """Record proposals, each as a whole; proposing the same twice changes nothing.

    ``anchors`` are by memory id.
    """

    def record(proposal: Proposal) -> None:
        result = distil.make_proposal(
            context.store, factory, proposal, owner=context.settings.person, repo=repo,
            minimum_confidences=trust, anchors=(anchors or {}).get(proposal.memory_id, ()),
        )  # fmt: skip
        if result.events:
            context.record(result.events)
        outcome[result.fate, proposal.detector] += 1

    context.store.db.write_in_turns(proposals, record)
