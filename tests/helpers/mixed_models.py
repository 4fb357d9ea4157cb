"""Whole ONNX models and ways to split them among toolchains, for the tests of phase 4 and of its artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import NodeProto, TensorProto, helper

from collage_core.graph.dataflow_graph import Tensor
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.toolchains.conformance.small_models import node, normal, sub_model, tensor
from collage_core.toolchains.registry import get


@dataclass(frozen=True)
class Net:
    """A model, and for each node the number of its partition and the target."""

    nodes: Sequence[NodeProto]
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    weights: Mapping[str, np.ndarray]
    placed: Sequence[tuple[int, str]]


def usable(target: str) -> str:
    """Return `target` where it is usable here, else ONNX Runtime."""
    return target if target == "host" or get(target).availability().usable else "onnxruntime"


def load(net: Net, folder: Path) -> OnnxModel:
    path = folder / "model.onnx"
    path.write_bytes(sub_model(net.nodes, net.inputs, net.outputs, net.weights).onnx)
    return load_model(path, fold=False)


def partition_models(model: OnnxModel, placed: Sequence[tuple[int, str]]) -> list[PartitionModel]:
    made = []
    for number, target in dict.fromkeys(placed):
        inside = [index for index, where in enumerate(placed) if where == (number, target)]
        names = tuple(model.graph.nodes[index].name for index in inside)
        made.append(PartitionModel(usable(target), names, model.cut(IndexSet(inside)), f"p{number}"))
    return made


def chain() -> Net:
    """Four convolutions on different targets, with a residual connection over two of them."""
    weights = {f"w{k}": normal(8, 8, 3, 3, seed=k, scale=0.15) for k in range(4)}
    nodes = [
        node("Conv", "x w0", "a", pads=[1] * 4),
        node("Relu", "a", "b"),
        node("Conv", "b w1", "c", pads=[1] * 4),
        node("Conv", "c w2", "d", pads=[1] * 4),
        node("Add", "d b", "e"),
        node("Relu", "e", "f"),
        node("Conv", "f w3", "y", pads=[1] * 4),
    ]
    placed = [(0, "tvm"), (0, "tvm"), (1, "onnxruntime"), (2, "openvino"), (3, "tvm"), (3, "tvm"), (4, "openvino")]
    return Net(nodes, [tensor("x", (1, 8, 10, 10))], [tensor("y", (1, 8, 10, 10))], weights, placed)


def fork() -> Net:
    """Branches that are joined, partitions with several outputs, and outputs that are also read inside."""
    nodes = [
        node("Relu", "x", "r"),
        node("Split", "r", "s t", axis=1),
        node("Sigmoid", "s", "u"),
        node("Tanh", "t", "v"),
        node("Concat", "v u", "j", axis=1),
        node("Add", "j r", "y"),
    ]
    placed = [(0, "onnxruntime"), (0, "onnxruntime"), (1, "tvm"), (2, "openvino"), (3, "tvm"), (4, "onnxruntime")]
    outputs = [tensor("y", (3, 8)), tensor("u", (3, 4)), tensor("r", (3, 8))]
    return Net(nodes, [tensor("x", (3, 8))], outputs, {}, placed)


def branches_of_one_target() -> Net:
    """A partition on TVM with several outputs, which two others read."""
    nodes = [node("Neg", "x", "a"), node("Exp", "x", "b"), node("Relu", "a", "c"), node("Sqrt", "b", "d"), node("Add", "c d", "y")]
    placed = [(0, "tvm"), (0, "tvm"), (1, "onnxruntime"), (2, "openvino"), (3, "tvm")]
    return Net(nodes, [tensor("x", (4, 33))], [tensor("y", (4, 33))], {}, placed)


def tagger() -> Net:
    """An embedding and a dense layer on TVM, and an LSTM, which TVM does not take, on ONNX Runtime."""
    weights = {
        "e": normal(20, 8),
        "w": normal(1, 32, 8, scale=0.3),
        "r": normal(1, 32, 8, scale=0.3),
        "one": np.array([1], np.int64),
        "d": normal(8, 16),
    }
    nodes = [
        node("Gather", "e i", "g"),
        node("LSTM", "g w r", "h", hidden_size=8),
        node("Squeeze", "h one", "q"),
        node("MatMul", "q d", "m"),
        node("Softmax", "m", "y"),
    ]
    placed = [(0, "tvm"), (1, "onnxruntime"), (1, "onnxruntime"), (2, "tvm"), (2, "tvm")]
    return Net(nodes, [tensor("i", (5, 1), "int64")], [tensor("y", (5, 1, 16))], weights, placed)


def quantised() -> Net:
    """Transitions of integers."""
    weights: dict[str, np.ndarray] = {
        "s": np.asarray(np.float32(0.05)),
        "z": np.asarray(np.uint8(120)),
        "q": np.random.default_rng(0).integers(-100, 100, (8, 4, 3, 3)).astype(np.int8),
        "ws": np.asarray(np.float32(0.004)),
        "wz": np.asarray(np.int8(0)),
    }
    nodes = [
        node("QuantizeLinear", "x s z", "u"),
        node("DequantizeLinear", "u s z", "a"),
        node("DequantizeLinear", "q ws wz", "w"),
        node("Conv", "a w", "c"),
        node("QuantizeLinear", "c s z", "o"),
        node("DequantizeLinear", "o s z", "y"),
    ]
    placed = [(0, "tvm"), (1, "onnxruntime"), (1, "onnxruntime"), (1, "onnxruntime"), (2, "openvino"), (3, "tvm")]
    return Net(nodes, [tensor("x", (1, 4, 8, 8))], [tensor("y", (1, 8, 6, 6))], weights, placed)


def dtypes() -> Net:
    """Transitions of bool, int64 and float16."""
    weights = {"zero": np.zeros((), np.float16), "k": np.array([2], np.int64)}
    nodes = [
        node("Greater", "h zero", "m"),
        node("Not", "m", "n"),
        node("Where", "n h zero", "w"),
        node("Cast", "w", "f", to=1),
        node("TopK", "f k", "v i"),
        node("Add", "i j", "y"),
    ]
    placed = [(0, "tvm"), (1, "onnxruntime"), (2, "tvm"), (3, "openvino"), (4, "onnxruntime"), (5, "tvm")]
    outputs = [tensor("n", (3, 6), "bool"), tensor("w", (3, 6), "float16"), tensor("v", (3, 2)), tensor("y", (3, 2), "int64")]
    return Net(nodes, [tensor("h", (3, 6), "float16"), tensor("j", (3, 2), "int64")], outputs, weights, placed)


def aliases() -> Net:
    """Identities on the host; an input that is an output, and a tensor that is two outputs."""
    nodes = [
        node("Identity", "x", "i"),
        node("Relu", "i", "r"),
        node("Identity", "r", "k"),
        node("Identity", "k", "l"),
        node("Neg", "k", "y"),
    ]
    placed = [(0, "host"), (1, "onnxruntime"), (2, "host"), (2, "host"), (3, "tvm")]
    outputs = [tensor(name, (2, 5)) for name in ("y", "i", "k", "l", "r")]
    return Net(nodes, [tensor("x", (2, 5))], outputs, {}, placed)


def branch() -> Net:
    """A partition on TVM with a branch inside."""
    then = helper.make_graph([node("Neg", "r", "t")], "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, (3,))])
    other = helper.make_graph([node("Exp", "r", "e")], "else", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, (3,))])
    nodes = [
        node("Relu", "x", "r"),
        helper.make_node("If", ["c"], ["i"], name="if", then_branch=then, else_branch=other),
        node("Add", "i r", "y"),
        node("Tanh", "y", "z"),
    ]
    placed = [(0, "onnxruntime"), (1, "tvm"), (1, "tvm"), (2, "onnxruntime")]
    return Net(nodes, [tensor("c", (), "bool"), tensor("x", (3,))], [tensor("z", (3,)), tensor("y", (3,))], {}, placed)


NETS: dict[str, Callable[[], Net]] = {
    "chain": chain,
    "fork": fork,
    "branches of one target": branches_of_one_target,
    "tagger": tagger,
    "quantised": quantised,
    "dtypes": dtypes,
    "aliases": aliases,
    "branch": branch,
}


def spoil(path: Path) -> None:
    """Change one byte in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
