"""DETR with seeded random weights: a residual network, a transformer of encoder and decoder, and the boxes of the highest scores."""

from __future__ import annotations

from onnx import ModelProto, TensorProto

from .attention import attention, dense, layer_norm
from .blocks import conv, conv_relu, max_pool
from .boxes import corners
from .builder import Net

_WIDTH, _HEADS, _INNER = 256, 8, 2048
_QUERIES, _CLASSES, _KEPT = 100, 91, 20


def detr(side: int = 320, layers: int = 6, seed: int = 34) -> ModelProto:
    """Return DETR (Carion and others, 2020) with a ResNet-34: of the boxes of 100 queries it keeps 20 by TopK.

    Args:
        side: Of the image, a multiple of 32.
        layers: Of the encoder, and of the decoder.
    """
    net, cells = Net("detr", seed), (side // 32) ** 2
    x = _resnet34(net, net.input("image", [1, 3, side, side]))
    x = conv(net, x, "/input_proj", (512, _WIDTH), 1, gain=0.1)
    x = net.node("Reshape", [x, net.constant("flat", [1, _WIDTH, cells], "int64")], "/Reshape")
    x = net.node("Transpose", [x], "/Transpose", perm=[0, 2, 1])
    positions = net.uniform("positions", (1, cells, _WIDTH), -1, 1)
    for number in range(layers):
        name = f"/transformer/encoder/layers.{number}"
        x = _attend(net, (x, positions), (x, positions), x, f"{name}/self_attn")
        x = _feed_forward(net, x, name)
    queries = net.uniform("queries", (1, _QUERIES, _WIDTH), -1.7, 1.7)
    memory, x = x, net.uniform("targets", (1, _QUERIES, _WIDTH), -1.7, 1.7)
    for number in range(layers):
        name = f"/transformer/decoder/layers.{number}"
        x = _attend(net, (x, queries), (x, queries), x, f"{name}/self_attn")
        x = _attend(net, (x, queries), (memory, positions), memory, f"{name}/multihead_attn", 1.0)
        x = _feed_forward(net, x, name)
    _select(net, layer_norm(net, x, "/transformer/decoder/norm", _WIDTH, 1e-5))
    return net.model()


def _resnet34(net: Net, x: str) -> str:
    """Add ResNet-34 (He and others, 2015), its batch norms folded, and return the last map."""
    x = conv_relu(net, x, "/backbone/conv1", (3, 64), 7, stride=2, pad=3, gain=1 / 3)
    x, width = max_pool(net, x, "/backbone/maxpool/MaxPool", pad=1), 64
    for stage, (blocks, after) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
        for block in range(blocks):
            name = f"/backbone/layer{stage}/layer{stage}.{block}"
            stride = 2 if width != after else 1
            y = conv_relu(net, x, f"{name}/conv1", (width, after), 3, stride=stride, pad=1)
            y = conv(net, y, f"{name}/conv2", (after, after), 3, pad=1, gain=0.2)
            if stride == 2:
                x = conv(net, x, f"{name}/downsample", (width, after), 1, stride=2)
            x, width = net.node("Relu", [net.node("Add", [y, x], f"{name}/Add")], f"{name}/Relu"), after
    return x


def _attend(net: Net, asked: tuple[str, str], known: tuple[str, str], values: str, name: str, gain: float = 0.2) -> str:
    """Add attention of `asked` to `known` (each a tensor and its positions), the shortcut and a norm; return the output.

    A small `gain` keeps the tokens apart, which attention makes alike from layer to layer.
    """
    query, key = (net.node("Add", pair, f"{name}/{part}/Add") for part, pair in (("query", asked), ("key", known)))
    parts = [dense(net, x, f"{name}/{part}_proj", _WIDTH, _WIDTH) for part, x in (("q", query), ("k", key), ("v", values))]
    y = dense(net, attention(net, parts, name, (_HEADS, _WIDTH)), f"{name}/out_proj", _WIDTH, _WIDTH, gain)
    return layer_norm(net, net.node("Add", [asked[0], y], f"{name}/Add"), f"{name}/norm", _WIDTH, 1e-5)


def _feed_forward(net: Net, x: str, name: str) -> str:
    y = net.node("Relu", [dense(net, x, f"{name}/linear1", _WIDTH, _INNER)], f"{name}/Relu")
    # Balanced, since the part that all tokens have in common would grow from layer to layer, as after any ReLU.
    weight = net.constant(f"{name}/linear2.weight", net.draw_balanced((_WIDTH, _INNER), (3 / _INNER) ** 0.5).T)
    y = net.node("MatMul", [y, weight], f"{name}/linear2/MatMul")
    y = net.node("Add", [y, net.uniform(f"{name}/linear2.bias", (_WIDTH,), -0.1, 0.1)], f"{name}/linear2/Add")
    return layer_norm(net, net.node("Add", [x, y], f"{name}/Add"), f"{name}/norm", _WIDTH, 1e-5)


def _select(net: Net, x: str) -> None:
    """Add the heads, and as outputs the 20 highest scores over all queries and classes with their labels and boxes."""
    y = x
    for number in range(2):
        y = net.node("Relu", [dense(net, y, f"/bbox_embed/layers.{number}", _WIDTH, _WIDTH, 2)], f"/bbox_embed/Relu_{number}")
    y = net.node("Sigmoid", [dense(net, y, "/bbox_embed/layers.2", _WIDTH, 4)], "/bbox_embed/Sigmoid")
    centres, sizes = net.nodes("Split", [y, net.constant("halves", [2, 2], "int64")], "/postprocess/Split", 2, axis=-1)
    every = corners(net, centres, sizes, "/postprocess")
    shares = net.node("Softmax", [dense(net, x, "/class_embed", _WIDTH, _CLASSES + 1, 4)], "/postprocess/Softmax", axis=-1)
    bounds = [net.constant(f"objects.{part}", [value], "int64") for part, value in (("start", 0), ("end", _CLASSES), ("axis", 2))]
    flat = net.node("Slice", [shares, *bounds], "/postprocess/Slice")
    flat = net.node("Reshape", [flat, net.constant("all", [1, -1], "int64")], "/postprocess/Reshape")
    classes = net.constant("classes", _CLASSES, "int64")
    _, found = net.nodes("TopK", [flat, net.constant("most", [_KEPT], "int64")], "/postprocess/TopK", 2, made=["scores"], axis=-1)
    net.node("Mod", [found, classes], "/postprocess/Mod", made="labels")
    rows = net.node("Div", [found, classes], "/postprocess/Div")
    rows = net.node("Unsqueeze", [rows, net.constant("last", [-1], "int64")], "/postprocess/Unsqueeze")
    net.node("GatherND", [every, rows], "/postprocess/GatherND", made="boxes", batch_dims=1)
    net.output("scores", [1, _KEPT])
    net.output("labels", [1, _KEPT], TensorProto.INT64)
    net.output("boxes", [1, _KEPT, 4])
