"""Guard: what a memory's guard would react to, tried on past sessions, and setting and lifting it."""

from collections.abc import Mapping

from starlette.responses import Response

from hivemind.model.guard import GuardAnswer, Trigger
from hivemind.model.timestamps import format_date
from hivemind.viewer.request import PageRequest

FIELDS = ("commands", "exceptions", "files", "symbols", "tools")
MOST_CALLS = 30
"""Past calls on the page; the command line lists all."""


def preview(request: PageRequest) -> Response:
    """Show what a guard would react to, and what it would have done in the past."""
    memory_id = request.read_path("id")
    guards, report = request.machine.guards, request.machine.guards.get(memory_id)
    trigger = _read_trigger(request.query)
    trigger = guards.propose(memory_id) if trigger.is_empty else trigger
    return request.render(
        "guard.html",
        memory=request.mind.show(memory_id),
        report=report,
        trigger=trigger,
        answer=request.query.get("answer") or (report.guard.answer if report else GuardAnswer.ASK),
        answers=list(GuardAnswer),
        until=request.query.get("until") or (format_date(report.guard.ends_at) if report else ""),
        trial=None if trigger.is_empty else guards.try_on_past(trigger),
        most_calls=MOST_CALLS,
    )


def set_guard(request: PageRequest) -> Response:
    """Set or change the guard of a memory."""
    memory_id, form = request.read_path("id"), request.form
    answer, until = form.get("answer", GuardAnswer.ASK.value), form.get("until", "")
    request.machine.guards.set(memory_id, _read_trigger(form), answer=answer, until=until)
    return request.redirect(f"/memory/{memory_id}", did="guard")


def lift(request: PageRequest) -> Response:
    """Take the guard of a memory away."""
    memory_id = request.read_path("id")
    request.machine.guards.lift(memory_id)
    return request.redirect(f"/memory/{memory_id}", did="unguard")


def _read_trigger(fields: Mapping[str, str]) -> Trigger:
    """Read the patterns of a form, one a line."""
    lists = {name: tuple(filter(None, map(str.strip, fields.get(name, "").splitlines()))) for name in FIELDS}
    return Trigger(**lists)
