"""Today: what was learned, what reached agents, what waits, what went stale."""

from itertools import groupby

from starlette.responses import Response

from hivemind.entrypoints.viewer.pages.review import DECK
from hivemind.entrypoints.viewer.request import Visit
from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Receipt
from hivemind.model.reports import DailyStats

LEARNED, REACHED, WAITING = 8, 6, 5
LINES = 60
"""Of receipts, in which that many recalls are to be found."""


def page(visit: Visit) -> Response:
    """The first page."""
    mind = visit.mind
    days = mind.history.days()
    now = dict(days[-1].memories)
    doubts = mind.code.stale()
    deck = mind.review.queue(limit=DECK, doubts=doubts)
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
        waiting=len(deck),
        queue=sorted(deck, key=lambda one: one.memory.recorded_at, reverse=True)[:WAITING],
        doubts=doubts,
        learned=mind.list(statuses=(Status.ACTIVE, Status.DISPUTED), limit=LEARNED),
        shown=_recalls(visit)[:REACHED],
        places=mind.browse.repositories(),
        recalls=sum(one.recalls for one in days),
        to_verify=sum(one.to_verify for one in days),
        brief_tokens=sum(one.brief_tokens for one in days),
    )


def _recalls(visit: Visit) -> list[tuple[Receipt, list[Memory]]]:
    """The newest recalls, each with the memories it showed that are still there."""
    lines = visit.mind.history.receipts(limit=LINES)
    known = {one.id: one for one in visit.mind.browse.get_all(line.memory_id for line in lines)}
    grouped = [list(group) for _, group in groupby(lines, key=lambda line: line.id)]
    return [(group[0], [known[line.memory_id] for line in group if line.memory_id in known]) for group in grouped]


def _parts(day: DailyStats) -> list[tuple[str, int]]:
    """A column of the first chart, from the ground up."""
    held = dict(day.memories)
    past = held[Status.SUPERSEDED] + held[Status.RETRACTED]
    standing = [(one.value, held[one]) for one in (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)]
    return [*standing, (Status.SUPERSEDED.value, past)]
