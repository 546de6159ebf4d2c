"""The viewer's pages for a team: a member shows their token once, and the browser is known for a while.

What the browser holds is a random secret of its own; whom it stands for is asked of the database at every request, so
a revoked token is out at once and any hub of several can answer.
"""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from hivemind.app.hosting import Host
from hivemind.entrypoints.http import team
from hivemind.entrypoints.viewer import Door, Right, Visitor, build
from hivemind.entrypoints.viewer.door import Form
from hivemind.entrypoints.viewer.looks import refused
from hivemind.errors import Unknown
from hivemind.model.team import Member


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
        except Unknown:
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
        cookie=cookie,
        note_refusal=lambda request, why: host.note_refusal(request.state.who, _what(request), why),
    )
    return build(door, team.PAGES)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _what(request: Request) -> str:
    return f"{request.method} {request.url.path}"


def _rights(member: Member) -> frozenset[Right]:
    """What a role may do in the pages; the store asks again at each write."""
    may = {Right.WRITE, Right.ERASE} if member.may_write else set()
    may |= {Right.REVIEW} if member.may_review else set()
    return frozenset(may | {Right.ADMIT} if member.is_admin else may)
