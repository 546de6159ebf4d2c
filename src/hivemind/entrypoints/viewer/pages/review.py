"""Review: memories that need a decision, one at a time, by keyboard; each decision can be undone."""

from starlette.responses import Response

from hivemind.entrypoints.viewer.pages.memory import CONFIRMATIONS, perform
from hivemind.entrypoints.viewer.request import PageRequest

MAX_QUEUE = 100
"""More than anybody reviews in a day; the first page counts the same queue."""


def page(request: PageRequest) -> Response:
    """Show the memory given by ``at``, or the first of the queue."""
    mind = request.mind
    queue = mind.review.queue(limit=MAX_QUEUE)
    prefix = request.query.get("at", "")
    matches = (place for place, item in enumerate(queue) if prefix and item.memory.id.startswith(prefix))
    position = next(matches, 0)
    item = queue[position] if queue else None
    sources = item.memory.sources if item else ()
    return request.render(
        "review.html",
        queue=queue,
        position=position,
        item=item,
        evidence=[(source, mind.sessions.observation(source.event) if source.event else None) for source in sources],
        behind=mind.code.behind(item.memory) if item else (),
        next=queue[position + 1].memory.id if position + 1 < len(queue) else "",
        previous=queue[position - 1].memory.id if position > 0 else "",
        confirmation=CONFIRMATIONS.get(request.query.get("did", ""), ""),
    )


def decide(request: PageRequest) -> Response:
    """Record a decision and go to the next memory."""
    memory_id, name = request.path_value("id"), request.form.get("act", "")
    batch = perform(request, memory_id, name)
    return request.redirect("/review", at=request.form.get("next", ""), did=name, batch=batch, was=memory_id)
