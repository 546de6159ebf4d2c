"""Health: figures of the store, and the doctor's findings with what to do."""

from typing import Any

from starlette.responses import Response

from hivemind.viewer.request import PageRequest


def show(request: PageRequest) -> Response:
    """Show the figures; the script loads the findings, because a full check takes a while."""
    mind = request.mind
    return request.render(
        "health.html",
        stats=mind.maintenance.stats(),
        model=mind.maintenance.model(),
        spent=mind.history.tokens_spent(),
        **(_examine(request) if request.query.get("examine") else {}),
    )


def show_findings(request: PageRequest) -> Response:
    """Return the doctor's findings as a part of the page."""
    return request.render("findings.html", **_examine(request))


def _examine(request: PageRequest) -> dict[str, Any]:
    machine = request.machine
    agents = (*machine.agents.examine(), *machine.maintenance.examine_inputs())
    return {"store": request.mind.maintenance.doctor(), "agents": agents}
