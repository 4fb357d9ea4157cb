"""The layout `nchw16c`: an image in memory with 16 neighbouring channels innermost, which several toolchains compute in.

A tensor of shape (1, C, H, W) is held as (C / 16, H, W, 16) in a buffer of its own shape. A target with the layout `NCHW16C`
(`abilities.BoundaryLayout`) reads and makes so every tensor that `is_blocked` names; all other tensors are plain, as are the inputs and
outputs of the model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..base.processor import has_any
from ..graph.dataflow_graph import DataflowGraph, TensorType
from ..graph.index_set import IndexSet
from .toolchain import Availability

NCHW16C = "nchw16c"
BLOCK = 16


def is_blocked(kind: TensorType) -> bool:
    """Return whether a blocked target holds a tensor of this type blocked. One pixel lies the same in both layouts, and counts as plain."""
    shape = kind.shape
    if kind.dtype != "float32" or kind.open_axes or len(shape) != 4 or shape[0] != 1:
        return False
    return shape[1] > 0 and shape[1] % BLOCK == 0 and shape[2] * shape[3] > 1


def has_blocked_end(graph: DataflowGraph, inside: IndexSet) -> bool:
    """Return whether a blocked target holds a tensor blocked that enters or leaves the nodes `inside`."""
    for index in inside:
        node = graph.nodes[index]
        if any(name in graph.producer and graph.producer[name] not in inside and is_blocked(graph.types[name]) for name in node.inputs):
            return True
        for tensor in node.outputs:
            is_read_outside = tensor.name in graph.outputs or any(reader not in inside for reader in graph.readers[tensor.name])
            if is_blocked(tensor.type) and is_read_outside:
                return True
    return False


def to_blocked(array: np.ndarray) -> np.ndarray:
    """Return a plain array of shape (1, C, H, W) in the blocked layout; of the same shape."""
    _, channels, rows, columns = array.shape
    return np.ascontiguousarray(array.reshape(channels // BLOCK, BLOCK, rows, columns).transpose(0, 2, 3, 1)).reshape(array.shape)


def to_plain(array: np.ndarray) -> np.ndarray:
    """Return a blocked array of shape (1, C, H, W) in the plain layout; of the same shape."""
    _, channels, rows, columns = array.shape
    return np.ascontiguousarray(array.reshape(channels // BLOCK, rows, columns, BLOCK).transpose(0, 3, 1, 2)).reshape(array.shape)


def blocked_availability(found: Availability) -> Availability:
    """Return `found`, not usable where the processor's kernels have blocks of another size."""
    if found.usable and not has_any("avx512f"):
        reason = "its blocks have 16 channels only on processors with AVX-512"
        return replace(found, usable=False, reason=reason, hint="leave it out of --targets")
    return found
