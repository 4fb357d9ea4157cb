"""`row_sets_of`: which tensors of a graph are sets of rows; `with_movements`: how far rounding alone moves those that the model returns.

A graph and runs of the whole model enter, one of them as the reference and others with rounding noise of the model's own types; a `RowSet`
for each such tensor leaves. Which tensors they are follows from the graph alone; the runs are made on the first question about their
movement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from ...graph.dataflow_graph import DataflowGraph
from ..model import Arrays
from ..row_sets import RowSet, row_errors

SUPPRESSION = "NonMaxSuppression"
"""The operator whose rows have no defined order."""
ROUNDED_RUNS = 2
LEAST_MOVED = 1e-4
"""Less is the rounding of the values themselves."""
MOST_MOVED = 0.5
"""However far the model moves: where more than half of the rows have no partner, nothing is compared any more."""
_ULPS = 2.0
"""Largest error of a rounded value, in units of its last place."""


def row_sets_of(graph: DataflowGraph) -> dict[str, RowSet]:
    """Return tensor → how it is compared, for those with one dimension whose size depends on values, as if nothing moved them."""
    unordered, origins = _after_suppression(graph), _origins(graph)
    axes = {name: kind.open_axes for name, kind in graph.types.items() if not kind.is_opaque}
    single = {name: opened[0] for name, opened in axes.items() if len(opened) == 1}
    return {name: RowSet(axis, name not in unordered, origin=origins.get(name, frozenset())) for name, axis in single.items()}


def with_most_movement(graph: DataflowGraph) -> Mapping[str, RowSet]:
    """Return the sets of rows of a graph, those that it returns moved as far as any movement is forgiven: no run is needed for that."""
    sets = graph.derive(row_sets_of)
    return sets | {name: replace(sets[name], moves=MOST_MOVED) for name in graph.outputs if name in sets}


def with_movements(graph: DataflowGraph, runs: Callable[[], Iterable[Arrays]]) -> Mapping[str, RowSet]:
    """Return the sets of rows of a graph, with how far rounding alone moves those that it returns.

    Args:
        runs: Gives the outputs of the reference, then those of runs that differ from it by rounding; called only where it matters.
    """
    sets = dict(graph.derive(row_sets_of))
    returned = {name: sets[name] for name in graph.outputs if name in sets}
    if not returned:
        return sets
    wanted, *others = runs()
    for other in others:
        for name, error in row_errors(other, wanted, returned).items():
            if error > max(LEAST_MOVED, sets[name].moves):
                sets[name] = replace(sets[name], moves=min(error, MOST_MOVED))
    return sets


def _origins(graph: DataflowGraph) -> dict[str, frozenset[str]]:
    """Return tensor → the nodes upstream that decided on a number of rows: those that read none and make some."""
    origins: dict[str, frozenset[str]] = {}
    for node in graph.nodes:
        above = frozenset[str]().union(*(origins.get(name, ()) for name in node.inputs))
        if not above and any(tensor.type.open_axes for tensor in node.outputs):
            above = frozenset([node.name])
        if above:
            origins |= {tensor.name: above for tensor in node.outputs}
    return origins


def _after_suppression(graph: DataflowGraph) -> set[str]:
    """Return the tensors that follow from what a suppression selected."""
    names: set[str] = set()
    for node in graph.nodes:
        if node.op.rpartition(".")[2] == SUPPRESSION or not names.isdisjoint(node.inputs):
            names.update(tensor.name for tensor in node.outputs)
    return names


def rounded_otherwise(inputs: Arrays, seed: int) -> Arrays:
    """Return inputs whose floats are off by rounding noise of their own type, equal ones by the same: ties and zeros stay."""
    random = np.random.default_rng(seed)
    return {name: _noisy(value, random) for name, value in inputs.items()}


def is_rounded(value: object) -> TypeGuard[np.ndarray]:
    """Return whether a value is a tensor of floats of numpy: those of less precision are as they are."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype.type.__module__ == "numpy"


def _noisy(value: object, random: np.random.Generator) -> object:
    if not is_rounded(value):
        return value
    distinct, which = np.unique(value, return_inverse=True)
    off = random.uniform(-_ULPS, _ULPS, distinct.shape) * float(np.finfo(value.dtype).eps)
    return (distinct.astype(np.float64) * (1 + off)).astype(value.dtype)[which].reshape(value.shape)
