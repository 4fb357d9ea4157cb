"""Converts elementwise operators to layers of ncnn, activations among them (see `ncnn_import`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from .ncnn_calls import Emitter, ImportCall, bounds
from .ncnn_mats import broadcast, broadcast_shape
from .ncnn_network import Value, plain

UNARY = {
    "Abs": 0, "Neg": 1, "Floor": 2, "Ceil": 3, "Sqrt": 5, "Exp": 7, "Log": 8, "Sin": 9, "Cos": 10, "Tan": 11, "Asin": 12, "Acos": 13,
    "Atan": 14, "Reciprocal": 15, "Tanh": 16, "Round": 18,
}  # fmt: skip
"""Operator → ncnn's number of it as ``UnaryOp``."""
SQUARE = 4

ADD, SUB, MUL, DIV, MAX, MIN = range(6)
"""ncnn's numbers of operations on two tensors, as ``BinaryOp``."""
_SCALAR_FIRST = {SUB: 7, DIV: 8}
"""Operation → the one with its operands exchanged."""


def _unary(number: int) -> Emitter:
    return lambda call: call.layer("UnaryOp", {0: number})


def _clip(call: ImportCall) -> list[Value]:
    low, high = bounds(call)
    return call.layer("Clip", {0: low, 1: high})


def _prelu(call: ImportCall) -> list[Value]:
    slope = call.array(1)
    if slope.size == 1:
        return call.layer("ReLU", {0: float(slope.reshape(-1)[0])})
    value = call.data()
    shape = value.shape if value.shape[0] == slope.size else (slope.size, prod(call.shape()) // slope.size)
    if shape[0] != slope.size or len(shape) == 1:
        shape = (slope.size, prod(call.shape()) // slope.size)
    return [call.network.add("PReLU", [call.data(shape)], shape, {0: slope.size}, plain(slope))]


def _scalar(call: ImportCall, slot: int) -> float | None:
    """Return the value of a constant of one element that does not raise the rank of the other operand."""
    if not call.is_constant(slot) or prod(call.shape(slot)) != 1:
        return None
    return float(call.array(slot).reshape(-1)[0])


def _binary(number: int) -> Emitter:
    def emit(call: ImportCall) -> list[Value]:
        for slot, operation in ((1, number), (0, _SCALAR_FIRST.get(number, number))):
            scalar = _scalar(call, slot)
            if scalar is not None and np.isfinite(scalar):
                value = call.data(slot=1 - slot)
                return [call.network.add("BinaryOp", [value], value.shape, {0: operation, 1: 1, 2: scalar})]
        return [_of_two(call, number, call.out, [call.shape(0), call.shape(1)], lambda slot, shape: call.data(shape, slot))]

    return emit


def _of_two(call: ImportCall, number: int, out: Sequence[int], shapes: Sequence[tuple[int, ...]], operand: Callable) -> Value:
    """Add a layer that combines two tensors of `shapes`; ``operand(slot, shape)`` gives one as a Mat."""
    whole = [operand(slot, None).shape for slot, shape in enumerate(shapes) if shape == tuple(out) and not call.is_constant(slot)]
    views = broadcast(tuple(out), shapes, whole[0] if whole else None)
    assert views is not None
    pair = [operand(slot, shape) for slot, shape in enumerate(views)]
    return call.network.add("BinaryOp", pair, broadcast_shape(*views), {0: number})


def _variadic(number: int) -> Emitter:
    def emit(call: ImportCall) -> list[Value]:
        slots = range(len(call.node.inputs))
        total, shape = call.data(), call.shape()
        for slot in slots[1:]:
            other = call.shape(slot)
            out = broadcast_shape(shape, other)
            views = broadcast(out, [shape, other], total.shape if shape == out else None)
            assert views is not None
            pair = [call.network.view(total, views[0]), call.data(views[1], slot)]
            total, shape = call.network.add("BinaryOp", pair, broadcast_shape(*views), {0: number}), out
        if call.node.op == "Mean":
            total = call.network.add("BinaryOp", [total], total.shape, {0: MUL, 1: 1, 2: 1 / len(slots)})
        return [total]

    return emit


def _power(call: ImportCall) -> list[Value]:
    exponent = call.scalar(1, 1.0)
    layers = {2.0: SQUARE, 0.5: UNARY["Sqrt"], -1.0: UNARY["Reciprocal"]}
    if exponent in layers:
        return call.layer("UnaryOp", {0: layers[exponent]})
    if exponent == 1.0:
        return [call.data()]
    value = call.data()
    square = call.network.add("UnaryOp", [value], value.shape, {0: SQUARE})
    return [call.network.add("BinaryOp", [square, value], value.shape, {0: MUL})]


def _exp(call: ImportCall) -> list[Value]:
    """Square the exponential of half the number: ncnn's own is infinite from 88.4 on, and float32 holds those up to 88.7."""
    half = call.network.add("BinaryOp", [call.data()], call.data().shape, {0: MUL, 1: 1, 2: 0.5})
    root = call.network.add("UnaryOp", [half], half.shape, {0: UNARY["Exp"]})
    return [call.network.add("UnaryOp", [root], half.shape, {0: SQUARE})]


def _softplus(call: ImportCall) -> list[Value]:
    """Add the positive part to the logarithm of 1 and the exponential of -|x|: that of x, which ncnn takes, overflows from 88 on."""
    net, value = call.network, call.data()
    result = value
    for number in (UNARY["Abs"], UNARY["Neg"], UNARY["Exp"]):
        result = net.add("UnaryOp", [result], value.shape, {0: number})
    result = net.add("BinaryOp", [result], value.shape, {0: ADD, 1: 1, 2: 1.0})
    result = net.add("UnaryOp", [result], value.shape, {0: UNARY["Log"]})
    positive = net.add("ReLU", [value], value.shape)
    return [net.add("BinaryOp", [result, positive], value.shape, {0: ADD})]


EMITTERS: Mapping[str, Emitter] = {
    **{name: _unary(number) for name, number in UNARY.items()},
    **{name: _binary(number) for name, number in {"Add": ADD, "Sub": SUB, "Mul": MUL, "Div": DIV}.items()},
    **{name: _variadic(number) for name, number in {"Max": MAX, "Min": MIN, "Sum": ADD, "Mean": ADD}.items()},
    "Celu": lambda call: call.layer("CELU", {0: call.number("alpha")}),
    "Clip": _clip,
    "Elu": lambda call: call.layer("ELU", {0: call.number("alpha")}),
    "Erf": lambda call: call.layer("Erf"),
    "Exp": _exp,
    "Gelu": lambda call: call.layer("GELU", {0: int(call.attribute("approximate", "none") == "tanh")}),
    "HardSigmoid": lambda call: call.layer("HardSigmoid", {0: call.number("alpha"), 1: call.number("beta")}),
    "HardSwish": lambda call: call.layer("HardSwish", {0: 1 / 6, 1: 0.5}),
    "LeakyRelu": lambda call: call.layer("ReLU", {0: call.number("alpha")}),
    "Mish": lambda call: call.layer("Mish"),
    "PRelu": _prelu,
    "Pow": _power,
    "Relu": lambda call: call.layer("ReLU"),
    "Selu": lambda call: call.layer("SELU", {0: call.number("alpha"), 1: call.number("gamma")}),
    "Shrink": lambda call: call.layer("Shrink", {0: call.number("bias"), 1: call.number("lambd")}),
    "Sigmoid": lambda call: call.layer("Sigmoid"),
    "Softplus": _softplus,
}
"""Operator → the function that converts a call of it."""
