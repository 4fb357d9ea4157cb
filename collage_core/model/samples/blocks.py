"""Blocks that several sample networks are built of: convolutions with what follows them, pools, and images of twice the size.

A `Net`, the tensor that a block reads, the scope of its names and its sizes enter; its nodes are added and its output's name leaves.
"""

from __future__ import annotations

from typing import Any

from .builder import Net


def conv(
    net: Net,
    x: str,
    name: str,
    channels: tuple[int, int],
    size: int,
    *,
    stride: int = 1,
    pad: int = 0,
    dilation: int = 1,
    gain: float = 1.0,
) -> str:
    """Add a convolution with a bias, as exporters leave one whose batch norm was folded, and return the output.

    With a `gain` of 1 it keeps the size of an input that comes from a ReLU, with one of 1/3 that of an input around zero.
    """
    before, after = channels
    kernel = net.balanced_weight(f"{name}.weight", (after, before, size, size), gain)
    bias = net.uniform(f"{name}.bias", (after,), -0.1, 0.1)
    dilated: dict[str, Any] = {} if dilation == 1 else {"dilations": [dilation] * 2}
    return net.node("Conv", [x, kernel, bias], f"{name}/Conv", kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4, **dilated)


def conv_relu(net: Net, x: str, name: str, channels: tuple[int, int], size: int, **options: Any) -> str:
    """Add a convolution with a bias and a ReLU, and return the output; the `options` are those of `conv`."""
    return net.node("Relu", [conv(net, x, name, channels, size, **options)], f"{name}/Relu")


def conv_norm(
    net: Net,
    x: str,
    name: str,
    channels: tuple[int, int],
    size: int,
    *,
    stride: int = 1,
    pad: int = 0,
    scale: tuple[float, float] = (0.8, 1.2),
) -> str:
    """Add a convolution without bias and its batch norm, whose factors are at most `scale`; return the output."""
    before, after = channels
    kernel = net.balanced_weight(f"{name}.weight", (after, before, size, size))
    x = net.node("Conv", [x, kernel], f"{name}/Conv", kernel_shape=[size, size], strides=[stride, stride], pads=[pad] * 4)
    bounds = {"scale": scale, "shift": (-0.1, 0.1), "mean": (-0.1, 0.1), "var": (0.8, 1.2)}
    norm = [net.uniform(f"{name}.norm.{part}", (after,), *bound) for part, bound in bounds.items()]
    return net.node("BatchNormalization", [x, *norm], f"{name}/norm/BatchNormalization", epsilon=1e-5)


def max_pool(net: Net, x: str, name: str, *, size: int = 3, stride: int = 2, pad: int = 0, ceil: bool = False) -> str:
    """Add a maximum over windows of `size` × `size` and return the output; `ceil` keeps a window that the image does not fill."""
    ceiled: dict[str, Any] = {"ceil_mode": 1} if ceil else {}
    return net.node("MaxPool", [x], name, kernel_shape=[size, size], strides=[stride, stride], pads=[pad] * 4, **ceiled)


def upsample(net: Net, x: str, name: str) -> str:
    """Add a resize that repeats each pixel in both directions, and return the output."""
    scales = net.constant(f"{name}.scales", [1, 1, 2, 2])
    modes = {"coordinate_transformation_mode": "asymmetric", "mode": "nearest", "nearest_mode": "floor"}
    return net.node("Resize", [x, "", scales], f"{name}/Resize", **modes)
