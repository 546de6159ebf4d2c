"""The files of the shipped models: verify their checksums, and read their tensors by name."""

import contextlib
import hashlib
import json
import math
import os
import time
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivemind.errors import Unavailable
from hivemind.model.dataclass import dataclass
from hivemind.system import open_private

MODEL_FILE = Path(__file__).with_name("hivemind-embedding-3.safetensors")
SHA256 = "8b633708f199b24ed107b25f6456fd2d1de0df1caa0c37d84da4087b130e0fd3"
WORDING_FILE = Path(__file__).with_name("wording.safetensors")
WORDING_SHA256 = "e190a3a5ffcce9c32ce45bc4ccdea964a4f33e6a032896936bb34aa436712e4b"
"""Changes to the model for reading how people word things."""
REMEDY = "run `pip install --force-reinstall hivemind-memory`"

VERIFIED_SECONDS = 24 * 60 * 60
"""How long a file that has not changed counts as verified. The checksum of 20 MB takes 15 ms of a hook's 250."""

TYPES = {"I8": "i1", "U8": "u1", "F16": "<f2", "F32": "<f4"}
"""NumPy's names of the types that the file uses."""

Floats = NDArray[np.float32]


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
    def read(cls, path: Path = MODEL_FILE, sha256: str = SHA256, mark: Path | None = None) -> "Weights":
        """Open the file after verifying its checksum, at most once a day where there is a file for a mark."""
        try:
            with path.open("rb") as file:
                # Verified before anything in it is parsed.
                if not _is_verified(file, sha256, mark):
                    raise Unavailable(f"the embedding model at {path} does not match its published checksum; {REMEDY}")
                header_bytes = int.from_bytes(file.read(8), "little")
                header = file.read(header_bytes)
        except OSError as error:
            raise Unavailable(f"the embedding model cannot be read at {path}; {REMEDY}") from error
        return cls(path=path, start=8 + header_bytes, header=json.loads(header))

    def read_tensor(self, name: str) -> NDArray[Any]:
        """Return a tensor as it lies in the file, mapped alone, so that only the rows in use take up memory."""
        dtype, place, shape = self._find(name)
        return np.memmap(self.path, dtype, "r", place, shape)

    def read_floats(self, name: str) -> Floats:
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
        return self.read_tensor("merges").tobytes().decode().split("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWeights:
    """The tensors of a model with small changes: products of two narrow matrices each (LoRA).

    They take a fraction of the size of the model. `lab/training/lasting` trains them.
    """

    original: Weights
    changes: Weights

    @property
    def merges(self) -> list[str]:
        """The merges of the tokenizer, which stay the same."""
        return self.original.merges

    def read_tensor(self, name: str) -> NDArray[Any]:
        """Return a matrix with its change added, or as it is if it has none."""
        if f"{name}.up" not in self.changes.header:
            return self.original.read_tensor(name)
        scales = self.original.read_floats(name.replace("weight", "scale"))
        change = self.changes.read_floats(f"{name}.up") @ self.changes.read_floats(f"{name}.down")
        changed: Floats = self.original.read_tensor(name) * scales[:, None] + change
        return changed

    def read_floats(self, name: str) -> Floats:
        """Return a tensor of floats; the scales of a changed matrix are ones."""
        if f"{name.replace('scale', 'weight')}.up" in self.changes.header:
            return np.ones(self.original.header[name]["shape"], np.float32)
        return (self.changes if name in self.changes.header else self.original).read_floats(name)


def _is_verified(file: BufferedReader, sha256: str, mark: Path | None) -> bool:
    """Whether the file has this checksum, or had it within the last day and has not been changed or replaced since."""
    status = os.fstat(file.fileno())
    identity = f"{sha256} {status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
    if mark and _has_mark(mark, identity):
        return True
    if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
        return False
    file.seek(0)
    if mark:
        # Without a mark the next process verifies again, so a folder that cannot be written does no harm.
        with contextlib.suppress(OSError), open(mark, "w", encoding="utf-8", opener=open_private) as stream:
            stream.write(identity)
    return True


def _has_mark(mark: Path, identity: str) -> bool:
    try:
        age_seconds = time.time() - mark.stat().st_mtime
        return 0 <= age_seconds < VERIFIED_SECONDS and mark.read_text("utf-8") == identity
    except (OSError, ValueError):
        return False
