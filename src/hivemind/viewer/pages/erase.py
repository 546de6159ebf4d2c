"""Erase: one memory; or by name, where everything that mentions it is listed, and some of it may be excluded."""

import hashlib

from starlette.responses import Response

from hivemind.errors import InvalidInput
from hivemind.model.erasure import Erasure, Mentions
from hivemind.model.scope import Scope
from hivemind.viewer.pages.memory import read_options
from hivemind.viewer.request import PageRequest, Right

LISTED_PER_SORT = 100
"""Mentions of each sort with a checkbox; the others are erased too."""
KEEP = "keep-"


def erase_memory(request: PageRequest) -> Response:
    """Erase a memory and show the receipt."""
    memory = request.mind.show(request.read_path("id"), everywhere=request.everywhere)
    receipt = request.mind.erase(memory.id, **read_options(request))
    # A hub erases its own copy; a machine must also tell the hub and the person's other machines.
    if not request.visitor.is_member:
        receipt = _tell_others(request, receipt, is_shared=memory.scope is Scope.TEAM)
    return request.render("erased.html", receipt=receipt)


def show(request: PageRequest) -> Response:
    """Show everything that mentions a name, without changing it."""
    request.require(Right.ERASE)
    name = request.query.get("about", "").strip()
    mentions = request.mind.erasures.find_mentions(name) if name else None
    digest = _digest(mentions) if mentions else ""
    return request.render("erase.html", about=name, mentions=mentions, listed=LISTED_PER_SORT, digest=digest)


def erase_mentions(request: PageRequest) -> Response:
    """Erase the mentions that are not excluded, and show the receipt."""
    request.require(Right.ERASE)
    name = request.form.get("about", "").strip()
    mentions = request.mind.erasures.find_mentions(name)
    # Only what the person saw may be erased.
    if _digest(mentions) != request.form.get("seen", ""):
        raise InvalidInput("the list has changed since it was shown; go back, reload it and check it again")
    exclusions = [field.removeprefix(KEEP) for field in request.form if field.startswith(KEEP)]
    receipt = request.mind.erasures.erase_mentions(
        name, mentions=mentions, left_out=exclusions, reason=request.form.get("reason", "").strip()
    )
    return request.render("erased.html", receipt=_tell_others(request, receipt))


def _tell_others(request: PageRequest, receipt: Erasure, *, is_shared: bool = True) -> Erasure:
    """Send an erasure to the person's other machines, and a shared one to the hub; return the receipt with both."""
    machine = request.machine
    return machine.devices.carry(machine.team.carry(receipt) if is_shared else receipt)


def _digest(mentions: Mentions) -> str:
    return hashlib.sha256("\n".join(mention.id for mention in mentions.found).encode()).hexdigest()
