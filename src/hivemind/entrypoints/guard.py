"""What every request passes before anything looks at it: the exact Host and Origin, and a limit on its size."""

from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class TooLong(Exception):
    """A body went on for longer than it said or may."""


class Guard:
    """Turns away what was not sent to us on purpose; ``refused`` makes the answer, of a status."""

    def __init__(
        self, app: ASGIApp, origins: Collection[str], longest: int, refused: Callable[[int], Response]
    ) -> None:
        self._app = app
        self._origins = origins
        self._hosts = {origin.partition("://")[2] for origin in origins}
        self._longest = longest
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if status := self._objection(Headers(scope=scope)):
            await self._refused(status)(scope, receive, send)
            return
        seen, answered = 0, False

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._longest:
                raise TooLong
            return message

        async def sending(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self._app(scope, limited, sending)
        except TooLong:
            if not answered:
                await self._refused(413)(scope, receive, send)

    def _objection(self, headers: Headers) -> int:
        """A name that leads here by a trick, a page of another site, or too much at once."""
        if headers.get("host") not in self._hosts:
            return 421
        if "origin" in headers and headers["origin"] not in self._origins:
            return 403
        length = headers.get("content-length", "0")
        return 0 if length.isdecimal() and int(length) <= self._longest else 413
