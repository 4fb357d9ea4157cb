"""Times a network of ncnn layer by layer: each layer counts for the node for which `ncnn_import` added it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from ...model.model import SubModel
from ..buffers import aligned_empty
from ..profiling import NodeTime, Step, node_times, watched_runs
from ..toolchain import ToolchainError
from .ncnn_import import imported


def profiled(model: SubModel, kernel: Any, inputs: Sequence[np.ndarray]) -> list[NodeTime]:
    """Return the times of the nodes of `model` when `kernel` (an `ncnn_kernel.NetworkKernel`) runs it on `inputs`.

    Raises:
        ToolchainError: ncnn does not run it.
    """
    network = imported(model)
    kernel.bind(inputs, [aligned_empty(tensor.type) for tensor in model.outputs])
    runs: list[list[float]] = []
    watched_runs(lambda: runs.append(kernel.layer_seconds()))
    layers = network.network.layers
    if len(runs[0]) != len(layers):
        raise ToolchainError("run", "the package has other layers than the network")
    seconds = [median(column[1:]) for column in zip(*runs, strict=True)]
    call_s = min(seconds, default=0.0)  # the call itself, which every layer takes: a layer such as ``Split`` does nothing
    computes = _with_those_that_pass_on(network.computed_by)
    steps = [
        Step(
            layer.type,
            max(took_s - call_s, 0.0),
            frozenset() if layer.node is None else computes.get(layer.node, frozenset((layer.node,))),
            frozenset(layer.bottoms),
            frozenset(layer.tops),
        )
        for took_s, layer in zip(seconds, layers, strict=True)
        if layer.type != "Input"
    ]
    return node_times(model, steps)


def _with_those_that_pass_on(computed_by: Mapping[int, int]) -> dict[int, frozenset[int]]:
    """Return node → itself and the nodes that its layers compute too, one after another."""

    def first(node: int) -> int:
        while node in computed_by:
            node = computed_by[node]
        return node

    nodes_of: dict[int, set[int]] = {}
    for node in computed_by:
        nodes_of.setdefault(first(node), {first(node)}).add(node)
    return {node: frozenset(members) for node, members in nodes_of.items()}
