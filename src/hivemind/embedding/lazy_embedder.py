"""The embedding model, loaded when something is first searched by meaning."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind.errors import Unavailable
from hivemind.lazy import when_called

if TYPE_CHECKING:
    from hivemind.embedding.semantic_index import SemanticIndex
    from hivemind.embedding.weights import Floats

MODEL_MARK = "model.verified"
"""Beside the stores: when the file of the embedding model was last verified, and which file it was."""

# NumPy and the weights take longer to load than all other commands to run; only questions pay for it.
load_index = when_called("embedding.semantic_index", "load")
load_wording = when_called("embedding.embedder", "load_wording")


class LazyEmbedder:
    """The embedding model, loaded on first use; the requests to a hub share one."""

    def __init__(self, name: str, home: Path | None = None) -> None:
        self._name = name
        self._mark = home / MODEL_MARK if home else None
        self.missing_because = ""
        """Why there is no model, if there is none."""

    @cached_property
    def meaning(self) -> "SemanticIndex | None":
        """The search by meaning; None if the model is not installed."""
        # The threads of OpenBLAS spin while they wait, and take the processor from the agent.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            index: SemanticIndex = load_index(self._name, self._mark)
        except Unavailable as error:
            self.missing_because = str(error)
            return None
        return index

    @cached_property
    def encode_wording(self) -> "Callable[[Sequence[str]], Floats] | None":
        """Reads how sentences are worded; None if the model is not installed or not wanted."""
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            # Always the shipped model, so nothing is sent to an endpoint, and the other layers need not be loaded.
            return None if self._name == "none" else load_wording(mark=self._mark).encode_wording
        except Unavailable:
            return None
