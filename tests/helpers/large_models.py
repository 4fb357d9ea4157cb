"""Writes transformers of any size as ONNX files with external data, random or sparse, for tests and benchmarks.

Sizes enter; a model file leaves, and a file of weights beside it. A sparse file takes little of the disk: of each weight the first values
are random, and the rest is a hole, which reads as zeros. Only onnx and numpy are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper, save

ALIGNED = 4096
"""Weights begin at such multiples, as `torch.onnx` writes them."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a transformer.

    Attributes:
        layers, width, heads, length: As the field has them; the inner width of the products is four times `width`.
        random_values: How many values of each weight are random, from the first on; None for all.
    """

    layers: int = 2
    width: int = 64
    heads: int = 4
    length: int = 8
    random_values: int | None = None

    @property
    def weight_bytes(self) -> int:
        return self.layers * 12 * self.width**2 * 4


@dataclass
class _Writing:
    """A model while it is written."""

    sizes: Sizes
    data: BinaryIO
    location: str
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    end: int = 0

    def add(self, op: str, inputs: Sequence[str], name: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, list(inputs), [name], name, **attributes))
        return name

    def small(self, name: str, values: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weight(self, name: str, rows: int, columns: int) -> str:
        count = rows * columns
        given = count if self.sizes.random_values is None else min(count, self.sizes.random_values)
        offset = -(-self.end // ALIGNED) * ALIGNED
        self.data.seek(offset)
        self.data.write((self.random.standard_normal(given, np.float32) / np.float32(rows**0.5)).tobytes())
        self.end = offset + 4 * count
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[rows, columns], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", self.location), ("offset", offset), ("length", 4 * count)):
            tensor.external_data.add(key=key, value=str(value))
        self.constants.append(tensor)
        return name

    def linear(self, x: str, name: str, rows: int, columns: int) -> str:
        bias = self.small(f"{name}/bias", self.random.standard_normal(columns).astype(np.float32) / 8)
        product = self.add("MatMul", [x, self.weight(f"{name}/weight", rows, columns)], f"{name}/product")
        return self.add("Add", [product, bias], f"{name}/sum")

    def norm(self, x: str, name: str) -> str:
        width = self.sizes.width
        scale = self.small(f"{name}/scale", np.ones(width, np.float32))
        return self.add("LayerNormalization", [x, scale, self.small(f"{name}/bias", np.zeros(width, np.float32))], name, axis=-1)

    def attention(self, x: str, name: str) -> str:
        sizes = self.sizes
        each = sizes.width // sizes.heads
        split = self.small(f"{name}/split", np.array([1, sizes.length, sizes.heads, each]))
        joined = self.small(f"{name}/joined", np.array([1, sizes.length, sizes.width]))
        scale = self.small(f"{name}/scale", np.array(each**0.5, np.float32))
        parts = {}
        for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            made = self.linear(x, f"{name}/{part}", sizes.width, sizes.width)
            shaped = self.add("Reshape", [made, split], f"{name}/{part}/shaped")
            parts[part] = self.add("Transpose", [shaped], f"{name}/{part}/heads", perm=perm)
        scores = self.add("MatMul", [parts["q"], parts["k"]], f"{name}/scores")
        scaled = self.add("Div", [scores, scale], f"{name}/scaled")
        shares = self.add("Softmax", [scaled], f"{name}/shares", axis=-1)
        mixed = self.add("MatMul", [shares, parts["v"]], f"{name}/mixed")
        turned = self.add("Transpose", [mixed], f"{name}/turned", perm=[0, 2, 1, 3])
        return self.linear(self.add("Reshape", [turned, joined], f"{name}/whole"), f"{name}/out", sizes.width, sizes.width)

    def layer(self, x: str, name: str) -> str:
        width = self.sizes.width
        attended = self.attention(self.norm(x, f"{name}/norm1"), f"{name}/attention")
        x = self.add("Add", [x, attended], f"{name}/residual1")
        wide = self.linear(self.norm(x, f"{name}/norm2"), f"{name}/wide", width, 4 * width)
        narrow = self.linear(self.add("Relu", [wide], f"{name}/relu"), f"{name}/narrow", 4 * width, width)
        return self.add("Add", [x, narrow], f"{name}/residual2")


def write_transformer(folder: Path, sizes: Sizes, name: str = "transformer") -> Path:
    """Write a transformer into `folder`, and return the path of its model file."""
    location, shape = f"{name}.onnx.data", [1, sizes.length, sizes.width]
    with (folder / location).open("wb") as data:
        writing = _Writing(sizes, data, location)
        x = "x"
        for layer in range(sizes.layers):
            x = writing.layer(x, f"layer{layer}")
        writing.add("Tanh", [x], "y")
        data.truncate(writing.end)
    ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, shape) for end in ("x", "y")]
    graph = helper.make_graph(writing.nodes, name, ends[:1], ends[1:], writing.constants)
    path = folder / f"{name}.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
