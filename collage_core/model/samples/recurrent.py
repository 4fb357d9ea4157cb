"""Recurrent sample networks: a tagger that reads a sentence both ways, and a reader of text lines in images."""

from __future__ import annotations

from onnx import ModelProto, TensorProto

from .blocks import conv_relu, max_pool
from .builder import Net

_WORDS, _LENGTH, _EMBEDDED, _HIDDEN, _TAGS = 1000, 64, 128, 256, 20
_CHARACTERS = 37


def lstm() -> ModelProto:
    """Return a tagger: an embedding, a bidirectional LSTM of 256 units per direction, a linear layer and a softmax over 20 tags."""
    net = Net("lstm", 97)
    tokens = net.input("tokens", ["batch", _LENGTH], TensorProto.INT64)
    x = net.node("Gather", [net.uniform("embedding", (_WORDS, _EMBEDDED), -1.7, 1.7), tokens], "embed/Gather", axis=0)
    x = net.node("Transpose", [x], "time_first/Transpose", perm=[1, 0, 2])
    weights = [
        net.weight("lstm.input", (2, 4 * _HIDDEN, _EMBEDDED), _EMBEDDED),
        net.weight("lstm.hidden", (2, 4 * _HIDDEN, _HIDDEN), _HIDDEN),
        net.uniform("lstm.bias", (2, 8 * _HIDDEN), -0.1, 0.1),
    ]
    x = net.node("LSTM", [x, *weights], "lstm/LSTM", direction="bidirectional", hidden_size=_HIDDEN)
    x = net.node("Transpose", [x], "batch_first/Transpose", perm=[2, 0, 1, 3])
    x = net.node("Reshape", [x, net.constant("joined", [0, 0, 2 * _HIDDEN], "int64")], "join/Reshape")
    x = net.node("MatMul", [x, net.weight("tags.weight", (2 * _HIDDEN, _TAGS), 2 * _HIDDEN, gain=16.0)], "tags/MatMul")
    x = net.node("Add", [x, net.uniform("tags.bias", (_TAGS,), -0.1, 0.1)], "tags/Add")
    net.node("Softmax", [x], "tags/Softmax", made="tags", axis=-1)
    net.output("tags", ["batch", _LENGTH, _TAGS])
    return net.model()


def crnn(across: int = 320, hidden: int = _HIDDEN, seed: int = 2015) -> ModelProto:
    """Return CRNN (Shi and others, 2015) on text lines of 32 × `across` pixels: VGG convolutions, two bidirectional LSTMs, 37 characters.

    Args:
        across: A multiple of 4.
        hidden: Units of an LSTM per direction.
    """
    net, steps = Net("crnn", seed), across // 4 + 1
    x = net.input("image", [1, 1, 32, across])
    width = 1
    for number, after in enumerate((64, 128, 256, 256, 512, 512, 512)):
        size = 2 if number == 6 else 3
        x = conv_relu(net, x, f"/cnn/conv{number}", (width, after), size, pad=size - 2, gain=1.0 if number else 1 / 3)
        if number in (0, 1):
            x = max_pool(net, x, f"/cnn/pooling{number}/MaxPool", size=2)
        elif number in (3, 5):  # halves the height, and keeps the width
            x = net.node("MaxPool", [x], f"/cnn/pooling{number}/MaxPool", kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1])
        width = after
    x = net.node("Squeeze", [x, net.constant("height", [2], "int64")], "/Squeeze")
    x = net.node("Transpose", [x], "/Transpose", perm=[2, 0, 1])
    x = _bidirectional(net, x, "/rnn/0", (512, hidden, hidden), steps)
    _bidirectional(net, x, "/rnn/1", (hidden, hidden, _CHARACTERS), steps, result="logits")
    net.output("logits", [steps, 1, _CHARACTERS])
    return net.model()


def _bidirectional(net: Net, x: str, name: str, widths: tuple[int, int, int], steps: int, result: str | None = None) -> str:
    """Add an LSTM in both directions and a linear layer over both, and return the output.

    Args:
        widths: Of the input, of the LSTM per direction, and of the output.
    """
    before, hidden, after = widths
    weights = [
        net.weight(f"{name}/rnn.input", (2, 4 * hidden, before), before),
        net.weight(f"{name}/rnn.hidden", (2, 4 * hidden, hidden), hidden),
        net.uniform(f"{name}/rnn.bias", (2, 8 * hidden), -0.1, 0.1),
    ]
    x = net.node("LSTM", [x, *weights], f"{name}/rnn/LSTM", direction="bidirectional", hidden_size=hidden)
    x = net.node("Transpose", [x], f"{name}/rnn/Transpose", perm=[0, 2, 1, 3])
    x = net.node("Reshape", [x, net.constant(f"{name}/rnn.rows", [-1, 2 * hidden], "int64")], f"{name}/rnn/Reshape")
    weight = net.weight(f"{name}/embedding.weight", (after, 2 * hidden), 2 * hidden, gain=16.0)
    x = net.node("Gemm", [x, weight, net.uniform(f"{name}/embedding.bias", (after,), -0.1, 0.1)], f"{name}/embedding/Gemm", transB=1)
    return net.node("Reshape", [x, net.constant(f"{name}.steps", [steps, 1, after], "int64")], f"{name}/Reshape", made=result)
