"""What every request passes before a page sees it: exact addresses, a known visitor, a form of our own."""

from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivemind.entrypoints.guard import Guard
from hivemind.entrypoints.viewer.request import Door, Form, is_same
from hivemind.entrypoints.viewer.templating import refused, told
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


TURNED_AWAY = {
    403: "Another page sent you here. Type the address, or open the link that you were given.",
    413: "That is more than a form can hold.",
    421: "This address is not the viewer's own. Open the link that you were given.",
}


def guarded(pages: ASGIApp, door: Door) -> ASGIApp:
    """The pages, each for a known visitor alone; every answer carries the headers, also that something broke."""

    async def for_a_visitor(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = _misplaced(request) or await _unknown(request, door) or pages
        except HivemindError as error:
            answer = told(error)
        await answer(scope, receive, send)

    guard = Guard(for_a_visitor, door.origins, LARGEST_FORM, lambda status: refused(status, TURNED_AWAY[status]))

    async def dressed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await guard(scope, receive, _with_headers(send, is_static=scope["path"].startswith("/static/")))

    return dressed


def _misplaced(request: Request) -> Response | None:
    """What only pages have: pages of others that lead here, and forms that do not say where they come from."""
    if request.method not in (*READING, "POST"):
        return refused(405, "Pages are read, and forms are sent; nothing else.")
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return refused(403, TURNED_AWAY[403])
    if request.method not in READING and "origin" not in request.headers:
        return refused(403, "A form must say which page it comes from.")
    return None


async def _unknown(request: Request, door: Door) -> Response | None:
    is_open = request.url.path == "/login" or request.url.path.startswith("/static/")
    visitor = None if is_open else await run_in_threadpool(door.visitor, request)
    request.state.visitor, request.state.form = visitor, {}
    if visitor is None and not is_open:
        return door.stranger(request)
    if request.method in READING:
        return None
    form = request.state.form = await _form(request)
    # Who logs in has no form of ours yet; the code they bring is their proof.
    if visitor is None or is_same(form.get("token", ""), door.form_token(visitor)):
        return None
    return refused(403, "This form is not of this visit. Go back, reload the page, try again.")


async def _form(request: Request) -> Form:
    """A form's fields; of several of one name, all, separated by commas."""
    fields: Form = {}
    for name, value in parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True):
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
