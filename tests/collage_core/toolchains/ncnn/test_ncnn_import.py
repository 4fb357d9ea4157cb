"""That ncnn computes what is converted as ONNX Runtime does: odd sizes, several attributes, numbers of channels that it packs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.duties import TOLERANCE, assert_close, buffers, make
from collage_core.toolchains.conformance.small_models import drawn, node, normal, reference, sub_model, tensor, untakable
from collage_core.toolchains.ncnn import ncnn_kernel
from collage_core.toolchains.ncnn.ncnn_import import imported
from collage_core.toolchains.ncnn.ncnn_operators import CHECKS
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError
from tests.helpers.long_cases import mostly_long
from tests.helpers.operator_calls import Call, call, ints, model_of, scalar

needs_ncnn = pytest.mark.skipif(not get("ncnn").availability().usable, reason=get("ncnn").availability().reason)

IMAGES = [(1, 16, 3, 5), (1, 5, 3, 7), (2, 8, 4, 5)]
SHAPES = [*IMAGES, (3, 16), (7,), (), (2, 3, 4, 2, 5)]
WINOGRAD_TOLERANCE = 2e-5
"""Largest error that a convolution may have, since the build may choose a variant of Winograd's algorithm (`ncnn_build.LARGEST_ERROR`)."""

PART = ("Log", "Sqrt", "Reciprocal", "Acos", "Asin", "ReduceLogSum")
"""Operators that get numbers between 0 and 1."""

Calls = Iterator[tuple[str, Call]]


def weights(*shape: int) -> np.ndarray:
    return np.asarray(normal(*shape, scale=0.3))


def positive(*shape: int) -> np.ndarray:
    return np.asarray(np.abs(normal(*shape)) + 0.5)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def elementwise() -> Calls:
    unary = "Abs Acos Asin Atan Ceil Celu Cos Elu Erf Exp Floor HardSigmoid HardSwish LeakyRelu Log Mish Neg Reciprocal Relu Round Selu"
    for op in [*unary.split(), *["Shrink", "Sigmoid", "Sin", "Softplus", "Sqrt", "Tan", "Tanh", "Identity", "Dropout"]]:
        yield from ((op, call(shape, opset=18)) for shape in SHAPES)
    for shape in SHAPES:
        yield from (("Gelu", call(shape, approximate=mode, opset=20)) for mode in ("none", "tanh"))
        yield from (("Clip", call(shape, *bounds)) for bounds in ((), (scalar(-0.5),), (None, scalar(0.7)), (scalar(-0.5), scalar(0.7))))
        yield "Cast", call(shape, to=1)
    yield from (("Pow", call(IMAGES[0], scalar(exponent))) for exponent in (2.0, 1.0, -1.0, 3.0))
    slopes = [((1, 8, 3, 5), (8, 1, 1)), ((1, 8, 3, 5), (1,)), ((1, 16, 1, 1), (16, 1, 1)), ((1, 5), (5,)), ((3, 5), (1,))]
    yield from (("PRelu", call(shape, normal(*slope))) for shape, slope in slopes)


BROADCAST = [
    (1, 5, 7, 3), (1, 16, 4, 6), (1, 8, 1, 1), (1, 1, 7, 3), (5, 1, 1), (7, 3), (3,), (1,), (), (1, 1, 1, 1), (1, 5, 1, 3), (1, 5, 7, 1),
    (16, 1, 1), (1, 16, 1, 6),
]  # fmt: skip


def broadcasts() -> Calls:
    for one, other in itertools.product(BROADCAST, repeat=2):
        if all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False)):
            yield "Sub", call(one, other)
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean"):
        for shape, other in [((1, 16, 3, 5), (16, 1, 1)), ((1, 16, 3, 5), ()), ((4, 6), (6,)), ((), (3,)), ((3, 5), (1, 1, 1))]:
            yield op, call(shape, positive(*other))
            yield op, call(positive(*other), shape)
    yield from ((op, call((3, 1), (1, 5), (3, 5))) for op in ("Max", "Min", "Sum", "Mean"))
    yield from ((op, call((3, 5))) for op in ("Max", "Min", "Sum", "Mean"))


