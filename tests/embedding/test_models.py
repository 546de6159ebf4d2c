"""Models other than the one that comes with the installation."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import numpy as np
import pytest

from hivemind.embedding import models
from hivemind.errors import Unavailable


class Embeddings(BaseHTTPRequestHandler):
    """Answers as an OpenAI-compatible service does, in another order than asked."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows = [{"index": place, "embedding": [len(text), 1.0, 0.5]} for place, text in enumerate(asked["input"])]
        self.send_response(200 if asked["model"] == "small" else 404)
        self.end_headers()
        self.wfile.write(json.dumps({"data": rows[::-1]}).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Embeddings)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_an_endpoint_gives_vectors_of_unit_length_in_the_order_asked(address: str) -> None:
    model = models.load(f"{address}#small")

    rows = model.embed(["a", "much longer"])

    assert model.dimension == 3
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert rows[1][0] > rows[0][0]


def test_an_endpoint_that_does_not_answer_is_named(address: str) -> None:
    with pytest.raises(Unavailable, match="did not answer"):
        models.load(f"{address}#unknown")


def test_a_name_that_is_no_model_says_what_can_be_set() -> None:
    with pytest.raises(Unavailable, match="built-in, none or https"):
        models.load("/models/some-folder")
