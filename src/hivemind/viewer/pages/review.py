"""Review: memories that need a decision, one at a time, by keyboard; each decision can be undone."""

from starlette.responses import Response

from hivemind.model.memory import Memory
from hivemind.model.review import ReviewItem
from hivemind.viewer.pages.memory import CONFIRMATIONS, perform
from hivemind.viewer.request import PageRequest

MAX_QUEUE = 100
"""More than anybody reviews in a day; the first page counts the same queue."""


def show(request: PageRequest) -> Response:
    """Show the memory given by ``at``, or the first of the queue."""
    mind = request.mind
    queue = mind.review.queue(limit=MAX_QUEUE, everywhere=request.everywhere)
    prefix = request.query.get("at", "")
    matches = (
        place
        for place, item in enumerate(queue)
        if prefix and any(memory.id.startswith(prefix) for memory in _list_memories(item))
    )
    position = next(matches, 0)
    item = queue[position] if queue else None
    sources = [(memory, source) for memory in _list_memories(item) for source in memory.sources] if item else []
    return request.render(
        "review.html",
        queue=queue,
        older_count=mind.review.count_older(everywhere=request.everywhere),
        position=position,
        item=item,
        evidence=[
            (memory, source, mind.sessions.observation(source.event) if source.event else None)
            for memory, source in sources
        ],
        group=item.select_group(queue) if item else (),
        behind=mind.code.behind(item.memory) if item else (),
        next=queue[position + 1].memory.id if position + 1 < len(queue) else "",
        previous=queue[position - 1].memory.id if position > 0 else "",
        confirmation=CONFIRMATIONS.get(request.query.get("did", ""), ""),
    )


def decide(request: PageRequest) -> Response:
    """Record a decision about a memory, or about the group that the page showed, and go to the next memory."""
    memory_id, name = request.read_path("id"), request.form.get("act", "")
    # The ids come from the page, so that nothing is decided that arrived after the person looked.
    batch = perform(request, request.form.get("group", "").split() or [memory_id], name)
    return request.redirect(
        "/review", at=request.form.get("next", ""), did=name, batch=batch, was=memory_id, **request.across
    )


def _list_memories(item: ReviewItem) -> tuple[Memory, ...]:
    return item.memory, *item.against
