"""Health: whether all is well, and what to do where it is not."""

from typing import Any

from starlette.responses import Response

from hivemind.entrypoints.viewer.request import Visit


def page(visit: Visit) -> Response:
    """How much there is; the script asks for the findings, because a full examination takes its time."""
    mind = visit.mind
    found = _examined(visit) if visit.asked.get("examine") else {}
    return visit.page(
        "health.html",
        stats=mind.maintenance.stats(),
        model=mind.maintenance.model(),
        spent=mind.history.tokens_spent(),
        **found,
    )


def findings(visit: Visit) -> Response:
    """What the doctor found, as a part of the page."""
    return visit.page("findings.html", **_examined(visit))


def _examined(visit: Visit) -> dict[str, Any]:
    """The store, and how each agent stands."""
    return {"store": visit.mind.maintenance.doctor(), "agents": visit.machine.agents.health()}
