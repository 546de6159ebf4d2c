"""The hub's door: ``/v1`` for devices, ``/mcp`` for agents in the cloud, and pages for people."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hivemind import __version__
from hivemind.app.team_host import Host
from hivemind.entrypoints.guard import Guard
from hivemind.entrypoints.http import mcp, pages, routes
from hivemind.errors import (
    HivemindError,
    InvalidInput,
    NotFound,
    RateLimited,
    Refused,
    StoreBusy,
    Unauthenticated,
    Unavailable,
)
from hivemind.formats.untrusted import MAX_MESSAGE_BYTES

STATUS: dict[type[HivemindError], int] = {
    Unauthenticated: 401, RateLimited: 429, Refused: 403, NotFound: 404, InvalidInput: 422, StoreBusy: 503,
    Unavailable: 503,
    HivemindError: 500,
}  # fmt: skip

TURNED_AWAY = {
    403: "requests from that site are refused",
    413: f"a request has at most {MAX_MESSAGE_BYTES:,} bytes",
    421: "this hub does not go by that name; start it with --public-url to give it another",
}


def application(host: Host, public_url: str) -> ASGIApp:
    """The hub as a web application; it answers to the name in its public address alone."""
    agents, people = mcp.application(host, public_url), pages.application(host, public_url)

    @asynccontextmanager
    async def while_serving(_: FastAPI) -> AsyncIterator[None]:
        async with agents.router.lifespan_context(agents):
            yield

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        mcp.ADDRESS.set(scope["client"][0] if scope.get("client") else "")
        is_agent = scope["path"].startswith(("/mcp", "/.well-known/"))
        await (agents if is_agent else people)(scope, receive, send)

    app = FastAPI(
        title="Hivemind hub", version=__version__, description="A team's memory.", lifespan=while_serving,
        docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json",
    )  # fmt: skip
    app.state.host = host
    app.add_exception_handler(HivemindError, _told)
    app.add_exception_handler(RequestValidationError, _misread)
    app.include_router(routes.router)
    app.mount("/", either)
    parts = urlsplit(public_url)
    return Guard(
        app, {f"{parts.scheme}://{parts.netloc}"}, MAX_MESSAGE_BYTES,
        lambda status: JSONResponse({"error": TURNED_AWAY[status]}, status),
    )  # fmt: skip


async def _misread(_: Request, error: Exception) -> JSONResponse:
    """What is wrong with a request, without what it said: that may be anything."""
    assert isinstance(error, RequestValidationError)
    wrong = [f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors()]
    return JSONResponse({"error": "; ".join(wrong).encode("ascii", "replace").decode()}, 422)


async def _told(request: Request, error: Exception) -> JSONResponse:
    """An error of ours as a status and one sentence; every refusal of somebody known is on record."""
    assert isinstance(error, HivemindError)
    status = next(code for kind, code in STATUS.items() if isinstance(error, kind))
    who = getattr(request.state, "who", None)
    if status == 403 and who:
        request.app.state.host.note_refusal(who, f"{request.method} {request.url.path}", str(error))
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}}.get(status)
    return JSONResponse({"error": str(error)}, status, headers=headers)
