"""Write a trained student as the file that the package ships: 8-bit integers in the safetensors format.

python -m lab.training.export TOKENIZER.json OUT.safetensors STUDENT.npz...

Of several students the mean of the weights is taken, which is a student too if one was trained on from another.

Every row of a matrix is integers from -127 to 127 and one scale. The merges of the tokenizer are stored as text; its
tokens follow from them: four markers, 256 bytes, and what each merge makes.
"""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64
TYPES = {"int8": "I8", "uint8": "U8", "float16": "F16", "float32": "F32"}
NAMES = {letters: name for name, letters in TYPES.items()}


def main() -> None:
    """Write the file and print its checksum."""
    tokenizer, out, *students = map(Path, sys.argv[1:])
    merges = json.loads(tokenizer.read_text())["model"]["merges"]
    content = pack(quantise(average([dict(np.load(student)) for student in students])), merges)
    out.write_bytes(content)
    print(f"{len(content) / 1e6:.1f} MB, sha256 {hashlib.sha256(content).hexdigest()}")


def average(
    students: Sequence[Mapping[str, NDArray[Any]]], shares: Sequence[float] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the mean of each tensor, weighted by the shares, in the half precision that students are stored in."""
    # What ``unpack`` read has merges and scales as well, which are made again by ``pack`` and ``quantise``.
    names = [name for name in students[0] if name != "merges" and not name.endswith(".scale")]
    means = {
        name: np.average([student[name].astype(np.float32) for student in students], axis=0, weights=shares)
        for name in names
    }
    return {name: mean.astype(np.float16) for name, mean in means.items()}


def quantise(weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return matrices as integers and scales; norms, biases and positions stay floats."""
    tensors: dict[str, NDArray[Any]] = {}
    for name, value in weights.items():
        if value.ndim == 2 and name != "positions.weight":
            rows = value.astype(np.float32)
            scales = np.maximum(np.abs(rows).max(axis=1), 1e-12) / 127
            tensors[name] = np.rint(rows / scales[:, None]).astype(np.int8)
            tensors[name.replace("weight", "scale")] = scales
        else:
            tensors[name] = value.astype(np.float16 if name == "positions.weight" else np.float32)
    return tensors


def unpack(path: Path) -> dict[str, NDArray[Any]]:
    """Return the weights in a file that ``pack`` wrote, to train on from."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    tensors: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        first, end = (start + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(raw[first:end], NAMES[entry["dtype"]]).reshape(entry["shape"])
    return dequantise(tensors)


def read_merges(path: Path) -> list[str]:
    """Return the merges in a file that ``pack`` wrote."""
    return unpack(path)["merges"].tobytes().decode().split("\n")


def dequantise(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return matrices as floats again; scales stay beside them."""
    weights = dict(tensors)
    for name in [name for name in tensors if name.endswith(".scale")]:
        weight = name.replace("scale", "weight")
        weights[weight] = tensors[weight].astype(np.float32) * tensors[name].reshape(-1, 1)
    return weights


def pack(tensors: Mapping[str, NDArray[Any]], merges: list[str]) -> bytes:
    """Return the bytes of a safetensors file with these tensors and the merges."""
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    # The package computes the number of a token from the merge that makes it.
    if len({merge.replace(" ", "") for merge in merges}) < len(merges):
        raise ValueError("two merges make the same token; leave the later one out of the tokenizer")
    text = "\n".join(merges)
    parts = {**tensors, "merges": np.frombuffer(text.encode(), np.uint8)}
    # Wide numbers first, so that all are aligned without holes, which the format forbids.
    parts = dict(sorted(parts.items(), key=lambda item: -item[1].itemsize))
    header: dict[str, Any] = {}
    place = 0
    for name, value in parts.items():
        shape, end = list(value.shape), place + value.nbytes
        header[name] = {"dtype": TYPES[str(value.dtype)], "shape": shape, "data_offsets": [place, end]}
        place = end
    head = json.dumps(header).encode()
    # Spaces may follow the header, so that the tensors start at a multiple of the alignment.
    head += b" " * (-(8 + len(head)) % ALIGNMENT)
    body = b"".join(np.ascontiguousarray(value).tobytes() for value in parts.values())
    return len(head).to_bytes(8, "little") + head + body


if __name__ == "__main__":
    main()
