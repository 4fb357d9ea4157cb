"""A small artifact of ONNX Runtime alone, for tests of what serves it, and a request for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor

MOST_BYTES = 1 << 16
"""Of the body of a request, where a test serves it."""
X: dict[str, Any] = {"name": "x", "datatype": "FP32", "shape": [2, 3], "data": [1, 2, 4, 5, 8, 10]}
K: dict[str, Any] = {"name": "k", "datatype": "INT64", "shape": [2], "data": [3, -4]}
REQUEST = json.dumps({"inputs": [X, K]})


def write_served(out: Path) -> Path:
    """Write the artifact called ``inverse``, y = 1 / x and z = k + k, into `out`, and return it: floats and whole numbers."""
    nodes = [node("Reciprocal", "x", "y"), node("Add", "k k", "z")]
    model = sub_model(nodes, [tensor("x", (2, 3)), tensor("k", (2,), "int64")], [tensor("y", (2, 3)), tensor("z", (2,), "int64")])
    about = {"model": {"name": "inverse"}}
    assemble([PartitionModel("onnxruntime", ("r", "a"), model, "p")], model.inputs, ["y", "z"], out, 1, about, form="native")
    return out