def convolutions() -> Calls:
    for channels, outs, kernel, more in [
        (3, 8, (3, 3), {}), (3, 5, (3, 3), {"pads": [1, 1, 1, 1]}), (16, 16, (3, 3), {"pads": [1, 0, 2, 1]}), (16, 32, (1, 1), {}),
        (16, 16, (3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}), (16, 16, (3, 3), {"dilations": [2, 1], "pads": [2, 2, 2, 2]}),
        (8, 8, (5, 5), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}), (8, 8, (4, 4), {"auto_pad": "SAME_LOWER"}), (1, 1, (3, 3), {}),
        (8, 8, (3, 3), {"auto_pad": "VALID"}), (8, 7, (1, 7), {"pads": [0, 3, 0, 3]}), (17, 19, (3, 3), {"pads": [1, 1, 1, 1]}),
    ]:  # fmt: skip
        yield "Conv", call((1, channels, 13, 15), weights(outs, channels, *kernel), **more)
        yield "Conv", call((1, channels, 13, 15), weights(outs, channels, *kernel), normal(outs), **more)
    for channels, outs, group, kernel in [(16, 16, 16, 3), (8, 16, 8, 3), (8, 8, 2, 3), (16, 32, 4, 1), (6, 9, 3, 3), (5, 5, 5, 5)]:
        weight = weights(outs, channels // group, kernel, kernel)
        yield "Conv", call((1, channels, 13, 15), weight, normal(outs), group=group, pads=[1, 1, 1, 1], strides=[2, 1])
    yield "Conv", call((1, 8, 15), weights(5, 8, 3), pads=[1, 2], strides=[2])
    yield "Conv", call((1, 8, 15), weights(16, 8, 3), dilations=[2])


def transposed_convolutions() -> Calls:
    for channels, outs, group, more in [
        (3, 8, 1, {}), (16, 16, 1, {"strides": [2, 2], "pads": [1, 1, 1, 1]}), (8, 8, 8, {"strides": [2, 2]}), (16, 32, 2, {}),
        (16, 8, 1, {"strides": [2, 2], "pads": [1, 0, 1, 2], "output_padding": [1, 1]}), (5, 7, 1, {"dilations": [2, 2]}),
        (8, 12, 4, {"strides": [3, 2], "pads": [1, 1, 0, 0]}), (4, 4, 4, {"strides": [2, 2], "output_padding": [1, 0]}),
    ]:  # fmt: skip
        weight = weights(channels, outs // group, 3, 3)
        yield "ConvTranspose", call((1, channels, 7, 9), weight, group=group, **more)
        yield "ConvTranspose", call((1, channels, 7, 9), weight, normal(outs), group=group, **more)
    yield "ConvTranspose", call((1, 8, 15), weights(8, 5, 3), pads=[1, 2], strides=[2])


def pools() -> Calls:
    windows: list[dict[str, object]] = [
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 0, 1, 1]},
        {"kernel_shape": [3, 2], "pads": [1, 0, 0, 1]},
        {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER", "strides": [2, 3]},
        {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]},
    ]
    for batch, channels in [(1, 3), (1, 16), (2, 8)]:
        shape = (batch, channels, 13, 16)
        yield from ((op, call(shape, **window)) for op in ("MaxPool", "AveragePool") for window in windows)
        yield from (("AveragePool", call(shape, count_include_pad=1, **window)) for window in windows)
        yield "MaxPool", call(shape, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        yield "MaxPool", call(shape, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1])
        yield "AveragePool", call(shape[:3], kernel_shape=[3], strides=[2], pads=[1, 1])
        yield from ((f"Global{op}Pool", call((batch, channels, *rows))) for op in ("Average", "Max") for rows in [(7, 5), (7,), (3, 4, 5)])


