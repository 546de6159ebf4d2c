"""The viewer's pages for a team: a member shows their token once, and the browser is known for a while.

What the browser holds is a random secret of its own; whom it stands for is asked of the database at every request, so
a revoked token is out at once and any hub of several can answer. One page more is about the team itself: who belongs to
it, how far their devices have come, and, for admins, the tokens and who was turned away.
"""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from hivemind.app.context import utc_now
from hivemind.app.team_host import Host, TeamMind
from hivemind.entrypoints.viewer import Address, Door, Right, Visitor, build
from hivemind.entrypoints.viewer.request import Form, Visit
from hivemind.entrypoints.viewer.templating import refused
from hivemind.errors import InvalidInput, Unauthenticated
from hivemind.formats.timestamps import format_timestamp
from hivemind.model.team import Role, TeamMember

REFUSALS = 30


def application(host: Host, public_url: str) -> ASGIApp:
    """The pages as a web application."""
    parts = urlsplit(public_url)
    is_secure = parts.scheme == "https"
    # Browsers take a cookie of that name only if it is secure and of this host alone.
    cookie = "__Host-hivemind" if is_secure else "hivemind_hub"

    def outside() -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(cookie, httponly=True, samesite="strict", secure=is_secure)
        return answer

    def visitor(request: Request) -> Visitor | None:
        shown = request.cookies.get(cookie, "")
        if not shown:
            return None
        try:
            who = host.visiting(shown, _address(request), _what(request))
        except Unauthenticated:
            return None
        request.state.who, request.state.public_url = who, public_url
        return Visitor(name=who.member.person, key=shown, may=_rights(who.member), is_member=True)

    def stranger(request: Request) -> Response:
        is_page = request.method == "GET" and request.headers.get("sec-fetch-mode", "navigate") == "navigate"
        return outside() if is_page else refused(401, "This browser is not known here any more. Log in again.")

    def login(request: Request, form: Form) -> Response:
        shown = host.begin_visit(form.get("secret", "").strip(), _address(request))
        answer = RedirectResponse("/", 303)
        answer.set_cookie(cookie, shown, httponly=True, samesite="strict", secure=is_secure)
        return answer

    def logout(request: Request) -> Response:
        host.end_visit(request.state.who, request.state.visitor.key)
        return outside()

    door = Door(
        origins=frozenset({f"{parts.scheme}://{parts.netloc}"}),
        # What the browser holds is the secret; every hub must make the same of it.
        secret=b"forms of a hub",
        open_mind=lambda request: host.mind(request.state.who, request.query_params.get("repo", "")),
        visitor=visitor,
        stranger=stranger,
        login_page="token.html",
        login=login,
        logout=logout,
        note_refusal=lambda request, why: host.note_refusal(request.state.who, _what(request), why),
    )
    return build(door, PAGES)


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
        now=format_timestamp(utc_now()),
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


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _what(request: Request) -> str:
    return f"{request.method} {request.url.path}"


def _rights(member: TeamMember) -> frozenset[Right]:
    """What a role may do in the pages; the store asks again at each write."""
    may = {Right.WRITE, Right.ERASE} if member.may_write else set()
    may |= {Right.REVIEW} if member.may_review else set()
    return frozenset(may | {Right.ADMIT} if member.is_admin else may)
