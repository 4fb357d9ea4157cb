"""`may_be_infinite`: which tensors of a graph may hold infinities or NaN although every input of the model is finite.

A graph enters; names leave. Constants hold some, as masks of attention do; divisions, logarithms and exponentials make some unless the
ranges of what they read exclude it. That sums and products of ordinary numbers overflow is left out: it takes numbers beyond 1e19.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from .dataflow_graph import DataflowGraph, Node
from .value_ranges import ANY, Range, ranges_of

LARGEST_EXPONENT = 88.0
"""The exponential of a larger number is no finite float32."""

_BOUNDED = frozenset({"Erf", "HardSigmoid", "Hardmax", "Sigmoid", "Sign", "Softmax", "Softsign", "Tanh"})
"""Operators whose results are finite whatever they read. NaN passes some of them; who reads it is right to make NaN of it, too."""

_ZERO_SLOTS: Mapping[str, int] = {"Div": 1, "Log": 0, "Reciprocal": 0}


def may_be_infinite(graph: DataflowGraph) -> frozenset[str]:
    """Return the tensors and constants that may hold infinities; call it by `DataflowGraph.derive`, which keeps the answer."""
    ranges = graph.derive(ranges_of).held
    infinite = {name for name, constant in graph.constants.items() if _is_open(ranges[name], constant.type.dtype)}
    for node in graph.nodes:
        values = node.inputs[1:] if node.op == "Where" else node.inputs  # the condition decides on no value
        if _makes(node, ranges) or (node.op not in _BOUNDED and not infinite.isdisjoint(values)):
            infinite.update(tensor.name for tensor in node.outputs if "float" in tensor.type.dtype and not _is_bounded(ranges[tensor.name]))
    return frozenset(infinite)


def may_be_zero(held: Range) -> bool:
    return held[0] <= 0 <= held[1]


def _is_open(held: Range, dtype: str) -> bool:
    """Return whether a constant holds an infinity: its range is known, and ends in one."""
    return "float" in dtype and held != ANY and not _is_bounded(held)


def _is_bounded(held: Range) -> bool:
    return math.isfinite(held[0]) and math.isfinite(held[1])


def _makes(node: Node, ranges: Mapping[str, Range]) -> bool:
    """Return whether a call may make infinities of finite numbers."""
    if not node.inputs:
        return False
    held = ranges.get(node.inputs[0], ANY)
    if node.op in ("Exp", "Sinh", "Cosh"):
        return held[1] > LARGEST_EXPONENT
    if node.op == "Pow":
        exponent = ranges.get(node.inputs[1], ANY)
        return exponent[0] < 0 and may_be_zero(held)
    slot = _ZERO_SLOTS.get(node.op)
    return slot is not None and may_be_zero(ranges.get(node.inputs[slot], ANY))
