"""Today: what was learned, what agents were given, what needs review, what is stale."""

from itertools import groupby

from starlette.responses import Response

from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Receipt
from hivemind.model.review import DailyStats
from hivemind.viewer.pages.review import MAX_QUEUE
from hivemind.viewer.request import PageRequest

LEARNED_SHOWN, RECALLS_SHOWN, QUEUE_SHOWN = 8, 6, 5
RECEIPT_LINES = 60
"""Lines of receipts to read; a recall has one per memory, so they contain enough recalls."""


def show(request: PageRequest) -> Response:
    """Show the first page."""
    mind = request.mind
    days = mind.history.days()
    # Computed once and passed on, because it reads the working tree.
    stale = mind.code.stale()
    queue = mind.review.queue(limit=MAX_QUEUE, doubts=stale)
    return request.render(
        "today.html",
        week=mind.history.week(),
        days=days,
        columns=[(day.date, _stack_statuses(day)) for day in days],
        per_day={
            "recalls": [(day.date, [("bar", day.recalls)]) for day in days],
            "tokens": [(day.date, [("bar", day.brief_tokens)]) for day in days],
            "stale": [(day.date, [("bar", 100 * day.to_verify / (day.recalls or 1))]) for day in days],
        },
        now=dict(days[-1].memories),
        waiting=len(queue),
        queue=sorted(queue, key=lambda item: item.memory.recorded_at, reverse=True)[:QUEUE_SHOWN],
        stale=stale,
        learned=mind.list(statuses=(Status.ACTIVE, Status.DISPUTED), limit=LEARNED_SHOWN),
        recent_recalls=_list_recalls(request)[:RECALLS_SHOWN],
        repositories=mind.browse.repositories(),
        recalls=sum(day.recalls for day in days),
        to_verify=sum(day.to_verify for day in days),
        brief_tokens=sum(day.brief_tokens for day in days),
    )


def _list_recalls(request: PageRequest) -> list[tuple[Receipt, list[Memory]]]:
    """Return the newest recalls, each with the memories it showed that still exist."""
    lines = request.mind.history.receipts(limit=RECEIPT_LINES)
    memories = {memory.id: memory for memory in request.mind.browse.get_all(line.memory_id for line in lines)}
    groups = [list(group) for _, group in groupby(lines, key=lambda line: line.id)]
    return [(group[0], [memories[line.memory_id] for line in group if line.memory_id in memories]) for group in groups]


def _stack_statuses(day: DailyStats) -> list[tuple[str, int]]:
    """Return a column of the first chart, from the bottom up."""
    counts = dict(day.memories)
    current = [(status.value, counts[status]) for status in (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)]
    return [*current, (Status.SUPERSEDED.value, counts[Status.SUPERSEDED] + counts[Status.RETRACTED])]
