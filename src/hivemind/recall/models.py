"""Models other than the one that comes with the installation: a folder with an ONNX model, or an endpoint.

A folder holds ``model.onnx`` and ``tokenizer.json`` and needs the ``onnx`` extra. An endpoint speaks OpenAI's
embeddings protocol; its key is taken from HIVEMIND_EMBEDDINGS_KEY. What is asked of an endpoint leaves the machine.
"""

import importlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hivemind.errors import Unavailable
from hivemind.recall import embedder
from hivemind.recall.embedder import Embedder
from hivemind.recall.weights import Floats

NONE = "none"
KEY = "HIVEMIND_EMBEDDINGS_KEY"
TIMEOUT_SECONDS = 30


def load(named: str) -> Embedder:
    """The model that a setting names; without a name, the one that came with the installation."""
    if not named:
        return embedder.default()
    if named == NONE:
        raise Unavailable("the setting model is 'none', so recall goes by words alone")
    if named.startswith(("http://", "https://")):
        return Endpoint(named)
    return OnnxFolder(Path(named))


class Endpoint:
    """An OpenAI-compatible embeddings service, written ``https://host/v1#model-name``."""

    def __init__(self, address: str) -> None:
        self._url, _, self._model = address.partition("#")
        self.name = address
        self.dimension = len(self._ask(["dimension"])[0])

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of unit length for each text, in the order given."""
        return _unit(np.array(self._ask(list(texts)), np.float32))

    def _ask(self, texts: list[str]) -> list[list[float]]:
        # Every question loads this module, and few ask an endpoint.
        from urllib.request import Request, urlopen

        headers = {"Content-Type": "application/json"}
        if os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {os.environ[KEY]}"
        body = json.dumps({"model": self._model, "input": texts}).encode()
        request = Request(f"{self._url.rstrip('/')}/embeddings", data=body, headers=headers)
        try:
            with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                rows = sorted(json.load(answer)["data"], key=lambda row: int(row["index"]))
                return [row["embedding"] for row in rows]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"the embeddings endpoint {self._url} did not answer: {error}") from error


class OnnxFolder:
    """A sentence model in ONNX, averaged over the words of a text."""

    def __init__(self, folder: Path) -> None:
        model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
        if not model.exists() or not tokenizer.exists():
            raise Unavailable(f"{folder} does not hold model.onnx and tokenizer.json")
        try:
            runtime: Any = importlib.import_module("onnxruntime")
            tokenizers: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise Unavailable("a folder with a model needs: pip install 'hivemind-memory[onnx]'") from None
        self._session = runtime.InferenceSession(str(model))
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(512)
        self._tokenizer.enable_padding()
        self.name = f"onnx:{folder.resolve()}"
        self.dimension = self.embed(["dimension"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of unit length for each text, in the order given."""
        read = self._tokenizer.encode_batch(list(texts))
        given = {
            "input_ids": np.array([one.ids for one in read], np.int64),
            "attention_mask": np.array([one.attention_mask for one in read], np.int64),
            "token_type_ids": np.array([one.type_ids for one in read], np.int64),
        }
        expected = {one.name for one in self._session.get_inputs()}
        states = self._session.run(None, {name: value for name, value in given.items() if name in expected})[0]
        if states.ndim == 2:
            return _unit(states)
        weights = given["attention_mask"][:, :, None].astype(np.float32)
        return _unit((states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))


def _unit(rows: Floats) -> Floats:
    unit: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return unit.astype(np.float32)
