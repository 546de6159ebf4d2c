"""The file of the shipped model: verify its checksum, and read its tensors by name."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hivemind.errors import Unavailable
from hivemind.formats.dataclass import dataclass

MODEL_FILE = Path(__file__).with_name("hivemind-embedding-1.safetensors")
SHA256 = "f5ad6974e3fc54aff73396bff00770564f6d60f688735ab8cc45522779ae1f1c"
REMEDY = "run `pip install --force-reinstall hivemind-memory`"

TYPES = {"I8": "i1", "U8": "u1", "F16": "<f2", "F32": "<f4"}
"""NumPy's names of the types that the file uses."""

Floats = NDArray[np.float32]


class ModelTensors(Protocol):
    """What a model is made of, by name."""

    @property
    def merges(self) -> list[str]:
        """The merges of the tokenizer, as "left right", in the order in which they are applied."""

    def tensor(self, name: str) -> NDArray[Any]:
        """Return a tensor as it is stored."""

    def floats(self, name: str) -> Floats:
        """Return a tensor of floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The tensors of a file in the safetensors format.

    The file consists of the length of its header, the header as JSON, and the tensors.
    """

    path: Path
    start: int
    """Where the tensors begin."""
    header: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path = MODEL_FILE, sha256: str = SHA256) -> "Weights":
        """Open the file after verifying its checksum."""
        try:
            with path.open("rb") as file:
                # Verified before anything in it is parsed.
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                file.seek(0)
                header_bytes = int.from_bytes(file.read(8), "little")
                header = file.read(header_bytes) if digest == sha256 else b""
        except OSError as error:
            raise Unavailable(f"the embedding model cannot be read at {path}; {REMEDY}") from error
        if digest != sha256:
            raise Unavailable(f"the embedding model at {path} does not match its published checksum; {REMEDY}")
        return cls(path=path, start=8 + header_bytes, header=json.loads(header))

    def tensor(self, name: str) -> NDArray[Any]:
        """Return a tensor as it lies in the file, mapped alone, so that only the rows in use take up memory."""
        dtype, place, shape = self._find(name)
        return np.memmap(self.path, dtype, "r", place, shape)

    def floats(self, name: str) -> Floats:
        """Return a tensor of floats."""
        # Read, because mapping each of forty small tensors takes longer than copying all of them.
        dtype, place, shape = self._find(name)
        return np.fromfile(self.path, dtype, math.prod(shape), offset=place).astype(np.float32).reshape(shape)

    def _find(self, name: str) -> tuple[str, int, tuple[int, ...]]:
        entry = self.header[name]
        return TYPES[entry["dtype"]], self.start + entry["data_offsets"][0], tuple(entry["shape"])

    @property
    def merges(self) -> list[str]:
        """The merges of the tokenizer, as "left right", in the order in which they are applied."""
        return self.tensor("merges").tobytes().decode().split("\n")
