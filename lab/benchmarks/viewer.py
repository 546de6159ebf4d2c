"""Measure the viewer's pages and search over HTTP, as a person waits for them.

    python -m lab.benchmarks.viewer [--memories 100000]

The baseline is a page of the same server that does not read the store. Texts and their vectors are generated, as in
``lab.benchmarks.recall``; the question's vector is made by the real model.
"""

import argparse
import http.client
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from urllib.parse import quote_plus

import uvicorn
from starlette.requests import Request

from hivemind import Hivemind
from hivemind.embedding.semantic_index import SemanticIndex
from hivemind.viewer import build
from hivemind.viewer.local import MindPool, load_key, make_site
from lab.benchmarks.measure import cpu_and_wall, quantiles
from lab.benchmarks.recall import MadeUpWords, RandomVectors, fill, open_memory

ROUNDS = 15
ANCHOR = "/login"
PAGES = {"Today": "/", "Search, a list": "/search", "Sessions": "/sessions", "Log": "/log", "Review": "/review"}


Opening = Callable[[Request], AbstractContextManager[Hivemind]]


def main() -> None:
    """Fill a store, then request each page several times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000, help="number of memories in the store")
    memory_count = parser.parse_args().memories
    texts = MadeUpWords(3)
    model = RandomVectors()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with open_memory(home, "here") as here, open_memory(home, "there") as there:
            for mind in (here, there):
                mind._context.embedder.meaning = SemanticIndex(model)
                mind.remember(texts.write(1)[0])
            here.maintenance.catch_up()
            fill(here, model, texts, memory_count * 9 // 10)
            fill(there, model, texts, memory_count // 10)
            questions = [" ".join(text.split()[:5]) for text in texts.write(ROUNDS)]
            for question in questions:
                here.recall(question)

        def fresh() -> Hivemind:
            mind = open_memory(home, "here")
            mind._context.embedder.meaning = SemanticIndex(model)
            return mind

        paths = {name: [path] * ROUNDS for name, path in PAGES.items()}
        paths["Search, a question"] = [f"/search?part=1&q={quote_plus(question)}" for question in questions]
        pool = MindPool(fresh)
        print(f"{memory_count:,} memories")
        show("held open between requests", home, paths, pool)
        pool.close()
        show("opened for each request", home, paths, lambda request: fresh())


def show(
    title: str,
    home: Path,
    paths: dict[str, list[str]],
    open_mind: Callable[[Request], AbstractContextManager[Hivemind]],
) -> None:
    """Print a line for each page: its cost, also as a multiple of the baseline page."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        app = build(make_site(port, load_key(home / "store"), {"open"}, "here", open_mind))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        cookie = _request(port, "/login", "code=open")[1]
        anchor = statistics.median(cpu_and_wall(partial(_request, port, ANCHOR, "", cookie))[0] for _ in range(50))
        print(f"\n{title}; anchor, a page without memory: {anchor:.1f} ms CPU")
        print(f"{'page':<22}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}{'anchors':>9}")
        for name, addresses in paths.items():
            _request(port, addresses[0], "", cookie)
            costs = [cpu_and_wall(partial(_request, port, path, "", cookie)) for path in addresses]
            p50, p95 = quantiles([wall for _, wall in costs])
            cpu, _ = quantiles([cpu for cpu, _ in costs])
            print(f"{name:<22}{p50:>9.1f}{p95:>9.1f}{cpu:>9.1f}{cpu / anchor:>9.1f}", flush=True)
        server.should_exit = True
        thread.join()


def _request(port: int, path: str, form: str = "", cookie: str = "") -> tuple[bytes, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{port}"}
    connection.request("POST" if form else "GET", path, form or None, headers)
    response = connection.getresponse()
    body = response.read()
    if response.status >= 400:
        raise SystemExit(f"{path} failed with status {response.status}")
    connection.close()
    return body, (response.getheader("set-cookie") or "").partition(";")[0]


if __name__ == "__main__":
    main()
