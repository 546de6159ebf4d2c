"""Learning with the person's own agent: one session at a time, within a daily limit, each on record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hivemind.agents.headless import ask_agent, get_headless_agent
from hivemind.app.context import Context
from hivemind.curate import examine
from hivemind.curate.session_view import SessionView
from hivemind.errors import Refused, Unavailable
from hivemind.model.claim import Proposal
from hivemind.model.events import SessionExamined
from hivemind.model.scope import Scope
from hivemind.model.session import Session
from hivemind.store import log
from hivemind.store.projections import sessions

Announce = Callable[[Session, str, int], None]
"""Is told before a session is sent: the session, the title of the agent, and how many characters."""
Propose = Callable[[Session, Sequence[Proposal]], int]
"""Records proposals of a session and returns how many are new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminationReport:
    """The result of learning with an agent."""

    agent: str
    sessions: int
    proposed: int
    dropped: int
    """Lessons without words in the session that show them."""
    left_today: int
    """How many more sessions may be sent today."""


def examine_sessions(
    context: Context, name: str, candidates: Sequence[Session], propose: Propose, announce: Announce
) -> ExaminationReport:
    """Send sessions to an agent, one at a time, and propose what it finds; stops at the daily limit."""
    context.require_person("learning with an agent")
    agent = get_headless_agent(name)
    left_today = count_left_today(context)
    if left_today < 1:
        raise Refused(
            f"the limit of {context.settings.learn_with_daily} sessions a day is reached; go on tomorrow, or change it"
            " with 'hivemind config set learn_with_daily'"
        )
    proposed_count = dropped_count = 0
    chosen = candidates[:left_today]
    for session in chosen:
        view = SessionView(steps=sessions.read_observations(context.store.db, session), root=session.directory)
        question = examine.build_question(view)
        announce(session, agent.title, len(question))
        fact = SessionExamined(session_id=session.id, agent=name, characters=len(question))
        try:
            answer = ask_agent(agent, question)
        except Unavailable:
            # It counts: the text may have left the machine.
            _record(context, session, replace(fact, has_failed=True))
            raise
        lessons = examine.parse_answer(answer, view, f"with-{name}")
        count = propose(session, lessons.proposals)
        _record(context, session, replace(fact, proposed=count, dropped=lessons.dropped_count))
        proposed_count += count
        dropped_count += lessons.dropped_count
    return ExaminationReport(
        agent=name, sessions=len(chosen), proposed=proposed_count, dropped=dropped_count,
        left_today=left_today - len(chosen),
    )  # fmt: skip


def count_left_today(context: Context) -> int:
    """Return how many sessions may still be sent to agents today."""
    today = context.now[:10]
    sent_count = sum(event.at.startswith(today) for event in log.find_events_of(context.store.db, SessionExamined))
    return context.settings.learn_with_daily - sent_count


def list_examined_ids(context: Context) -> set[str]:
    """List the sessions that an agent has examined before."""
    events = log.find_events_of(context.store.db, SessionExamined)
    return {event.about for event in events if isinstance(event.fact, SessionExamined) and not event.fact.has_failed}


def _record(context: Context, session: Session, fact: SessionExamined) -> None:
    scope = Scope.PROJECT if session.repo else Scope.USER
    context.record([context.factory.event(fact, scope, session.repo)])
