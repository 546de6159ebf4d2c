"""What an operator needs of every request: an id, a line in the log, metrics, and answers to health checks.

Health checks and metrics come before the check of the Host header: load balancers and Prometheus ask by address.
"""

import hmac
import json
import logging
import math
import re
import secrets
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivemind.errors import HivemindError
from hivemind.hub.host import Host
from hivemind.model.timestamps import format_timestamp

LOGGER = logging.getLogger("hivemind.hub")
REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
"""What is accepted as the id that a proxy gave a request; anything else could forge lines of the log."""
LOOPBACK = ("127.0.0.1", "::1")
BUCKET_LIMITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
BUCKETS_SECONDS = {str(limit): limit for limit in BUCKET_LIMITS} | {"+Inf": math.inf}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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
    """Counts and durations of requests since this process started, in the text format of Prometheus.

    By hand: the format is a few lines of text, and the client library would be another dependency of every hub.
    """

    def __init__(self) -> None:
        self.in_progress = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._buckets: Counter[tuple[str, str]] = Counter()
        # Requests are counted on the event loop, but a scrape may run in a thread.
        self._lock = threading.Lock()

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]
            for bucket, limit in BUCKETS_SECONDS.items():
                self._buckets[route, bucket] += seconds <= limit

    def render(self, gauges: Mapping[str, float]) -> str:
        """Return everything as text; gauges are given by their names."""
        with self._lock:
            lines = [*self._render_requests(), *self._render_durations()]
        lines += _render_gauge("hivemind_requests_in_progress", self.in_progress)
        for name, value in gauges.items():
            lines += _render_gauge(f"hivemind_{name}", value)
        return "\n".join(lines) + "\n"

    def _render_requests(self) -> Iterator[str]:
        yield "# TYPE hivemind_requests_total counter"
        for (method, route, status), count in sorted(self._requests.items()):
            yield f'hivemind_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'

    def _render_durations(self) -> Iterator[str]:
        yield "# TYPE hivemind_request_seconds histogram"
        for route, seconds in sorted(self._seconds.items()):
            for bucket in BUCKETS_SECONDS:
                yield f'hivemind_request_seconds_bucket{{route="{route}",le="{bucket}"}} {self._buckets[route, bucket]}'
            yield f'hivemind_request_seconds_sum{{route="{route}"}} {seconds:.6f}'
            yield f'hivemind_request_seconds_count{{route="{route}"}} {self._buckets[route, "+Inf"]}'


def _render_gauge(name: str, value: float) -> list[str]:
    return [f"# TYPE {name} gauge", f"{name} {value}"]


class Operations:
    """Answers health checks and metrics, and logs and measures every other request."""

    def __init__(self, app: ASGIApp, host: Host, metrics_token: str = "") -> None:
        self._app = app
        self._host = host
        self._metrics_token = metrics_token
        self._metrics = Metrics()

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
        if not is_known and (self._metrics_token or _get_address(scope) not in LOOPBACK):
            return PlainTextResponse("not found; start the hub with --metrics-token\n", 404)
        return PlainTextResponse(self._metrics.render(self._host.database.count_connections()), media_type=CONTENT_TYPE)

    async def _observe(self, scope: Scope, receive: Receive, send: Send) -> None:
        proposed_id = Headers(scope=scope).get("x-request-id", "")
        request_id = proposed_id if REQUEST_ID.fullmatch(proposed_id) else secrets.token_hex(8)
        start, status, byte_count = time.perf_counter(), 0, 0

        async def send_counted(message: Message) -> None:
            nonlocal status, byte_count
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = request_id
            byte_count += len(message.get("body", b""))
            await send(message)

        self._metrics.in_progress += 1
        try:
            await self._app(scope, receive, send_counted)
        except Exception:
            # The last place that can answer: nothing of the error reaches the caller, all of it the log.
            LOGGER.exception("unexpected error", extra={"fields": {"request_id": request_id}})
            if not status:
                text = f"unexpected error; tell whoever runs the hub the id of this request: {request_id}"
                await JSONResponse({"error": text}, 500)(scope, receive, send_counted)
        finally:
            self._metrics.in_progress -= 1
            seconds = time.perf_counter() - start
            self._metrics.observe(scope["method"], _name_route(scope), status, seconds)
            who = scope.get("state", {}).get("who")
            fields = {
                "request_id": request_id, "method": scope["method"], "path": scope["path"], "status": status,
                "ms": round(seconds * 1000, 1), "bytes": byte_count, "address": _get_address(scope),
                "team": who.team if who else "", "member": who.member.person if who else "",
            }  # fmt: skip
            LOGGER.info("request", extra={"fields": fields})


def _get_address(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else ""


def _name_route(scope: Scope) -> str:
    """Return the route, not the path: ids in paths would make a metric of each."""
    if scope["path"].startswith("/v1/"):
        return str(getattr(scope.get("route"), "path", "/v1"))
    return "/mcp" if scope["path"].startswith("/mcp") else "pages"
