"""The viewer's pages for a team, and a page about the team itself.

A member signs in at the identity provider or with their token. The browser then holds a random secret of its own, and
every request asks the database whom it belongs to: so a revoked token is out at once, and any of several hubs can
answer. The team page shows members and how far their devices have synced; admins also see tokens and refused requests.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from hivemind.context import utc_now
from hivemind.errors import InvalidInput, Unauthenticated
from hivemind.hub.host import Host, TeamMind
from hivemind.hub.http.admission import describe, get_address
from hivemind.model.team import Role, TeamMember
from hivemind.model.timestamps import format_timestamp
from hivemind.viewer import PageRoute, Right, Site, Visitor, build
from hivemind.viewer.request import Form, PageRequest
from hivemind.viewer.templating import ENVIRONMENT, render_refusal

REFUSALS_SHOWN = 30
START_PATH, CALLBACK_PATH = "/login/provider", "/login/callback"
COOKIE, COOKIE_PATH, COOKIE_SECONDS = "hivemind_login", "/login", 600
"""Has what belongs to a login on its way to the provider and back, so that any of several hubs can go on with it."""
MAX_TEAM_CHARACTERS = 200


def create_application(host: Host, public_url: str) -> ASGIApp:
    """Return the pages as a web application."""
    parts = urlsplit(public_url)
    is_secure = parts.scheme == "https"
    # Browsers accept a __Host- cookie only over TLS and for this host alone.
    cookie = "__Host-hivemind" if is_secure else "hivemind_hub"

    def redirect_to_login() -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(cookie, httponly=True, samesite="strict", secure=is_secure)
        return answer

    def find_visitor(request: Request) -> Visitor | None:
        secret = request.cookies.get(cookie, "")
        if not secret:
            return None
        try:
            who = host.admit_visit(secret, get_address(request.scope), describe(request))
        except Unauthenticated:
            return None
        request.state.who, request.state.public_url = who, public_url
        return Visitor(name=who.member.person, key=secret, may=_get_rights(who.member), is_member=True)

    def answer_stranger(request: Request) -> Response:
        # A script that loads a part of a page needs an error; a redirect would give it the login page.
        is_page = request.method == "GET" and request.headers.get("sec-fetch-mode", "navigate") == "navigate"
        return redirect_to_login() if is_page else render_refusal(401, "This browser is signed out. Sign in again.")

    def begin_visit(request: Request, form: Form) -> Response:
        secret = host.begin_visit(form.get("secret", "").strip(), get_address(request.scope))
        answer = RedirectResponse("/", 303)
        answer.set_cookie(cookie, secret, httponly=True, samesite="strict", secure=is_secure)
        return answer

    def end_visit(request: Request) -> Response:
        host.end_visit(request.state.who, request.state.visitor.key)
        return redirect_to_login()

    site = Site(
        origins=frozenset({f"{parts.scheme}://{parts.netloc}"}),
        # The secret part of a form token is the cookie; the key must be the same on every hub.
        secret=b"forms of a hub",
        open_mind=lambda request: host.open_mind(request.state.who, request.query_params.get("repo", "")),
        find_visitor=find_visitor,
        answer_stranger=answer_stranger,
        login_page="token.html",
        login=begin_visit,
        logout=end_visit,
        provider=urlsplit(host.issuer).netloc if host.has_sign_in else "",
        public_pages=_make_provider_pages(host, public_url, cookie, is_secure=is_secure),
        record_refusal=lambda request, reason: host.note_refusal(request.state.who, describe(request), reason),
    )
    return build(site, PAGES)


def _make_provider_pages(
    host: Host, public_url: str, cookie: str, *, is_secure: bool
) -> dict[str, Callable[[Request], Response]]:
    """Return the pages that sign a browser in at the identity provider: one sends it there, one takes it back."""
    redirect_url = public_url.rstrip("/") + CALLBACK_PATH

    def start(request: Request) -> Response:
        team = request.query_params.get("team", "")[:MAX_TEAM_CHARACTERS]
        with host.open_sign_in(get_address(request.scope)) as sign_in:
            url, pending = sign_in.start_in_browser(redirect_url, team)
        answer = RedirectResponse(url, 303)
        answer.set_cookie(
            COOKIE, pending, max_age=COOKIE_SECONDS, path=COOKIE_PATH, httponly=True, secure=is_secure,
            # Not "strict": the browser comes back from another site, and a strict cookie would stay behind.
            samesite="lax",
        )  # fmt: skip
        return answer

    def finish(request: Request) -> Response:
        """Sign in the browser that comes back, or let its person choose one of their teams."""
        pending = request.cookies.get(COOKIE, "")
        with host.open_sign_in(get_address(request.scope)) as sign_in:
            secret, teams = sign_in.finish_in_browser(pending, dict(request.query_params), redirect_url)
        # A page and no redirect: to a browser, a redirect still comes from the provider's site, and its request would
        # neither have the strict cookie nor pass the guard.
        page = ENVIRONMENT.get_template("signed_in.html")
        answer = HTMLResponse(page.render(teams=teams, start=START_PATH, visitor=None))
        answer.delete_cookie(COOKIE, path=COOKIE_PATH, httponly=True, secure=is_secure, samesite="lax")
        if secret:
            answer.set_cookie(cookie, secret, httponly=True, samesite="strict", secure=is_secure)
        return answer

    return {START_PATH: start, CALLBACK_PATH: finish}


def show_team(request: PageRequest, new_token: str = "") -> Response:
    """Show the team; a new token is shown only on this answer."""
    mind, is_admin = _get_mind(request), Right.ADMIT in request.visitor.may
    devices = mind.list_devices()
    return request.render(
        "team.html",
        new_token=new_token,
        revoked=request.query.get("revoked", ""),
        removed=request.query.get("removed", ""),
        # Every epoch but the first began with a restore or a failover.
        restored=mind.admin.list_epochs()[1:][-1:] if is_admin else (),
        members=mind.list_members(),
        devices=devices,
        unconfirmed=sum(bool(device.erasures) for device in devices),
        tokens=mind.admin.tokens.list() if is_admin else (),
        refusals=mind.admin.list_refusals(REFUSALS_SHOWN) if is_admin else (),
        roles=[*Role],
        now=format_timestamp(utc_now()),
        address=request.http.state.public_url,
    )


def create(request: PageRequest) -> Response:
    """Create a token."""
    form, role = request.form, Role.parse(request.form.get("role", ""))
    tokens = _get_mind(request).admin.tokens
    return show_team(
        request,
        tokens.issue(name=form.get("name", ""), role=role, is_agent="agent" in form, days=_parse_days(request)),
    )


def rotate(request: PageRequest) -> Response:
    """Replace a token with a new one."""
    return show_team(request, _get_mind(request).admin.tokens.rotate(request.form.get("id", ""), _parse_days(request)))


def revoke(request: PageRequest) -> Response:
    """Revoke a token."""
    return request.redirect("/team", revoked=_get_mind(request).admin.tokens.revoke(request.form.get("id", "")).name)


def remove_device(request: PageRequest) -> Response:
    """Remove a device, and revoke the token on it."""
    removal = _get_mind(request).admin.remove_device(request.form.get("id", ""))
    return request.redirect("/team", removed=removal.devices[0][:8])


PAGES: tuple[PageRoute, ...] = (
    ("GET", "/team", show_team, None),
    ("POST", "/team/create", create, None),
    ("POST", "/team/rotate", rotate, None),
    ("POST", "/team/revoke", revoke, None),
    ("POST", "/team/remove-device", remove_device, None),
)


def _get_mind(request: PageRequest) -> TeamMind:
    assert isinstance(request.mind, TeamMind)
    return request.mind


def _parse_days(request: PageRequest) -> int:
    try:
        return int(request.form.get("days", "90"))
    except ValueError:
        raise InvalidInput("the days are no number; write it like 90") from None


def _get_rights(member: TeamMember) -> frozenset[Right]:
    """Return what a role may do on the pages; the store checks again at each write."""
    rights = {Right.WRITE, Right.ERASE} if member.may_write else set()
    rights |= {Right.REVIEW} if member.may_review else set()
    return frozenset(rights | {Right.ADMIT} if member.is_admin else rights)
