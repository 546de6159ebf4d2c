"""Sessions: what agents did, as a list; what one of them came to, and its replay."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from urllib.parse import urlencode

from starlette.responses import Response

from hivemind.errors import NotFound
from hivemind.model.digest import Digest, DigestLine, ExplainedConclusion, Part
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
    more = {"agent": agent, **request.across, "before": sessions[-1].id} if len(sessions) == PAGE_SESSIONS else {}
    return request.render("sessions.html", sessions=sessions, agent=agent, everywhere=everywhere, more=more)


def replay(request: PageRequest) -> Response:
    """Show what a session came to, then its steps, with the recalls before each and the memories learned from it."""
    mind, everywhere = request.mind, request.everywhere
    session, trace = mind.sessions.show(request.read_path("id"), everywhere=everywhere)
    digest = mind.sessions.digest(session.id, everywhere=everywhere)
    conclusions = digest.select(Part.CONCLUSION)
    places = {step.source_id: place for place, step in enumerate(trace)}
    first = request.read_number("from") or places.get(request.query.get("step", ""), 0) // PAGE_STEPS * PAGE_STEPS
    end = first + PAGE_STEPS
    memories = mind.sessions.memories(session.id, everywhere=everywhere)
    recalls = _group_receipts(mind.history.receipts(session.id, everywhere=everywhere))
    told_ids = {line.memory_id for lines in recalls for line in lines}
    # The first page also shows recalls before the first step, and the last page those after the last step.
    begin_at = trace[first].at if 0 < first < len(trace) else ""
    end_at = trace[end].at if end < len(trace) else ""
    return request.render(
        "replay.html",
        session=session,
        task=" ".join(line.text for line in digest.select(Part.TASK)),
        requests=_select_requests(digest),
        # What one message concludes is forgotten together.
        conclusions=[list(lines) for _, lines in groupby(conclusions, key=lambda line: line.event)],
        fixes=digest.select(Part.FIX),
        dead_ends=digest.select(Part.DEAD_END),
        changes=digest.select(Part.CHANGE),
        commits=digest.select(Part.COMMIT),
        open_points=digest.select(Part.OPEN),
        step_urls=_make_step_urls(request, digest, places, range(first, end)),
        # The digest of a session that goes on is not stored yet, and only what is stored is told.
        can_forget=bool(conclusions) and _find_conclusion(request, conclusions[-1].event) is not None,
        verdict=_find_conclusion(request, request.query.get("conclusion", "")),
        steps=_annotate_steps(trace[first:end], recalls, memories, begin_at, end_at),
        learned=memories,
        texts={memory.id: memory.text for memory in mind.browse.get_all(told_ids)},
        elsewhere=mind.checkout.label_elsewhere(session.repo),
        total=len(trace),
        more={**request.across, "from": end} if end < len(trace) else {},
    )


def decide(request: PageRequest) -> Response:
    """Never tell a conclusion again, or let it be told again; then show its session."""
    event, sessions, everywhere = request.read_path("id"), request.mind.sessions, request.everywhere
    match request.read_path("act"):
        case "forget":
            conclusion = sessions.forget_conclusion(event, everywhere=everywhere)
        case "restore":
            conclusion = sessions.restore_conclusion(event, everywhere=everywhere)
        case name:
            raise NotFound(f"no action {name!r} on a conclusion; go back and use a button")
    if conclusion is None:
        raise NotFound("this conclusion is no longer in the digest of its session; go back and reload the page")
    return request.redirect(f"/session/{conclusion.session.id}", conclusion=conclusion.line.event, **request.across)


def _find_conclusion(request: PageRequest, event: str) -> ExplainedConclusion | None:
    return request.mind.sessions.conclusion(event, everywhere=request.everywhere)


def _select_requests(digest: Digest) -> list[DigestLine]:
    """Select what the task became, without requests that a conclusion quotes."""
    quoted_events = {line.event for line in digest.select(Part.CONCLUSION)}
    return [line for line in digest.select(Part.REQUEST) if line.event not in quoted_events]


def _make_step_urls(
    request: PageRequest, digest: Digest, places: Mapping[str, int], page_places: range
) -> dict[str, str]:
    """Return where each step that a digest quotes is shown; without steps that were pruned."""

    def make_url(event: str) -> str:
        page = "" if places[event] in page_places else f"?{urlencode({**request.across, 'step': event})}"
        return f"{page}#step-{event}"

    return {line.event: make_url(line.event) for line in digest.lines if line.event in places}


def _group_receipts(receipts: Sequence[Receipt]) -> list[Recalled]:
    lines = sorted(receipts, key=lambda line: (line.at, line.id, line.rank))
    return [list(group) for _, group in groupby(lines, key=lambda line: line.id)]


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
