"""Converts operators that only move elements, and those that resize, to layers of ncnn (see `ncnn_import`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ..toolchain import ToolchainError
from .ncnn_calls import Emitter, ImportCall
from .ncnn_mats import fold, image, merged_permutation
from .ncnn_network import MatShape, Value
from .ncnn_operators import PAD_TYPES, pad_amounts


def _concat(call: ImportCall) -> list[Value]:
    axis, shapes = call.axis(0), call.shapes
    if len(shapes) == 1:
        return [call.data()]
    outer, total, inner = fold(call.out, axis)
    views: list[MatShape] = [(outer, shape[axis], inner) for shape in shapes]
    made: MatShape = (outer, total, inner)
    if outer == 1:
        keeps = 2 <= len(call.out) - axis <= 3
        views = [shape[axis:] if keeps else (shape[axis], inner) for shape in shapes]
        made = call.out[axis:] if keeps else (total, inner)
    values = [call.data(view, slot) for slot, view in enumerate(views)]
    return [call.network.add("Concat", values, made, {0: int(outer > 1)})]


def _split(call: ImportCall) -> list[Value]:
    axis = call.axis(0)
    sizes = [tensor.type.shape[axis] for tensor in call.node.outputs]
    outer, total, inner = fold(call.shape(), axis)
    if len(sizes) == 1:
        return [_cropped(call, [(axis, 0, sizes[0])])]
    keeps = outer == 1 and 2 <= len(call.shape()) - axis <= 3
    whole: MatShape = call.shape()[axis:] if keeps else (outer, total, inner)
    shapes: list[MatShape] = [(size, *whole[1:]) if keeps else (outer, size, inner) for size in sizes]
    return call.network.add_many("Slice", [call.data(whole)], shapes, {0: tuple(sizes), 1: int(not keeps)})


def _slice(call: ImportCall) -> list[Value]:
    shape = call.shape()
    starts, ends = call.integers(1, "starts") or (), call.integers(2, "ends") or ()
    axes = call.integers(3, "axes") or range(len(starts))
    cuts = []
    for axis, start, end in zip(axes, starts, ends, strict=True):
        first, last, _ = slice(start, end).indices(shape[axis])
        cuts.append((axis % len(shape), first, last))
    return [_cropped(call, cuts)]


def _cropped(call: ImportCall, cuts: Sequence[tuple[int, int, int]]) -> Value:
    """Return the input between ``first`` and ``last`` on each of some axes, one axis after another."""
    shape, value = list(call.shape()), call.data()
    for axis, first, last in cuts:
        if (first, last) == (0, shape[axis]):
            continue
        outer, _, inner = fold(shape, axis)
        crop = {9: (first,), 10: (last,), 11: (1,)}
        whole = call.network.view(value, (outer, shape[axis], inner))
        value = call.network.add("Crop", [whole], (outer, last - first, inner), crop)
        shape[axis] = last - first
    return value


_ORDERS = {
    2: "WH HW",
    3: "WHC HWC WCH CWH HCW CHW",
    4: "WHDC HWDC WDHC DWHC HDWC DHWC WHCD HWCD WCHD CWHD HCWD CHWD WDCH DWCH WCDH CWDH DCWH CDWH HDCW DHCW HCDW CHDW DCHW CDHW",
}
"""Number of axes → ncnn's orders of them, from the innermost."""


def permuted(call: ImportCall, shape: tuple[int, ...], order: Sequence[int], slot: int = 0) -> Value:
    """Return an input with its axes in another order."""
    merged, ranks = merged_permutation(shape, order)
    if len(merged) < 2:
        return call.data(slot=slot)
    letters = {2: "HW", 3: "CHW", 4: "CDHW"}[len(merged)]
    number = _ORDERS[len(merged)].split().index("".join(letters[rank] for rank in reversed(ranks)))
    return call.network.add("Permute", [call.data(merged, slot)], tuple(merged[rank] for rank in ranks), {0: number})


def _transpose(call: ImportCall) -> list[Value]:
    order = call.attribute("perm") or range(len(call.shape()))[::-1]
    return [permuted(call, call.shape(), order)]


def _pad(call: ImportCall) -> list[Value]:
    amounts = pad_amounts(call)
    assert amounts is not None
    (top, left), (bottom, right) = ([0, 0, *side][-2:] for side in amounts)
    fill = call.scalar(2, float(call.attribute("value", 0.0)))
    whole, out = ([1, 1, *shape] for shape in (call.shape(), call.out))
    shapes = [(prod(shape[:-2]), shape[-2], shape[-1]) for shape in (whole, out)]
    parameters = {0: top, 1: bottom, 2: left, 3: right, 4: PAD_TYPES[call.attribute("mode")], 5: fill}
    return [call.network.add("Padding", [call.data(shapes[0])], shapes[1], parameters)]


def _resize(call: ImportCall) -> list[Value]:
    ins, out = image(call.shape()), image(call.out)
    _check_scales(call)
    is_linear = call.attribute("mode") == "linear"
    corners = call.node.attributes.get("coordinate_transformation_mode") == "align_corners"
    parameters = {0: 2 if is_linear else 1, 3: out[1], 4: out[2], 6: int(corners)}
    return [call.network.add("Interp", [call.data(ins)], out, parameters)]


def _check_scales(call: ImportCall) -> None:
    """Raise ToolchainError where the scales are not the quotients of the sizes, by which ncnn goes."""
    slot = 1 if call.node.op == "Upsample" or len(call.node.inputs) == 2 else 2
    scales = call.array(slot) if call.has(slot) else np.asarray(call.node.attributes.get("scales", ()), np.float32)
    if call.opset < 11 and call.attribute("mode") == "linear":
        raise ToolchainError("import", f"{call.node.op} interpolates with coordinates asymmetric")
    for scale, size, out in zip(scales, call.shape(), call.out, strict=False):
        if abs(float(scale) * size - out) > 1e-4:
            raise ToolchainError("import", f"{call.node.op} has a scale of {scale:g}, which is not {out}/{size}")


def _blocks(type: str) -> Emitter:
    def emit(call: ImportCall) -> list[Value]:
        mode = 1 if call.attribute("mode", "DCR") == "DCR" else 0
        return [call.network.add(type, [call.data(image(call.shape()))], image(call.out), {0: int(call.attribute("blocksize")), 1: mode})]

    return emit


def _same(call: ImportCall) -> list[Value]:
    return [call.data()]


EMITTERS: Mapping[str, Emitter] = {
    **dict.fromkeys(("Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"), _same),
    "Concat": _concat,
    "DepthToSpace": _blocks("PixelShuffle"),
    "Pad": _pad,
    "Resize": _resize,
    "Slice": _slice,
    "SpaceToDepth": _blocks("Reorg"),
    "Split": _split,
    "Transpose": _transpose,
    "Upsample": _resize,
}
"""Operator → the function that converts a call of it."""
