"""What every request passes before a page sees it: exact addresses, a known visitor, a form of our own."""

from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivemind.entrypoints.viewer.door import Door, is_same
from hivemind.entrypoints.viewer.looks import refused, told
from hivemind.errors import HivemindError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With no-referrer browsers would send forms without saying where they come from.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
READING = ("GET", "HEAD")
LARGEST_FORM = 1 << 20


class Guard:
    """Stands before the pages."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door
        self._hosts = {origin.partition("://")[2] for origin in door.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        sending = _with_headers(send, is_static=request.url.path.startswith("/static/"))
        try:
            answer = self._address(request) or await self._visitor(request) or self._app
        except HivemindError as error:
            answer = told(error)
        await answer(scope, receive, sending)

    def _address(self, request: Request) -> Response | None:
        """Names that lead here by a trick, and pages of others that send their forms here."""
        origin, fetched_from = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        if request.headers.get("host") not in self._hosts:
            return refused(421, "This address is not the viewer's own. Open the link that you were given.")
        if request.method not in (*READING, "POST"):
            return refused(405, "Pages are read, and forms are sent; nothing else.")
        by_another = origin is not None and origin not in self._door.origins
        if by_another or fetched_from not in ("none", "same-origin"):
            return refused(403, "Another page sent you here. Type the address, or open the link that you were given.")
        if request.method not in READING and origin is None:
            return refused(403, "A form must say which page it comes from.")
        return None

    async def _visitor(self, request: Request) -> Response | None:
        is_open = request.url.path == "/login" or request.url.path.startswith("/static/")
        visitor = None if is_open else await run_in_threadpool(self._door.visitor, request)
        request.state.visitor, request.state.form = visitor, {}
        if visitor is None and not is_open:
            return self._door.stranger(request)
        if request.method in READING:
            return None
        form = await _form(request)
        if form is None:
            return refused(413, "That is more than a form can hold.")
        request.state.form = form
        # Who logs in has no form of ours yet; the code they bring is their proof.
        if visitor is None or is_same(form.get("token", ""), self._door.form_token(visitor)):
            return None
        return refused(403, "This form is not of this visit. Go back, reload the page, try again.")


async def _form(request: Request) -> dict[str, str] | None:
    """A form's fields; of several of one name, all, separated by commas."""
    raw = b""
    async for piece in request.stream():
        raw += piece
        if len(raw) > LARGEST_FORM:
            return None
    fields: dict[str, str] = {}
    for name, value in parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True):
        fields[name] = f"{fields[name]},{value}" if name in fields else value
    return fields


def _with_headers(send: Send, *, is_static: bool) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers["cache-control"] = "no-cache" if is_static else "no-store"
        await send(message)

    return sending
