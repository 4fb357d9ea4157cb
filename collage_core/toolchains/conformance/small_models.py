"""Small ONNX models with seeded random weights, as `SubModel`s, and their outputs in ONNX Runtime without optimisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from onnx import NodeProto, helper, numpy_helper

from ...graph.dataflow_graph import Tensor, TensorType
from ...model.model import SubModel
from ...model.types.dtypes import elem_type
from ..buffers import aligned_empty

Nodes = Sequence[NodeProto]


def tensor(name: str, shape: Sequence[int], dtype: str = "float32", open_axes: Sequence[int] = ()) -> Tensor:
    return Tensor(name, TensorType(tuple(shape), dtype, tuple(open_axes)))


def sub_model(
    nodes: Nodes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], weights: Mapping[str, np.ndarray] | None = None, opset: int = 17
) -> SubModel:
    domains = {node.domain for node in nodes} - {""}
    graph = helper.make_graph(
        list(nodes),
        "small",
        [_info(t) for t in inputs],
        [_info(t) for t in outputs],
        [numpy_helper.from_array(w, n) for n, w in (weights or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    return SubModel(model.SerializeToString(), tuple(inputs), tuple(outputs))


def _info(tensor: Tensor) -> onnx.ValueInfoProto:
    number = elem_type(tensor.type.dtype)
    shape = [None if size == "?" else size for size in tensor.type.declared_shape]
    return helper.make_tensor_value_info(tensor.name, number, shape)


def node(op: str, inputs: str, outputs: str, **attributes: object) -> NodeProto:
    """Return a node, as in ``node("Add", "a b", "c")``; ``-`` stands for an absent input."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(op, names, outputs.split(), name=f"{op}_{outputs.split()[0]}", **attributes)


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * scale).astype(np.float32)


def drawn(inputs: Sequence[Tensor], seed: int = 0) -> list[np.ndarray]:
    """Return aligned seeded inputs: normal floats, and other types 0 or 1."""
    random = np.random.default_rng(seed)
    drawings = []
    for given in inputs:
        array = aligned_empty(given.type)
        is_float = array.dtype.kind == "f"
        array[...] = random.standard_normal(array.shape) if is_float else random.integers(0, 2, array.shape)
        drawings.append(array)
    return drawings


def reference(model: SubModel, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.onnx, options, providers=["CPUExecutionProvider"])
    return session.run([t.name for t in model.outputs], {t.name: a for t, a in zip(model.inputs, inputs, strict=True)})


def conv_relu(channels: int = 3, outs: int = 8, size: int = 9) -> SubModel:
    weights = {"w": normal(outs, channels, 3, 3, scale=0.3), "b": normal(outs)}
    nodes = [node("Conv", "x w b", "c", pads=[1, 1, 1, 1], kernel_shape=[3, 3]), node("Relu", "c", "y")]
    return sub_model(nodes, [tensor("x", (1, channels, size, size))], [tensor("y", (1, outs, size, size))], weights)


def matmul(depth: int = 24, outs: int = 40) -> SubModel:
    weights = {"w": normal(depth, outs, scale=depth**-0.5), "b": normal(outs)}
    return sub_model(
        [node("MatMul", "x w", "m"), node("Add", "m b", "y")], [tensor("x", (2, 5, depth))], [tensor("y", (2, 5, outs))], weights
    )


def relu(size: int = 60) -> SubModel:
    return sub_model([node("Relu", "x", "y")], [tensor("x", (size,))], [tensor("y", (size,))])


def several_outputs() -> SubModel:
    nodes = [node("Relu", "x", "r"), node("Split", "r", "s t", axis=1), node("Neg", "r", "n")]
    outputs = [tensor("r", (2, 6)), tensor("s", (2, 3)), tensor("t", (2, 3)), tensor("n", (2, 6))]
    return sub_model(nodes, [tensor("x", (2, 6))], outputs)


def several_inputs() -> SubModel:
    """Float, int64 and bool inputs, and outputs of each."""
    nodes = [
        node("Gather", "x i", "g"),
        node("Where", "m g z", "y"),
        node("Add", "i i", "j"),
        node("Not", "m", "k"),
    ]
    inputs = [tensor("x", (4, 3)), tensor("i", (2,), "int64"), tensor("m", (2, 3), "bool")]
    outputs = [tensor("y", (2, 3)), tensor("j", (2,), "int64"), tensor("k", (2, 3), "bool")]
    return sub_model(nodes, inputs, outputs, {"z": normal(3)})


def scalar() -> SubModel:
    nodes = [node("ReduceSum", "x", "y", keepdims=0), node("Mul", "s y", "z")]
    return sub_model(nodes, [tensor("x", (3, 4)), tensor("s", ())], [tensor("y", ()), tensor("z", ())])


def untakable() -> SubModel:
    """An operator that no toolchain has."""
    nodes = [helper.make_node("Frobnicate", ["x"], ["y"], name="odd", domain="org.example")]
    return sub_model(nodes, [tensor("x", (2, 2))], [tensor("y", (2, 2))])


def found() -> SubModel:
    """The positions of what is not zero, beside an output of fixed shape."""
    nodes = [node("NonZero", "x", "y"), node("Neg", "x", "n")]
    outputs = [tensor("y", (1, 5), "int64", (1,)), tensor("n", (8,))]
    return sub_model(nodes, [tensor("x", (8,))], outputs)


def any_rows() -> SubModel:
    """Any number of rows, scaled, and their sum."""
    nodes = [node("Mul", "x s", "m"), node("Relu", "m", "y"), node("ReduceSum", "m a", "n", keepdims=0)]
    outputs = [tensor("y", (4, 3), "float32", (0,)), tensor("n", (3,))]
    return sub_model(nodes, [tensor("x", (4, 3), "float32", (0,))], outputs, {"s": normal(3), "a": np.array([0])})


MODELS: Mapping[str, Callable[..., SubModel]] = {
    "conv_relu": conv_relu,
    "matmul": matmul,
    "relu": relu,
    "several_outputs": several_outputs,
    "several_inputs": several_inputs,
    "scalar": scalar,
}

OPEN_MODELS: Mapping[str, Callable[..., SubModel]] = {"found": found, "any_rows": any_rows}
"""Models whose outputs have open shapes."""
