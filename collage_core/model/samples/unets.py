"""U-Nets with seeded random weights: one that segments an image, and one of a diffusion model, with attention."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from .attention import attention, dense
from .blocks import conv, conv_relu, max_pool, upsample
from .builder import Net

_CLASSES = 21


def unet_segmentation(side: int = 256, base: int = 32, levels: int = 4, seed: int = 2015) -> ModelProto:
    """Return a U-Net (Ronneberger and others, 2015) that gives each pixel of an image one of 21 classes.

    It has half of the paper's channels, and padded convolutions whose batch norms are folded, as exporters leave them.

    Args:
        side: Of the image, a multiple of 2 to the power of `levels`.
        base: Channels at the top.
    """
    net = Net("unet_segmentation", seed)
    x = net.input("image", [1, 3, side, side])
    x, width, skips = _double_conv(net, x, "/inc", (3, base), gain=1 / 3), base, list[str]()
    for level in range(1, levels + 1):
        skips.append(x)
        x = max_pool(net, x, f"/down{level}/MaxPool", size=2)
        x = _double_conv(net, x, f"/down{level}", (width, 2 * width))
        width *= 2
    for level in range(1, levels + 1):
        x = _up_conv(net, x, f"/up{level}/up", (width, width // 2))
        x = net.node("Concat", [skips.pop(), x], f"/up{level}/Concat", axis=1)
        x = _double_conv(net, x, f"/up{level}", (width, width // 2))
        width //= 2
    x = conv(net, x, "/outc", (width, _CLASSES), 1)
    net.node("ArgMax", [x], "/ArgMax", made="classes", axis=1, keepdims=0)
    net.output("classes", [1, side, side], TensorProto.INT64)
    return net.model()


def _double_conv(net: Net, x: str, name: str, channels: tuple[int, int], gain: float = 1.0) -> str:
    before, after = channels
    x = conv_relu(net, x, f"{name}/conv1", (before, after), 3, pad=1, gain=gain)
    return conv_relu(net, x, f"{name}/conv2", (after, after), 3, pad=1)


def _up_conv(net: Net, x: str, name: str, channels: tuple[int, int]) -> str:
    """Add a transposed convolution that doubles both sides of the image, and return the output."""
    before, after = channels
    # Each output value reads one of the four taps, so the values of a tap add up to zero over the input channels.
    taps = net.draw_balanced((4 * after, before), (3 / before) ** 0.5).reshape(after, 2, 2, before)
    kernel = net.constant(f"{name}.weight", np.ascontiguousarray(taps.transpose(3, 0, 1, 2)))
    bias = net.uniform(f"{name}.bias", (after,), -0.1, 0.1)
    return net.node("ConvTranspose", [x, kernel, bias], f"{name}/ConvTranspose", kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4)


_BASE, _HEADS, _GROUPS = 64, 8, 32
_TIME = 4 * _BASE


def unet_attention(side: int = 64, blocks: int = 2, seed: int = 2022) -> ModelProto:
    """Return the U-Net of a latent diffusion model (Rombach and others, 2022), 64 channels wide at the top.

    Attention of eight heads follows each residual block at 32 × 32 and less.

    Args:
        side: Of the sample, a multiple of 4.
        blocks: Residual blocks of a level on the way down; there is one more on the way up.
    """
    net = Net("unet_attention", seed)
    sample = net.input("sample", [1, 4, side, side])
    time = _embed_time(net, net.input("timestep", [1]))
    x, width = conv(net, sample, "/conv_in", (4, _BASE), 3, pad=1, gain=1 / 3), _BASE
    skips = [(x, width)]
    for level, after in enumerate((_BASE, 2 * _BASE, 4 * _BASE)):
        for index in range(blocks):
            x = _stage(net, x, time, f"/down_blocks.{level}", index, (width, after), side >> level)
            width = after
            skips.append((x, width))
        if level < 2:
            x = conv(net, x, f"/down_blocks.{level}/downsamplers.0/conv", (width, width), 3, stride=2, pad=1, gain=1 / 3)
            skips.append((x, width))
    x = _stage(net, x, time, "/mid_block", 0, (width, width), side >> 2)
    x = _residual(net, x, time, "/mid_block/resnets.1", (width, width))
    for level, after in enumerate((4 * _BASE, 2 * _BASE, _BASE)):
        for index in range(blocks + 1):
            skip, more = skips.pop()
            x = net.node("Concat", [x, skip], f"/up_blocks.{level}/Concat_{index}", axis=1)
            x = _stage(net, x, time, f"/up_blocks.{level}", index, (width + more, after), side >> 2 - level)
            width = after
        if level < 2:
            name = f"/up_blocks.{level}/upsamplers.0"
            x = conv(net, upsample(net, x, name), f"{name}/conv", (width, width), 3, pad=1, gain=1 / 3)
    x = _silu(net, _group_norm(net, x, "/conv_norm_out", width), "/conv_act")
    net.output(conv(net, x, "/conv_out", (width, 4), 3, pad=1), [1, 4, side, side])
    return net.model()


def _embed_time(net: Net, time: str) -> str:
    """Add sines and cosines of `time` at many frequencies and two linear layers, and return what each residual block reads."""
    waves = net.constant("time_proj.frequencies", [[(8 - index % 4) / 8 * 0.5 ** (index // 4) for index in range(_BASE // 2)]])
    column = net.node("Unsqueeze", [time, net.constant("time_proj.axes", [1], "int64")], "/time_proj/Unsqueeze")
    angles = net.node("Mul", [column, waves], "/time_proj/Mul")
    both = [net.node(op, [angles], f"/time_proj/{op}") for op in ("Sin", "Cos")]
    x = net.node("Concat", both, "/time_proj/Concat", axis=1)
    x = _silu(net, _linear(net, x, "/time_embedding/linear_1", _BASE, _TIME), "/time_embedding/act")
    return _silu(net, _linear(net, x, "/time_embedding/linear_2", _TIME, _TIME), "/time_embedding/act_2")


def _linear(net: Net, x: str, name: str, before: int, after: int) -> str:
    weight = net.weight(f"{name}.weight", (after, before), before, gain=2.0)
    return net.node("Gemm", [x, weight, net.uniform(f"{name}.bias", (after,), -0.1, 0.1)], f"{name}/Gemm", transB=1)


def _silu(net: Net, x: str, name: str) -> str:
    return net.node("Mul", [x, net.node("Sigmoid", [x], f"{name}/Sigmoid")], f"{name}/Mul")


def _group_norm(net: Net, x: str, name: str, width: int) -> str:
    """Add a group norm as exporters write it before opset 18, with an instance norm, and return the output."""
    ones, zeros = net.constant(f"{name}.ones", np.ones(_GROUPS)), net.constant(f"{name}.zeros", np.zeros(_GROUPS))
    y = net.node("Reshape", [x, net.constant(f"{name}.groups", [0, _GROUPS, -1], "int64")], f"{name}/Reshape")
    y = net.node("InstanceNormalization", [y, ones, zeros], f"{name}/InstanceNormalization", epsilon=1e-5)
    y = net.node("Reshape", [y, net.node("Shape", [x], f"{name}/Shape")], f"{name}/Reshape_1")
    y = net.node("Mul", [y, net.uniform(f"{name}.weight", (width, 1, 1), 0.8, 1.2)], f"{name}/Mul")
    return net.node("Add", [y, net.uniform(f"{name}.bias", (width, 1, 1), -0.1, 0.1)], f"{name}/Add")


def _stage(net: Net, x: str, time: str, name: str, index: int, channels: tuple[int, int], side: int) -> str:
    """Add a residual block, and attention behind it where the image has at most 32 pixels a side; return the output."""
    x = _residual(net, x, time, f"{name}/resnets.{index}", channels)
    return x if side > 32 else _self_attention(net, x, f"{name}/attentions.{index}", channels[1], side)


def _residual(net: Net, x: str, time: str, name: str, channels: tuple[int, int]) -> str:
    before, after = channels
    y = conv(net, _silu(net, _group_norm(net, x, f"{name}/norm1", before), f"{name}/nonlinearity"), f"{name}/conv1", channels, 3, pad=1)
    shift = _linear(net, time, f"{name}/time_emb_proj", _TIME, after)
    shift = net.node("Unsqueeze", [shift, net.constant(f"{name}.axes", [2, 3], "int64")], f"{name}/Unsqueeze")
    y = _group_norm(net, net.node("Add", [y, shift], f"{name}/Add"), f"{name}/norm2", after)
    y = conv(net, _silu(net, y, f"{name}/nonlinearity_1"), f"{name}/conv2", (after, after), 3, pad=1, gain=0.3)
    if before != after:
        x = conv(net, x, f"{name}/conv_shortcut", channels, 1, gain=1 / 3)
    return net.node("Add", [x, y], f"{name}/Add_1")


def _self_attention(net: Net, x: str, name: str, width: int, side: int) -> str:
    """Add attention of every pixel to every other, and the shortcut around it; return the output."""
    y = _group_norm(net, x, f"{name}/group_norm", width)
    y = net.node("Reshape", [y, net.constant(f"{name}.flat", [0, 0, side * side], "int64")], f"{name}/Reshape")
    y = net.node("Transpose", [y], f"{name}/Transpose", perm=[0, 2, 1])
    parts = [dense(net, y, f"{name}/to_{part}", width, width, gain=1.0 if part == "v" else 4.0) for part in "qkv"]
    y = dense(net, attention(net, parts, f"{name}/processor", (_HEADS, width)), f"{name}/to_out.0", width, width)
    y = net.node("Transpose", [y], f"{name}/Transpose_1", perm=[0, 2, 1])
    y = net.node("Reshape", [y, net.constant(f"{name}.image", [0, 0, side, side], "int64")], f"{name}/Reshape_1")
    return net.node("Add", [y, x], f"{name}/Add")
