"""Team: who belongs to it, how far their devices have come, and, for admins, the tokens and who was turned away."""

from starlette.responses import Response

from hivemind.app.core import utc_now
from hivemind.app.hosting import TeamMind
from hivemind.entrypoints.viewer import Address, Right
from hivemind.entrypoints.viewer.visit import Visit
from hivemind.errors import InvalidInput
from hivemind.model.moments import written
from hivemind.model.team import Role

REFUSALS = 30


def page(visit: Visit, made: str = "") -> Response:
    """The team; with a token that was just made, which can be read only there."""
    mind, is_admin = _mind(visit), Right.ADMIT in visit.visitor.may
    devices = mind.devices()
    return visit.page(
        "team.html",
        made=made,
        revoked=visit.asked.get("revoked", ""),
        members=mind.members(),
        devices=devices,
        unconfirmed=sum(bool(one.erasures) for one in devices),
        tokens=mind.tokens() if is_admin else (),
        refusals=mind.refusals(REFUSALS) if is_admin else (),
        roles=[*Role],
        now=written(utc_now()),
        address=visit.request.state.public_url,
    )


def create(visit: Visit) -> Response:
    """A new token."""
    form = visit.form
    role, days = Role.parse(form.get("role", "")), _days(visit)
    return page(visit, _mind(visit).issue(name=form.get("name", ""), role=role, is_agent="agent" in form, days=days))


def rotate(visit: Visit) -> Response:
    """A new token in place of an old one."""
    return page(visit, _mind(visit).rotate(visit.form.get("id", ""), _days(visit)))


def revoke(visit: Visit) -> Response:
    """Make a token worthless."""
    return visit.go("/team", revoked=_mind(visit).revoke(visit.form.get("id", "")).name)


PAGES: tuple[Address, ...] = (
    ("GET", "/team", page, None),
    ("POST", "/team/create", create, None),
    ("POST", "/team/rotate", rotate, None),
    ("POST", "/team/revoke", revoke, None),
)


def _mind(visit: Visit) -> TeamMind:
    assert isinstance(visit.mind, TeamMind)
    return visit.mind


def _days(visit: Visit) -> int:
    days = visit.form.get("days", "90")
    if not days.isdecimal() or not 1 <= int(days[:8]) <= 3_650:
        raise InvalidInput(f"{days!r} is no number of days from 1 to 3650")
    return int(days)
