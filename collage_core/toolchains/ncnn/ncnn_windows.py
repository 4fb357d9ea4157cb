"""Converts convolutions and pools to layers of ncnn (see `ncnn_import`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from .ncnn_calls import Emitter, ImportCall
from .ncnn_mats import image
from .ncnn_network import Parameter, Value, marked, plain
from .ncnn_operators import pads_of, window


def _window_parameters(call: ImportCall, kernel: Sequence[int]) -> dict[int, Parameter]:
    """Return the parameters of a window as convolutions have them."""
    (rows, columns), strides, dilations = window(call, kernel)
    top, left, bottom, right = pads_of(call, (rows, columns), strides, dilations)
    return {
        1: columns, 11: rows, 2: dilations[1], 12: dilations[0], 3: strides[1], 13: strides[0],
        4: left, 15: right, 14: top, 16: bottom,
    }  # fmt: skip


def _convolution(call: ImportCall) -> list[Value]:
    weight, group = call.array(1), int(call.attribute("group"))
    parameters = {0: weight.shape[0], **_window_parameters(call, weight.shape[2:]), 5: int(call.has(2)), 6: weight.size}
    return _convolved(call, "Convolution", group, parameters, weight)


def _transposed_convolution(call: ImportCall) -> list[Value]:
    weight, group = call.array(1), int(call.attribute("group"))
    grouped = weight.reshape(group, weight.shape[0] // group, *weight.shape[1:])
    extra = [0, *(call.attribute("output_padding") or [0, 0])][-2:]
    parameters = {
        0: weight.shape[1] * group, **_window_parameters(call, weight.shape[2:]), 5: int(call.has(2)), 6: weight.size,
        18: extra[1], 19: extra[0],
    }  # fmt: skip
    return _convolved(call, "Deconvolution", group, parameters, np.swapaxes(grouped, 1, 2))


def _convolved(call: ImportCall, type: str, group: int, parameters: dict[int, Parameter], weight: np.ndarray) -> list[Value]:
    """Add a convolution, with its bias and the activation that follows it."""
    if group > 1:
        type, parameters = f"{type}DepthWise", parameters | {7: group}
    weights = marked(weight) + (plain(call.array(2)) if call.has(2) else b"")
    parameters |= call.activation()
    return [call.network.add(type, [call.data(image(call.shape()))], image(call.out), parameters, weights)]


def _pool(call: ImportCall) -> list[Value]:
    (rows, columns), strides, dilations = window(call, call.attribute("kernel_shape"))
    top, left, bottom, right = pads_of(call, (rows, columns), strides, dilations)
    is_average = call.node.op == "AveragePool"
    parameters = {
        0: int(is_average), 1: columns, 11: rows, 2: strides[1], 12: strides[0], 3: left, 14: right, 13: top, 15: bottom,
        5: 0 if call.attribute("ceil_mode") else 1, 6: int(is_average and call.attribute("count_include_pad")),
    }  # fmt: skip
    return [call.network.add("Pooling", [call.data(image(call.shape()))], image(call.out), parameters)]


def _global_pool(call: ImportCall) -> list[Value]:
    shape = call.shape()
    channels = shape[0] * shape[1]
    value = call.data((channels, prod(shape[2:-1]), shape[-1]))
    return [call.network.add("Pooling", [value], (channels,), {0: int(call.node.op == "GlobalAveragePool"), 4: 1})]


EMITTERS: Mapping[str, Emitter] = {
    "AveragePool": _pool,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "GlobalAveragePool": _global_pool,
    "GlobalMaxPool": _global_pool,
    "MaxPool": _pool,
}
"""Operator → the function that converts a call of it."""
