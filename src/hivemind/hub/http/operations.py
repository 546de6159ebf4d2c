"""What an operator needs of every request: an id, a line in the log, metrics, and answers to health checks.

Health checks and metrics come before the check of the Host header: load balancers and Prometheus ask by address.
"""

import hmac
import json
import logging
import re
import secrets
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anyio.to_thread
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivemind.errors import HivemindError
from hivemind.hub.host import Host
from hivemind.hub.http.admission import get_address
from hivemind.hub.pool import ConnectionPool
from hivemind.model import protocol
from hivemind.model.timestamps import format_timestamp

LOGGER = logging.getLogger("hivemind.hub")
REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
"""What is accepted as the id that a proxy gave a request; anything else could forge lines of the log."""
LOOPBACK = ("127.0.0.1", "::1")
BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; fields of the record's argument are fields of the line."""
        line: dict[str, Any] = {
            "at": format_timestamp(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1]:
            line["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(line, ensure_ascii=False)


def log_to_stderr() -> None:
    """Write the hub's log, and the server's, to standard error as lines of JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    for name, level in (("hivemind.hub", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class Metrics:
    """Counts and durations of requests since this process started."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "hivemind_requests", "Answered requests.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "hivemind_request_seconds", "Seconds until the answer.", ["route"], buckets=BUCKETS_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self.in_progress = Gauge("hivemind_requests_in_progress", "Requests that wait.", registry=self._registry)
        gauges: dict[str, Callable[[], float]] = {
            "connections": lambda: pool.size, "free": lambda: pool.free, "waiting": lambda: pool.waiting,
        }  # fmt: skip
        for name, read in gauges.items():
            Gauge(f"hivemind_pool_{name}", f"Pool {name}.", registry=self._registry).set_function(read)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        # A client can invent methods, and each would be a line for ever.
        self._requests.labels(method if method in METHODS else "other", route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def render(self) -> bytes:
        """Return everything in the text format of Prometheus."""
        return generate_latest(self._registry)


class Operations:
    """Answers health checks and metrics, and logs and measures every other request."""

    def __init__(self, app: ASGIApp, host: Host, metrics_token: str = "") -> None:
        self._app = app
        self._host = host
        self._metrics_token = metrics_token
        self._metrics = Metrics(host.database.pool)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on and log how it went."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif response := await self._answer(scope):
            await response(scope, receive, send)
        else:
            await self._observe(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response | None:
        match scope["path"]:
            case "/healthz":
                return PlainTextResponse("ok\n")
            case "/readyz":
                return await anyio.to_thread.run_sync(self._check_ready)
            case "/metrics":
                return self._render_metrics(scope)
        return None

    def _check_ready(self) -> Response:
        try:
            self._host.check_database()
        except HivemindError as error:
            LOGGER.warning("not ready", extra={"fields": {"error": str(error)}})
            # Without the reason, which names the database's address; it is in the log.
            return PlainTextResponse("the database does not answer\n", 503)
        return PlainTextResponse("ok\n")

    def _render_metrics(self, scope: Scope) -> Response:
        """Answer this machine, and whoever has the token for it: the counts are nobody else's business."""
        _, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
        is_known = bool(self._metrics_token) and hmac.compare_digest(secret.encode(), self._metrics_token.encode())
        if not is_known and (self._metrics_token or get_address(scope) not in LOOPBACK):
            return PlainTextResponse("not found; start the hub with --metrics-token\n", 404)
        return Response(self._metrics.render(), media_type=CONTENT_TYPE_LATEST)

    async def _observe(self, scope: Scope, receive: Receive, send: Send) -> None:
        proposed_id = Headers(scope=scope).get("x-request-id", "")
        request_id = proposed_id if REQUEST_ID.fullmatch(proposed_id) else secrets.token_hex(8)
        start, status, byte_count = time.perf_counter(), 0, 0

        async def send_counted(message: Message) -> None:
            nonlocal status, byte_count
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"], headers[protocol.HEADER] = request_id, str(protocol.OURS)
            byte_count += len(message.get("body", b""))
            await send(message)

        self._metrics.in_progress.inc()
        try:
            await self._app(scope, receive, send_counted)
        except Exception:
            # The last place that can answer: nothing of the error reaches the caller, all of it the log.
            LOGGER.exception("unexpected error", extra={"fields": {"request_id": request_id}})
            if not status:
                text = f"unexpected error; tell whoever runs the hub the id of this request: {request_id}"
                await JSONResponse({"error": text}, 500)(scope, receive, send_counted)
        finally:
            self._metrics.in_progress.dec()
            seconds = time.perf_counter() - start
            self._metrics.observe(scope["method"], _name_route(scope), status, seconds)
            who = scope.get("state", {}).get("who")
            fields = {
                "request_id": request_id, "method": scope["method"], "path": scope["path"], "status": status,
                "ms": round(seconds * 1000, 1), "bytes": byte_count, "address": get_address(scope),
                "team": who.team if who else "", "member": who.member.person if who else "",
            }  # fmt: skip
            LOGGER.info("request", extra={"fields": fields})


def _name_route(scope: Scope) -> str:
    """Return the route, not the path: ids in paths would make a metric of each."""
    if scope["path"].startswith("/v1/"):
        return str(getattr(scope.get("route"), "path", "/v1"))
    return "/mcp" if scope["path"].startswith("/mcp") else "pages"
