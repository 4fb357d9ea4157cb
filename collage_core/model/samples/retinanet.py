"""RetinaNet with seeded random weights: an int8 backbone, a feature pyramid and heads in float, and the selected boxes."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from .blocks import conv, max_pool, upsample
from .boxes import decode, gather_selected, grid_anchors, select, sizes_of
from .builder import Net
from .symmetric import INPUT_STEP, int8_conv, quantise

_WIDTH, _CLASSES, _KEPT = 256, 80, 1000


def retinanet(side: int = 320, most: int = 10, least: float = 0.791, seed: int = 2017) -> ModelProto:
    """Return RetinaNet (Lin and others, 2017) with a quantised ResNet-18: at 320 × 320 19,206 boxes of 80 classes, TopK and suppression.

    Args:
        side: Of the picture, a multiple of 32; at least 96, for fewer boxes than are kept are no model.
        most: Most boxes for each class.
        least: Boxes of a lower score are dropped.
    """
    sides = [side // 8, side // 16, side // 32, -(-side // 64), -(-side // 128)]
    net = Net("retinanet", seed)
    # No value of the seeded inputs of this name lies so close to the middle of two steps that toolchains round it to different ones.
    levels = _pyramid(net, _backbone(net, net.input("pixel_values", [1, 3, side, side])))
    logits = _head(net, levels, "classification_head", "cls_logits", _CLASSES, -4.6, 1.0)
    deltas = _head(net, levels, "regression_head", "bbox_reg", 4, 0.0, 0.05)
    scores = net.node("Sigmoid", [logits], "/Sigmoid")
    best = net.node("ReduceMax", [scores], "/ReduceMax", axes=[2], keepdims=0)
    best, found = net.nodes("TopK", [best, net.constant("kept", [_KEPT], "int64")], "/TopK", 2, axis=1)
    found = net.node("Reshape", [found, net.constant("flat", [-1], "int64")], "/Reshape")
    anchors = np.concatenate([_anchors(each) for each in sides])[None]
    parts = {"scores": scores, "deltas": deltas, "anchors": net.constant("anchors", anchors)}
    kept = {part: net.node("Gather", [x, found], f"/{part}/Gather", axis=1) for part, x in parts.items()}
    boxes = decode(net, kept["deltas"], kept["anchors"], "/decode", (1.0, 1.0))
    boxes = net.node("Clip", [boxes, net.constant("least", 0.0), net.constant("most", 1.0)], "/Clip")
    by_class = net.node("Transpose", [kept["scores"]], "/Transpose", perm=[0, 2, 1])
    gather_selected(net, boxes, by_class, select(net, boxes, by_class, most, 0.5, least))
    return net.model()


def _backbone(net: Net, x: str) -> list[str]:
    """Add ResNet-18 (He and others, 2015) in 8 bits and return the maps of its last three stages, in float."""
    x = quantise(net, x, "/backbone/conv1", INPUT_STEP)
    x = net.node(
        "Relu", [int8_conv(net, x, "/backbone/conv1", (3, 64), 7, stride=2, pad=3, gain=1 / 3, step=INPUT_STEP)], "/backbone/relu/Relu"
    )
    x, width = max_pool(net, x, "/backbone/maxpool/MaxPool", pad=1), 64
    maps = []
    for stage, after in enumerate((64, 128, 256, 512), 1):
        for block in range(2):
            x = _block(net, x, f"/backbone/layer{stage}/layer{stage}.{block}", (width, after))
            width = after
        maps.append(x)
    return maps[1:]


def _block(net: Net, x: str, name: str, channels: tuple[int, int]) -> str:
    """Add a basic residual block in 8 bits and return the output."""
    before, after = channels
    stride = 1 if before == after else 2
    x = quantise(net, x, f"{name}/conv1")
    y = net.node("Relu", [int8_conv(net, x, f"{name}/conv1", channels, 3, stride=stride, pad=1)], f"{name}/relu/Relu")
    y = int8_conv(net, quantise(net, y, f"{name}/conv2"), f"{name}/conv2", (after, after), 3, pad=1, gain=0.2)
    if stride == 2:
        x = int8_conv(net, x, f"{name}/downsample", channels, 1, stride=2)
    return net.node("Relu", [net.node("Add", [y, x], f"{name}/Add")], f"{name}/relu/Relu_1")


def _pyramid(net: Net, maps: list[str]) -> list[str]:
    """Add a feature pyramid of five levels over three maps and return the levels, the finest first."""
    inner = [conv(net, x, f"/fpn/inner_blocks.{index}", (128 << index, _WIDTH), 1, gain=0.2) for index, x in enumerate(maps)]
    for index in (1, 0):
        above = upsample(net, inner[index + 1], f"/fpn/upsample{index}")
        inner[index] = net.node("Add", [inner[index], above], f"/fpn/Add_{index}")
    levels = [conv(net, x, f"/fpn/layer_blocks.{index}", (_WIDTH, _WIDTH), 3, pad=1, gain=0.2) for index, x in enumerate(inner)]
    levels.append(conv(net, maps[2], "/fpn/p6", (512, _WIDTH), 3, stride=2, pad=1, gain=0.2))
    after = net.node("Relu", [levels[3]], "/fpn/Relu")
    return [*levels, conv(net, after, "/fpn/p7", (_WIDTH, _WIDTH), 3, stride=2, pad=1)]


def _head(net: Net, levels: list[str], head: str, last: str, size: int, bias: float, gain: float) -> str:
    """Add four convolutions and a last one on each level, with the same weights on all; return rows of `size` for each anchor."""
    scopes = [f"/head/{head}/conv.{number}" for number in range(4)] + [f"/head/{head}/{last}"]
    gains = [1 / 3, 1.0, 1.0, 1.0, gain]
    weights = []
    for scope, factor in zip(scopes, gains, strict=True):
        is_last = scope == scopes[-1]
        kernel = net.balanced_weight(f"{scope}.weight", (9 * size if is_last else _WIDTH, _WIDTH, 3, 3), factor)
        drawn = net.draw((9 * size if is_last else _WIDTH,), -0.1, 0.1)
        weights.append((kernel, net.constant(f"{scope}.bias", drawn + np.float32(bias if is_last else 0))))
    rows = net.constant(f"{head}.rows", [1, -1, size], "int64")
    outputs = []
    for level, x in enumerate(levels):
        for scope, weight in zip(scopes, weights, strict=True):
            x = net.node("Conv", [x, *weight], f"{scope}/Conv_{level}", kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
            if scope != scopes[-1]:
                x = net.node("Relu", [x], f"{scope}/Relu_{level}")
        x = net.node("Transpose", [x], f"/head/{head}/Transpose_{level}", perm=[0, 2, 3, 1])
        outputs.append(net.node("Reshape", [x, rows], f"/head/{head}/Reshape_{level}"))
    return net.node("Concat", outputs, f"/head/{head}/Concat", axis=1)


def _anchors(side: int) -> np.ndarray:
    scales = [4 / side * step for step in (1.0, 1.26, 1.587)]
    return grid_anchors(side, [size for scale in scales for size in sizes_of(scale, (1.0, 2.0, 0.5))])
