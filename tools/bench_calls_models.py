"""The models of `make bench-calls`: voice activity detectors of 50 to 150 µs, and chains of equal pieces. Seeded weights, nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.model.model import SubModel

MELS, FRAMES = 40, 32
SAMPLES = 512


def conv_vad() -> SubModel:
    """Return a detector on a picture of mel bands: four convolutions, a mean, a layer."""
    weights, nodes, name, width = {}, [], "x", 1
    for index, (channels, stride) in enumerate(((32, 2), (48, 2), (48, 1), (64, 2))):
        weights[f"w{index}"] = _normal(channels, width, 3, 3, scale=(9 * width) ** -0.5)
        nodes.append(_node("Conv", [name, f"w{index}"], f"c{index}", pads=[1] * 4, strides=[stride] * 2))
        nodes.append(_node("Relu", [f"c{index}"], f"r{index}"))
        name, width = f"r{index}", channels
    nodes += [_node("GlobalAveragePool", [name], "pooled"), _node("Flatten", ["pooled"], "flat")]
    return _model([*nodes, *_head("flat", width, weights)], (1, 1, MELS, FRAMES), (1, 1), weights)


def dense_vad() -> SubModel:
    """Return a detector of six dense layers on the samples of a frame."""
    weights, nodes, name = {}, [], "x"
    for index, (width, next_width) in enumerate(pairwise((SAMPLES, 512, 512, 512, 256, 256))):
        weights[f"w{index}"] = _normal(width, next_width, scale=width**-0.5)
        weights[f"b{index}"] = _normal(next_width)
        nodes.append(_node("Gemm", [name, f"w{index}", f"b{index}"], f"g{index}"))
        nodes.append(_node("Relu", [f"g{index}"], f"r{index}"))
        name = f"r{index}"
    return _model([*nodes, *_head(name, 256, weights)], (1, SAMPLES), (1, 1), weights)


def lstm_vad() -> SubModel:
    """Return a detector with a strided convolution over the samples and an LSTM over its 16 steps."""
    steps, width, hidden = 16, 64, 112
    weights = {
        "w": _normal(width, 1, 32, scale=0.2),
        "lw": _normal(1, 4 * hidden, width, scale=0.2),
        "lr": _normal(1, 4 * hidden, hidden, scale=0.1),
        "steps": np.array([steps, hidden], np.int64),
    }
    nodes = [
        _node("Conv", ["x", "w"], "c", strides=[SAMPLES // steps]),
        _node("Relu", ["c"], "r"),
        _node("Transpose", ["r"], "t", perm=[2, 0, 1]),
        helper.make_node("LSTM", ["t", "lw", "lr"], ["l"], name="lstm", hidden_size=hidden),
        _node("Reshape", ["l", "steps"], "last"),
    ]
    return _model([*nodes, *_head("last", hidden, weights)], (1, 1, SAMPLES), (steps, 1), weights)


MODELS: Mapping[str, Callable[[], SubModel]] = {"conv": conv_vad, "dense": dense_vad, "lstm": lstm_vad}


def relu_chain(count: int) -> list[SubModel]:
    """Return so many models of one Relu; each reads what the one before it makes."""
    return [_piece([_node("Relu", [f"t{at}"], f"t{at + 1}")], at, (1, 1024)) for at in range(count)]


def sum_of(inputs: int, size: int) -> SubModel:
    """Return a model of one sum of so many inputs of a size, called ``x0`` and on."""
    names = [f"x{at}" for at in range(inputs)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, size)) for name in (*names, "y")]
    graph = helper.make_graph([_node("Sum", names, "y")], "small", ends[:-1], ends[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    tensors = tuple(Tensor(name, TensorType((1, size), "float32")) for name in (*names, "y"))
    return SubModel(model.SerializeToString(), tensors[:-1], tensors[-1:])


def one_product() -> SubModel:
    """Return a model of one matrix product of two numbers."""
    return _piece([_node("MatMul", ["t0", "w"], "t1")], 0, (1, 1), {"w": _normal(1, 1)})


def conv_chain(count: int) -> list[SubModel]:
    """Return so many models of a 1×1 convolution of 128 channels, 0.2 ms or so each; each reads what the one before it makes."""
    weights = {"w": _normal(128, 128, 1, 1, scale=0.1)}
    return [_piece([_node("Conv", [f"t{at}", "w"], f"t{at + 1}")], at, (1, 128, 28, 28), weights) for at in range(count)]


def _piece(nodes: Sequence[NodeProto], at: int, shape: tuple[int, ...], weights: Mapping[str, np.ndarray] | None = None) -> SubModel:
    return _model(nodes, shape, shape, weights or {}, f"t{at}", f"t{at + 1}")


def _head(name: str, width: int, weights: dict[str, np.ndarray]) -> list[NodeProto]:
    """Return the last layer, which makes ``y`` of `name`."""
    weights |= {"head_w": _normal(width, 1, scale=width**-0.5), "head_b": _normal(1)}
    return [_node("Gemm", [name, "head_w", "head_b"], "logit"), _node("Sigmoid", ["logit"], "y")]


def _model(
    nodes: Sequence[NodeProto],
    given: tuple[int, ...],
    made: tuple[int, ...],
    weights: Mapping[str, np.ndarray],
    reads: str = "x",
    makes: str = "y",
) -> SubModel:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ((reads, given), (makes, made))]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(list(nodes), "small", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    tensors = Tensor(reads, TensorType(given, "float32")), Tensor(makes, TensorType(made, "float32"))
    return SubModel(model.SerializeToString(), tensors[:1], tensors[1:])


def _node(op: str, inputs: Sequence[str], output: str, **attributes: object) -> NodeProto:
    return helper.make_node(op, list(inputs), [output], name=output, **attributes)


def _normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(list(shape)).standard_normal(shape) * scale).astype(np.float32)
