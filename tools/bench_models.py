"""The networks that `make bench` measures on, as ONNX built by code: what counts is their structure, the weights are small.

`build` takes a model's name and gives a `ModelProto`, the same on every machine. Channels and widths are a
fraction of the real ones, and sizes of images are real; the graphs have every node that the real networks have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto

from collage_core.model.samples.builder import Net
from collage_core.model.samples.registry import SAMPLES


def _conv(net: Net, x: str, name: str, channels: tuple[int, int], size: int = 1, *, stride: int = 1, bias: bool = True) -> str:
    """A convolution that keeps the size of the image, but for its stride."""
    before, after = channels
    inputs = [x, net.balanced_weight(f"{name}.weight", (after, before, size, size))]
    if bias:
        inputs.append(net.uniform(f"{name}.bias", (after,), -0.1, 0.1))
    return net.node("Conv", inputs, name, kernel_shape=[size, size], strides=[stride, stride], pads=[size // 2] * 4)


def _relu(net: Net, x: str, name: str) -> str:
    return net.node("Relu", [x], f"{name}/Relu")


def _pool(net: Net, x: str, name: str, stride: int = 2) -> str:
    return net.node("MaxPool", [x], name, kernel_shape=[3, 3], strides=[stride, stride], pads=[1] * 4)


def _head(net: Net, x: str, features: int) -> ModelProto:
    """Global average, flattened, then a fully connected layer."""
    x = net.node("Flatten", [net.node("GlobalAveragePool", [x], "head/average")], "head/flatten")
    weights = [net.balanced_weight("head.weight", (100, features)), net.uniform("head.bias", (100,), -0.1, 0.1)]
    net.node("Gemm", [x, *weights], "head/dense", made="logits", transB=1)
    net.output("logits", ["batch", 100])
    return net.model()


GOOGLENET = {
    "3a": (64, (96, 128), (16, 32), 32),
    "3b": (128, (128, 192), (32, 96), 64),
    "4a": (192, (96, 208), (16, 48), 64),
    "4b": (160, (112, 224), (24, 64), 64),
    "4c": (128, (128, 256), (24, 64), 64),
    "4d": (112, (144, 288), (32, 64), 64),
    "4e": (256, (160, 320), (32, 128), 128),
    "5a": (256, (160, 320), (32, 128), 128),
    "5b": (384, (192, 384), (48, 128), 128),
}
"""Module → channels of its 1×1, 3×3 (reduced to, then), 5×5 (the same) and pooled branches, as the paper has them."""


def googlenet() -> ModelProto:
    """GoogLeNet (Szegedy and others, 2014): stem, nine modules of four branches, head; a quarter of the channels.

    Batch norms would be folded and are left out, the local response norms of 2014 too, as today's versions do.
    """
    net = Net("googlenet", 2014)
    x = _relu(net, _conv(net, net.input("image", ["batch", 3, 224, 224]), "stem/conv1", (3, 16), 7, stride=2), "stem/conv1")
    x = _pool(net, x, "stem/pool1")
    x = _relu(net, _conv(net, x, "stem/conv2", (16, 16)), "stem/conv2")
    x = _relu(net, _conv(net, x, "stem/conv3", (16, 48), 3), "stem/conv3")
    x = _pool(net, x, "stem/pool2")
    width = 48
    for name, (ones, threes, fives, pooled) in GOOGLENET.items():
        if name in ("4a", "5a"):
            x = _pool(net, x, f"{name}/before")
        wanted = (ones // 4, (threes[0] // 4, threes[1] // 4), (fives[0] // 4, fives[1] // 4), pooled // 4)
        x, width = _module(net, x, name, width, wanted)
    return _head(net, x, width)


def _module(net: Net, x: str, name: str, width: int, widths: tuple[int, tuple[int, int], tuple[int, int], int]) -> tuple[str, int]:
    """Four branches side by side; gives what they make and how many channels it has."""
    ones, threes, fives, pooled = widths
    branches = [_relu(net, _conv(net, x, f"{name}/1x1", (width, ones)), f"{name}/1x1")]
    for size, (inner, after) in ((3, threes), (5, fives)):
        y = _relu(net, _conv(net, x, f"{name}/{size}x{size}_reduce", (width, inner)), f"{name}/{size}x{size}_reduce")
        branches.append(_relu(net, _conv(net, y, f"{name}/{size}x{size}", (inner, after), size), f"{name}/{size}x{size}"))
    y = _conv(net, _pool(net, x, f"{name}/pool", 1), f"{name}/pool_conv", (width, pooled))
    branches.append(_relu(net, y, f"{name}/pool_conv"))
    return net.node("Concat", branches, f"{name}/concat", axis=1), ones + threes[1] + fives[1] + pooled


def densenet121(*, listed: bool = False, growth: int = 8) -> ModelProto:
    """DenseNet-121 (Huang and others, 2016): 58 layers of two convolutions in four blocks; a quarter of the channels unless given.

    Each layer's features are joined to all before them, which the next layer reads, as the models of ONNX's zoo do it.
    The norm that follows a convolution folds into it; the one that follows a join stays a node.

    Args:
        listed: Every layer joins the features of all layers before it by itself, as torchvision writes it.
        growth: Channels that a layer makes: 32 in the paper.
    """
    net = Net("densenet121", 121)
    width = 2 * growth
    x = _conv(net, net.input("image", ["batch", 3, 224, 224]), "stem/conv", (3, width), 7, stride=2, bias=False)
    x = _pool(net, _relu(net, _norm(net, x, "stem/norm", width), "stem"), "stem/pool")
    for block, layers in enumerate((6, 12, 24, 16), 1):
        made = [x]
        for layer in range(1, layers + 1):
            name = f"block{block}/{layer}"
            y = _dense_layer(net, x, name, width, growth)
            made = [*made, y] if listed else [x, y]
            x = net.node("Concat", made, f"{name}/concat", axis=1)
            width += growth
        if block < 4:
            y = _norm_relu(net, x, f"transition{block}", width)
            y = _conv(net, y, f"transition{block}/conv", (width, width // 2), bias=False)
            x = net.node("AveragePool", [y], f"transition{block}/pool", kernel_shape=[2, 2], strides=[2, 2])
            width //= 2
    return _head(net, _norm_relu(net, x, "last", width), width)


def _norm(net: Net, x: str, name: str, width: int) -> str:
    bounds = {"scale": (0.8, 1.2), "shift": (-0.1, 0.1), "mean": (-0.1, 0.1), "var": (0.8, 1.2)}
    return net.node("BatchNormalization", [x, *(net.uniform(f"{name}.{part}", (width,), *at) for part, at in bounds.items())], name)


def _norm_relu(net: Net, x: str, name: str, width: int) -> str:
    return _relu(net, _norm(net, x, f"{name}/norm", width), name)


def _dense_layer(net: Net, x: str, name: str, width: int, growth: int) -> str:
    y = _conv(net, _norm_relu(net, x, f"{name}/1", width), f"{name}/conv1", (width, 4 * growth), bias=False)
    return _conv(net, _norm_relu(net, y, f"{name}/2", 4 * growth), f"{name}/conv2", (4 * growth, growth), 3, bias=False)


class _Transformer:
    """Writes GPT-2's parts as torch.onnx exports them before it knew layer norms: all of them spelt out."""

    def __init__(self, name: str, width: int, heads: int, length: int):
        self.net = Net(name, 2)
        self.width, self.heads, self.length = width, heads, length
        seen = np.tril(np.ones((1, 1, length, length), bool))
        self.shared = {
            "two": self.net.constant("two", 2.0),
            "three": self.net.constant("three", 3.0),
            "half": self.net.constant("half", 0.5),
            "one": self.net.constant("one", 1.0),
            "epsilon": self.net.constant("epsilon", 1e-5),
            "root": self.net.constant("root", math.sqrt(width // heads)),
            "gate": self.net.constant("gate", math.sqrt(2 / math.pi)),
            "cube": self.net.constant("cube", 0.044715),
            "seen": self.net.constant("seen", seen, bool),
            "least": self.net.constant("least", -1e4),
            "thirds": self.net.constant("thirds", [width] * 3, np.int64),
            "split": self.net.constant("split", [0, 0, heads, width // heads], np.int64),
            "joined": self.net.constant("joined", [0, 0, width], np.int64),
        }

    def op(self, op: str, name: str, *inputs: str, **attributes: Any) -> str:
        """A node; inputs that name a shared constant read it."""
        return self.net.node(op, [self.shared.get(item, item) for item in inputs], f"{name}/{op}", **attributes)

    def layer_norm(self, x: str, name: str) -> str:
        """Nine nodes."""
        centred = self.op("Sub", name, x, self.op("ReduceMean", f"{name}/mean", x, axes=[-1]))
        variance = self.op("ReduceMean", f"{name}/variance", self.op("Pow", name, centred, "two"), axes=[-1])
        deviation = self.op("Sqrt", name, self.op("Add", f"{name}/epsilon", variance, "epsilon"))
        scaled = self.op("Mul", name, self.op("Div", name, centred, deviation), self.net.uniform(f"{name}.scale", (self.width,), 0.8, 1.2))
        return self.op("Add", name, scaled, self.net.uniform(f"{name}.shift", (self.width,), -0.1, 0.1))

    def dense(self, x: str, name: str, before: int, after: int) -> str:
        """Three nodes: GPT-2's `Conv1D` flattens to two dimensions and back."""
        rows = self.op("Reshape", f"{name}/rows", x, self.net.constant(f"{name}.rows", [-1, before], np.int64))
        weights = self.net.weight(f"{name}.weight", (before, after), before), self.net.uniform(f"{name}.bias", (after,), -0.1, 0.1)
        product = self.op("Gemm", name, rows, *weights)
        shape = self.net.constant(f"{name}.shape", [-1, self.length, after], np.int64)
        return self.op("Reshape", f"{name}/back", product, shape)

    def attention(self, x: str, name: str) -> str:
        """Twenty nodes."""
        joined = self.dense(x, f"{name}/c_attn", self.width, 3 * self.width)
        parts = self.net.nodes("Split", [joined, self.shared["thirds"]], f"{name}/Split", 3, axis=2)
        query, key, value = (
            self.op("Transpose", f"{name}/{which}", self.op("Reshape", f"{name}/{which}", part, "split"), perm=order)
            for which, part, order in zip("qkv", parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
        )
        scores = self.op("Div", f"{name}/scores", self.op("MatMul", f"{name}/scores", query, key), "root")
        shares = self.op("Softmax", name, self.op("Where", name, "seen", scores, "least"), axis=-1)
        mixed = self.op("Transpose", name, self.op("MatMul", name, shares, value), perm=[0, 2, 1, 3])
        return self.dense(self.op("Reshape", name, mixed, "joined"), f"{name}/c_proj", self.width, self.width)

    def gelu(self, x: str, name: str) -> str:
        """Eight nodes: 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))."""
        cube = self.op("Mul", f"{name}/cube", self.op("Pow", name, x, "three"), "cube")
        inner = self.op("Mul", f"{name}/inner", self.op("Add", f"{name}/inner", x, cube), "gate")
        gate = self.op("Add", f"{name}/gate", self.op("Tanh", name, inner), "one")
        return self.op("Mul", name, self.op("Mul", f"{name}/half", x, "half"), gate)

    def layer(self, x: str, name: str) -> str:
        """`LAYER_NODES` nodes."""
        x = self.op("Add", f"{name}/attn/residual", self.attention(self.layer_norm(x, f"{name}/ln_1"), f"{name}/attn"), x)
        y = self.dense(self.layer_norm(x, f"{name}/ln_2"), f"{name}/mlp/c_fc", self.width, 4 * self.width)
        y = self.dense(self.gelu(y, f"{name}/mlp"), f"{name}/mlp/c_proj", 4 * self.width, self.width)
        return self.op("Add", f"{name}/mlp/residual", x, y)


LAYER_NODES = 54
"""Two layer norms of 9, attention of 20, two `Conv1D` of 3, GELU of 8, two residual additions."""


def gpt2(layers: int = 12) -> ModelProto:
    """GPT-2 (Radford and others, 2019) with its embeddings and its head: 12 heads, an eighth of the width, 64 tokens."""
    made = _Transformer("gpt2", 96, 12, 64)
    net = made.net
    ids = net.input("input_ids", ["batch", 64], TensorProto.INT64)
    words = made.op("Gather", "wte", net.uniform("wte.weight", (500, 96), -1.0, 1.0), ids, axis=0)
    x = made.op("Add", "embeddings", words, net.uniform("wpe.weight", (1, 64, 96), -0.5, 0.5))
    for number in range(layers):
        x = made.layer(x, f"h.{number}")
    x = made.layer_norm(x, "ln_f")
    net.node("MatMul", [x, net.weight("lm_head.weight", (96, 500), 96)], "lm_head/MatMul", made="logits")
    net.output("logits", ["batch", 64, 500])
    return net.model()


def transformer(nodes: int) -> ModelProto:
    """As many of GPT-2's layers as `nodes` allow, and activations after them up to just `nodes`: 4 heads, 32 wide, 16 tokens."""
    made = _Transformer(f"transformer{nodes}", 32, 4, 16)
    x = made.net.input("hidden_states", ["batch", 16, 32])
    layers, rest = divmod(nodes, LAYER_NODES)
    for number in range(layers):
        x = made.layer(x, f"h.{number}")
    for number in range(rest):
        x = made.op("Tanh", f"rest.{number}", x)
    made.net.output(x, ["batch", 16, 32])
    return made.net.model()


_BUILDERS: dict[str, Callable[[], ModelProto]] = {
    "resnet50": SAMPLES["resnet50"].build,
    "googlenet": googlenet,
    "densenet121": densenet121,
    "densenet121_listed": partial(densenet121, listed=True),
    "gpt2": gpt2,
}
_TRANSFORMER = "transformer"


def build(name: str) -> ModelProto:
    """The model of that name: one of those above, or ``transformer`` with a number of nodes."""
    if name in _BUILDERS:
        return _BUILDERS[name]()
    return transformer(int(name.removeprefix(_TRANSFORMER)))


def is_folded(name: str) -> bool:
    """Return whether the model is searched in its folded form: folding would make one node again of each layer norm that is spelt out."""
    return name != "gpt2" and not name.startswith(_TRANSFORMER)
