"""The ends of detectors: anchors, boxes that are decoded from them, and the selection of boxes that do not overlap.

A `Net`, the tensors that a detector's heads made and the scope of names enter; nodes are added and the names of their outputs leave.
Boxes are corners (left, top, right, bottom) in shares of the image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from .builder import Net


def grid_anchors(side: int, sizes: Sequence[tuple[float, float]]) -> np.ndarray:
    """Return anchors (centre x and y, width, height) of all `sizes` for each cell of a `side` × `side` grid, row by row."""
    cells = [((column + 0.5) / side, (row + 0.5) / side) for row in range(side) for column in range(side)]
    return np.array([(*cell, *size) for cell in cells for size in sizes], np.float32)


def sizes_of(scale: float, ratios: Sequence[float]) -> list[tuple[float, float]]:
    """Return a width and height of area `scale`² for each ratio of them."""
    return [(scale * math.sqrt(ratio), scale / math.sqrt(ratio)) for ratio in ratios]


def decode(net: Net, deltas: str, anchors: str, name: str, steps: tuple[float, float]) -> str:
    """Add nodes that move and scale `anchors` by `deltas`, whose parts count in the two `steps`; return boxes [1, n, 4]."""
    halves = net.constant(f"{name}.halves", [2, 2], "int64")
    shifts, growths = net.nodes("Split", [deltas, halves], f"{name}/Split", 2, axis=-1)
    centres, sizes = net.nodes("Split", [anchors, halves], f"{name}/Split_1", 2, axis=-1)
    shifts = net.node("Mul", [shifts, net.constant(f"{name}.shift_step", steps[0])], f"{name}/Mul")
    centres = net.node("Add", [net.node("Mul", [shifts, sizes], f"{name}/Mul_1"), centres], f"{name}/Add")
    growths = net.node("Mul", [growths, net.constant(f"{name}.growth_step", steps[1])], f"{name}/Mul_2")
    sizes = net.node("Mul", [net.node("Exp", [growths], f"{name}/Exp"), sizes], f"{name}/Mul_3")
    return corners(net, centres, sizes, name)


def corners(net: Net, centres: str, sizes: str, name: str) -> str:
    """Add nodes that turn centres and sizes into corners, and return the boxes."""
    halved = net.node("Mul", [sizes, net.constant(f"{name}.half", 0.5)], f"{name}/halved/Mul")
    sides = [net.node(op, [centres, halved], f"{name}/corners/{op}") for op in ("Sub", "Add")]
    return net.node("Concat", sides, f"{name}/corners/Concat", axis=-1)


def select(net: Net, boxes: str, scores: str, most: int, overlap: float, least: float, *, made: str | None = None) -> str:
    """Add a NonMaxSuppression and return its output: batch, class and box of each box that is selected.

    Args:
        net: The model.
        boxes: Tensor [1, n, 4].
        scores: Tensor [1, classes, n].
        most: Most boxes for each class.
        overlap: Intersection over union above which the box of the lower score is dropped.
        least: Boxes of a lower score are dropped.
        made: Name of the output.
    """
    bounds = [
        net.constant("max_output_boxes_per_class", [most], "int64"),
        net.constant("iou_threshold", [overlap]),
        net.constant("score_threshold", [least]),
    ]
    return net.node("NonMaxSuppression", [boxes, scores, *bounds], "/nms/NonMaxSuppression", made=made)


def gather_selected(net: Net, boxes: str, scores: str, selected: str) -> None:
    """Add the outputs `boxes` [n, 4], `scores` [n] and `labels` [n] of what `select` selected."""
    box = net.node("Gather", [selected, net.constant("nms.box", 2, "int64")], "/nms/box/Gather", axis=1)
    flat = net.node("Squeeze", [boxes, net.constant("nms.batch", [0], "int64")], "/nms/Squeeze")
    net.node("Gather", [flat, box], "/nms/boxes/Gather", made="boxes", axis=0)
    net.node("GatherND", [scores, selected], "/nms/scores/GatherND", made="scores")
    net.node("Gather", [selected, net.constant("nms.class", 1, "int64")], "/nms/labels/Gather", made="labels", axis=1)
    net.output("boxes", ["selected", 4])
    net.output("scores", ["selected"])
    net.output("labels", ["selected"], TensorProto.INT64)
