"""Serve HTTP on a local address while something is measured."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serve_locally(requests: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests in the background and yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), requests)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
