"""Layers of networks: convolutions, pools, normalisations, matrix products, attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .call_writer import CallWriter, Untranslatable, Written
from .table import translates


@translates("nn.conv1d", "nn.conv2d", "nn.conv3d")
def conv(call: CallWriter) -> Written:
    _check_layouts(call, "OI")
    return str(call.emit("Conv", [call.tensor(0), call.tensor(1)], kernel_shape=call.shape(1)[2:], **_window(call)))


@translates("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def conv_transpose(call: CallWriter) -> Written:
    _check_layouts(call, "IO")
    more: dict[str, Any] = {"kernel_shape": call.shape(1)[2:], "output_padding": call.ints("output_padding")}
    return str(call.emit("ConvTranspose", [call.tensor(0), call.tensor(1)], **_window(call), **more))


def _check_layouts(call: CallWriter, kernel: str) -> None:
    layouts = [call.attr("data_layout"), call.attr("kernel_layout"), call.attr("out_layout")]
    plain = ["NCDHW"[:2] + "DHW"[-(len(layouts[0]) - 2) :], kernel + "DHW"[-(len(layouts[0]) - 2) :]]
    if len(layouts[0]) == 3:
        plain = ["NCW", f"{kernel}W"]
    if layouts[:2] != plain or layouts[2] not in ("", plain[0]):
        raise Untranslatable(f"has the layouts {layouts[0]} and {layouts[1]}; {plain[0]} and {plain[1]} are translated")
    if call.out_dtype != call.dtype(0):
        raise Untranslatable(f"makes {call.out_dtype} of {call.dtype(0)}")


def _window(call: CallWriter) -> dict[str, Any]:
    rank = len(call.shape(0)) - 2
    window: dict[str, Any] = {"strides": _spread(call.ints("strides"), rank), "pads": _pads(call, rank)}
    window["dilations"] = _spread(call.ints("dilation"), rank)
    if hasattr(call.call.attrs, "groups"):
        window["group"] = int(call.attr("groups"))
    return window


def _spread(values: list[int], rank: int) -> list[int]:
    return values * rank if len(values) == 1 else values


def _pads(call: CallWriter, rank: int) -> list[int]:
    pads = _spread(call.ints("padding"), rank)
    return pads * 2 if len(pads) == rank else pads


@translates("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def max_pool(call: CallWriter) -> Written:
    return _pool(call, "MaxPool")


@translates("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def avg_pool(call: CallWriter) -> Written:
    return _pool(call, "AveragePool", count_include_pad=int(call.attr("count_include_pad")))


def _pool(call: CallWriter, op: str, **more: int) -> str:
    _check_pool_layout(call)
    rank = len(call.shape(0)) - 2
    size, ceil_mode = _spread(call.ints("pool_size"), rank), int(call.attr("ceil_mode"))
    attributes: dict[str, Any] = {"kernel_shape": size, "ceil_mode": ceil_mode, **_window(call), **more}
    if ceil_mode and _reaches_beyond(call, size):
        raise Untranslatable("has a last window that lies in the padding only")
    return str(call.emit(op, [call.tensor(0)], **attributes))


def _reaches_beyond(call: CallWriter, size: list[int]) -> bool:
    """Return whether a window begins behind the input and its padding at the front, which ONNX leaves out and Relax does not."""
    rank = len(size)
    strides, pads = _spread(call.ints("strides"), rank), _pads(call, rank)
    extents = zip(call.shape(0)[2:], call.out_shape[2:], strides, pads, strict=False)
    return any((made - 1) * stride >= extent + front for extent, made, stride, front in extents)


def _check_pool_layout(call: CallWriter) -> None:
    if not call.attr("layout").startswith("NC") or call.attr("out_layout") not in ("", call.attr("layout")):
        raise Untranslatable(f"has the layout {call.attr('layout')}; channels first is translated")


@translates("nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d")
def adaptive_avg_pool(call: CallWriter) -> Written:
    _check_pool_layout(call)
    extents, made = call.shape(0)[2:], call.out_shape[2:]
    if all(size == 1 for size in made):
        return str(call.emit("GlobalAveragePool", [call.tensor(0)]))
    if any(extent % size for extent, size in zip(extents, made, strict=True)):
        raise Untranslatable(f"makes {made} of {extents}, with windows of different sizes")
    window = [extent // size for extent, size in zip(extents, made, strict=True)]
    return str(call.emit("AveragePool", [call.tensor(0)], kernel_shape=window, strides=window))


@translates("matmul")
def matmul(call: CallWriter) -> Written:
    if call.out_dtype != call.dtype(0):
        raise Untranslatable(f"makes {call.out_dtype} of {call.dtype(0)}")
    return str(call.emit("MatMul", [call.tensor(0), call.tensor(1)]))


@translates("nn.softmax")
def softmax(call: CallWriter) -> Written:
    return str(call.emit("Softmax", [call.tensor(0)], axis=int(call.attr("axis"))))


@translates("nn.log_softmax")
def log_softmax(call: CallWriter) -> Written:
    return str(call.emit("LogSoftmax", [call.tensor(0)], axis=int(call.attr("axis"))))


@translates("nn.batch_norm")
def batch_norm(call: CallWriter) -> Written:
    if call.attr("training"):
        raise Untranslatable("trains: its numbers are those of the batch")
    if int(call.attr("axis")) != 1 or not (call.attr("center") and call.attr("scale")):
        raise Untranslatable("is not along axis 1, or lacks its shift or scale")
    inputs = [call.tensor(index) for index in range(5)]
    return (str(call.emit("BatchNormalization", inputs, epsilon=float(call.attr("epsilon")))), inputs[3], inputs[4])


@translates("nn.layer_norm")
def layer_norm(call: CallWriter) -> Written:
    rank = len(call.shape(0))
    axes = sorted(axis % rank for axis in call.ints("axes"))
    if axes != list(range(axes[0], rank)) or not (call.attr("center") and call.attr("scale")):
        raise Untranslatable("is not along the last axes, or lacks its shift or scale")
    inputs = [call.tensor(index) for index in range(3)]
    return str(call.emit("LayerNormalization", inputs, axis=axes[0] - rank, epsilon=float(call.attr("epsilon"))))


@translates("nn.rms_norm")
def rms_norm(call: CallWriter) -> Written:
    data, rank = call.tensor(0), len(call.shape(0))
    axes = call.constant([axis % rank for axis in call.ints("axes")], "axes", "int64")
    mean = call.emit("ReduceMean", [call.emit("Mul", [data, data]), axes])
    epsilon = call.constant(float(call.attr("epsilon")), "epsilon", call.dtype(0))
    root = call.emit("Sqrt", [call.emit("Add", [mean, epsilon])])
    return str(call.emit("Mul", [call.emit("Div", [data, root]), call.tensor(1)]))


@translates("nn.instance_norm")
def instance_norm(call: CallWriter) -> Written:
    rank = len(call.shape(0))
    axes = sorted(axis % rank for axis in call.ints("axes"))
    if int(call.attr("channel_axis")) != 1 or axes != list(range(2, rank)) or not (call.attr("center") and call.attr("scale")):
        raise Untranslatable("is not over all axes behind the channels, or lacks its shift or scale")
    inputs = [call.tensor(index) for index in range(3)]
    return str(call.emit("InstanceNormalization", inputs, epsilon=float(call.attr("epsilon"))))


@translates("nn.group_norm")
def group_norm(call: CallWriter) -> Written:
    """Each group of channels is normalised as one channel of a longer image; the scale and shift are those of the channels."""
    shape, groups = call.shape(0), int(call.attr("num_groups"))
    if int(call.attr("channel_axis")) != 1 or not (call.attr("center") and call.attr("scale")):
        raise Untranslatable("is not along axis 1, or lacks its shift or scale")
    grouped = call.emit("Reshape", [call.tensor(0), call.constant([shape[0], groups, -1], "grouped", "int64")])
    ones, zeros = (call.constant(np.full(groups, value, call.dtype(0)), role) for value, role in ((1, "ones"), (0, "zeros")))
    normal = call.emit("InstanceNormalization", [grouped, ones, zeros], epsilon=float(call.attr("epsilon")))
    back = call.emit("Reshape", [normal, call.constant(shape, "shape", "int64")])
    along = call.constant([-1] + [1] * (len(shape) - 2), "along", "int64")
    scale, shift = (call.emit("Reshape", [call.tensor(index), along]) for index in (1, 2))
    return str(call.emit("Add", [call.emit("Mul", [back, scale]), shift]))


@translates("nn.attention", "nn.attention_bias")
def attention(call: CallWriter) -> Written:
    """Query, key and value are batch × sequence × heads × size."""
    heads = [call.emit("Transpose", [call.tensor(index)], perm=[0, 2, 1, 3]) for index in (0, 2)]
    keys = call.emit("Transpose", [call.tensor(1)], perm=[0, 2, 3, 1])
    scale = call.attr("scale")
    if call.attr("window_size") is not None:
        raise Untranslatable("looks at a window")
    factor = 1 / math.sqrt(call.shape(0)[3]) if scale is None else float(scale)
    scores = call.emit("Mul", [call.emit("MatMul", [heads[0], keys]), call.constant(factor, "scale", call.dtype(0))])
    if call.given(3) is not None:
        scores = call.emit("Add", [scores, call.tensor(3)])
    if call.attr("causal_mask") is not None:
        scores = call.emit("Add", [scores, _mask(call, call.attr("causal_mask"))])
    mixed = call.emit("MatMul", [call.emit("Softmax", [scores], axis=-1), heads[1]])
    return str(call.emit("Transpose", [mixed], perm=[0, 2, 1, 3]))


def _mask(call: CallWriter, corner: str) -> str:
    queries, keys = call.shape(0)[1], call.shape(1)[1]
    visible = np.tri(queries, keys, keys - queries if corner == "BottomRight" else 0, dtype=bool)
    return call.constant(np.where(visible, 0, -math.inf).astype(call.dtype(0)), "mask")
