"""`Profiles`: the seconds of each node on each target, from the targets' own profilers (`ProfiledPart`).

Profiles enter, each with the cost of the part that was profiled; times of other candidates of the same nodes leave. A kernel computes
several nodes: its time is divided among them by their operations. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...graph.work_estimate import WorkEstimator
from ..profile import ProfiledPart


class Profiles:
    """Times of nodes inside the parts that were profiled.

    Args:
        parts: Each with its cost, which its times are scaled to; None where that is not known: then the times count as they are.
    """

    def __init__(self, graph: DataflowGraph, parts: Iterable[tuple[ProfiledPart, float | None]]):
        self._work = graph.derive(WorkEstimator)
        self._count = len(graph)
        self._seconds: dict[str, np.ndarray] = {}
        self._kernel: dict[str, np.ndarray] = {}
        kernel_nodes: dict[str, list[int]] = {}
        for part, cost_s in parts:
            self._learn(part, cost_s, kernel_nodes)
        self._kernel_nodes = {target: np.array(sizes) for target, sizes in kernel_nodes.items()}

    @property
    def targets(self) -> Collection[str]:
        """The targets of which some part was profiled."""
        return self._seconds.keys()

    def times(self, target: str, inside: IndexSet) -> tuple[float, float] | None:
        """Return the seconds of the nodes `inside` on `target`, and of those among them whose kernel has other nodes as well.

        None where some node was not profiled there.
        """
        if target not in self._seconds:
            return None
        nodes = np.fromiter(inside, int)
        seconds, kernels = self._seconds[target][nodes], self._kernel[target][nodes]
        if np.isnan(seconds).any():
            return None
        sizes = self._kernel_nodes[target]
        is_torn = np.bincount(kernels, minlength=len(sizes))[kernels] < sizes[kernels]
        return float(seconds.sum()), float(seconds[is_torn].sum())

    def _learn(self, part: ProfiledPart, cost_s: float | None, kernel_nodes: dict[str, list[int]]) -> None:
        in_nodes_s = sum(seconds for _, seconds in part.groups)
        if not in_nodes_s > 0:
            return
        scale = (part.total_s if cost_s is None else cost_s) / in_nodes_s
        target = part.candidate.target
        node_s = self._seconds.setdefault(target, np.full(self._count, np.nan))
        kernel = self._kernel.setdefault(target, np.full(self._count, -1))
        sizes = kernel_nodes.setdefault(target, [])
        for nodes, seconds in part.groups:
            operations = np.array([float(self._work.operations(index)) for index in nodes])
            shares = operations / operations.sum() if operations.sum() > 0 else np.full(len(nodes), 1 / len(nodes))
            node_s[list(nodes)] = scale * seconds * shares
            kernel[list(nodes)] = len(sizes)
            sizes.append(len(nodes))
