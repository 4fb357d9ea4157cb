"""Random small models: chains of calls on odd shapes, of one to five axes and a batch of one or two.

A seed enters; a `Chain` leaves, the same for the same seed: a model that our own loader has read, its inputs, and what ONNX Runtime
without optimisation computes. `part_for` cuts out what the rules of a toolchain take of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from onnx import GraphProto, ModelProto, helper, numpy_helper

from ...graph.index_set import IndexSet
from ...model.forms.normalising import normalise
from ...model.model import SubModel
from ...model.onnx_model import OnnxModel
from ...model.shapes.inference import infer
from ...rules.candidate import RejectionLog
from ...rules.rule import RuleContext, RuleOptions
from ..toolchain import Toolchain
from .model_runs import is_broken, is_close, run_models
from .small_models import drawn, reference

Shape = tuple[int, ...]
OPSET = 18
LONGEST, MOST_ELEMENTS = 6, 20_000
CHAIN_TOLERANCE = 1e-3
"""Six calls in a row may add their errors up; a wrong number is further off."""


@dataclass(frozen=True)
class Chain:
    """A random model, loaded."""

    model: OnnxModel

    def part_for(self, toolchain: Toolchain) -> SubModel | None:
        """Return the largest sub-graph that the rules of `toolchain` find, as a model; None where they find nothing."""
        graph = self.model.graph
        matches = toolchain.rule(RuleOptions()).find(RuleContext(graph, toolchain.name, RejectionLog()))
        largest = max((match.inside for match in matches), key=len, default=IndexSet())
        return self.model.cut(largest) if largest else None


def chain(seed: int) -> Chain:
    """Return the random model of `seed`."""
    drawing = random.Random(seed)
    rank = drawing.choice((2, 3, 4, 4, 4, 5))
    shape = (drawing.choice((1, 1, 2)), *(drawing.randint(1, 9 if rank < 5 else 5) for _ in range(rank - 1)))
    maker = _Maker(drawing, shape)
    while maker.length < LONGEST and maker.tries < 5 * LONGEST:
        maker.extend()
    return Chain(OnnxModel(f"chain {seed}", f"chain {seed}", *normalise(maker.proto()), False))


def inputs_and_outputs(model: SubModel, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return seeded inputs of `model`, and its outputs in ONNX Runtime without optimisation."""
    given = drawn(model.inputs, seed)
    return given, reference(model, given)


def chain_failures(toolchain: Toolchain, seeds: Sequence[int]) -> dict[int, str]:
    """Return seed → what is wrong with the toolchain's part of the random model; a refusal is an answer too."""
    parts = {seed: part for seed in seeds if (part := chain(seed).part_for(toolchain)) is not None}
    expected = {seed: inputs_and_outputs(part, seed) for seed, part in parts.items()}
    wrong = {}
    for seed, got in zip(parts, run_models(toolchain, [(parts[seed], expected[seed][0]) for seed in parts]), strict=True):
        if isinstance(got, str):
            if is_broken(got):
                wrong[seed] = got
        elif not all(is_close(one, other, CHAIN_TOLERANCE) for one, other in zip(got, expected[seed][1], strict=True)):
            wrong[seed] = "wrong values"
    return wrong


