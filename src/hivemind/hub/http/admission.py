"""What is checked before a request is read: headers arrive in time, and a request to ``/v1`` has a valid token.

Strangers must neither hold connections open nor make the hub parse anything.
"""

import asyncio
from typing import Any

import anyio.to_thread
import h11
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from hivemind.errors import AccessRevoked, HivemindError, Unauthenticated
from hivemind.hub.access import AdmittedMember
from hivemind.hub.host import Host
from hivemind.model.protocol import HEADER, OURS, describe_mismatch, parse_versions
from hivemind.viewer.http_guard import get_status

HEADER_TIMEOUT_SECONDS = 15
"""Uvicorn itself has no such limit."""
RETRY_SECONDS = "1"
"""When to ask again while the database is away or the team's writers are busy."""
UPGRADE_REQUIRED = 426
LOGIN_PATH = "/v1/login"
"""Whoever signs in has no token yet."""
OPEN_PATHS = ("/v1/openapi.json", LOGIN_PATH)


class TimedProtocol(H11Protocol):
    """Closes a connection whose request headers do not arrive in time; such connections cost an attacker nothing."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the clock for the first request."""
        super().connection_made(transport)
        self._watch_headers()

    def data_received(self, data: bytes) -> None:
        """Stop the clock when the headers are complete; start it when those of the next request begin."""
        super().data_received(data)
        self._watch_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_timer()
        super().connection_lost(exc)

    def _watch_headers(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADER_TIMEOUT_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def admit_requests(app: ASGIApp, host: Host) -> ASGIApp:
    """Return an application that passes requests with a valid token on, with the member in the request's state."""

    async def admit(scope: Scope, receive: Receive, send: Send) -> None:
        # Other parts of the hub than its API ask for a token in their own ways.
        if scope["type"] == "http" and scope["path"].startswith("/v1/") and scope["path"] not in OPEN_PATHS:
            request = Request(scope)
            mismatch = describe_mismatch(parse_versions(request.headers.get(HEADER)), OURS)
            if mismatch:
                await JSONResponse({"error": mismatch}, UPGRADE_REQUIRED)(scope, receive, send)
                return
            try:
                # In a thread, because the database driver blocks.
                request.state.who = await anyio.to_thread.run_sync(_admit, host, request)
            except HivemindError as error:
                await answer_error(error)(scope, receive, send)
                return
        await app(scope, receive, send)

    return admit


def _admit(host: Host, request: Request) -> AdmittedMember:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        raise Unauthenticated("no token; send it as 'Authorization: Bearer …'")
    return host.admit(secret.strip(), get_address(request.scope), describe(request))


def get_address(scope: Scope) -> str:
    """Return the address of the client; empty if the server does not know it."""
    return str(scope["client"][0]) if scope.get("client") else ""


def describe(request: Request) -> str:
    """Return what a request asks for, as the record of refused requests shows it."""
    return f"{request.method} {request.url.path}"


def answer_error(error: HivemindError) -> JSONResponse:
    """Return an error as a status and one sentence."""
    status = get_status(error)
    headers = {
        401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}, 503: {"Retry-After": RETRY_SECONDS},
    }.get(status)  # fmt: skip
    # By this flag a device deletes its copy of the team's memories; the sentence is for people.
    flags = {"revoked": True} if isinstance(error, AccessRevoked) else {}
    return JSONResponse({"error": str(error), **flags}, status, headers=headers)
