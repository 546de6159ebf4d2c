"""Clients that keep asking a hub while its Postgres restarts."""

import http.client
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from lab.benchmarks.hub_pressure import post
from lab.benchmarks.measure import quantiles
from tests.postgres import restarting

AWAY_SECONDS, PAUSE_SECONDS, MOST_SECONDS = 3, 0.05, 60
"""How long Postgres is away, how long a client waits between two requests, and after how long it gives up."""
AIM_MS = 2_000


def measure_restart(port: int, folder: str, questions: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Print and return how fast requests fail without Postgres, and how soon after it the hub answers every client.

    There is one client for each token and question. Postgres does not run afterwards.
    """
    is_back = threading.Event()

    def ask_until_back(token: str, question: str) -> tuple[list[float], float]:
        """Return how many milliseconds each failure took, and when the first answer after them came."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=MOST_SECONDS)
        failures, answered_at, end = list[float](), 0.0, time.perf_counter() + MOST_SECONDS
        while not (is_back.is_set() and answered_at):
            start = time.perf_counter()
            assert start < end, "the hub did not answer again"
            status, body = post(connection, token, "/v1/recall", {"query": question})
            assert status in (200, 503), body
            if status == 503:
                failures.append((time.perf_counter() - start) * 1000)
                answered_at = 0.0
            elif failures:
                answered_at = answered_at or time.perf_counter()
            time.sleep(PAUSE_SECONDS)
        return failures, answered_at

    with ThreadPoolExecutor(len(questions)) as pool:
        clients = [pool.submit(ask_until_back, *question) for question in questions]
        with restarting(folder, AWAY_SECONDS):
            back_at = time.perf_counter()
            is_back.set()
            times = [client.result() for client in clients]
    failures = [took for client_failures, _ in times for took in client_failures]
    p50, p95 = quantiles(failures)
    # Below zero where the hub has noticed before this process has.
    late = max(0.0, max(answered_at for _, answered_at in times) - back_at) * 1000
    print(f"{'restart':>22}{p50:>9.1f}{p95:>9.1f}")
    print(
        f"# {len(failures)} requests failed while Postgres was away for {AWAY_SECONDS} s;"
        f" all {len(times)} clients had answers {late:,.0f} ms after Postgres gave its first (aim: {AIM_MS:,})",
        flush=True,
    )
    return {"failure p50 ms": p50, "failure p95 ms": p95, "answers after ms": late}
