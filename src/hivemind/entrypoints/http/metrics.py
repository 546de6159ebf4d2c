"""Counts and durations of requests, in the text format of Prometheus.

By hand: the format is a few lines of text, and the client library would be another dependency of every hub.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping

BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What this process has counted since it started."""

    def __init__(self) -> None:
        self.in_progress = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        # Requests are counted on the event loop, but a scrape may run in a thread.
        self._lock = threading.Lock()

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]
            for bucket in BUCKETS_SECONDS:
                self._buckets[route, bucket] += seconds <= bucket

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
        totals: Counter[str] = Counter()
        for (_, route, _), count in self._requests.items():
            totals[route] += count
        for route, total in sorted(totals.items()):
            for bucket in BUCKETS_SECONDS:
                yield f'hivemind_request_seconds_bucket{{route="{route}",le="{bucket}"}} {self._buckets[route, bucket]}'
            yield f'hivemind_request_seconds_bucket{{route="{route}",le="+Inf"}} {total}'
            yield f'hivemind_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
            yield f'hivemind_request_seconds_count{{route="{route}"}} {total}'


def _render_gauge(name: str, value: float) -> list[str]:
    return [f"# TYPE {name} gauge", f"{name} {value}"]
