"""Several calls that one layer of ncnn computes together: a norm over groups as exporters spell it out, and SiLU (see `ncnn_import`).

Every call of them is one that ncnn takes by itself too, so a sub-model that holds only some of them is converted call by call. Between
the layers of those ncnn would change the packing of channels, which takes longer than the calls themselves.
"""

from __future__ import annotations

from math import prod

import numpy as np

from .ncnn_calls import ImportCall
from .ncnn_network import Value, plain


def fused(call: ImportCall) -> list[Value]:
    """Return the result of a layer that computes `call` and later ones, which then pass it on; empty where there is none."""
    if call.node.op == "Reshape":
        return _group_norm(call)
    return _silu(call) if call.node.op == "Sigmoid" else []


def _silu(call: ImportCall) -> list[Value]:
    """``x * sigmoid(x)``"""
    reader, name = call.only_reader(), call.node.inputs[0]
    if reader is None or reader.node.op != "Mul" or set(reader.node.inputs) != {name, call.node.outputs[0].name}:
        return []
    call.pass_through(reader)
    return call.layer("Swish")


def _group_norm(call: ImportCall) -> list[Value]:
    """Reshape to one row for each group, normalise the rows, reshape back, and scale and move each channel."""
    norm = call.only_reader()
    back = norm.only_reader() if norm is not None and norm.node.op == "InstanceNormalization" else None
    shape, grouped = call.shape(), call.out
    if norm is None or back is None or back.node.op != "Reshape" or back.out != shape or not _are_groups(shape, grouped):
        return []
    channels = shape[1]
    scale, bias = (np.repeat(norm.array(slot), channels // grouped[1]) for slot in (1, 2))
    later, last = [norm, back], back
    for op in ("Mul", "Add"):
        reader = last.only_reader()
        values = _per_channel(reader, shape) if reader is not None and reader.node.op == op else None
        if reader is None or values is None:
            continue
        scale, bias = (scale * values, bias * values) if op == "Mul" else (scale, bias + values)
        later.append(reader)
        last = reader
    call.pass_through(*later)
    whole = (channels, prod(shape[2:-1]), shape[-1] if len(shape) > 2 else 1)
    parameters = {0: grouped[1], 1: channels, 2: norm.number("epsilon"), 3: 1}
    return [call.network.add("GroupNorm", [call.data(whole)], whole, parameters, plain(scale, bias))]


def _are_groups(shape: tuple[int, ...], grouped: tuple[int, ...]) -> bool:
    """Return whether the axis behind the batch of one, in `grouped`, is of groups of the channels in `shape`."""
    return len(shape) > 2 and shape[0] == 1 == grouped[0] and shape[1] % grouped[1] == 0


def _per_channel(call: ImportCall, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the constant of `call` where it has an element for each channel of a tensor of `shape`."""
    values = call.constant_operand()
    if (
        values is None
        or values.size != shape[1]
        or (1,) * (len(shape) - values.ndim) + values.shape != (1, shape[1], *[1] * len(shape[2:]))
    ):
        return None
    return values.reshape(-1)
