"""`Contract`: which calls a toolchain computes exactly, by a table of its own: for how large integers, and on which element types at all.

A table, a graph and a node enter; a reason in words leaves, empty where the call is exact. What a graph shows of its values
(`value_ranges`) decides: a toolchain that has 32 bits for int64 may take indices and shapes, and no hashes. No library is imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..graph.dataflow_graph import HOST, DataflowGraph, Node, TensorType
from ..graph.value_ranges import is_index, ranges_of
from ..rules.operators import type_of

Limit = int | str
"""How a toolchain computes a call: `EXACT`, exactly for integers of so many bits beside the sign, exactly unless the result wraps around
(`SATURATES`), or never exactly; then the limit is the phrase that says how, such as ``in float32``."""

EXACT, SATURATES, ABSENT = "exact", "with saturation, where ONNX wraps around", "not at all"


def types(dtypes: str, limit: Limit) -> dict[str, Limit]:
    """Return one limit for each of `dtypes`, which are written with spaces between."""
    return dict.fromkeys(dtypes.split(), limit)


def rows(*table: tuple[str, Mapping[str, Limit]]) -> dict[str, Mapping[str, Limit]]:
    """Return operator → limits of a table whose rows name operators, with spaces between, and what holds for each of them."""
    return {op: limits for ops, limits in table for op in ops.split()}


def measured_rows(table: Path, stated: Mapping[str, Mapping[str, Limit]] | None = None) -> dict[str, Mapping[str, Limit]]:
    """Return operator → limits of a table that `make value-contract` wrote, with what is `stated` in place of what was measured."""
    read: dict[str, Mapping[str, Limit]] = json.loads(table.read_text())["calls"]
    return read | {op: {**read.get(op, {}), **limits} for op, limits in (stated or {}).items()}


@dataclass(frozen=True)
class Contract:
    """A table of the calls that a toolchain computes exactly.

    Attributes:
        name: The toolchain's, as it stands in reasons.
        calls: Operator → dtype → limit. A Cast has a row for each type that it makes, such as ``Cast:bool``.
        others: Dtype → limit of what `calls` lacks; a dtype that is in neither table is exact.
        in_bits: Limit in bits → how the toolchain computes, for reasons, where more than the limit is known.
        reads_inputs: Rows of `calls` that are exact where they read an input of the model.
    """

    name: str
    calls: Mapping[str, Mapping[str, Limit]]
    others: Mapping[str, Limit] = field(default_factory=dict)
    in_bits: Mapping[int, str] = field(default_factory=dict)
    reads_inputs: frozenset[str] = frozenset()

    def refusal(self, graph: DataflowGraph, node: Node) -> str:
        """Return which tensor of `node` the toolchain may compute wrong, and how; empty where it computes all of them exactly."""
        row = f"Cast:{node.outputs[0].type.dtype}" if node.op == "Cast" else node.op
        limits = {**self.others, **self.calls.get(row, {})}
        for name, kind in _values(graph, node):
            limit = limits.get(kind.dtype, EXACT)
            is_input = row in self.reads_inputs and graph.producer.get(name) == HOST
            if limit != EXACT and not is_input and not _holds(limit, graph, node, name) and not _is_ordered(limit, graph, node):
                if isinstance(limit, int):
                    way = self.in_bits.get(limit, f"exactly to 2^{limit}")
                    return f"{self.name} computes {node.op} of {kind.dtype} {way}, and {name!r} may hold more"
                return f"{self.name} computes {node.op} of {kind.dtype} {limit}"
        return ""


def _values(graph: DataflowGraph, node: Node) -> list[tuple[str, TensorType]]:
    """Return the tensors that a call computes with or makes; indices and shapes that it reads are none of these."""
    read = [(name, type_of(graph, name)) for slot, name in enumerate(node.inputs) if name and not is_index(node, slot)]
    return [(name, kind) for name, kind in read if kind is not None] + [(tensor.name, tensor.type) for tensor in node.outputs]


_COMPARISONS = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})


def _is_ordered(limit: Limit, graph: DataflowGraph, node: Node) -> bool:
    """Return whether a comparison is right although one operand is over the limit: rounding keeps the order to one that is below it.

    Both must be integers of 32 bits with a sign.
    """
    if node.op not in _COMPARISONS or not isinstance(limit, int):
        return False
    held = [graph.derive(ranges_of).held[name] for name in node.inputs]
    is_below = any(-(2**limit) < low and high < 2**limit for low, high in held)
    return is_below and all(low >= -(2**31) and high < 2**31 for low, high in held)


def _holds(limit: Limit, graph: DataflowGraph, node: Node, name: str) -> bool:
    """Return whether what the graph shows of the values of a tensor keeps them within the limit."""
    ranges = graph.derive(ranges_of)
    if isinstance(limit, int):
        low, high = ranges.held[name]
        return -(2**limit) <= low and high < 2**limit
    made_here = any(tensor.name == name for tensor in node.outputs)
    return limit == SATURATES and not (made_here and name in ranges.wrapping)
