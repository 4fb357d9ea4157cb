"""Convolutional detectors with seeded random weights, and the non-maximum suppression at their ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, TensorProto

from .blocks import conv, conv_norm, conv_relu, max_pool, upsample
from .boxes import corners, decode, gather_selected, grid_anchors, select, sizes_of
from .builder import Net

_CLASSES = 21
_MAPS = ((512, 0.1, 4), (1024, 0.2, 6), (512, 0.375, 6), (256, 0.55, 6), (256, 0.725, 4), (256, 0.9, 4))
"""SSD300's feature maps: channels, scale of the anchors, and anchors in each cell."""


def ssd300(side: int = 300, least: float = 0.82, seed: int = 2016) -> ModelProto:
    """Return SSD300 (Liu and others, 2016) on VGG-16: at 300 × 300 8,732 boxes of 21 classes from six maps, and the selected boxes.

    Args:
        side: Of the image, at least 272, so that the last map has a cell.
        least: Boxes of a lower score are dropped.
    """
    net = Net("ssd300", seed)
    maps = _vgg_maps(net, net.input("image", [1, 3, side, side]))
    heads = [_head(net, x, index) for index, x in enumerate(maps)]
    deltas = net.node("Concat", [head[0] for head in heads], "/head/Concat", axis=1)
    logits = net.node("Concat", [head[1] for head in heads], "/head/Concat_1", axis=1)
    anchors = np.concatenate([_ssd_anchors(index, each) for index, each in enumerate(_sides(side))])[None]
    boxes = decode(net, deltas, net.constant("anchors", anchors), "/decode", (0.1, 0.2))
    shares = net.node("Transpose", [net.node("Softmax", [logits], "/Softmax", axis=-1)], "/Transpose", perm=[0, 2, 1])
    bounds = [net.constant(f"foreground.{part}", [value], "int64") for part, value in (("start", 1), ("end", _CLASSES), ("axis", 1))]
    scores = net.node("Slice", [shares, *bounds], "/Slice")
    gather_selected(net, boxes, scores, select(net, boxes, scores, 20, 0.45, least))
    return net.model()


def _vgg_maps(net: Net, x: str) -> list[str]:
    """Add VGG-16 with dilated layers in place of its dense ones and the layers behind it, and return the six maps."""
    maps, before = [], 3
    for stage, (layers, after) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))):
        for layer in range(layers):
            x = conv_relu(net, x, f"/backbone/conv{stage + 1}_{layer + 1}", (before, after), 3, pad=1, gain=1 / 3 if before == 3 else 1.0)
            before = after
        if stage == 3:
            maps.append(_l2_norm(net, x, "/backbone/norm", after))
        name = f"/backbone/pool{stage + 1}/MaxPool"
        x = max_pool(net, x, name, stride=1, pad=1) if stage == 4 else max_pool(net, x, name, size=2, ceil=stage == 2)
    x = conv_relu(net, x, "/backbone/fc6", (512, 1024), 3, pad=6, dilation=6)
    x = conv_relu(net, x, "/backbone/fc7", (1024, 1024), 1)
    maps.append(x)
    before = 1024
    for index, (inner, after, stride) in enumerate(((256, 512, 2), (128, 256, 2), (128, 256, 1), (128, 256, 1))):
        x = conv_relu(net, x, f"/extra/{index}/reduce", (before, inner), 1)
        x = conv_relu(net, x, f"/extra/{index}/conv", (inner, after), 3, stride=stride, pad=stride - 1)
        before = after
        maps.append(x)
    return maps


def _l2_norm(net: Net, x: str, name: str, width: int) -> str:
    length = net.node("ReduceL2", [x], f"{name}/ReduceL2", axes=[1], keepdims=1)
    x = net.node("Div", [x, length], f"{name}/Div")
    return net.node("Mul", [x, net.uniform(f"{name}.weight", (1, width, 1, 1), 36, 44)], f"{name}/Mul")


def _head(net: Net, x: str, index: int) -> tuple[str, str]:
    """Add the convolutions that read boxes and classes off a map, and return both with an anchor in each row."""
    channels, _, count = _MAPS[index]
    outputs = []
    for part, size, gain in (("boxes", 4, 0.1), ("classes", _CLASSES, 0.3)):
        name = f"/head/{part}.{index}"
        y = conv(net, x, name, (channels, count * size), 3, pad=1, gain=gain)
        y = net.node("Transpose", [y], f"{name}/Transpose", perm=[0, 2, 3, 1])
        outputs.append(net.node("Reshape", [y, net.constant(f"{name}.rows", [1, -1, size], "int64")], f"{name}/Reshape"))
    return outputs[0], outputs[1]


