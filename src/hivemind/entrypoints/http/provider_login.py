"""The pages by which a browser signs in at the hub's identity provider.

The browser goes to the provider and comes back with a code, which the hub redeems. A cookie of the browser has what
belongs to a login on its way, so that any of several hubs can go on with it.
"""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hivemind.app.team_host import Host
from hivemind.entrypoints.viewer.templating import ENVIRONMENT

START_PATH, CALLBACK_PATH = "/login/provider", "/login/callback"
COOKIE, COOKIE_PATH, COOKIE_SECONDS = "hivemind_login", "/login", 600
MAX_TEAM_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPages:
    """Signs browsers in at the identity provider."""

    host: Host
    public_url: str
    cookie: str
    """The cookie of a browser that is signed in."""

    def start(self, request: Request) -> Response:
        """Send the browser to the provider."""
        team = request.query_params.get("team", "")[:MAX_TEAM_CHARACTERS]
        url, pending = self.host.start_in_browser(self._redirect_url, team)
        answer = RedirectResponse(url, 303)
        answer.set_cookie(
            COOKIE, pending, max_age=COOKIE_SECONDS, path=COOKIE_PATH, httponly=True, secure=self._is_secure,
            # Not "strict": the browser comes back from another site, and a strict cookie would stay behind.
            samesite="lax",
        )  # fmt: skip
        return answer

    def finish(self, request: Request) -> Response:
        """Sign in the browser that comes back, or let its person choose one of their teams."""
        secret, teams = self.host.finish_in_browser(
            request.cookies.get(COOKIE, ""), dict(request.query_params), self._redirect_url,
            request.client.host if request.client else "",
        )  # fmt: skip
        # A page and no redirect: to a browser, a redirect still comes from the provider's site, and its request would
        # neither have the strict cookie nor pass the guard.
        page = ENVIRONMENT.get_template("signed_in.html")
        answer = HTMLResponse(page.render(teams=teams, start=START_PATH, visitor=None))
        answer.delete_cookie(COOKIE, path=COOKIE_PATH, httponly=True, secure=self._is_secure, samesite="lax")
        if secret:
            answer.set_cookie(self.cookie, secret, httponly=True, samesite="strict", secure=self._is_secure)
        return answer

    @property
    def _redirect_url(self) -> str:
        return self.public_url.rstrip("/") + CALLBACK_PATH

    @property
    def _is_secure(self) -> bool:
        return self.public_url.startswith("https:")
