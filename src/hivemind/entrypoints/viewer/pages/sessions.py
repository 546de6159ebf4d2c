"""Sessions: what agents did, and how to watch it again."""

from collections import defaultdict
from itertools import groupby

from starlette.responses import Response

from hivemind.entrypoints.viewer.request import Visit
from hivemind.model.memory import Memory
from hivemind.model.recall import Receipt
from hivemind.model.scope import label_other_repository
from hivemind.model.session import Observation

PAGE, STEPS = 30, 400


def page(visit: Visit) -> Response:
    """Sessions, the one last heard of first."""
    agent, everywhere = visit.asked.get("agent", ""), visit.everywhere
    found = visit.mind.sessions.list(
        limit=PAGE, agent=agent, before=visit.asked.get("before", ""), everywhere=everywhere
    )
    kept = {"agent": agent, "everywhere": "1" if everywhere else ""}
    more = {**kept, "before": found[-1].id} if len(found) == PAGE else {}
    return visit.page("sessions.html", sessions=found, agent=agent, everywhere=everywhere, more=more)


def replay(visit: Visit) -> Response:
    """A session step by step, with what was recalled before each step and what was learned from it."""
    session, trace = visit.mind.sessions.show(visit.named("id"), everywhere=visit.everywhere)
    first = visit.number("from")
    steps = trace[first : first + STEPS]
    learned = visit.mind.sessions.memories(session.id, everywhere=visit.everywhere)
    shown = visit.mind.history.receipts(session.id, everywhere=visit.everywhere)
    return visit.page(
        "replay.html",
        session=session,
        state=visit.mind.sessions.state(session.id, everywhere=visit.everywhere),
        steps=_told(steps, shown, learned, whole=(first == 0, first + STEPS >= len(trace))),
        learned=learned,
        elsewhere=label_other_repository(session.repo) if visit.mind.checkout.is_elsewhere(session.repo) else "",
        first=first,
        total=len(trace),
        more=first + STEPS if first + STEPS < len(trace) else 0,
    )


def _told(
    steps: tuple[Observation, ...],
    receipts: tuple[Receipt, ...],
    learned: tuple[Memory, ...],
    *,
    whole: tuple[bool, bool],
) -> list[tuple[Observation, list[tuple[Receipt, int]], list[Memory]]]:
    """Each step with the recalls that came before it and the memories that rest on it."""
    by_event: dict[str, list[Memory]] = defaultdict(list)
    for memory in learned:
        for source in memory.sources:
            if memory not in by_event[source.event]:
                by_event[source.event].append(memory)
    ordered = sorted(receipts, key=lambda one: (one.at, one.id))
    recalls = [(next(lines), 1 + len([*lines])) for _, lines in groupby(ordered, key=lambda one: one.id)]
    told = []
    is_first, is_last = whole
    begun = steps[0].at if steps and not is_first else ""
    for place, step in enumerate(steps):
        until = steps[place + 1].at if place + 1 < len(steps) else "" if is_last else step.at
        here = [one for one in recalls if begun <= one[0].at and (not until or one[0].at < until)]
        told.append((step, here, by_event.get(step.source_id, [])))
        begun = until
    return told
