"""The checks before each page: where a request comes from, who sent it, and whether its form is ours."""

from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivemind.errors import HivemindError
from hivemind.viewer.http_guard import Guard
from hivemind.viewer.request import Form, Site, is_same_secret
from hivemind.viewer.templating import render_error, render_refusal

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With no-referrer, browsers would send forms without an Origin.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
SAFE_METHODS = ("GET", "HEAD")
MAX_FORM_BYTES = 1 << 20
REFUSALS = {
    403: "This request came from another site. Type the address, or open your link again.",
    408: "The form took too long to arrive. Send it again.",
    413: "The form is too large. Send less text.",
    421: "This is not the viewer's own address. Open the link that was printed.",
}


def guard_pages(pages: ASGIApp, site: Site) -> ASGIApp:
    """Return the pages for signed-in visitors only; every answer has the security headers, also an error."""

    async def check_then_answer(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = _check_origin(request, site) or await _check_visitor(request, site) or pages
        except HivemindError as error:
            answer = render_error(error)
        await answer(scope, receive, send)

    guard = Guard(
        check_then_answer, site.origins, lambda _: MAX_FORM_BYTES,
        lambda status: render_refusal(status, REFUSALS[status]),
    )  # fmt: skip

    async def answer_with_headers(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await guard(scope, receive, _add_headers(send, is_static=scope["path"].startswith("/static/")))

    return answer_with_headers


def _check_origin(request: Request, site: Site) -> Response | None:
    """Refuse other methods, requests that another site started, and forms without an Origin."""
    if request.method not in (*SAFE_METHODS, "POST"):
        return render_refusal(405, "This page answers only GET and POST.")
    is_elsewhere = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    # The page by which 'hivemind ui' opens a browser is a file, which counts as another site; the code is the proof.
    is_sign_in = (
        request.method in SAFE_METHODS
        and request.url.path == "/login"
        and request.headers.get("sec-fetch-mode") == "navigate"
    )
    if is_elsewhere and not is_sign_in and request.url.path not in site.public_pages:
        return render_refusal(403, REFUSALS[403])
    if request.method not in SAFE_METHODS and "origin" not in request.headers:
        return render_refusal(403, "The form was sent without an Origin header. Use a current browser.")
    return None


async def _check_visitor(request: Request, site: Site) -> Response | None:
    """Find the visitor and read the form; refuse unknown visitors and forms that are not from our pages."""
    path = request.url.path
    is_public = path == "/login" or path in site.public_pages or path.startswith("/static/")
    visitor = None if is_public else await run_in_threadpool(site.find_visitor, request)
    request.state.visitor, request.state.form = visitor, {}
    if visitor is None and not is_public:
        return site.answer_stranger(request)
    if request.method in SAFE_METHODS:
        return None
    form = request.state.form = await _parse_form(request)
    # A login has no form token yet; its code or token is the proof.
    if visitor is None or is_same_secret(form.get("token", ""), site.make_form_token(visitor)):
        return None
    return render_refusal(403, "This form has expired. Go back, reload the page and try again.")


async def _parse_form(request: Request) -> Form:
    """Return the fields of a form; several values of one name are joined by commas."""
    fields: Form = {}
    for name, value in parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True):
        fields[name] = f"{fields[name]},{value}" if name in fields else value
    return fields


def _add_headers(send: Send, *, is_static: bool) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            # Pages may show what is erased a minute later, so nothing may keep them.
            cache = {"cache-control": "no-cache" if is_static else "no-store"}
            MutableHeaders(scope=message).update(HEADERS | cache)
        await send(message)

    return send_with_headers
