"""What the viewer and the hub need as HTTP servers: checks of every request, and the status of each error."""

from collections.abc import Callable, Collection

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivemind.errors import (
    HivemindError,
    InvalidInput,
    NotFound,
    RateLimited,
    Refused,
    StoreError,
    Unauthenticated,
    Unavailable,
)

# The first match counts, so subclasses of Refused come before it.
STATUS_BY_ERROR: dict[type[HivemindError], int] = {
    Unauthenticated: 401, RateLimited: 429, Refused: 403, NotFound: 404, InvalidInput: 422, StoreError: 503,
    Unavailable: 503, HivemindError: 500,
}  # fmt: skip


def get_status(error: HivemindError) -> int:
    """Return the HTTP status of an error."""
    return next(status for kind, status in STATUS_BY_ERROR.items() if isinstance(error, kind))


BODY_TIMEOUT_SECONDS = 60
"""How long the body of a request may take to arrive."""


class BodyRefused(Exception):
    """A request body is longer than the limit, or takes too long to arrive."""


class Guard:
    """Answers requests with a wrong Host or Origin or a large body by ``make_refusal``; passes on the others."""

    def __init__(
        self,
        app: ASGIApp,
        origins: Collection[str],
        get_max_bytes: Callable[[str], int],
        make_refusal: Callable[[int], Response],
    ) -> None:
        self._app = app
        self._origins = origins
        self._hosts = {origin.partition("://")[2] for origin in origins}
        self._get_max_bytes = get_max_bytes
        self._make_refusal = make_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        max_bytes = self._get_max_bytes(scope["path"])
        if status := self._find_problem(Headers(scope=scope), max_bytes):
            await self._make_refusal(status)(scope, receive, send)
            return
        byte_count, has_answer, has_body, refusal_status = 0, False, False, 0
        deadline = anyio.current_time() + BODY_TIMEOUT_SECONDS

        # A chunked body has no length in its header, so it is counted as it arrives.
        async def receive_limited() -> Message:
            nonlocal byte_count, has_body, refusal_status
            # After the body, a request waits for the end of the connection, which may take as long as the answer.
            if has_body:
                return await receive()
            with anyio.move_on_after(max(0, deadline - anyio.current_time())) as limit:
                message = await receive()
            if limit.cancelled_caught:
                refusal_status = 408
                raise BodyRefused
            has_body = not message.get("more_body", False)
            byte_count += len(message.get("body", b""))
            if byte_count > max_bytes:
                refusal_status = 413
                raise BodyRefused
            return message

        async def send_noting(message: Message) -> None:
            nonlocal has_answer
            # What the application says about a body that it could not read is replaced by our own answer.
            if not refusal_status:
                has_answer = True
                await send(message)

        try:
            await self._app(scope, receive_limited, send_noting)
        except BodyRefused:
            if has_answer:
                raise
        if refusal_status and not has_answer:
            await self._make_refusal(refusal_status)(scope, receive, send)

    def _find_problem(self, headers: Headers, max_bytes: int) -> int:
        """Return the status to refuse a request with, or 0."""
        # An exact Host stops DNS rebinding: another name that resolves to this address.
        if headers.get("host") not in self._hosts:
            return 421
        if "origin" in headers and headers["origin"] not in self._origins:
            return 403
        length = headers.get("content-length", "0")
        return 0 if length.isdecimal() and int(length) <= max_bytes else 413
