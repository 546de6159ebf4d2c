"""Load the embedding model that the setting names, the shipped one or an endpoint, and compare models.

An endpoint speaks OpenAI's embeddings protocol; its key is read from HIVEMIND_EMBEDDINGS_KEY. Texts sent to an
endpoint leave the machine.
"""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hivemind.embedding import embedder
from hivemind.embedding.embedder import Embedder
from hivemind.embedding.weights import Floats
from hivemind.errors import InvalidInput, Unavailable

NONE = "none"
KEY_VARIABLE = "HIVEMIND_EMBEDDINGS_KEY"
TIMEOUT_SECONDS = 30
FEWEST_COMPARED = 5
"""Memories; with fewer, a comparison of models says nothing."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """The search quality and speed of a model on the memories of this store."""

    name: str
    found: float
    """Mean reciprocal rank of memories when the first half of each is the question."""
    milliseconds: float
    """Time to embed one text."""


def compare(model_name: str, texts: Sequence[str]) -> ModelComparison:
    """Search for each text by its first half, and return the mean reciprocal rank at which it is found."""
    if len(texts) < FEWEST_COMPARED:
        raise InvalidInput(f"comparing models needs at least {FEWEST_COMPARED} memories; found {len(texts)} here")
    model = load(model_name)
    start = time.process_time()
    text_vectors = model.embed(texts)
    milliseconds = (time.process_time() - start) * 1000 / len(texts)
    query_vectors = model.embed([text[: max(len(text) // 2, 1)] for text in texts])
    cosines = query_vectors @ text_vectors.T
    # Texts with the same cosine as the right one count as better, so that ties do not flatter a model.
    ranks = (cosines >= np.diagonal(cosines)[:, None]).sum(axis=1)
    return ModelComparison(name=model.name, found=float((1 / ranks).mean()), milliseconds=milliseconds)
