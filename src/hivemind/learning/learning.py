"""Learning from sessions and agents' own notes: what is learned are proposals."""

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind.code import lazy_modules
from hivemind.code.repository import find_existing_root, is_directory, locate_tree
from hivemind.code.staleness import follow_moved
from hivemind.context import Context, Progress, quietly, report_part
from hivemind.errors import Refused, StoreBusy, Unavailable
from hivemind.lazy import LazyModule, when_called
from hivemind.learning import detectors
from hivemind.learning.proposals import Fate, Outcome, parse_believed, propose
from hivemind.learning.session_view import LONGEST_QUOTE, SessionView
from hivemind.model import timestamps
from hivemind.model.claim import Proposal
from hivemind.model.commands import CODE_SPAN
from hivemind.model.events import NAME_BY_FACT, AgentAsked
from hivemind.model.ids import derive_id
from hivemind.model.memory import Kind, Status
from hivemind.model.scope import Repository, Visibility
from hivemind.model.session import Observation, Session, SkippedInput
from hivemind.recall.actions import find_for_failure
from hivemind.sessions import digests, quarantine
from hivemind.sessions.observations import Observations, is_memory_off
from hivemind.sessions.quarantine import set_aside
from hivemind.sessions.sessions import find_session
from hivemind.sessions.transcripts import find_session_transcripts, read_observations
from hivemind.settings import Hear
from hivemind.store import log, projector, session_log
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import sessions
from hivemind.store.projections.digests import find_wanted as find_waiting_sessions

if TYPE_CHECKING:
    from hivemind.agents.headless import get_headless_agent
    from hivemind.learning import lasting_statements, review_comments, reviews_with_agent, with_agent
    from hivemind.learning.statement_forms import Judge
    from hivemind.transfer import forge, notes, review_threads
    from hivemind.transfer.imports import ReviewReport
else:
    # Hooks at the start of a session import this module to see whether there is something to learn, and need none of
    # these.
    get_headless_agent = when_called("agents.headless", "get_headless_agent")
    lasting_statements = LazyModule("learning.lasting_statements")
    review_comments = LazyModule("learning.review_comments")
    reviews_with_agent = LazyModule("learning.reviews_with_agent")
    with_agent = LazyModule("learning.with_agent")
    forge = LazyModule("transfer.forge")
    notes = LazyModule("transfer.notes")
    review_threads = LazyModule("transfer.review_threads")

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


