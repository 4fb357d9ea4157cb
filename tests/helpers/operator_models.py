"""A small model for each way in which TVM's import, packing and default schedule treat an operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper

from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.small_models import node, normal, sub_model, tensor


def _unary(op: str, *shape: int, **attributes: object) -> SubModel:
    opset = 20 if op == "Gelu" else 17
    return sub_model([node(op, "x", "y", **attributes)], [tensor("x", shape)], [tensor("y", shape)], opset=opset)


def _conv(
    channels: int,
    outs: int,
    size: int,
    kernel: int,
    *,
    stride: int = 1,
    dilation: int = 1,
    group: int = 1,
    pads: tuple[int, ...] = (0, 0, 0, 0),
) -> SubModel:
    made = [(size + pads[axis] + pads[axis + 2] - dilation * (kernel - 1) - 1) // stride + 1 for axis in (0, 1)]
    weights = {"w": normal(outs, channels // group, kernel, kernel, scale=0.2), "b": normal(outs)}
    attributes = {"strides": [stride] * 2, "dilations": [dilation] * 2, "group": group, "pads": list(pads)}
    nodes = [node("Conv", "x w b", "c", **attributes), node("Relu", "c", "y")]
    return sub_model(nodes, [tensor("x", (1, channels, size, size))], [tensor("y", (1, outs, *made))], weights)


def _pool(op: str, size: int, made: int, **attributes: object) -> SubModel:
    return sub_model([node(op, "x", "y", **attributes)], [tensor("x", (1, 6, size, size))], [tensor("y", (1, 6, made, made))])


def _reduce(op: str, made: tuple[int, ...], dtype: str = "float32", **attributes: object) -> SubModel:
    return sub_model([node(op, "x", "y", **attributes)], [tensor("x", (2, 5, 48))], [tensor("y", made, dtype)], opset=17)


def _product(left: tuple[int, ...], right: tuple[int, ...], made: tuple[int, ...], *, is_weight: bool) -> SubModel:
    weights = {"w": normal(*right, scale=0.2)} if is_weight else {}
    inputs = [tensor("x", left)] + ([] if is_weight else [tensor("w", right)])
    return sub_model([node("MatMul", "x w", "y")], inputs, [tensor("y", made)], weights)


def _gemm() -> SubModel:
    weights = {"w": normal(24, 9), "c": normal(24)}
    return sub_model(
        [node("Gemm", "x w c", "y", transA=1, transB=1, alpha=0.5, beta=2.0)], [tensor("x", (9, 4))], [tensor("y", (4, 24))], weights
    )


def _layer_norm() -> SubModel:
    weights = {"s": normal(64), "b": normal(64)}
    return sub_model([node("LayerNormalization", "x s b", "y", axis=-1)], [tensor("x", (2, 7, 64))], [tensor("y", (2, 7, 64))], weights)


def _batch_norm() -> SubModel:
    weights = {"s": normal(6), "b": normal(6), "m": normal(6), "v": np.abs(normal(6)) + 0.5}
    return sub_model([node("BatchNormalization", "x s b m v", "y")], [tensor("x", (2, 6, 5, 5))], [tensor("y", (2, 6, 5, 5))], weights)


def _residual() -> SubModel:
    weights = {"w": normal(16, 16, 3, 3, scale=0.1)}
    nodes = [node("Conv", "x w", "c", pads=[1] * 4), node("Add", "c x", "a"), node("Relu", "a", "y")]
    return sub_model(nodes, [tensor("x", (1, 16, 8, 8))], [tensor("y", (1, 16, 8, 8))], weights)


def _hard_swish() -> SubModel:
    """A convolution, a batch norm that is not folded, and a hard swish of single operators."""
    scalars = {"three": 3.0, "six": 6.0, "zero": 0.0}
    weights = {name: np.asarray(np.float32(value)) for name, value in scalars.items()}
    weights |= {"w": normal(16, 8, 1, 1), "s": normal(16), "b": normal(16), "m": normal(16), "v": np.abs(normal(16)) + 0.5}
    nodes = [
        node("Conv", "x w", "c"),
        node("BatchNormalization", "c s b m v", "n"),
        node("Add", "n three", "a"),
        node("Clip", "a zero six", "l"),
        node("Mul", "n l", "p"),
        node("Div", "p six", "y"),
    ]
    return sub_model(nodes, [tensor("x", (1, 8, 20, 20))], [tensor("y", (1, 16, 20, 20))], weights)


def _tapped() -> SubModel:
    """A convolution whose result is read inside and outside."""
    weights = {"w": normal(16, 8, 1, 1)}
    nodes = [node("Conv", "x w", "c"), node("Sigmoid", "c", "s"), node("Mul", "c s", "y")]
    return sub_model(nodes, [tensor("x", (1, 8, 6, 6))], [tensor("c", (1, 16, 6, 6)), tensor("y", (1, 16, 6, 6))], weights)


def _quantised_conv() -> SubModel:
    random = np.random.default_rng(0)
    weights: dict[str, np.ndarray] = {
        "xs": np.float32(0.05),
        "xz": np.uint8(128),
        "q": random.integers(-100, 100, (16, 4, 3, 3)).astype(np.int8),
        "ws": np.abs(normal(16)) * 0.01 + 0.001,
        "wz": np.zeros(16, np.int8),
    }
    nodes = [
        node("QuantizeLinear", "x xs xz", "u"),
        node("DequantizeLinear", "u xs xz", "d"),
        node("DequantizeLinear", "q ws wz", "w", axis=0),
        node("Conv", "d w", "y"),
    ]
    arrays = {name: np.asarray(value) for name, value in weights.items()}
    return sub_model(nodes, [tensor("x", (1, 4, 8, 8))], [tensor("y", (1, 16, 6, 6))], arrays)


def _transposed_conv() -> SubModel:
    weights = {"w": normal(4, 8, 3, 3)}
    return sub_model(
        [node("ConvTranspose", "x w", "y", strides=[2, 2])], [tensor("x", (1, 4, 5, 5))], [tensor("y", (1, 8, 11, 11))], weights
    )


def _conv1d() -> SubModel:
    return sub_model([node("Conv", "x w", "y")], [tensor("x", (1, 4, 30))], [tensor("y", (1, 16, 28))], {"w": normal(16, 4, 3)})


def _reshuffled() -> SubModel:
    """Views, transposes and concatenations, and outputs that share memory with each other and with an input."""
    weights = {"shape": np.array([4, 6], np.int64)}
    nodes = [
        node("Reshape", "x shape", "r"),
        node("Transpose", "r", "t", perm=[1, 0]),
        node("Concat", "t t", "c", axis=1),
        node("Identity", "x", "i"),
        node("Identity", "t", "u"),
    ]
    outputs = [tensor("r", (4, 6)), tensor("t", (6, 4)), tensor("c", (6, 8)), tensor("i", (2, 12)), tensor("u", (6, 4))]
    return sub_model(nodes, [tensor("x", (2, 12))], outputs, weights)


def _top_k() -> SubModel:
    outputs = [tensor("v", (3, 4)), tensor("i", (3, 4), "int64")]
    return sub_model([node("TopK", "x k", "v i")], [tensor("x", (3, 20))], outputs, {"k": np.array([4], np.int64)})


def _gather() -> SubModel:
    return sub_model([node("Gather", "w i", "y")], [tensor("i", (2, 7), "int64")], [tensor("y", (2, 7, 24))], {"w": normal(10, 24)})


def _branch() -> SubModel:
    value = helper.make_tensor_value_info("t", TensorProto.FLOAT, (3,))
    other = helper.make_tensor_value_info("e", TensorProto.FLOAT, (3,))
    then = helper.make_graph([node("Neg", "x", "t")], "then", [], [value])
    other_graph = helper.make_graph([node("Relu", "x", "e")], "else", [], [other])
    nodes = [helper.make_node("If", ["c"], ["y"], name="if", then_branch=then, else_branch=other_graph)]
    return sub_model(nodes, [tensor("c", (), "bool"), tensor("x", (3,))], [tensor("y", (3,))])


def _resize() -> SubModel:
    weights = {"s": np.array([1, 1, 2, 2], np.float32)}
    return sub_model([node("Resize", "x - s", "y", mode="nearest")], [tensor("x", (1, 3, 5, 5))], [tensor("y", (1, 3, 10, 10))], weights)


def _float16() -> SubModel:
    return sub_model([node("Exp", "x", "e"), node("Add", "e x", "y")], [tensor("x", (4, 40), "float16")], [tensor("y", (4, 40), "float16")])


def _cube() -> SubModel:
    weights = {"three": np.float32(3), "two": np.float32(2), "half": np.float32(0.5)}
    nodes = [node("Pow", "x three", "a"), node("Pow", "x two", "b"), node("Pow", "b half", "c")]
    arrays = {name: np.asarray(value) for name, value in weights.items()}
    return sub_model(nodes, [tensor("x", (3, 40))], [tensor("a", (3, 40)), tensor("b", (3, 40)), tensor("c", (3, 40))], arrays)


def _no_inputs() -> SubModel:
    return sub_model([node("Relu", "w", "y")], [], [tensor("y", (3, 4))], {"w": normal(3, 4)})


OPERATORS: dict[str, Callable[[], SubModel]] = {
    "conv packed by 16": lambda: _conv(3, 32, 14, 3, pads=(1, 1, 1, 1)),
    "conv packed by 8": lambda: _conv(5, 24, 13, 3, stride=2, pads=(0, 1, 1, 0)),
    "conv not packed": lambda: _conv(5, 6, 11, 3, dilation=2),
    "conv of a prime size": lambda: _conv(4, 64, 17, 1),
    "conv with large kernels": lambda: _conv(3, 16, 20, 7, stride=2, pads=(3, 3, 3, 3)),
    "grouped conv": lambda: _conv(8, 16, 9, 3, group=2),
    "depthwise conv": lambda: _conv(16, 16, 28, 3, group=16, pads=(1, 1, 1, 1)),
    "conv and residual": _residual,
    "conv read twice": _tapped,
    "conv and hard swish": _hard_swish,
    "quantised conv": _quantised_conv,
    "transposed conv": _transposed_conv,
    "conv of one dimension": _conv1d,
    "max pool": lambda: _pool("MaxPool", 13, 6, kernel_shape=[3, 3], strides=[2, 2]),
    "average pool": lambda: _pool("AveragePool", 12, 12, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "global pool": lambda: _pool("GlobalAveragePool", 7, 1),
    "packed matmul": lambda: _product((2, 6, 20), (20, 48), (2, 6, 48), is_weight=True),
    "packed vector matmul": lambda: _product((1, 64), (64, 1000), (1, 1000), is_weight=True),
    "matmul not packed": lambda: _product((7, 20), (20, 3), (7, 3), is_weight=True),
    "matmul of activations": lambda: _product((2, 3, 17, 32), (2, 3, 32, 48), (2, 3, 17, 48), is_weight=False),
    "matmul of one dimension": lambda: _product((32,), (32, 48), (48,), is_weight=False),
    "gemm": _gemm,
    "layer norm": _layer_norm,
    "batch norm": _batch_norm,
    "softmax": lambda: _unary("Softmax", 3, 5, 64),
    "softmax of another axis": lambda: _unary("Softmax", 3, 5, 64, axis=1),
    "log softmax": lambda: _unary("LogSoftmax", 3, 40),
    "mean of the last axis": lambda: _reduce("ReduceMean", (2, 5, 1), axes=[2]),
    "sum of the first axes": lambda: _reduce("ReduceSumSquare", (48,), axes=[0, 1], keepdims=0),
    "max of everything": lambda: _reduce("ReduceMax", (), keepdims=0),
    "argmax": lambda: _reduce("ArgMax", (2, 5, 1), "int64", axis=2),
    "exp": lambda: _unary("Exp", 300, 40),
    "tanh": lambda: _unary("Tanh", 4, 33),
    "erf": lambda: _unary("Erf", 4, 33),
    "sigmoid": lambda: _unary("Sigmoid", 1, 3001),
    "gelu": lambda: _unary("Gelu", 4, 33),
    "powers": _cube,
    "views and aliases": _reshuffled,
    "top k": _top_k,
    "gather": _gather,
    "branch": _branch,
    "resize": _resize,
    "float16": _float16,
    "no inputs": _no_inputs,
}
