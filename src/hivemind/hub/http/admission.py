"""Checks the token of a request to ``/v1`` before its body is read: strangers must not make the hub parse anything."""

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hivemind.errors import AccessRevoked, HivemindError, Unauthenticated
from hivemind.hub.host import Host
from hivemind.model.team import AdmittedMember
from hivemind.viewer.http_guard import get_status

LOGIN_PATH = "/v1/login"
"""Whoever signs in has no token yet."""
OPEN_PATHS = ("/v1/openapi.json", LOGIN_PATH)


class Admission:
    """Passes requests with a valid token on, with the member in the request's state; answers the others."""

    def __init__(self, app: ASGIApp, host: Host) -> None:
        self._app = app
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request to the API; other parts of the hub ask in their own ways."""
        if scope["type"] == "http" and scope["path"].startswith("/v1/") and scope["path"] not in OPEN_PATHS:
            request = Request(scope)
            try:
                # In a thread, because the database driver blocks.
                request.state.who = await anyio.to_thread.run_sync(self._admit, request)
            except HivemindError as error:
                await answer_error(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _admit(self, request: Request) -> AdmittedMember:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            raise Unauthenticated("no token; send it as 'Authorization: Bearer …'")
        address = request.client.host if request.client else ""
        return self._host.admit(secret.strip(), address, f"{request.method} {request.url.path}")


def answer_error(error: HivemindError) -> JSONResponse:
    """Return an error as a status and one sentence."""
    status = get_status(error)
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}}.get(status)
    # By this flag a device deletes its copy of the team's memories; the sentence is for people.
    flags = {"revoked": True} if isinstance(error, AccessRevoked) else {}
    return JSONResponse({"error": str(error), **flags}, status, headers=headers)
