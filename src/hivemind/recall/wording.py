"""The encoder that reads how people word things: the embedding model with small changes to its layers.

The changes are products of two narrow matrices each (LoRA), so that they take a fraction of the size of the model.
`lab/training/lasting` trains them.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivemind.formats.dataclass import dataclass
from hivemind.recall.embedder import ShippedModel
from hivemind.recall.weights import Floats, Weights

CHANGES = Path(__file__).with_name("wording.safetensors")
SHA256 = "e190a3a5ffcce9c32ce45bc4ccdea964a4f33e6a032896936bb34aa436712e4b"


# A second set of layers takes 21 MB of memory, so only what judges sentences loads it.
@cache
def load_wording(sha256: str = SHA256) -> ShippedModel:
    """Return the changed model, loaded once per process."""
    return ShippedModel(ChangedWeights(original=Weights.read(), changes=Weights.read(CHANGES, sha256)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWeights:
    """The tensors of a model after its changes."""

    original: Weights
    changes: Weights

    @property
    def merges(self) -> list[str]:
        """The merges of the tokenizer, which stay the same."""
        return self.original.merges

    def tensor(self, name: str) -> NDArray[Any]:
        """Return a matrix with its change added, or as it is if it has none."""
        if f"{name}.up" not in self.changes.header:
            return self.original.tensor(name)
        scales = self.original.floats(name.replace("weight", "scale"))
        change = self.changes.floats(f"{name}.up") @ self.changes.floats(f"{name}.down")
        changed: Floats = self.original.tensor(name) * scales[:, None] + change
        return changed

    def floats(self, name: str) -> Floats:
        """Return a tensor of floats; the scales of a changed matrix are ones."""
        if f"{name.replace('scale', 'weight')}.up" in self.changes.header:
            return np.ones(self.original.header[name]["shape"], np.float32)
        return (self.changes if name in self.changes.header else self.original).floats(name)
