"""Sessions: what agents did, as a list and as a replay."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from starlette.responses import Response

from hivemind.model.memory import Memory
from hivemind.model.recall import Receipt
from hivemind.model.session import Observation
from hivemind.viewer.request import PageRequest

PAGE_SESSIONS, PAGE_STEPS = 30, 400

Recalled = list[Receipt]
"""The receipts of one recall, one for each memory it showed, the first one first."""


def show(request: PageRequest) -> Response:
    """Show sessions, the latest first."""
    agent, everywhere = request.query.get("agent", ""), request.everywhere
    sessions = request.mind.sessions.list(
        limit=PAGE_SESSIONS, agent=agent, before=request.query.get("before", ""), everywhere=everywhere
    )
    filters = {"agent": agent, "everywhere": "1" if everywhere else ""}
    more = {**filters, "before": sessions[-1].id} if len(sessions) == PAGE_SESSIONS else {}
    return request.render("sessions.html", sessions=sessions, agent=agent, everywhere=everywhere, more=more)


def replay(request: PageRequest) -> Response:
    """Show a session step by step, with the recalls before each step and the memories learned from it."""
    mind, everywhere = request.mind, request.everywhere
    session, trace = mind.sessions.show(request.read_path("id"), everywhere=everywhere)
    first = request.read_number("from")
    end = first + PAGE_STEPS
    memories = mind.sessions.memories(session.id, everywhere=everywhere)
    recalls = _group_receipts(mind.history.receipts(session.id, everywhere=everywhere))
    # The first page also shows recalls before the first step, and the last page those after the last step.
    begin_at = trace[first].at if 0 < first < len(trace) else ""
    end_at = trace[end].at if end < len(trace) else ""
    return request.render(
        "replay.html",
        session=session,
        state=mind.sessions.state(session.id, everywhere=everywhere),
        steps=_annotate_steps(trace[first:end], recalls, memories, begin_at, end_at),
        learned=memories,
        texts={memory.id: memory.text for memory in mind.browse.get_all(_list_ids(recalls))},
        elsewhere=mind.checkout.label_elsewhere(session.repo),
        total=len(trace),
        more=end if end < len(trace) else 0,
    )


def _group_receipts(receipts: Sequence[Receipt]) -> list[Recalled]:
    lines = sorted(receipts, key=lambda line: (line.at, line.id, line.rank))
    return [list(group) for _, group in groupby(lines, key=lambda line: line.id)]


def _list_ids(recalls: Sequence[Recalled]) -> set[str]:
    return {line.memory_id for lines in recalls for line in lines}


def _annotate_steps(
    steps: Sequence[Observation], recalls: Sequence[Recalled], memories: Sequence[Memory], begin_at: str, end_at: str
) -> list[tuple[Observation, list[Recalled], list[Memory]]]:
    """Return each step with the recalls until the next step and the memories that have it as a source."""
    by_event: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        for event in dict.fromkeys(source.event for source in memory.sources):
            by_event[event].append(memory)
    # A step's recalls lie between its own time and the next step's; an empty time is open.
    times = [begin_at, *(step.at for step in steps[1:]), end_at]
    return [
        (
            step,
            [recall for recall in recalls if begin <= recall[0].at and (not end or recall[0].at < end)],
            by_event.get(step.source_id, []),
        )
        for step, begin, end in zip(steps, times, times[1:], strict=False)
    ]
