"""Load embedding models other than the installed one: a folder with an ONNX model, or an endpoint.

A folder contains ``model.onnx`` and ``tokenizer.json`` and needs the ``onnx`` extra. An endpoint speaks OpenAI's
embeddings protocol; its key is read from HIVEMIND_EMBEDDINGS_KEY. Texts sent to an endpoint leave the machine.
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
KEY_VARIABLE = "HIVEMIND_EMBEDDINGS_KEY"
TIMEOUT_SECONDS = 30


def load(name: str) -> Embedder:
    """Load the model that the setting ``model`` names; the installed one if the name is empty."""
    if not name:
        return embedder.load_default()
    if name == NONE:
        raise Unavailable("the setting model is 'none', so recall searches by words alone")
    if name.startswith(("http://", "https://")):
        return Endpoint(name)
    return OnnxFolder(Path(name))


class Endpoint:
    """An OpenAI-compatible embeddings service, written ``https://host/v1#model-name``."""

    def __init__(self, address: str) -> None:
        self._url, _, self._model = address.partition("#")
        # The whole address, so that a change of server or model makes vectors anew.
        self.name = address
        self.dimension = len(self._request(["dimension"])[0])

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text, in the same order."""
        return _normalise(np.array(self._request(list(texts)), np.float32))

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


class OnnxFolder:
    """A sentence model in ONNX, whose vector is the mean over the tokens of a text."""

    def __init__(self, folder: Path) -> None:
        model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
        if not model.exists() or not tokenizer.exists():
            raise Unavailable(f"{folder} must contain model.onnx and tokenizer.json; add both or change the setting")
        try:
            # Optional packages, which the type checker and most installations do not have.
            runtime: Any = importlib.import_module("onnxruntime")
            tokenizers: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise Unavailable("a model in a folder needs ONNX; run `pip install 'hivemind-memory[onnx]'`") from None
        self._session = runtime.InferenceSession(str(model))
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(512)
        self._tokenizer.enable_padding()
        self.name = f"onnx:{folder.resolve()}"
        self.dimension = self.embed(["dimension"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text, in the same order."""
        encodings = self._tokenizer.encode_batch(list(texts))
        inputs = {
            "input_ids": np.array([encoding.ids for encoding in encodings], np.int64),
            "attention_mask": np.array([encoding.attention_mask for encoding in encodings], np.int64),
            "token_type_ids": np.array([encoding.type_ids for encoding in encodings], np.int64),
        }
        # Not every model has all three inputs, and the runtime rejects unknown ones.
        names = {node.name for node in self._session.get_inputs()}
        states = self._session.run(None, {name: value for name, value in inputs.items() if name in names})[0]
        # Some models take the mean themselves.
        if states.ndim == 2:
            return _normalise(states)
        weights = inputs["attention_mask"][:, :, None].astype(np.float32)
        return _normalise((states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))


def _normalise(rows: Floats) -> Floats:
    unit: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return unit.astype(np.float32)
