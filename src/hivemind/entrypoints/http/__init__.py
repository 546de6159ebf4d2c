"""The hub's web application: ``/v1`` for devices, ``/mcp`` for agents in the cloud, and pages for people."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hivemind import __version__
from hivemind.app.team_host import Host
from hivemind.entrypoints.guard import Guard, get_status
from hivemind.entrypoints.http import mcp, pages, routes
from hivemind.errors import HivemindError
from hivemind.formats.untrusted import MAX_MESSAGE_BYTES

REFUSALS = {
    403: "requests from another site are refused",
    413: f"a request may have at most {MAX_MESSAGE_BYTES:,} bytes; send less at once",
    421: "this hub has another name; start it with --public-url to change it",
}


def application(host: Host, public_url: str) -> ASGIApp:
    """Return the hub as a web application that answers only under its public URL."""
    agents, people = mcp.application(host, public_url), pages.application(host, public_url)

    @asynccontextmanager
    async def run_agents(_: FastAPI) -> AsyncIterator[None]:
        async with agents.router.lifespan_context(agents):
            yield

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        mcp.ADDRESS.set(scope["client"][0] if scope.get("client") else "")
        is_for_agents = scope["path"].startswith(("/mcp", "/.well-known/"))
        await (agents if is_for_agents else people)(scope, receive, send)

    app = FastAPI(
        title="Hivemind hub", version=__version__, description="A team's memory.", lifespan=run_agents,
        # The documentation pages of FastAPI would load scripts from another site.
        docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json",
    )  # fmt: skip
    app.state.host = host
    app.add_exception_handler(HivemindError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.include_router(routes.router)
    # Last, because it matches every path.
    app.mount("/", route)
    parts = urlsplit(public_url)
    return Guard(
        app, {f"{parts.scheme}://{parts.netloc}"}, MAX_MESSAGE_BYTES,
        lambda status: JSONResponse({"error": REFUSALS[status]}, status),
    )  # fmt: skip


async def _answer_invalid(_: Request, error: Exception) -> JSONResponse:
    """Return what is wrong with a request, without quoting it: it may contain anything."""
    assert isinstance(error, RequestValidationError)
    problems = [f"{'.'.join(str(part) for part in item['loc'][1:])}: {item['msg']}" for item in error.errors()]
    return JSONResponse({"error": "; ".join(problems).encode("ascii", "replace").decode()}, 422)


async def _answer_error(request: Request, error: Exception) -> JSONResponse:
    """Return an error as a status and one sentence; record it if a known member was refused."""
    assert isinstance(error, HivemindError)
    status = get_status(error)
    who = getattr(request.state, "who", None)
    if status == 403 and who:
        request.app.state.host.note_refusal(who, f"{request.method} {request.url.path}", str(error))
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}}.get(status)
    return JSONResponse({"error": str(error)}, status, headers=headers)
