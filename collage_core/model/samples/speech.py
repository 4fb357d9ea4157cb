"""Speech recognisers with seeded random weights: an int8 convolutional front, then int8 layers that quantise their inputs as they run."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from .attention import attention, layer_norm
from .blocks import max_pool
from .builder import Net
from .symmetric import INPUT_STEP, STEP, dynamic_dense, dynamic_lstm, dynamic_quantise, int8_conv, quantise

_BANDS = 80
_FEATURES = 128 * _BANDS // 4
_WIDTH, _HEADS, _TOKENS = 512, 8, 500
_HIDDEN = 256


def speech_transformer(frames: int = 400, layers: int = 6, seed: int = 2017) -> ModelProto:
    """Return a recogniser with transformer layers, 512 wide with 8 heads, over a step for every fourth frame."""
    net, steps = Net("speech_transformer", seed), frames // 4
    x = _front(net, frames)
    x = dynamic_dense(net, dynamic_quantise(net, x, "/encoder/embed"), "/encoder/embed", _FEATURES, _WIDTH)
    x = net.node("Add", [x, net.uniform("encoder.positions", (1, steps, _WIDTH), -0.5, 0.5)], "/encoder/positions/Add")
    for number in range(layers):
        x = _layer(net, x, f"/encoder/layers.{number}")
    _classify(net, layer_norm(net, x, "/encoder/after_norm", _WIDTH, 1e-5), steps, _WIDTH, 1.0)
    return net.model()


def speech_lstm(frames: int = 400, layers: int = 3, seed: int = 1997) -> ModelProto:
    """Return a recogniser with bidirectional LSTMs of 256 units per direction over a step for every fourth frame."""
    net, steps = Net("speech_lstm", seed), frames // 4
    x = net.node("Transpose", [_front(net, frames)], "/encoder/time_first/Transpose", perm=[1, 0, 2])
    width = _FEATURES
    for number in range(layers):
        x = dynamic_lstm(net, x, f"/encoder/rnn{number}", width, _HIDDEN)
        x = net.node("Transpose", [x], f"/encoder/rnn{number}/Transpose", perm=[0, 2, 1, 3])
        width = 2 * _HIDDEN
        joined = net.constant(f"encoder.rnn{number}.joined", [steps, 1, width], np.int64)
        x = net.node("Reshape", [x, joined], f"/encoder/rnn{number}/Reshape")
    x = net.node("Transpose", [x], "/encoder/batch_first/Transpose", perm=[1, 0, 2])
    _classify(net, x, steps, width, 150.0)
    return net.model()


def _front(net: Net, frames: int) -> str:
    """Add the input, two pairs of 3 × 3 convolutions with a pool after each, and return 2,560 features for every fourth frame."""
    x, before = net.input("features", [1, 1, frames, _BANDS]), 1
    for stage, after in enumerate((64, 128), 1):
        for index, read in enumerate((before, after), 1):
            name = f"/frontend/conv{stage}_{index}"
            step, gain = (INPUT_STEP, 1 / 3) if read == 1 else (STEP, 1.0)
            x = quantise(net, x, name, step)
            x = net.node(
                "Relu",
                [int8_conv(net, x, name, (read, after), 3, pad=1, gain=gain, step=step)],
                f"/frontend/relu{stage}_{index}/Relu",
            )
        x = max_pool(net, x, f"/frontend/pool{stage}/MaxPool", size=2)
        before = after
    x = net.node("Transpose", [x], "/frontend/Transpose", perm=[0, 2, 1, 3])
    return net.node("Reshape", [x, net.constant("frontend.joined", [0, 0, _FEATURES], np.int64)], "/frontend/Reshape")


def _layer(net: Net, x: str, name: str) -> str:
    """Add a transformer layer whose norms come first, and return the output."""
    read = dynamic_quantise(net, layer_norm(net, x, f"{name}/norm1", _WIDTH, 1e-5), f"{name}/norm1")
    parts = [dynamic_dense(net, read, f"{name}/self_attn/linear_{part}", _WIDTH, _WIDTH) for part in "qkv"]
    mixed = dynamic_quantise(net, attention(net, parts, f"{name}/self_attn", (_HEADS, _WIDTH)), f"{name}/self_attn")
    y = dynamic_dense(net, mixed, f"{name}/self_attn/linear_out", _WIDTH, _WIDTH)
    x = net.node("Add", [x, y], f"{name}/Add")
    read = dynamic_quantise(net, layer_norm(net, x, f"{name}/norm2", _WIDTH, 1e-5), f"{name}/norm2")
    y = net.node("Relu", [dynamic_dense(net, read, f"{name}/feed_forward/w_1", _WIDTH, 4 * _WIDTH)], f"{name}/feed_forward/Relu")
    y = dynamic_dense(net, dynamic_quantise(net, y, f"{name}/feed_forward"), f"{name}/feed_forward/w_2", 4 * _WIDTH, _WIDTH)
    return net.node("Add", [x, y], f"{name}/Add_1")


def _classify(net: Net, x: str, steps: int, width: int, gain: float) -> None:
    """Add a linear layer and the logarithm of a softmax over the tokens of connectionist temporal classification."""
    x = dynamic_dense(net, dynamic_quantise(net, x, "/ctc"), "/ctc/ctc_lo", width, _TOKENS, gain)
    net.node("LogSoftmax", [x], "/ctc/LogSoftmax", made="log_probs", axis=-1)
    net.output("log_probs", [1, steps, _TOKENS])