class Learning:
    """Learns from sessions that became inactive, and with the person's own agent."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def learn(self, session: str = "", *, everywhere: bool = False, progress: Progress = quietly) -> DistillReport:
        """Learn from a session, or from all that became inactive since the last run and from agents' own notes.

        What is learned are proposals.
        """
        if everywhere and not self._context.is_person:
            raise Refused("only a person may learn from a session of another repository")
        if session:
            target = find_session(self._context, session, everywhere=everywhere)
            return self._learn_from([target.id], self._context.factory)
        report = self.learn_from_resting(self._context.factory, progress)
        # Agents write their notes in sessions, so this is when notes change.
        from_notes = notes.sync_notes(self._context)
        # And this is when there are new commits, and code that moved.
        if self._context.checkout.is_under_git:
            with suppress(Unavailable, StoreBusy):
                lazy_modules.commit_index.index_commits(self._context)
                follow_moved(self._context)
        return replace(
            report,
            proposed=report.proposed + from_notes.new,
            refused=report.refused + from_notes.refused,
            by_detector=(*report.by_detector, *([("notes", from_notes.new)] if from_notes.new else [])),
        )

    def learn_with(
        self, agent: str, session: str = "", *, limit: int = 1, announce: "with_agent.Announce" = lambda *_: None
    ) -> "with_agent.ExaminationReport":
        """Learn from a session, or the newest inactive ones here, with the person's own agent; results are proposals.

        ``announce`` is called before the text of a session is given to the agent.
        """
        context = self._context
        if session:
            candidates = [find_session(self._context, session)]
        else:
            excluded_ids = self._find_active() | with_agent.list_examined_ids(context)
            recent = sessions.list_sessions(context.store.db, context.limit_sight(), limit=RECENT)
            new = (session for session in recent if session.task and session.id not in excluded_ids)
            candidates = [each for each in new if not is_memory_off(context, each.directory)][:limit]
        return with_agent.examine_sessions(context, agent, candidates, self._propose_lessons, announce)

    def examinations(self) -> "tuple[with_agent.Examination, ...]":
        """List which sessions were sent to an agent to learn from, and when, newest first."""
        return tuple(with_agent.list_examinations(self._context))

    def import_reviews(
        self,
        pages: Iterable[str | bytes] = (),
        *,
        pulls: Sequence[str] = (),
        since: str = "",
        agent: str = "",
        announce: "reviews_with_agent.Announce" = lambda *_: None,
        dry_run: bool = False,
        progress: Progress = quietly,
    ) -> "ReviewReport":
        """Propose the rules in review comments, given as texts of JSON; without any, gh or glab gets them.

        ``pulls`` are numbers of pull requests, and ``since`` is when their comments begin. ``agent`` names the person's
        own agent, which then looks for rules; ``announce`` is called before comments are given to it.
        """
        context, begin = self._context, self._context.parse_past(since)
        find = self._find_rules_with(agent, announce, progress) if agent else self._load_rule_finder(progress)
        texts = [*pages] or forge.fetch_comments(context.repository, pulls, since=begin, progress=progress)
        comments = {comment.id: comment for text in texts for comment in review_threads.read_comments(text)}
        recent = [comment for comment in comments.values() if not begin or comment.written_at >= begin]
        return review_comments.import_comments(context, recent, find, dry_run=dry_run)

    def _load_rule_finder(self, progress: Progress) -> "review_comments.FindRules":
        encode = self._context.embedder.encode_wording
        if encode is None:
            raise Unavailable("the embedding model, which judges review comments, is not there; run: hivemind doctor")
        return partial(review_comments.find_rules, judge=lasting_statements.load_judge(encode), progress=progress)

    def _find_rules_with(
        self, agent: str, announce: "reviews_with_agent.Announce", progress: Progress
    ) -> "review_comments.FindRules":
        self._context.require_person("learning with an agent")
        return partial(
            reviews_with_agent.find_rules, agent=get_headless_agent(agent), redact=self._context.factory.redact,
            announce=announce, progress=progress,
        )  # fmt: skip

    def _propose_lessons(self, session: Session, proposals: Sequence[Proposal]) -> int:
        outcome = Outcome()
        batch = f"learn-{derive_id('examine', session.id, self._context.now)[:12]}"
        propose(self._context, replace(self._context.factory, batch=batch), proposals, session.repo, outcome)
        return outcome.count(Fate.NEW)

    def waits_to_learn(self) -> bool:
        """Whether there is an inactive session that was not learned from yet, or that has no digest."""
        db = self._context.store.db
        waiting = log.find_sessions_observed_after(db, projector.read_bookmark(db, BOOKMARK, detectors.VERSION))
        session_ids = {*find_waiting_sessions(db), *(session for session, _ in waiting)}
        return bool(session_ids and session_ids - self._find_active())

    def learn_from_resting(self, factory: EventFactory, progress: Progress = quietly) -> DistillReport:
        """Learn from all inactive sessions after the bookmark."""
        # The bookmark stays before the first session that is still active; reading one twice changes nothing.
        db = self._context.store.db
        end = log.read_last_position(db)
        waiting = log.find_sessions_observed_after(db, projector.read_bookmark(db, BOOKMARK, detectors.VERSION))
        active = self._find_active()
        is_off = cache(partial(is_memory_off, self._context))
        resting = sessions.get_all(db, [session for session, _ in waiting if session not in active])
        ids = [session for session, _ in waiting if session in resting and not is_off(resting[session].directory)]
        report = self._learn_from(ids, factory, report_part(progress, 0, 2))
        # After learning, which completes sessions from their transcripts.
        digests.catch_up(self._context, active, report_part(progress, 1, 2))
        active_positions = [position for session, position in waiting if session in active]
        with db.transaction():
            projector.set_bookmark(
                db, BOOKMARK, min(active_positions) - 1 if active_positions else end, detectors.VERSION
            )
        Observations(self._context).prune()
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
            sessions=len(ids), proposed=outcome.count(Fate.NEW), known=outcome.count(Fate.KNOWN),
            refused=outcome.count(Fate.REFUSED),
            by_detector=tuple(sorted((name, n) for (fate, name), n in outcome.items() if fate is Fate.NEW)),
        )  # fmt: skip

    def _propose_from(self, session: Session, tree: Repository, factory: EventFactory, outcome: Outcome) -> None:
        context = self._context
        is_gone = not is_directory(Path(session.directory))
        view = SessionView(
            steps=sessions.read_observations(context.store.db, session),
            # A worktree inside of its repository was a tree of its own.
            root=session.directory if is_gone else tree.root,
            judge=self._load_judge(),
            least_certainty=context.settings.statement_certainty / 100,
        )
        root = find_existing_root(context, tree.id) if is_gone else tree.root
        selection = detectors.select_detectors(context.settings.detectors.split())
        judged_quotes = self._list_judged_quotes(session)
        proposals = [
            proposal
            for proposal in detectors.run_detectors(view, selection)
            if not self._is_known_fix(proposal, tree) and proposal.sources[0].quote not in judged_quotes
        ]
        db = context.store.db
        unknown = [proposal for proposal in proposals if not log.has_entries_about(db, [proposal.memory_id])]
        anchors = context.checkout.find_proposal_anchors(unknown, root, view.make_relative)
        batch = factory.batch or f"learn-{derive_id('distil', session.id)[:12]}"
        propose(
            context, replace(factory, batch=batch), proposals, session.repo, outcome, anchors=anchors,
            trust=parse_believed(context.settings.believed),
        )  # fmt: skip

    def _load_judge(self) -> "Judge | None":
        if self._context.settings.hear == Hear.OFF:
            return None
        encode = self._context.embedder.encode_wording
        return lasting_statements.load_judge(encode) if encode else None

    def _list_judged_quotes(self, session: Session) -> set[str]:
        """List what a note quoted in the session: its agent, which knew more, has judged these sentences."""
        entries = session_log.read_facts_about(self._context.store.db, session.id, NAME_BY_FACT[AgentAsked])
        return {quote[:LONGEST_QUOTE] for _, note in entries if isinstance(note, AgentAsked) for quote in note.quotes}

    def _is_known_fix(self, proposal: Proposal, tree: Repository) -> bool:
        """Whether a memory about the same error already names the command that fixed it, as when the agent was told."""
        if proposal.kind is not Kind.FIX or proposal.edits or proposal.detector != "fixes":
            return False
        error, remedy = proposal.sources[0].quote, CODE_SPAN.findall(proposal.text)[-1]
        query = replace(self._context.query(error, statuses=(Status.ACTIVE,)), sight=Visibility.of(tree))
        hits = find_for_failure(self._context.store.db, query, [error])
        return any(remedy in hit.memory.text and hit.memory.id != proposal.memory_id for hit in hits)

    def _complete_from_transcript(self, session: Session, factory: EventFactory) -> None:
        """Import from the transcript what hooks do not report: what the agent said between its steps."""
        context, came_by_hook = self._context, partial(log.has_hook_observations, self._context.store.db)
        # A session that came from its transcript is complete already.
        if not came_by_hook(session.id) or is_memory_off(context, session.directory):
            return
        transcripts = find_session_transcripts(
            Path.home(), session.agent, session.id, timestamps.parse_timestamp(session.started_at)
        )
        steps = (step for step in read_observations(transcripts, came_by_hook) if isinstance(step, Observation))
        own_steps = ((step, session.repo) for step in steps if step.session_id == session.id)
        unreadable: deque[SkippedInput] = deque()
        Observations(context).record_all(own_steps, replace(factory, redact=str), context.factory.redact, unreadable)
        if unreadable:
            set_aside(context, quarantine.ItemOrigin.TRANSCRIPT, unreadable)

    def _find_active(self) -> set[str]:
        moment = timestamps.format_timestamp(self._context.clock() - REST)
        return sessions.find_active_since(self._context.store.db, moment)
