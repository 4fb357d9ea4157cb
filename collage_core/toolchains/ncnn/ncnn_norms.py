"""Converts norms, softmaxes and reductions to layers of ncnn (see `ncnn_import`)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from .ncnn_calls import Emitter, ImportCall
from .ncnn_elementwise import ADD, SUB, UNARY
from .ncnn_mats import fold, groups_of, image
from .ncnn_network import MatShape, Network, Parameter, Value, plain
from .ncnn_operators import reduced_axes


def _softmax(call: ImportCall) -> list[Value]:
    value, axis = _along(call)
    return [call.network.add("Softmax", [value], value.shape, {0: axis, 1: 1})]


def _along(call: ImportCall) -> tuple[Value, int]:
    """Return the input of a Softmax, and which axis of the Mat it goes along."""
    shape = call.shape()
    if call.opset < 13:  # all axes from this one on are one
        axis = call.axis(1)
        return call.data((prod(shape[:axis]), prod(shape[axis:]))), 1
    outer, size, inner = fold(shape, call.axis(-1))
    return (call.data((outer, size)), 1) if inner == 1 else (call.data((outer, size, inner)), 1)


def _log_softmax(call: ImportCall) -> list[Value]:
    """Subtract the largest, and then the logarithm of the sum of exponentials: ncnn's logarithm of a softmax would lose small values."""
    value, axis = _along(call)
    moved, _, logarithm = _log_sum_exp(call.network, value, (axis,))
    return [call.network.add("BinaryOp", [moved, logarithm], value.shape, {0: SUB})]


def _reduce_log_sum_exp(call: ImportCall) -> list[Value]:
    """Add the largest at the end: ncnn's own reduction takes exponentials of the elements as they are, which overflow from 88 on."""
    value, axes, made = _runs(call)
    _, largest, logarithm = _log_sum_exp(call.network, value, axes)
    return [call.network.add("BinaryOp", [logarithm, largest], made, {0: ADD})]


def _log_sum_exp(net: Network, value: Value, axes: tuple[int, ...]) -> tuple[Value, Value, Value]:
    """Return the elements less the largest along `axes`, that largest, and the logarithm of the sum of exponentials of the first."""
    one = tuple(1 if index in axes else size for index, size in enumerate(value.shape))
    largest = net.add("Reduction", [value], one, _reduction_parameters(4, axes))
    moved = net.add("BinaryOp", [value, largest], value.shape, {0: SUB})
    powers = net.add("UnaryOp", [moved], value.shape, {0: UNARY["Exp"]})
    total = net.add("Reduction", [powers], one, _reduction_parameters(0, axes))
    return moved, largest, net.add("UnaryOp", [total], one, {0: UNARY["Log"]})


def _reduction_parameters(number: int, axes: tuple[int, ...]) -> dict[int, Parameter]:
    return {0: number, 1: 0, 2: 1.0, 3: axes, 4: 1, 5: 1}


_REDUCTIONS = {"Sum": 0, "SumSquare": 2, "Mean": 3, "Max": 4, "Min": 5, "Prod": 6, "L1": 7, "L2": 8, "LogSum": 9}


def _reduction(number: int) -> Emitter:
    def emit(call: ImportCall) -> list[Value]:
        value, axes, made = _runs(call)
        return [call.network.add("Reduction", [value], made, _reduction_parameters(number, axes))]

    return emit


def _runs(call: ImportCall) -> tuple[Value, tuple[int, ...], MatShape]:
    """Return the input of a reduction with neighbouring axes as one, which of these it goes over, and the shape of what it makes."""
    runs = groups_of(call.shape(), reduced_axes(call) or ())
    axes = tuple(index for index, (_, inside) in enumerate(runs) if inside)
    return call.data(tuple(size for size, _ in runs)), axes, tuple(1 if inside else size for size, inside in runs)


def _batch_norm(call: ImportCall) -> list[Value]:
    shape = call.shape()
    scale, bias, mean, variance = (np.tile(call.array(slot), shape[0]) for slot in (1, 2, 3, 4))
    rows = (shape[0] * shape[1], prod(shape[2:]))
    whole = image(shape) if len(shape) in (3, 4) else rows
    weights = plain(scale, mean, variance, bias)
    return [call.network.add("BatchNorm", [call.data(whole)], whole, {0: whole[0], 1: call.number("epsilon")}, weights)]


def _instance_norm(call: ImportCall) -> list[Value]:
    batch, channels, *rows = call.shape()
    whole = (batch * channels, prod(rows[:-1]), rows[-1])
    weights = plain(np.tile(call.array(1), batch), np.tile(call.array(2), batch))
    return [call.network.add("InstanceNorm", [call.data(whole)], whole, {0: whole[0], 1: call.number("epsilon"), 2: 1}, weights)]


def _group_norm(call: ImportCall) -> list[Value]:
    (batch, channels, *rows), groups = call.shape(), int(call.attribute("num_groups"))
    spread = [np.tile(np.repeat(call.array(slot), channels // call.shape(slot)[0]), batch) for slot in (1, 2)]
    whole = (batch * channels, prod(rows[:-1]), rows[-1] if rows else 1)
    parameters = {0: groups * batch, 1: batch * channels, 2: call.number("epsilon"), 3: 1}
    return [call.network.add("GroupNorm", [call.data(whole)], whole, parameters, plain(*spread))]


def _layer_norm(type: str) -> Emitter:
    def emit(call: ImportCall) -> list[Value]:
        shape, axis = call.shape(), call.axis(-1)
        size = prod(shape[axis:])
        scale = call.array(1) if call.has(1) else np.ones(size, np.float32)
        bias = call.array(2) if call.has(2) else np.zeros(size, np.float32)
        weights = plain(scale, bias) if type == "LayerNorm" else plain(scale)
        whole = (prod(shape[:axis]), size)
        return [call.network.add(type, [call.data(whole)], whole, {0: size, 1: call.number("epsilon"), 2: 1}, weights)]

    return emit


def _lrn(call: ImportCall) -> list[Value]:
    shape = call.shape()
    whole = (shape[1], prod(shape[2:-1]), shape[-1])
    parameters = {0: 0, 1: int(call.attribute("size")), 2: call.number("alpha"), 3: call.number("beta"), 4: call.number("bias")}
    return [call.network.add("LRN", [call.data(whole)], whole, parameters)]


def _cumulative(call: ImportCall) -> list[Value]:
    axis = int(call.scalar(1, 0))
    whole = fold(call.shape(), axis % len(call.shape()))
    return [call.network.add("CumulativeSum", [call.data(whole)], whole, {0: 1})]


EMITTERS: Mapping[str, Emitter] = {
    **{f"Reduce{name}": _reduction(number) for name, number in _REDUCTIONS.items()},
    "BatchNormalization": _batch_norm,
    "CumSum": _cumulative,
    "GroupNormalization": _group_norm,
    "InstanceNormalization": _instance_norm,
    "LRN": _lrn,
    "LayerNormalization": _layer_norm("LayerNorm"),
    "LogSoftmax": _log_softmax,
    "RMSNormalization": _layer_norm("RMSNorm"),
    "ReduceLogSumExp": _reduce_log_sum_exp,
    "Softmax": _softmax,
}
"""Operator → the function that converts a call of it."""
