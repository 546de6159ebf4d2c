"""Today: what was learned, what reached agents, what waits, what went stale."""

from starlette.responses import Response

from hivemind.entrypoints.viewer.door import Right
from hivemind.entrypoints.viewer.visit import Visit
from hivemind.model.memory import Status
from hivemind.model.reports import Day

LEARNED, REACHED, WAITING = 8, 8, 5


def page(visit: Visit) -> Response:
    """The first page."""
    mind = visit.mind
    days = mind.days()
    now = dict(days[-1].memories)
    shown = mind.receipts(limit=REACHED)
    doubts = mind.stale() if Right.FILES in visit.visitor.may else ()
    return visit.page(
        "today.html",
        days=days,
        columns=[(one.date, _parts(one)) for one in days],
        per_day={
            "recalls": [(one.date, one.recalls) for one in days],
            "tokens": [(one.date, one.brief_tokens) for one in days],
            "doubt": [(one.date, 100 * one.to_verify / one.recalls if one.recalls else 0) for one in days],
        },
        now=now,
        waiting=now[Status.PROPOSED] + now[Status.DISPUTED],
        queue=mind.list(statuses=(Status.DISPUTED, Status.PROPOSED), limit=WAITING),
        doubts=doubts,
        learned=mind.list(statuses=(Status.ACTIVE, Status.DISPUTED), limit=LEARNED),
        shown=[(one, mind.seen(one.memory_id)) for one in shown],
        places=mind.places(),
        recalls=sum(one.recalls for one in days),
        to_verify=sum(one.to_verify for one in days),
        brief_tokens=sum(one.brief_tokens for one in days),
    )


def _parts(day: Day) -> list[tuple[str, int]]:
    """A column of the first chart, from the ground up."""
    held = dict(day.memories)
    past = held[Status.SUPERSEDED] + held[Status.RETRACTED]
    standing = [(one.value, held[one]) for one in (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)]
    return [*standing, (Status.SUPERSEDED.value, past)]