class _Maker:
    """A model that grows by one call at its end; a call that ONNX does not infer a shape for is taken back."""

    def __init__(self, drawing: random.Random, shape: Shape):
        self.drawing, self.shape, self.length, self.tries = drawing, shape, 0, 0
        self._first = shape
        self._graph = GraphProto(name="chain")

    def extend(self) -> None:
        self.tries += 1
        name = self.drawing.choice([op for op, (least, most, _) in _CALLS.items() if least <= len(self.shape) <= most])
        before = GraphProto()
        before.CopyFrom(self._graph)
        _CALLS[name][2](self)
        kind = infer(self.proto()).types.get(f"t{self.length + 1}")
        if kind is None or kind.dtype != "float32" or not 0 < prod(kind.shape) <= MOST_ELEMENTS or len(kind.shape) > 5:
            self._graph.CopyFrom(before)
            return
        self.shape, self.length = kind.shape, self.length + 1

    def call(self, op: str, *constants: object, **attributes: object) -> None:
        """Add a call on the last tensor; arrays become constants, None an absent input."""
        names = [f"t{self.length}"]
        for slot, value in enumerate(constants):
            names.append("" if value is None else f"c{self.length}_{slot}")
            if value is not None:
                self._graph.initializer.append(numpy_helper.from_array(np.asarray(value), names[-1]))
        self._graph.node.append(helper.make_node(op, names, [f"t{self.length + 1}"], name=f"{op}_{self.length}", **attributes))

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (np.random.default_rng(self.drawing.getrandbits(32)).standard_normal(shape) * scale).astype(np.float32)

    def axis(self, least: int = 0) -> int:
        return self.drawing.randrange(least, len(self.shape))

    def proto(self) -> ModelProto:
        graph = GraphProto()
        graph.CopyFrom(self._graph)
        graph.input.append(helper.make_tensor_value_info("t0", 1, self._first))
        last = graph.node[-1].output[0] if graph.node else "t0"
        graph.output.append(helper.make_tensor_value_info(last, 1, None))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def _window(maker: _Maker, most: int = 3) -> dict[str, list[int]]:
    """Return attributes of a window that fits in the image."""
    drawing, image = maker.drawing, maker.shape[2:]
    kernel = [drawing.randint(1, min(size, most)) for size in image]
    pads = [drawing.randint(0, size - 1) if size > 1 else 0 for _ in range(2) for size in kernel]
    return {"kernel_shape": kernel, "pads": pads, "strides": [drawing.randint(1, 2) for _ in image]}


