"""Search: as one types, with every hit's reasons; without a question, a list to leaf through."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from hivemind.app.browse import STANDING
from hivemind.entrypoints.viewer.request import Visit
from hivemind.model.memory import Kind, Status
from hivemind.model.recall import Hit
from hivemind.model.scope import Scope

PAGE = 25
FILTERS = ("scope", "kind", "status", "agent", "tag", "since", "until", "as_of", "everywhere", "repo")


def page(visit: Visit) -> Response:
    """What fits the question and the filters; for a question as it is typed, only the results."""
    asked = {name: visit.asked.get(name, "").strip() for name in ("q", "before", *FILTERS)}
    chosen = _filters(asked)
    hits: Sequence[Hit] = ()
    if asked["q"]:
        hits = visit.mind.browse.search(asked["q"], **chosen, as_of=asked["as_of"], limit=PAGE).hits
    else:
        found = visit.mind.list(**chosen, limit=PAGE, before=asked["before"])
        hits = [Hit(memory=one, passage=one.text, score=0, signals=()) for one in found]
    more = hits[-1].memory.id if not asked["q"] and len(hits) == PAGE else ""
    kept = {name: value for name, value in asked.items() if value and name != "before"}
    return visit.page(
        "results.html" if visit.asked.get("part") else "search.html",
        filters=asked,
        narrowed=any(asked[name] for name in FILTERS),
        hits=hits,
        more={**kept, "before": more} if more else {},
        caveat=visit.mind.browse.search_caveat() if asked["q"] else "",
    )


def _filters(asked: dict[str, str]) -> dict[str, Any]:
    """What a person chose, as the verbs take it."""
    status = asked["status"]
    return {
        "scope": Scope.parse(asked["scope"]) if asked["scope"] else None,
        "kinds": [Kind.parse(asked["kind"])] if asked["kind"] else (),
        "statuses": (() if status == "any" else (Status(status),) if status in [*Status] else STANDING),
        "tags": asked["tag"].split(","),
        "agent": asked["agent"],
        "since": asked["since"],
        "until": asked["until"],
        "everywhere": bool(asked["everywhere"]),
    }
