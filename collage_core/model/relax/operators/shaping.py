"""Operators that move, copy, choose or make elements: reshapes, slices, gathers, pads, resizes, constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...types.dtypes import elem_type
from .call_writer import CallWriter, Untranslatable, Written, plain, shape_of_type
from .table import translates

_END = np.iinfo(np.int64).max


@translates("reshape", "flatten")
def reshape(call: CallWriter) -> Written:
    return _reshaped(call, call.tensor(0))


def _reshaped(call: CallWriter, tensor: str) -> str:
    return str(call.emit("Reshape", [tensor, call.constant(call.out_shape, "shape", "int64")]))


@translates("expand_dims")
def expand_dims(call: CallWriter) -> Written:
    return str(call.emit("Unsqueeze", [call.tensor(0), call.constant(call.ints("axis"), "axes", "int64")]))


@translates("squeeze")
def squeeze(call: CallWriter) -> Written:
    rank = len(call.shape(0))
    axes = call.attr("axis")
    chosen = [at for at, extent in enumerate(call.shape(0)) if extent == 1] if axes is None else [int(axis) % rank for axis in axes]
    return str(call.emit("Squeeze", [call.tensor(0), call.constant(chosen, "axes", "int64")]))


@translates("permute_dims")
def permute_dims(call: CallWriter) -> Written:
    rank = len(call.shape(0))
    axes = call.attr("axes")
    order = list(range(rank))[::-1] if axes is None else [int(axis) % rank for axis in axes]
    return str(call.emit("Transpose", [call.tensor(0)], perm=order))


@translates("concat")
def concat(call: CallWriter) -> Written:
    axis = call.attr("axis")
    fields = call.tensors(0)
    if axis is None:
        flat = call.constant([-1], "flat", "int64")
        fields = [call.emit("Reshape", [field, flat]) for field in fields]
    return str(call.emit("Concat", fields, axis=int(axis or 0)))


@translates("stack")
def stack(call: CallWriter) -> Written:
    axis = int(call.attr("axis") or 0) % len(call.out_shape)
    axes = call.constant([axis], "axes", "int64")
    return str(call.emit("Concat", [call.emit("Unsqueeze", [field, axes]) for field in call.tensors(0)], axis=axis))


@translates("split")
def split(call: CallWriter) -> Written:
    axis = int(call.attr("axis")) % len(call.shape(0))
    sizes = [shape_of_type(field)[axis] for field in call.call.ty.fields]
    outputs = call.emit("Split", [call.tensor(0), call.constant(sizes, "split", "int64")], outputs=len(sizes), axis=axis)
    return (str(outputs),) if isinstance(outputs, str) else tuple(outputs)


@translates("strided_slice")
def strided_slice(call: CallWriter) -> Written:
    axes, begin, end = (_given_ints(call, index) for index in (1, 2, 3))
    steps = _given_ints(call, 4) if call.given(4) is not None else [1] * len(axes)
    rows = [(begin, "starts"), (end, "ends"), (axes, "axes"), (steps, "steps")]
    return str(call.emit("Slice", [call.tensor(0), *(call.constant(values, role, "int64") for values, role in rows)]))


def _given_ints(call: CallWriter, index: int) -> list[int]:
    found = plain(call.given(index))
    if not isinstance(found, list) or not all(isinstance(value, int) for value in found):
        raise Untranslatable("takes its bounds from a tensor")
    return found


@translates("flip")
def flip(call: CallWriter) -> Written:
    rows = [([-1], "starts"), ([-_END], "ends"), ([int(call.attr("axis"))], "axes"), ([-1], "steps")]
    return str(call.emit("Slice", [call.tensor(0), *(call.constant(values, role, "int64") for values, role in rows)]))


@translates("take")
def take(call: CallWriter) -> Written:
    axis, data, shape = call.attr("axis"), call.tensor(0), call.shape(0)
    if axis is None:
        data, axis, shape = call.emit("Reshape", [data, call.constant([-1], "flat", "int64")]), 0, [int(np.prod(shape))]
    return str(call.emit("Gather", [data, _inside(call, shape[int(axis)])], axis=int(axis)))


def _inside(call: CallWriter, extent: int) -> str:
    """Return the indices of a `take`; those that lie outside of the data wrap around or stop at its end, as its mode says."""
    indices, mode, dtype = call.tensor(1), call.attr("mode"), call.dtype(1)
    if mode == "wrap":
        return str(call.emit("Mod", [indices, call.constant(extent, "extent", dtype)]))
    if mode == "clip":
        return str(call.emit("Clip", [indices, *(call.constant(end, role, dtype) for end, role in ((0, "first"), (extent - 1, "last")))]))
    return indices


@translates("gather_elements")
def gather_elements(call: CallWriter) -> Written:
    return str(call.emit("GatherElements", [call.tensor(0), call.tensor(1)], axis=int(call.attr("axis"))))


@translates("gather_nd")
def gather_nd(call: CallWriter) -> Written:
    return str(call.emit("GatherND", [call.tensor(0), call.tensor(1)], batch_dims=int(call.attr("batch_dims"))))


@translates("index_tensor")
def index_tensor(call: CallWriter) -> Written:
    indices = call.tensors(1)
    if len(indices) > 1:
        raise Untranslatable("is indexed by several tensors")
    return str(call.emit("Gather", [call.tensor(0), indices[0]], axis=0))


@translates("scatter_elements")
def scatter_elements(call: CallWriter) -> Written:
    inputs = [call.tensor(index) for index in range(3)]
    return str(call.emit("ScatterElements", inputs, axis=int(call.attr("axis")), reduction=_reduction(call)))


@translates("scatter_nd")
def scatter_nd(call: CallWriter) -> Written:
    return str(call.emit("ScatterND", [call.tensor(index) for index in range(3)], reduction=_reduction(call)))


def _reduction(call: CallWriter) -> str:
    found = {"update": "none"}.get(call.attr("reduction"), call.attr("reduction"))
    if found not in ("none", "add", "mul", "min", "max"):
        raise Untranslatable(f"combines by {found!r}")
    return str(found)


@translates("broadcast_to")
def broadcast_to(call: CallWriter) -> Written:
    return str(call.emit("Expand", [call.tensor(0), call.constant(call.out_shape, "shape", "int64")]))


@translates("tile")
def tile(call: CallWriter) -> Written:
    repeats, shape = call.ints("repeats"), call.shape(0)
    data = call.tensor(0)
    if len(repeats) > len(shape):
        longer = [1] * (len(repeats) - len(shape)) + shape
        data = call.emit("Reshape", [data, call.constant(longer, "longer", "int64")])
    repeats = [1] * (len(shape) - len(repeats)) + repeats
    return str(call.emit("Tile", [data, call.constant(repeats, "repeats", "int64")]))


@translates("repeat")
def repeat(call: CallWriter) -> Written:
    axis, times, shape = call.attr("axis"), int(call.attr("repeats")), call.shape(0)
    if axis is None:
        axis, shape = 0, [int(np.prod(shape))]
    axis = int(axis) % len(shape)
    apart = call.emit("Reshape", [call.tensor(0), call.constant([*shape[: axis + 1], 1, *shape[axis + 1 :]], "apart", "int64")])
    copies = call.constant([*shape[: axis + 1], times, *shape[axis + 1 :]], "copies", "int64")
    return _reshaped(call, call.emit("Expand", [apart, copies]))


@translates("nn.pad")
def pad(call: CallWriter) -> Written:
    widths, mode = call.ints("pad_width"), {"replicate": "edge"}.get(call.attr("pad_mode"), call.attr("pad_mode"))
    if mode not in ("constant", "reflect", "edge"):
        raise Untranslatable(f"pads in the mode {mode!r}")
    inputs = [call.tensor(0), call.constant(widths[0::2] + widths[1::2], "pads", "int64")]
    if mode == "constant":
        inputs.append(call.constant(call.attr("pad_value"), "value", call.dtype(0)))
    return str(call.emit("Pad", inputs, mode=mode))


_NEAREST = {"round": "round_prefer_floor", "round_prefer_floor": "round_prefer_floor", "round_prefer_ceil": "round_prefer_ceil",
            "floor": "floor", "ceil": "ceil"}  # fmt: skip


@translates("image.resize2d")
def resize(call: CallWriter) -> Written:
    method = {"nearest_neighbor": "nearest"}.get(call.attr("method"), call.attr("method"))
    mode, rounding = call.attr("coordinate_transformation_mode"), call.attr("rounding_method") or "round_prefer_floor"
    if call.attr("layout") != "NCHW" or mode == "tf_crop_and_resize" or method not in ("nearest", "linear", "cubic"):
        raise Untranslatable(f"resizes {call.attr('layout')} by {method} and {mode}")
    if method == "nearest" and rounding not in _NEAREST:
        raise Untranslatable(f"rounds by {rounding!r}")
    more: dict[str, Any] = {"mode": method, "coordinate_transformation_mode": mode}
    if method == "nearest":
        more["nearest_mode"] = _NEAREST[rounding]
    if method == "cubic":
        more |= {"cubic_coeff_a": float(call.attr("cubic_alpha")), "exclude_outside": int(call.attr("cubic_exclude"))}
    return str(call.emit("Resize", [call.tensor(0), "", "", call.constant(call.out_shape, "sizes", "int64")], **more))


@translates("full", "full_like")
def full(call: CallWriter) -> Written:
    return call.constant(np.full(call.out_shape, call.number(1), call.out_dtype), "full")


@translates("zeros", "zeros_like")
def zeros(call: CallWriter) -> Written:
    return call.constant(np.zeros(call.out_shape, call.out_dtype), "zeros")


@translates("ones", "ones_like")
def ones(call: CallWriter) -> Written:
    return call.constant(np.ones(call.out_shape, call.out_dtype), "ones")


@translates("arange")
def arange(call: CallWriter) -> Written:
    start, end, step = (call.number(index) for index in range(3))
    return call.constant(np.arange(start, end, step).astype(call.out_dtype), "range")


@translates("tril", "triu")
def triangle(call: CallWriter) -> Written:
    upper = int(call.call.op.name == "relax.triu")
    return str(call.emit("Trilu", [call.tensor(0), call.constant(call.number(1), "k", "int64")], upper=upper))


@translates("one_hot")
def one_hot(call: CallWriter) -> Written:
    """Write OneHot in float32 and cast: ONNX Runtime implements it for few dtypes."""
    values = call.constant([call.number(2), call.number(1)], "values", "float32")
    depth = call.constant(int(call.attr("depth")), "depth", "int64")
    indices = call.emit("Cast", [call.tensor(0)], to=elem_type("int64"))
    result = call.emit("OneHot", [indices, depth, values], axis=int(call.attr("axis")))
    return str(call.emit("Cast", [result], to=elem_type(call.out_dtype)))


@translates("shape_to_tensor")
def shape_tensor(call: CallWriter) -> Written:
    """Shapes are fixed, so they are constants."""
    return call.tensor(0)
