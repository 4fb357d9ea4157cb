"""A quantised sample network in QDQ form: float operators between QuantizeLinear and DequantizeLinear nodes.

Activations have 8 bits and one scale per tensor, weights 8 bits and one scale per output channel, biases 32 bits.
"""

from __future__ import annotations

import math

import numpy as np
from onnx import ModelProto

from .builder import Net

# The largest magnitude of each tensor on standard normal images, rounded to two digits; a test compares it with a calibration.
_MOST = {"image": 4.5, "conv1": 8.0, "conv2": 7.7, "pool": 7.7, "conv3": 9.2, "conv4": 8.2, "sum": 13.0, "average": 3.1}


def quantised() -> ModelProto:
    """Return four convolutions, a shortcut around two of them, a pool, an average and a fully connected layer, all in 8 bits."""
    net = _Quantised("quantised", 8)
    x = net.quantise(net.input("image", ["batch", 3, 64, 64]), "image", signed=True)
    x = net.conv(x, "conv1", "image", (3, 32), stride=2)
    x = net.conv(x, "conv2", "conv1", (32, 64), stride=1)
    x = net.quantise(net.node("MaxPool", [x], "pool/MaxPool", kernel_shape=[2, 2], strides=[2, 2]), "pool")
    y = net.conv(x, "conv3", "pool", (64, 64), stride=1)
    y = net.conv(y, "conv4", "conv3", (64, 64), stride=1)
    x = net.quantise(net.node("Add", [x, y], "sum/Add"), "sum")
    x = net.quantise(net.node("GlobalAveragePool", [x], "average/GlobalAveragePool"), "average")
    x = net.node("Flatten", [x], "Flatten", axis=1)
    weight, bias = net.weights("fc", (10, 64), "average")
    net.node("Gemm", [x, weight, bias], "fc/Gemm", made="logits", transB=1)
    net.output("logits", ["batch", 10])
    return net.model()


class _Quantised(Net):
    """A `Net` that adds quantised nodes."""

    def scale(self, tensor: str, signed: bool) -> np.float32:
        """Return the step between two of the 256 values of a tensor."""
        return np.float32(_MOST[tensor] * (2 if signed else 1) / 255)

    def quantise(self, x: str, tensor: str, *, signed: bool = False) -> str:
        """Add nodes that quantise `x` to 8 bits and back, and return the output; the zero point of a signed tensor is 128."""
        step = self.constant(f"{tensor}.scale", self.scale(tensor, signed))
        zero = self.constant(f"{tensor}.zero_point", 128 if signed else 0, np.uint8)
        q = self.node("QuantizeLinear", [x, step, zero], f"{tensor}/QuantizeLinear")
        return self.node("DequantizeLinear", [q, step, zero], f"{tensor}/DequantizeLinear")

    def weights(self, name: str, shape: tuple[int, ...], read: str) -> tuple[str, str]:
        """Add an 8-bit weight with a scale per output channel and a 32-bit bias, and return both dequantised; `read` names the input."""
        values = self.draw_balanced(shape, math.sqrt(9 / math.prod(shape[1:])))
        flat = np.abs(values).reshape(shape[0], -1).max(1)
        steps = (flat / np.float32(127)).astype(np.float32)
        whole = np.rint(values / steps.reshape(-1, *(1,) * (len(shape) - 1))).astype(np.int8)
        weight = self._dequantised(f"{name}.weight", whole, steps)
        bias_steps = steps * self.scale(read, read == "image")
        bias = np.rint(self.draw(shape[:1], -0.1, 0.1) / bias_steps).astype(np.int32)
        return weight, self._dequantised(f"{name}.bias", bias, bias_steps)

    def conv(self, x: str, name: str, read: str, channels: tuple[int, int], *, stride: int) -> str:
        """Add a 3×3 convolution and a ReLU, quantised, and return the output."""
        before, after = channels
        weight, bias = self.weights(name, (after, before, 3, 3), read)
        x = self.node("Conv", [x, weight, bias], f"{name}/Conv", kernel_shape=[3, 3], strides=[stride, stride], pads=[1] * 4)
        return self.quantise(self.node("Relu", [x], f"{name}/Relu"), name)

    def _dequantised(self, name: str, whole: np.ndarray, steps: np.ndarray) -> str:
        zeros = self.constant(f"{name}.zero_point", np.zeros(steps.shape), whole.dtype)
        parts = [self.constant(f"{name}.quantised", whole, whole.dtype), self.constant(f"{name}.scale", steps), zeros]
        return self.node("DequantizeLinear", parts, f"{name}/DequantizeLinear", axis=0)