def moves() -> Calls:
    for shape in [*IMAGES, (3, 16), (7,), (16, 4, 6), (1, 1, 6)]:
        for axis in range(-1, len(shape) - 1):
            size = shape[axis]
            yield "Concat", call(shape, shape, axis=axis)
            yield "Concat", call(shape, normal(*shape), axis=axis)
            if size > 2:
                yield "Split", call(shape, ints(1, size - 2, 1), axis=axis, outputs=3)
                yield "Slice", call(shape, ints(1), ints(size - 1), ints(axis))
                yield "Slice", call(shape, ints(-2), ints(99999), ints(axis))
        yield "Slice", call(shape, ints(*[0] * len(shape)), ints(*[max(1, size - 1) for size in shape]))
    for shape in [(1, 16, 3, 5), (2, 3, 4, 5), (3, 16), (5, 4, 6), (8, 1, 5, 1), (1, 2, 3, 4, 5)]:
        orders = list(itertools.permutations(range(len(shape))))
        yield from (("Transpose", call(shape, perm=list(order))) for order in orders[:: 1 + len(orders) // 30])
    yield "Reshape", call(IMAGES[0], ints(0, -1))
    yield "Flatten", call(IMAGES[0])
    yield "Squeeze", call((1, 16, 1, 1))
    yield "Unsqueeze", call((16, 3), ints(0, 2))
    yield from (("DepthToSpace", call((1, 18, 3, 5), blocksize=3, mode=mode)) for mode in ("DCR", "CRD"))
    yield from (("SpaceToDepth", call((1, channels, 6, 9), blocksize=3)) for channels in (3, 16))


def pads_and_sizes() -> Calls:
    for shape in [(1, 16, 5, 7), (1, 3, 5, 7), (2, 8, 5, 7), (5, 7), (1, 8, 7), (9,)]:
        for mode, before, after in itertools.product(("constant", "edge", "reflect"), [(0, 0), (2, 1)], [(1, 2), (0, 3)]):
            amounts = [*[0, 0, *before][-len(shape) :], *[0, 0, *after][-len(shape) :]] if len(shape) < 4 else [0, 0, *before, 0, 0, *after]
            yield "Pad", call(shape, ints(*amounts), *([scalar(1.5)] if mode == "constant" else []), mode=mode)
    for shape in [(1, 16, 5, 7), (1, 3, 5, 7), (2, 8, 5, 6)]:
        for where in ("half_pixel", "pytorch_half_pixel", "align_corners"):
            for rows, columns in [(9, 4), (15, 21), (10, 14)]:
                sizes = ints(*shape[:2], rows, columns)
                yield "Resize", call(shape, None, None, sizes, mode="linear", coordinate_transformation_mode=where)
        nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        yield from (("Resize", call(shape, None, floats(1, 1, *scales), **nearest)) for scales in ((2, 3), (1, 2)))
    yield "Resize", call((1, 8, 9), None, floats(1, 1, 2), mode="linear")
    yield "Resize", call((1, 8, 9, 5), floats(1, 1, 2, 3), opset=10)
    yield "Upsample", call((1, 8, 9, 5), floats(1, 1, 2, 3), opset=9)


def norms() -> Calls:
    for shape in [*IMAGES, (5, 7), (3, 16), (16, 3), (9,), (4, 5, 6)]:
        for axis in range(-1, len(shape) - 1):
            inner = shape[axis:]
            yield from ((op, call(shape, axis=axis)) for op in ("Softmax", "LogSoftmax"))
            yield "CumSum", call(shape, np.array(axis))
            yield "LayerNormalization", call(shape, normal(*inner), normal(*inner), axis=axis, epsilon=1e-3)
            yield "RMSNormalization", call(shape, normal(*inner), axis=axis, opset=23)
            if axis > 0:
                yield "Softmax", call(shape, axis=axis, opset=11)
        if len(shape) > 1:
            channels = shape[1]
            scale, bias = normal(channels), normal(channels, seed=1)
            yield "BatchNormalization", call(shape, scale, bias, normal(channels, seed=2), positive(channels), epsilon=1e-3)
            for groups in {1, channels} if len(shape) > 2 else {1}:
                yield "GroupNormalization", call(shape, scale, bias, num_groups=groups, opset=21)
        if len(shape) > 2:
            yield "InstanceNormalization", call(shape, scale, bias)
    yield "LRN", call((1, 16, 5, 7), size=5)
    yield "LRN", call((1, 3, 5, 7), size=3, alpha=0.1, beta=0.6, bias=2.0)


def reductions() -> Calls:
    kinds = itertools.cycle(["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"])
    for shape in [*IMAGES, (5, 7), (9,), (16, 4, 4), (2, 3, 4, 2, 3)]:
        chosen = [axes for count in range(1, len(shape) + 1) for axes in itertools.combinations(range(len(shape)), count)]
        for axes in chosen if len(shape) < 5 else [(0,), (1, 2), (4,), (0, 1, 2, 3, 4), (0, 4), (2, 3)]:
            if any(shape[axis] > 1 for axis in axes):
                yield from ((f"Reduce{next(kinds)}", call(shape, ints(*axes), keepdims=len(axes) % 2, opset=18)) for _ in range(3))


def products() -> Calls:
    pairs = [
        ((5, 7), (7, 3)), ((2, 5, 7), (7, 3)), ((2, 3, 5, 7), (7, 16)), ((7,), (7, 3)), ((5, 7), (7,)), ((7,), (7,)), ((1, 7), (7, 3)),
        ((16, 32), (32, 64)), ((3, 5, 7), (3, 7, 4)), ((2, 3, 5, 7), (2, 3, 7, 4)), ((1, 3, 5, 7), (3, 7, 4)), ((3, 5, 7), (1, 7, 4)),
        ((1, 12, 17, 9), (1, 12, 9, 17)),
    ]  # fmt: skip
    for left, right in pairs:
        yield from (("MatMul", call(*operands)) for operands in ((left, right), (left, weights(*right)), (weights(*left), right)))
    for (rows, depth, outs), flip_a, flip_b in itertools.product([(1, 16, 32), (5, 7, 3), (33, 17, 9)], (0, 1), (0, 1)):
        left, right = (depth, rows) if flip_a else (rows, depth), (outs, depth) if flip_b else (depth, outs)
        options = {"transA": flip_a, "transB": flip_b, "alpha": 0.5, "beta": 2.0}
        yield from (("Gemm", call(*operands, **options)) for operands in ((left, weights(*right)), (left, right), (weights(*left), right)))
        for added in [(outs,), (1, outs), (rows, 1), (rows, outs), ()]:
            yield "Gemm", call(left, weights(*right), weights(*added), **options)
            yield "Gemm", call(left, right, added, **options)


def recurrent() -> Calls:
    for (steps, depth, hidden), (direction, count) in itertools.product(
        [(5, 7, 6), (1, 4, 4), (9, 16, 16), (4, 3, 17)], [("forward", 1), ("reverse", 1), ("bidirectional", 2)]
    ):
        for op, gates, more in (("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1})):
            w, r, b = weights(count, gates * hidden, depth), weights(count, gates * hidden, hidden), normal(count, 2 * gates * hidden)
            outputs = (("float32", (steps, count, 1, hidden)),)
            yield op, call((steps, 1, depth), w, r, hidden_size=hidden, direction=direction, outputs=outputs, **more)
            yield op, call((steps, 1, depth), w, r, b, hidden_size=hidden, direction=direction, outputs=outputs, **more)


GROUPS = [
    elementwise, broadcasts, convolutions, transposed_convolutions, pools, moves, pads_and_sizes, norms, reductions, products, recurrent
]  # fmt: skip


@cache
def calls_of(group: str) -> list[tuple[str, Call]]:
    return list(next(made for made in GROUPS if made.__name__ == group)())


def given(op: str, model: SubModel) -> list[np.ndarray]:
    made = drawn(model.inputs, 3)
    for array in made if op in PART or op.startswith("Reduce") else []:
        array[...] = np.abs(np.sin(array)) * 0.9 + 0.05
    return made


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels do not look for new memory: for each of them the process would read its own map four times."""
    monkeypatch.setattr(ncnn_kernel, "NewMemory", lambda: None)


@needs_ncnn
@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("group", mostly_long([made.__name__ for made in GROUPS], 4))
def test_every_call_is_right(group: str):
    for op, described in calls_of(group):
        model = model_of(op, described)
        kernel, inputs, outputs = make(get("ncnn"), model), given(op, model), buffers(model)
        before = [array.copy() for array in inputs]
        kernel.bind(inputs, outputs)
        kernel.run()
        try:
            assert_close(outputs, reference(model, inputs), WINOGRAD_TOLERANCE if op == "Conv" else TOLERANCE)
        except AssertionError as error:
            raise AssertionError(f"{op} {described}: {error}") from error
        assert all(np.array_equal(array, kept) for array, kept in zip(inputs, before, strict=True)), f"{op} {described} changed an input"


LARGE = np.array([[100, 88, 50], [-150, -120, -200], [1e4, -1e4, 9e3]], np.float32)
"""Numbers whose exponentials overflow, or are all 0."""


@needs_ncnn
@pytest.mark.parametrize(("op", "further"), [("ReduceLogSumExp", (ints(1),)), ("LogSoftmax", ()), ("Softplus", ()), ("Mish", ())])
def test_exponentials_of_large_numbers_do_not_overflow(op: str, further: tuple[np.ndarray, ...]):
    model = model_of(op, call(LARGE.shape, *further, opset=18))
    kernel, outputs = make(get("ncnn"), model), buffers(model)
    kernel.bind([LARGE], outputs)
    kernel.run()
    assert_close(outputs, reference(model, [LARGE]))


@needs_ncnn
def test_an_exponential_is_finite_where_float32_holds_it():
    exponents = np.float32([[-87, -1, 0, 88.3], [88.38, 88.5, 88.6, 88.7]])
    model = model_of("Exp", call(exponents.shape))
    kernel, outputs = make(get("ncnn"), model), buffers(model)
    kernel.bind([exponents], outputs)
    kernel.run()
    np.testing.assert_allclose(outputs[0], np.exp(exponents.astype(np.float64)), rtol=1e-5)


def test_every_operator_that_is_taken_is_tried():
    tried = {op for made in GROUPS for op, _ in made()}
    assert sorted(CHECKS.keys() - tried) == []


def test_a_call_that_is_refused_is_an_error_of_the_import():
    with pytest.raises(ToolchainError) as caught:
        imported(untakable())
    assert (caught.value.stage, caught.value.message) == ("import", "ncnn has no layer for org.example.Frobnicate")


def test_scales_that_are_no_quotients_of_the_sizes_are_found_at_the_import():
    model = model_of("Resize", call((1, 1, 5, 5), None, floats(1, 1, 2, 1.5), mode="linear"))
    with pytest.raises(ToolchainError, match=r"Resize has a scale of 1.5, which is not 7/5"):
        imported(model)


def activations() -> list[tuple[str, dict[str, float]]]:
    return [("Relu", {}), ("LeakyRelu", {"alpha": 0.3}), ("Sigmoid", {}), ("HardSwish", {})]


@needs_ncnn
@pytest.mark.parametrize(("op", "attributes"), activations())
def test_an_activation_is_computed_by_the_layer_before(op: str, attributes: dict[str, float]):
    nodes = [node("Conv", "x w b", "c", pads=[1, 1, 1, 1]), node(op, "c", "y", **attributes)]
    model = sub_model(nodes, [tensor("x", (1, 3, 9, 9))], [tensor("y", (1, 8, 9, 9))], {"w": weights(8, 3, 3, 3), "b": normal(8)})
    assert [layer.type for layer in imported(model).network.layers] == ["Input", "Convolution"]
    kernel, inputs, outputs = make(get("ncnn"), model), drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    assert_close(outputs, reference(model, inputs))


def test_an_activation_stays_alone_where_its_input_is_read_elsewhere():
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "y")]
    image = tensor("c", (1, 8, 7, 7))
    model = sub_model(nodes, [tensor("x", (1, 3, 9, 9))], [image, tensor("y", (1, 8, 7, 7))], {"w": weights(8, 3, 3, 3)})
    assert [layer.type for layer in imported(model).network.layers] == ["Input", "Convolution", "Split", "ReLU"]
