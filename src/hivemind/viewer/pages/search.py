"""Search memories and sessions: results while typing, with the reasons; without a query, a list of memories."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from hivemind.model.memory import CURRENT_STATUSES, Kind, Status
from hivemind.model.recall import Hit, SessionHit
from hivemind.model.scope import Scope
from hivemind.viewer.request import PageRequest

PAGE_MEMORIES, CONCLUSIONS_SHOWN = 25, 3
FILTERS = ("scope", "kind", "status", "agent", "tag", "since", "until", "as_of", "everywhere", "repo")


def show(request: PageRequest) -> Response:
    """Show the memories that match; with ``part``, only the results, for the script."""
    values = {name: request.query.get(name, "").strip() for name in ("q", "before", *FILTERS)}
    options = _parse_filters(values)
    hits: Sequence[Hit] = ()
    session_hits: Sequence[SessionHit] = ()
    hint = ""
    if values["q"]:
        recall = request.mind.browse.search(values["q"], **options, as_of=values["as_of"], limit=PAGE_MEMORIES)
        hits, session_hits, hint = recall.hits, recall.session_hits, recall.hint
    else:
        memories = request.mind.list(**options, limit=PAGE_MEMORIES, before=values["before"])
        hits = [Hit(memory=memory, passage=memory.text, score=0, signals=()) for memory in memories]
        hint = "" if memories else request.mind.browse.explain_empty_list(**options)
    # Search results have no next page: what is not among the best is not worth listing.
    has_more = not values["q"] and len(hits) == PAGE_MEMORIES
    return request.render(
        "results.html" if request.query.get("part") else "search.html",
        filters=values,
        has_filters=any(values[name] for name in FILTERS),
        hint=hint,
        hits=hits,
        session_hits=session_hits,
        conclusions_shown=CONCLUSIONS_SHOWN,
        more={name: value for name, value in values.items() if value} | {"before": hits[-1].memory.id}
        if has_more
        else {},
        caveat=request.mind.browse.search_caveat() if values["q"] else "",
    )


def _parse_filters(values: dict[str, str]) -> dict[str, Any]:
    status = values["status"]
    return {
        "scope": Scope.parse(values["scope"]) if values["scope"] else None,
        "kinds": [Kind.parse(values["kind"])] if values["kind"] else (),
        "statuses": (() if status == "any" else (Status(status),) if status in [*Status] else CURRENT_STATUSES),
        "tags": values["tag"].split(","),
        "agent": values["agent"],
        "since": values["since"],
        "until": values["until"],
        "everywhere": bool(values["everywhere"]),
    }
