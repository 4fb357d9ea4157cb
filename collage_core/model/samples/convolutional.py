"""Convolutional sample networks with seeded random weights: the two of RFC 62, and three well-known ones."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto

from .blocks import conv_norm, conv_relu, max_pool
from .builder import Net


def mini_mnist() -> ModelProto:
    """Return MNIST without its second layer (RFC 62, "SubGraph"): 8 nodes, small enough to check any plan by hand.

    Folding merges the padding and the first addition into the convolution, which leaves 6 nodes.
    """
    net = Net("mini_mnist", 62)
    image = net.input("x", ["batch", 1, 28, 28])
    first = _mnist_layer(net, image, 1, (1, 8), pool=2, pad_node=True)
    _mnist_head(net, first, 8 * 14 * 14)
    return net.model()


def mnist() -> ModelProto:
    """Return the RFC's MNIST (RFC 62, "Guide-level explanation"): two convolutional layers, 12 nodes.

    The RFC's listing pads in front of both convolutions; here the second one pads by its own attribute, as exporters write
    it, and so shows both forms. Folding takes the padding and the convolutions' additions in: 9 nodes are left.
    """
    net = Net("mnist", 62)
    image = net.input("x", ["batch", 1, 28, 28])
    first = _mnist_layer(net, image, 1, (1, 8), pool=2, pad_node=True)
    second = _mnist_layer(net, first, 2, (8, 16), pool=3, pad_node=False)
    _mnist_head(net, second, 256)
    return net.model()


def _mnist_layer(net: Net, x: str, number: int, channels: tuple[int, int], *, pool: int, pad_node: bool) -> str:
    """Add a layer (Pad if `pad_node`, Conv 5×5, Add, Relu, MaxPool) and return its output."""
    before, after = channels
    if pad_node:
        x = net.node("Pad", [x, net.constant(f"pads{number}", [0, 0, 2, 2, 0, 0, 2, 2], "int64")], f"pad{number}", mode="constant")
    kernel = net.balanced_weight(f"kernel{number}", (after, before, 5, 5))
    x = net.node("Conv", [x, kernel], f"conv{number}", kernel_shape=[5, 5], pads=[0 if pad_node else 2] * 4)
    x = net.node("Add", [x, net.uniform(f"bias{number}", (after, 1, 1), -0.1, 0.1)], f"add{number}")
    x = net.node("Relu", [x], f"relu{number}")
    return net.node("MaxPool", [x], f"pool{number}", kernel_shape=[pool, pool], strides=[pool, pool])


def _mnist_head(net: Net, x: str, features: int) -> None:
    x = net.node("Reshape", [x, net.constant("flat", [-1, features], "int64")], "reshape")
    x = net.node("MatMul", [x, net.weight("dense_weight", (features, 10), features)], "dense")
    net.node("Add", [x, net.uniform("dense_bias", (1, 10), -0.1, 0.1)], "add", made="logits")
    net.output("logits", ["batch", 10])


def _classify(net: Net, x: str, features: int) -> None:
    """Add a global average, a flatten and a fully connected layer of 1,000 classes."""
    x = net.node("GlobalAveragePool", [x], "avgpool/GlobalAveragePool")
    x = net.node("Flatten", [x], "Flatten", axis=1)
    weight = net.balanced_weight("fc.weight", (1000, features))
    net.node("Gemm", [x, weight, net.uniform("fc.bias", (1000,), -0.1, 0.1)], "fc/Gemm", made="logits", transB=1)
    net.output("logits", ["batch", 1000])


def squeezenet() -> ModelProto:
    """Return SqueezeNet 1.1 (Iandola and others, 2016): eight fire modules, 66 nodes."""
    net = Net("squeezenet", 11)
    x = conv_relu(net, net.input("image", ["batch", 3, 224, 224]), "conv1", (3, 64), 3, stride=2)
    x = max_pool(net, x, "pool1/MaxPool")
    width = 64
    for number, squeeze, expand in (
        (2, 16, 64),
        (3, 16, 64),
        (4, 32, 128),
        (5, 32, 128),
        (6, 48, 192),
        (7, 48, 192),
        (8, 64, 256),
        (9, 64, 256),
    ):
        x = _fire(net, x, f"fire{number}", (width, squeeze, expand))
        width = 2 * expand
        if number in (3, 5):
            x = max_pool(net, x, f"pool{number}/MaxPool")
    x = net.node("Dropout", [x], "classifier/Dropout")
    x = conv_relu(net, x, "classifier/conv10", (width, 1000), 1)
    x = net.node("GlobalAveragePool", [x], "classifier/GlobalAveragePool")
    net.node("Flatten", [x], "Flatten", made="logits", axis=1)
    net.output("logits", ["batch", 1000])
    return net.model()


def _fire(net: Net, x: str, name: str, widths: tuple[int, int, int]) -> str:
    """Add a fire module (a 1×1 squeeze, then parallel 1×1 and 3×3 expansions) and return its output."""
    before, squeeze, expand = widths
    x = conv_relu(net, x, f"{name}/squeeze", (before, squeeze), 1)
    sides = [
        conv_relu(net, x, f"{name}/expand1x1", (squeeze, expand), 1),
        conv_relu(net, x, f"{name}/expand3x3", (squeeze, expand), 3, pad=1),
    ]
    return net.node("Concat", sides, f"{name}/Concat", axis=1)


def resnet50() -> ModelProto:
    """Return ResNet-50 (He and others, 2015) with its 53 batch norms as nodes, as exporters leave them: 175 nodes.

    Folding takes the batch norms into the convolutions' weights: 122 nodes are left.
    """
    net = Net("resnet50", 50)
    x = conv_norm(net, net.input("image", ["batch", 3, 224, 224]), "conv1", (3, 64), 7, stride=2, pad=3)
    x = max_pool(net, net.node("Relu", [x], "relu/Relu"), "maxpool/MaxPool", pad=1)
    width = 64
    for stage, (blocks, inner) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
        for block in range(blocks):
            stride = 2 if stage > 1 and block == 0 else 1
            x = _bottleneck(net, x, f"layer{stage}/{block}", (width, inner), stride)
            width = 4 * inner
    _classify(net, x, width)
    return net.model()


def _bottleneck(net: Net, x: str, name: str, widths: tuple[int, int], stride: int) -> str:
    """Add a bottleneck block (1×1 down, 3×3, 1×1 up, and the shortcut) and return its output.

    The factors of the last norm are small, so that sums do not grow from block to block.
    """
    before, inner = widths
    after = 4 * inner
    y = net.node("Relu", [conv_norm(net, x, f"{name}/conv1", (before, inner), 1)], f"{name}/relu1/Relu")
    y = net.node("Relu", [conv_norm(net, y, f"{name}/conv2", (inner, inner), 3, stride=stride, pad=1)], f"{name}/relu2/Relu")
    y = conv_norm(net, y, f"{name}/conv3", (inner, after), 1, scale=(0.2, 0.4))
    if before != after or stride != 1:
        x = conv_norm(net, x, f"{name}/downsample", (before, after), 1, stride=stride)
    return net.node("Relu", [net.node("Add", [y, x], f"{name}/Add")], f"{name}/relu3/Relu")


def inception() -> ModelProto:
    """Return a stem and four inception modules, the first ones of GoogLeNet (Szegedy and others, 2014)."""
    net = Net("inception", 2014)
    x = conv_relu(net, net.input("image", ["batch", 3, 224, 224]), "stem/conv1", (3, 64), 7, stride=2, pad=3)
    x = max_pool(net, x, "stem/pool1/MaxPool", pad=1)
    x = conv_relu(net, x, "stem/conv2", (64, 64), 1)
    x = conv_relu(net, x, "stem/conv3", (64, 192), 3, pad=1)
    x = max_pool(net, x, "stem/pool2/MaxPool", pad=1)
    width = 192
    modules = {
        "3a": (64, (96, 128), (16, 32), 32),
        "3b": (128, (128, 192), (32, 96), 64),
        "4a": (192, (96, 208), (16, 48), 64),
        "4b": (160, (112, 224), (24, 64), 64),
    }
    for name, (ones, threes, fives, pooled) in modules.items():
        if name == "4a":
            x = max_pool(net, x, "pool3/MaxPool", pad=1)
        x = _inception_module(net, x, f"inception{name}", width, (ones, threes, fives, pooled))
        width = ones + threes[1] + fives[1] + pooled
    _classify(net, x, width)
    return net.model()


def _inception_module(net: Net, x: str, name: str, width: int, widths: tuple[int, Sequence[int], Sequence[int], int]) -> str:
    """Add an inception module of four parallel branches (1×1; 1×1, 3×3; 1×1, 5×5; pool, 1×1) and return its output."""
    ones, threes, fives, pooled = widths
    branches = [conv_relu(net, x, f"{name}/1x1", (width, ones), 1)]
    for size, (inner, after) in ((3, threes), (5, fives)):
        y = conv_relu(net, x, f"{name}/{size}x{size}_reduce", (width, inner), 1)
        branches.append(conv_relu(net, y, f"{name}/{size}x{size}", (inner, after), size, pad=size // 2))
    y = max_pool(net, x, f"{name}/pool/MaxPool", stride=1, pad=1)
    branches.append(conv_relu(net, y, f"{name}/pool_proj", (width, pooled), 1))
    return net.node("Concat", branches, f"{name}/Concat", axis=1)