def _conv(maker: _Maker) -> None:
    drawing, channels = maker.drawing, maker.shape[1]
    group = drawing.choice([1, 1, *(size for size in range(1, channels + 1) if channels % size == 0)])
    outs, window = group * drawing.randint(1, 5), _window(maker)
    weights = maker.normal(outs, channels // group, *window["kernel_shape"], scale=0.4)
    bias = maker.normal(outs) if drawing.random() < 0.5 else None
    maker.call("Conv", *([weights] if bias is None else [weights, bias]), group=group, **window)


def _conv_transpose(maker: _Maker) -> None:
    window = _window(maker)
    weights = maker.normal(maker.shape[1], maker.drawing.randint(1, 4), *window["kernel_shape"], scale=0.4)
    maker.call("ConvTranspose", weights, **window)


def _pool(op: str) -> Callable[[_Maker], None]:
    def make(maker: _Maker) -> None:
        more = {"count_include_pad": maker.drawing.randint(0, 1)} if op == "AveragePool" else {}
        maker.call(op, ceil_mode=maker.drawing.randint(0, 1), **more, **_window(maker))

    return make


def _resize(maker: _Maker) -> None:
    drawing, rank = maker.drawing, len(maker.shape)
    mode = drawing.choice(("nearest", "linear", "cubic") if rank == 4 else ("nearest", "linear"))
    modes = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
    attributes = {"mode": mode, "coordinate_transformation_mode": drawing.choice(modes)}
    if mode == "nearest":
        attributes["nearest_mode"] = drawing.choice(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if drawing.random() < 0.5:
        scales = [drawing.choice((0.5, 1.0, 1.5, 2.0, 3.0)) for _ in maker.shape[2:]]
        maker.call("Resize", None, np.array([1, 1, *scales], np.float32), **attributes)
    else:
        sizes = [drawing.randint(1, 2 * size + 1) for size in maker.shape[2:]]
        maker.call("Resize", None, None, np.array([*maker.shape[:2], *sizes]), **attributes)


def _reshape(maker: _Maker) -> None:
    """Merge two neighbouring axes, or split one."""
    shape, drawing = list(maker.shape), maker.drawing
    at = maker.axis()
    if len(shape) > 1 and at + 1 < len(shape) and drawing.random() < 0.5:
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        factor = drawing.choice([size for size in range(1, shape[at] + 1) if shape[at] % size == 0])
        shape[at : at + 1] = [factor, shape[at] // factor]
    maker.call("Reshape", np.array(shape))


def _transpose(maker: _Maker) -> None:
    maker.call("Transpose", perm=maker.drawing.sample(range(len(maker.shape)), len(maker.shape)))


def _slice(maker: _Maker) -> None:
    axis, drawing = maker.axis(), maker.drawing
    size, step = maker.shape[axis], drawing.choice((1, 1, 2, -1))
    begin = drawing.randrange(size)
    begin, end = (begin, drawing.randint(begin + 1, size)) if step > 0 else (begin, -size - 1)
    maker.call("Slice", np.array([begin]), np.array([end]), np.array([axis]), np.array([step]))


def _pad(maker: _Maker) -> None:
    drawing, mode = maker.drawing, maker.drawing.choice(("constant", "reflect", "edge"))
    pads = [drawing.randint(0, min(2, size - 1)) if index > 0 else 0 for _ in range(2) for index, size in enumerate(maker.shape)]
    maker.call("Pad", np.array(pads), *([np.float32(0.25)] if mode == "constant" else []), mode=mode)


def _binary(maker: _Maker) -> None:
    """With a constant of fewer axes, some of them 1."""
    drawing = maker.drawing
    shape = [size if drawing.random() < 0.6 else 1 for size in maker.shape[drawing.randint(0, len(maker.shape)) :]]
    maker.call(drawing.choice(("Add", "Sub", "Mul", "Max", "PRelu")), maker.normal(*shape))


def _matmul(maker: _Maker) -> None:
    depth = maker.shape[-1]
    maker.call("MatMul", maker.normal(depth, maker.drawing.randint(1, 7), scale=depth**-0.5))


def _reduce(maker: _Maker) -> None:
    drawing = maker.drawing
    axes = drawing.sample(range(len(maker.shape)), drawing.randint(1, len(maker.shape) - 1))
    op = drawing.choice(("ReduceMean", "ReduceMax", "ReduceSum", "ReduceL2", "ReduceMin"))
    maker.call(op, np.array(axes), keepdims=drawing.randint(0, 1))


def _norm(maker: _Maker) -> None:
    axis = maker.axis(1)
    shape = maker.shape[axis:]
    maker.call("LayerNormalization", maker.normal(*shape), maker.normal(*shape), axis=axis)


def _per_channel(op: str) -> Callable[[_Maker], None]:
    def make(maker: _Maker) -> None:
        values = [maker.normal(maker.shape[1]) for _ in range(2)]
        if op == "BatchNormalization":
            values += [maker.normal(maker.shape[1]), np.abs(maker.normal(maker.shape[1])) + 0.5]
        maker.call(op, *values)

    return make


def _plain(op: str) -> Callable[[_Maker], None]:
    return lambda maker: maker.call(op)


def _on_axis(op: str) -> Callable[[_Maker], None]:
    return lambda maker: maker.call(op, axis=maker.axis())


def _gather(maker: _Maker) -> None:
    axis = maker.axis()
    picked = [maker.drawing.randrange(maker.shape[axis]) for _ in range(maker.drawing.randint(1, 4))]
    maker.call("Gather", np.array(picked), axis=axis)


def _squeeze(maker: _Maker) -> None:
    ones = [axis for axis, size in enumerate(maker.shape) if size == 1]
    if ones and len(maker.shape) > 1:
        maker.call("Squeeze", np.array([maker.drawing.choice(ones)]))
    else:
        maker.call("Unsqueeze", np.array([maker.drawing.randint(0, len(maker.shape))]))


_CALLS: Mapping[str, tuple[int, int, Callable[[_Maker], None]]] = {
    "AveragePool": (3, 5, _pool("AveragePool")),
    "BatchNormalization": (2, 5, _per_channel("BatchNormalization")),
    "Conv": (3, 5, _conv),
    "Conv of an image": (4, 4, _conv),
    "ConvTranspose": (4, 4, _conv_transpose),
    "Gather": (1, 5, _gather),
    "Softplus": (1, 5, _plain("Softplus")),
    "GlobalAveragePool": (3, 5, _plain("GlobalAveragePool")),
    "HardSwish": (1, 5, _plain("HardSwish")),
    "InstanceNormalization": (3, 5, _per_channel("InstanceNormalization")),
    "LayerNormalization": (2, 5, _norm),
    "LogSoftmax": (1, 5, _on_axis("LogSoftmax")),
    "MatMul": (2, 5, _matmul),
    "MaxPool": (3, 5, _pool("MaxPool")),
    "Pad": (2, 5, _pad),
    "Reduce": (2, 5, _reduce),
    "Relu": (1, 5, _plain("Relu")),
    "Reshape": (1, 4, _reshape),
    "Resize": (3, 5, _resize),
    "Sigmoid": (1, 5, _plain("Sigmoid")),
    "Slice": (1, 5, _slice),
    "Softmax": (1, 5, _on_axis("Softmax")),
    "Squeeze": (1, 4, _squeeze),
    "Transpose": (2, 5, _transpose),
    "with a constant": (1, 5, _binary),
}
"""Name → the least and the most axes of its input, and what adds it to a chain."""
