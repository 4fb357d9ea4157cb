"""Blocks of transformers: linear layers, layer norms, and attention of several heads.

A `Net`, the tensors that a block reads, the scope of its names and its sizes enter; its nodes are added and its output's name leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .builder import Net

_LEAST = float(np.finfo(np.float32).min)


def layer_norm(net: Net, x: str, name: str, width: int, epsilon: float) -> str:
    """Add a layer norm over the last axis, which is `width` long, and return the output."""
    scale = net.uniform(f"{name}.scale", (width,), 0.8, 1.2)
    shift = net.uniform(f"{name}.shift", (width,), -0.1, 0.1)
    return net.node("LayerNormalization", [x, scale, shift], f"{name}/LayerNormalization", axis=-1, epsilon=epsilon)


def dense(net: Net, x: str, name: str, before: int, after: int, gain: float = 1.0) -> str:
    """Add a linear layer with a bias and return the output."""
    product = net.node("MatMul", [x, net.weight(f"{name}.weight", (before, after), before, gain)], f"{name}/MatMul")
    return net.node("Add", [product, net.uniform(f"{name}.bias", (after,), -0.1, 0.1)], f"{name}/Add")


def attention(net: Net, parts: Sequence[str], name: str, sizes: tuple[int, int], seen: str | None = None) -> str:
    """Add scaled dot-product attention over query, key and value and return its output.

    Args:
        net: The model.
        parts: Query, key and value; the last two may be longer than the first.
        name: Scope of the nodes.
        sizes: Number of heads, and width of all of them together.
        seen: Tensor that says which scores count; all of them unless given.
    """
    count, width = sizes
    heads = net.constant(f"{name}.heads", [0, 0, count, width // count], "int64")
    orders = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    query, key, value = (
        net.node("Transpose", [net.node("Reshape", [part, heads], f"{name}/{which}/Reshape")], f"{name}/{which}/Transpose", perm=order)
        for which, part, order in zip("qkv", parts, orders, strict=True)
    )
    scores = net.node("MatMul", [query, key], f"{name}/scores/MatMul")
    scores = net.node("Div", [scores, net.constant(f"{name}.root", math.sqrt(width // count))], f"{name}/scores/Div")
    if seen is not None:
        scores = net.node("Where", [seen, scores, net.constant(f"{name}.least", _LEAST)], f"{name}/scores/Where")
    shares = net.node("Softmax", [scores], f"{name}/Softmax", axis=-1)
    mixed = net.node("Transpose", [net.node("MatMul", [shares, value], f"{name}/MatMul")], f"{name}/Transpose", perm=[0, 2, 1, 3])
    return net.node("Reshape", [mixed, net.constant(f"{name}.joined", [0, 0, width], "int64")], f"{name}/Reshape")
