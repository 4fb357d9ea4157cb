"""Converts matrix products and recurrent operators to layers of ncnn (see `ncnn_import`)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from .ncnn_calls import Emitter, ImportCall
from .ncnn_elementwise import ADD, MUL
from .ncnn_mats import broadcast, product_shapes
from .ncnn_network import Value, marked, plain
from .ncnn_shapes import permuted


def _inner_product(call: ImportCall, value: Value, weight: np.ndarray, bias: np.ndarray | None, is_last: bool = True) -> Value:
    """Add the product of rows with a constant ``[K, N]``; with the activation that follows where it makes the output (`is_last`)."""
    rows, depth = value.shape
    outs = weight.shape[1]
    weights = marked(weight.T) + (plain(bias) if bias is not None else b"")
    parameters = {0: outs, 1: int(bias is not None), 2: weight.size}
    if is_last:
        parameters |= call.activation()
    if rows == 1:
        value = call.network.view(value, (depth,))
    return call.network.add("InnerProduct", [value], (rows, outs) if rows > 1 else (outs,), parameters, weights)


def _product(call: ImportCall) -> list[Value]:
    shapes = product_shapes(call.shape(0), call.shape(1))
    assert shapes is not None
    left, right = shapes
    if call.is_constant(1) and len(right) == 2:
        adding = _bias(call, right[1])
        if adding is None:
            return [_inner_product(call, call.data(left), call.array(1).reshape(right), None)]
        call.pass_through(adding)
        return [_inner_product(adding, call.data(left), call.array(1).reshape(right), adding.constant_operand())]
    shape = (*left[:-1], right[-1])
    return [call.network.add("MatMul", [call.data(left, 0), call.data(right, 1)], shape)]


def _bias(call: ImportCall, outs: int) -> ImportCall | None:
    """Return the call that alone reads a product, and adds a constant to each of its `outs` columns."""
    reader = call.only_reader()
    added = reader.constant_operand() if reader is not None and reader.node.op == "Add" else None
    is_bias = added is not None and added.shape[-1:] == (outs,) and added.size == outs and added.ndim <= len(call.out)
    return reader if is_bias else None


def _gemm(call: ImportCall) -> list[Value]:
    alpha, beta = call.number("alpha"), call.number("beta")
    left, right = (
        permuted(call, call.shape(slot), (1, 0), slot) if flag else call.data(call.shape(slot), slot)
        for slot, flag in enumerate((call.attribute("transA"), call.attribute("transB") and not call.is_constant(1)))
    )
    rows, outs = call.out
    left = call.network.view(left, (rows, prod(left.shape) // rows))
    depth = left.shape[1]
    adds = call.has(2)
    if call.is_constant(1):
        weight = call.array(1).T if call.attribute("transB") else call.array(1)
        per_column = adds and call.is_constant(2) and prod(call.shape(2)[:-1]) == 1
        bias = np.broadcast_to(call.array(2).reshape(-1) * np.float32(beta), outs) if per_column else None
        product = _inner_product(call, left, weight * np.float32(alpha), bias, is_last=per_column or not adds)
        adds, alpha = adds and not per_column, 1.0
    else:
        product = call.network.add("MatMul", [left, call.network.view(right, (depth, outs))], (rows, outs))
    if alpha != 1.0:
        product = call.network.add("BinaryOp", [product], product.shape, {0: MUL, 1: 1, 2: alpha})
    return [_added(call, product, beta) if adds else product]


def _added(call: ImportCall, made: Value, beta: float) -> Value:
    """Add the third operand of a Gemm to the product."""
    views = broadcast(call.out, [call.out, call.shape(2)], call.out)
    assert views is not None
    other = call.data(views[1], 2)
    if beta != 1.0:
        other = call.network.add("BinaryOp", [other], other.shape, {0: MUL, 1: 1, 2: beta})
    return call.network.add("BinaryOp", [call.network.view(made, views[0]), other], call.out, {0: ADD})


def _recurrent(call: ImportCall) -> list[Value]:
    """Add an LSTM or a GRU; ONNX orders its gates iofc and zrh, ncnn ifoc and rzn, with the biases of both sides summed where it can."""
    directions, depth, hidden = call.shape(1)[0], call.shape(1)[2], call.shape(2)[2]
    is_lstm = call.node.op == "LSTM"
    order = (0, 2, 1, 3) if is_lstm else (1, 0, 2)
    gates = len(order)

    def ordered(array: np.ndarray) -> np.ndarray:
        return array.reshape(directions, gates, hidden, -1)[:, order]

    bias = call.array(3) if call.has(3) else np.zeros((directions, 2 * gates * hidden), np.float32)
    ours, theirs = (bias.reshape(directions, 2, gates, hidden)[:, side][:, order] for side in (0, 1))
    # of a GRU the bias of the last gate is multiplied on the recurrent side alone
    biases = ours + theirs if is_lstm else np.concatenate([ours[:, :2] + theirs[:, :2], ours[:, 2:], theirs[:, 2:]], axis=1)
    weights = marked(ordered(call.array(1))) + marked(biases) + marked(ordered(call.array(2)))
    direction = {"forward": 0, "reverse": 1, "bidirectional": 2}[call.attribute("direction")]
    steps = call.shape()[0]
    parameters = {0: hidden, 1: directions * gates * hidden * depth, 2: direction}
    return [call.network.add(call.node.op, [call.data((steps, depth))], (steps, directions * hidden), parameters, weights)]


EMITTERS: Mapping[str, Emitter] = {"GRU": _recurrent, "Gemm": _gemm, "LSTM": _recurrent, "MatMul": _product}
"""Operator → the function that converts a call of it."""
