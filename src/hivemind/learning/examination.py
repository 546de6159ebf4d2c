"""Learning with the person's own agent: one session at a time, within a daily limit, each on record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hivemind.agents.headless import ask_agent, get_headless_agent
from hivemind.context import Context
from hivemind.errors import Refused, Unavailable
from hivemind.learning import examine
from hivemind.learning.session_view import SessionView
from hivemind.model.claim import Proposal
from hivemind.model.events import NAME_BY_FACT, SessionExamined
from hivemind.model.scope import Scope, Visibility
from hivemind.model.session import Session
from hivemind.store import log
from hivemind.store.projections import sessions

MOST_ENTRIES = 100_000
"""More than anybody sends in a lifetime."""

Examination = tuple[str, SessionExamined]
"""When a session was sent to an agent, and what came of it."""
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
    # Before anything is read: an agent that cannot be asked must not count as a try.
    agent = get_headless_agent(name)
    left_today = count_left_today(context)
    if left_today < 1:
        raise Refused(
            f"the limit of {context.settings.learn_with_daily} sessions a day is reached; go on tomorrow, or change it"
            " with 'hivemind config set learn_with_daily'"
        )
    proposed_count = dropped_count = 0
    selection = candidates[:left_today]
    # One by one, each on record before the next: whoever stops this knows what was sent.
    for session in selection:
        view = SessionView(steps=sessions.read_observations(context.store.db, session), root=session.directory)
        # Secrets were redacted when the session was recorded.
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
        agent=name, sessions=len(selection), proposed=proposed_count, dropped=dropped_count,
        left_today=left_today - len(selection),
    )  # fmt: skip


def count_left_today(context: Context) -> int:
    """Return how many sessions may still be sent to agents today."""
    today = context.now[:10]
    sent_count = sum(at.startswith(today) for at, _ in list_examinations(context))
    return context.settings.learn_with_daily - sent_count


def list_examined_ids(context: Context) -> set[str]:
    """List the sessions that an agent has examined before."""
    # After a failure the person may try again.
    return {entry.session_id for _, entry in list_examinations(context) if not entry.has_failed}


def list_examinations(context: Context) -> list[Examination]:
    """List which sessions were sent to an agent, and when, newest first, in all repositories."""
    # From the log and not from a table: there are a few entries a day at most.
    sight = Visibility.of(context.repository, everywhere=True)
    entries = log.read_entries(context.store.db, sight, facts=[NAME_BY_FACT[SessionExamined]], limit=MOST_ENTRIES)
    facts = [(entry.at, entry.event.fact) for entry in entries if entry.event]
    return [(at, fact) for at, fact in facts if isinstance(fact, SessionExamined)]


def _record(context: Context, session: Session, fact: SessionExamined) -> None:
    scope = Scope.PROJECT if session.repo else Scope.USER
    context.record([context.factory.event(fact, scope, session.repo)])
