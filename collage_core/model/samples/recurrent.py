"""A recurrent sample network: a tagger that reads a sentence both ways."""

from __future__ import annotations

from onnx import ModelProto, TensorProto

from .builder import Net

_WORDS, _LENGTH, _EMBEDDED, _HIDDEN, _TAGS = 1000, 64, 128, 256, 20


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
