"""What every request passes before anything looks at it: the exact Host and Origin, and a limit on its size."""

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_BODY = 8 << 20


class TooLong(Exception):
    """A body went on for longer than it said or may."""


class Guard:
    """Turns away what was not sent to us on purpose; a page of another site cannot speak to the hub."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], origins: Collection[str]) -> None:
        self.app = app
        self.hosts = frozenset(hosts)
        self.origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if refused := self._refused(Headers(scope=scope)):
            status, why = refused
            await JSONResponse({"error": why}, status)(scope, receive, send)
            return
        answered = False

        async def sending(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self.app(scope, _limited(receive), sending)
        except TooLong:
            if not answered:
                await JSONResponse({"error": f"a request has at most {LONGEST_BODY} bytes"}, 413)(scope, receive, send)

    def _refused(self, headers: Headers) -> tuple[int, str] | None:
        if headers.get("host", "") not in self.hosts:
            return 421, "this hub does not go by that name; start it with --public-url to give it another"
        if (origin := headers.get("origin")) is not None and origin not in self.origins:
            return 403, "requests from that site are refused"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            return 413, f"a request has at most {LONGEST_BODY} bytes"
        return None


def _limited(receive: Receive) -> Receive:
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LONGEST_BODY:
            raise TooLong
        return message

    return limited