def _sides(side: int) -> list[int]:
    """Return the sides of the six maps of an image: each pool and stride halves, and the last two convolutions are not padded."""
    fine = -(-(side // 4) // 2)
    middle = fine // 2
    coarse = -(-middle // 2)
    last = -(-coarse // 2)
    return [fine, middle, coarse, last, last - 2, last - 4]


def _ssd_anchors(index: int, side: int) -> np.ndarray:
    _, scale, count = _MAPS[index]
    above = _MAPS[index + 1][1] if index + 1 < len(_MAPS) else 1.075
    ratios = (1.0, 2.0, 0.5) if count == 4 else (1.0, 2.0, 0.5, 3.0, 1 / 3)
    return grid_anchors(side, [*sizes_of(scale, ratios), *sizes_of(math.sqrt(scale * above), (1.0,))])


_YOLO_CLASSES, _STRETCH = 80, 1.05
_YOLO_ANCHORS = {"coarse": ((81, 82), (135, 169), (344, 319)), "fine": ((23, 27), (37, 58), (81, 82))}


def yolov4_tiny(side: int = 416, least: float = 0.67, seed: int = 2020) -> ModelProto:
    """Return YOLOv4-tiny (Wang and others, 2020): at 416 × 416 2,535 boxes of 80 classes, and the numbers of the selected ones.

    Args:
        side: Of the image, a multiple of 32.
        least: Boxes of a lower score are dropped.
    """
    net, cells = Net("yolov4_tiny", seed), side // 32
    x = _leaky(net, net.input("image", [1, 3, side, side]), "/backbone/conv1", (3, 32), 3, stride=2)
    x = _leaky(net, x, "/backbone/conv2", (32, 64), 3, stride=2)
    fine = x
    for stage, width in enumerate((64, 128, 256), 1):
        x, fine = _partial_stage(net, x, f"/backbone/csp{stage}", width)
    x = _leaky(net, x, "/backbone/conv3", (512, 512), 3)
    x = _leaky(net, x, "/neck/conv1", (512, 256), 1)
    y = _leaky(net, x, "/head/coarse/conv1", (256, 512), 3)
    coarse = _yolo_head(net, y, "coarse", 512, cells)
    y = upsample(net, _leaky(net, x, "/neck/conv2", (256, 128), 1), "/neck/upsample")
    y = _leaky(net, net.node("Concat", [y, fine], "/neck/Concat", axis=1), "/head/fine/conv1", (384, 256), 3)
    heads = zip(coarse, _yolo_head(net, y, "fine", 256, 2 * cells), strict=True)
    boxes, scores = (
        net.node("Concat", pair, f"/{made}/Concat", made=made, axis=1) for made, pair in zip(("boxes", "scores"), heads, strict=True)
    )
    by_class = net.node("Transpose", [scores], "/nms/Transpose", perm=[0, 2, 1])
    select(net, boxes, by_class, 10, 0.45, least, made="selected")
    net.output("boxes", [1, 15 * cells * cells, 4])
    net.output("scores", [1, 15 * cells * cells, _YOLO_CLASSES])
    net.output("selected", ["selections", 3], TensorProto.INT64)
    return net.model()


def _leaky(net: Net, x: str, name: str, channels: tuple[int, int], size: int, stride: int = 1) -> str:
    """Add a convolution, its batch norm and a leaky ReLU, and return the output."""
    x = conv_norm(net, x, name, channels, size, stride=stride, pad=size // 2)
    return net.node("LeakyRelu", [x], f"{name}/LeakyRelu", alpha=0.1)


def _partial_stage(net: Net, x: str, name: str, width: int) -> tuple[str, str]:
    """Add a stage that sends half of its channels through more layers; return its pooled output and that of these layers."""
    x = _leaky(net, x, f"{name}/conv1", (width, width), 3)
    bounds = {"start": width // 2, "end": width, "axis": 1}
    half = [net.constant(f"{name}.half.{part}", [value], "int64") for part, value in bounds.items()]
    y = _leaky(net, net.node("Slice", [x, *half], f"{name}/Slice"), f"{name}/conv2", (width // 2, width // 2), 3)
    z = _leaky(net, y, f"{name}/conv3", (width // 2, width // 2), 3)
    y = _leaky(net, net.node("Concat", [z, y], f"{name}/Concat", axis=1), f"{name}/conv4", (width, width), 1)
    x = net.node("Concat", [x, y], f"{name}/Concat_1", axis=1)
    return max_pool(net, x, f"{name}/MaxPool", size=2), y


def _yolo_head(net: Net, x: str, level: str, width: int, side: int) -> Sequence[str]:
    """Add the last convolution of a head and the decoding of its boxes; return boxes [1, n, 4] and scores [1, n, classes]."""
    sizes, name = _YOLO_ANCHORS[level], f"/head/{level}"
    x = conv(net, x, f"{name}/conv2", (width, len(sizes) * (5 + _YOLO_CLASSES)), 1, gain=0.01)
    x = net.node("Reshape", [x, net.constant(f"{name}.anchors", [1, 3, 5 + _YOLO_CLASSES, side * side], "int64")], f"{name}/Reshape")
    x = net.node("Transpose", [x], f"{name}/Transpose", perm=[0, 3, 1, 2])
    x = net.node("Reshape", [x, net.constant(f"{name}.rows", [1, -1, 5 + _YOLO_CLASSES], "int64")], f"{name}/Reshape_1")
    parts = net.nodes("Split", [x, net.constant(f"{name}.parts", [2, 2, 1, _YOLO_CLASSES], "int64")], f"{name}/Split", 4, axis=2)
    anchors = grid_anchors(side, [(width / 416, height / 416) for width, height in sizes])[None]
    shifts = net.node("Sigmoid", [parts[0]], f"{name}/Sigmoid")
    shifts = net.node("Mul", [shifts, net.constant(f"{name}.stretch", _STRETCH / side)], f"{name}/Mul")
    corner = net.constant(f"{name}.cells", anchors[..., :2] - np.float32(_STRETCH / side / 2))
    grown = net.node("Mul", [net.node("Exp", [parts[1]], f"{name}/Exp"), net.constant(f"{name}.sizes", anchors[..., 2:])], f"{name}/Mul_1")
    boxes = corners(net, net.node("Add", [shifts, corner], f"{name}/Add"), grown, name)
    present, classes = (net.node("Sigmoid", [part], f"{name}/Sigmoid_{index}") for index, part in enumerate(parts[2:], 1))
    return boxes, net.node("Mul", [present, classes], f"{name}/Mul_2")
