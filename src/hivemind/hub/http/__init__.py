"""The hub's web application: ``/v1`` for devices, ``/mcp`` for agents in the cloud, and pages for people."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hivemind import __version__
from hivemind.errors import HivemindError
from hivemind.hub.host import Host
from hivemind.hub.http import mcp, pages, routes
from hivemind.hub.http.admission import LOGIN_PATH, admit_requests, answer_error, describe, get_address
from hivemind.hub.http.operations import Operations
from hivemind.hub.http.turns import Turns
from hivemind.text.untrusted import MAX_MESSAGE_BYTES
from hivemind.viewer.http_guard import Guard, get_status

LARGE_PATHS = ("/v1/push", "/v1/take-back", "/mcp")
MAX_SMALL_BYTES = 1024 * 1024
MAX_LOGIN_BYTES = 64 * 1024
"""Anybody may send this, and it is parsed."""
REFUSALS = {
    403: "requests from another site are refused",
    408: "the request took too long to arrive; send it again",
    413: f"a request may have at most {MAX_SMALL_BYTES:,} bytes, a push {MAX_MESSAGE_BYTES:,}; send less at once",
}


def create_application(host: Host, public_url: str, metrics_token: str = "") -> ASGIApp:
    """Return the hub as a web application that answers only under its public URL."""
    options = host.database.options
    turns = Turns(options.connections, options.lock_seconds)
    agents, people = mcp.create_application(host, public_url, turns), pages.create_application(host, public_url)

    @asynccontextmanager
    async def run_agents(_: FastAPI) -> AsyncIterator[None]:
        async with agents.router.lifespan_context(agents):
            yield

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        mcp.ADDRESS.set(get_address(scope))
        is_metadata = scope["path"].startswith("/.well-known/")
        if is_metadata and not host.issuer:
            # Only an identity provider issues tokens by OAuth; clients must not look for one here.
            await JSONResponse({"error": "this hub has no identity provider; ask an admin for a token"}, 404)(
                scope, receive, send
            )
            return
        is_for_agents = is_metadata or scope["path"].startswith("/mcp")
        await (agents if is_for_agents else people)(scope, receive, send)

    app = FastAPI(
        title="Hivemind hub", version=__version__, description="A team's memory.", lifespan=run_agents,
        # The documentation pages of FastAPI would load scripts from another site.
        docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json",
    )  # fmt: skip
    app.state.host, app.state.turns = host, turns
    app.add_exception_handler(HivemindError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.include_router(routes.router)
    # Last, because it matches every path.
    app.mount("/", route)
    parts = urlsplit(public_url)
    refusals = REFUSALS | {421: f"this hub answers to {public_url} alone; use that, or start it with --public-url"}
    guarded_app = Guard(
        admit_requests(app, host), {f"{parts.scheme}://{parts.netloc}"}, _get_max_bytes,
        lambda status: JSONResponse({"error": refusals[status]}, status),
    )  # fmt: skip
    return Operations(guarded_app, host, metrics_token)


def _get_max_bytes(path: str) -> int:
    """Return how large a request may be; only what carries many entries at once may be large."""
    if path == LOGIN_PATH:
        return MAX_LOGIN_BYTES
    return MAX_MESSAGE_BYTES if path in LARGE_PATHS else MAX_SMALL_BYTES


async def _answer_invalid(_: Request, error: Exception) -> JSONResponse:
    """Return what is wrong with a request, without quoting it: it may contain anything."""
    assert isinstance(error, RequestValidationError)
    problems = [f"{'.'.join(str(part) for part in item['loc'][1:])}: {item['msg']}" for item in error.errors()]
    return JSONResponse({"error": "; ".join(problems).encode("ascii", "replace").decode()}, 422)


async def _answer_error(request: Request, error: Exception) -> JSONResponse:
    """Return an error as a status and one sentence; record it if a known member was refused."""
    assert isinstance(error, HivemindError)
    if get_status(error) == 403:
        who, what = request.state.who, describe(request)
        # In a thread, because the database driver blocks.
        await anyio.to_thread.run_sync(request.app.state.host.note_refusal, who, what, str(error))
    return answer_error(error)
