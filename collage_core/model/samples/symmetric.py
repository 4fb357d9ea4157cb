"""Blocks of networks in symmetric int8: quantised convolutions in QDQ form, and linear layers that quantise their input when they run.

All steps of the quantised convolutions are powers of two, so their sums are exact in float too. With other steps a sum in another order
would be rounded to another of the 255 values here and there, and layer by layer toolchains would drift apart.

A `Net`, the tensor that a block reads, the scope of its names and its sizes enter; its nodes are added and its output's name leaves.
"""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from .builder import Net

INPUT_STEP, STEP = 2.0**-5, 2.0**-4
"""Steps between the values of a quantised input and of a quantised activation: they reach to 4 and to 8."""


def quantise(net: Net, x: str, name: str, step: float = STEP) -> str:
    """Add nodes that quantise `x` to 8 bits with the zero point 0 and back, and return the output."""
    scale = net.constant(f"{name}/input_quantizer.scale", step)
    zero = net.constant(f"{name}/input_quantizer.zero_point", 0, np.int8)
    x = net.node("QuantizeLinear", [x, scale, zero], f"{name}/input_quantizer/QuantizeLinear")
    return net.node("DequantizeLinear", [x, scale, zero], f"{name}/input_quantizer/DequantizeLinear")


def int8_conv(
    net: Net,
    x: str,
    name: str,
    channels: tuple[int, int],
    size: int,
    *,
    stride: int = 1,
    pad: int = 0,
    gain: float = 1.0,
    step: float = STEP,
) -> str:
    """Add a convolution of weights in 8 bits, one scale per output channel, with a bias in float; return the output.

    A weight of `gain` 1 keeps the size of an input that comes from a ReLU; `step` is that of the input.
    """
    before, after = channels
    values = net.draw_balanced((after, before, size, size), math.sqrt(9 * gain / (before * size * size)))
    steps = np.ldexp(np.float32(1), np.frexp(np.abs(values).reshape(after, -1).max(1) / np.float32(127))[1])
    parts = [
        net.constant(f"{name}.weight", np.rint(values / steps.reshape(-1, 1, 1, 1)), np.int8),
        net.constant(f"{name}/weight_quantizer.scale", steps),
        net.constant(f"{name}/weight_quantizer.zero_point", np.zeros(after), np.int8),
    ]
    weight = net.node("DequantizeLinear", parts, f"{name}/weight_quantizer/DequantizeLinear", axis=0)
    unit = steps * np.float32(step)
    bias = net.constant(f"{name}.bias", np.rint(net.draw((after,), -0.1, 0.1) / unit) * unit)
    return net.node("Conv", [x, weight, bias], f"{name}/Conv", kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)


def dynamic_quantise(net: Net, x: str, name: str) -> list[str]:
    """Add the node that quantises `x` to 8 bits by its own range when it runs, and return the values, their scale and their zero point."""
    return net.nodes("DynamicQuantizeLinear", [x], f"{name}_QuantizeLinear", 3)


def dynamic_dense(net: Net, quantised: list[str], name: str, before: int, after: int, gain: float = 1.0) -> str:
    """Add a linear layer over what `dynamic_quantise` made and return the output; the nodes are those of ONNX Runtime's quantiser."""
    values, scale, zero = quantised
    weight = net.constant(f"{name}.weight_quantized", net.integers_balanced((before, after)), np.int8)
    step = net.constant(f"{name}.weight_scale", math.sqrt(3 * gain / before) / 100)
    middle = net.constant(f"{name}.weight_zero_point", 0, np.int8)
    product = net.node("MatMulInteger", [values, weight, zero, middle], f"{name}/MatMul_quant")
    product = net.node("Cast", [product], f"{name}/MatMul_output_quantized_cast", to=TensorProto.FLOAT)
    steps = net.node("Mul", [scale, step], f"{name}/MatMul_quant_scales_mul")
    product = net.node("Mul", [product, steps], f"{name}/MatMul_quant_output_scale_mul")
    return net.node("Add", [product, net.uniform(f"{name}.bias", (after,), -0.1, 0.1)], f"{name}/Add")


def dynamic_lstm(net: Net, x: str, name: str, before: int, hidden: int) -> str:
    """Add a bidirectional LSTM that quantises its input when it runs, as ONNX Runtime's quantiser writes it, and return the output."""
    zeros = [net.constant(f"{name}.{part}_zero_point", [0, 0], np.int8) for part in "WR"]
    values = {"W": net.integers_balanced((2, before, 4 * hidden)), "R": net.integers_balanced((2, hidden, 4 * hidden))}
    weights = [net.constant(f"{name}.{part}_quantized", whole, np.int8) for part, whole in values.items()]
    steps = [net.constant(f"{name}.{part}_scale", [math.sqrt(3 / size) / 100] * 2) for part, size in (("W", before), ("R", hidden))]
    bias = net.uniform(f"{name}.bias", (2, 8 * hidden), -0.1, 0.1)
    read = [x, *weights, bias, "", "", "", "", steps[0], zeros[0], steps[1], zeros[1]]
    return net.node(
        "DynamicQuantizeLSTM", read, f"{name}/LSTM_quant", domain="com.microsoft", direction="bidirectional", hidden_size=hidden
    )
