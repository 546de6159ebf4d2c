"""Load the embedding model that the setting names, the shipped one or an endpoint.

An endpoint speaks OpenAI's embeddings protocol; its key is read from HIVEMIND_EMBEDDINGS_KEY. Texts sent to an
endpoint leave the machine.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hivemind.embedding import embedder
from hivemind.embedding.embedder import Embedder
from hivemind.embedding.weights import Floats
from hivemind.errors import Unavailable

NONE = "none"
KEY_VARIABLE = "HIVEMIND_EMBEDDINGS_KEY"
TIMEOUT_SECONDS = 30


def load(name: str, mark: Path | None = None) -> Embedder:
    """Load the model that the setting ``model`` names; the shipped one, with a mark of its checksum, if it is empty."""
    if not name:
        return embedder.load_default(mark)
    if name == NONE:
        raise Unavailable("the setting model is 'none', so recall searches by words alone")
    if name.startswith(("http://", "https://")):
        return Endpoint(name)
    raise Unavailable(
        f"{name!r} is no embedding model; run `hivemind config model use` with built-in, none or https://host/v1#name"
    )


class Endpoint:
    """An OpenAI-compatible embeddings service, written ``https://host/v1#model-name``."""

    def __init__(self, address: str) -> None:
        self._url, _, self._model = address.partition("#")
        # The whole address, so that a change of server or model makes vectors anew.
        self.name = address
        self.dimension = len(self._request(["dimension"])[0])

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text, in the same order."""
        rows = np.array(self._request(list(texts)), np.float32)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return rows

    def rank_word(self, word: str) -> int | None:
        """Return 0 for every word: the vocabulary of a service is not known, so nothing counts as misspelled."""
        return 0

    def _request(self, texts: list[str]) -> list[list[float]]:
        # Every recall loads this module, few use an endpoint, and this takes 7 % of the import time of the application.
        from urllib.request import Request, urlopen

        headers = {"Content-Type": "application/json"}
        if os.environ.get(KEY_VARIABLE):
            headers["Authorization"] = f"Bearer {os.environ[KEY_VARIABLE]}"
        body = json.dumps({"model": self._model, "input": texts}).encode()
        request = Request(f"{self._url.rstrip('/')}/embeddings", data=body, headers=headers)
        try:
            with urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                # Rows carry an index, and some servers return them in another order.
                rows = sorted(json.load(response)["data"], key=lambda row: int(row["index"]))
                return [row["embedding"] for row in rows]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"the embeddings endpoint {self._url} did not answer: {error}") from error
