"""`Contract`: which calls a toolchain computes right, by a table of its own: for which integers, element types, and classes of floats.

A table, a graph and a node enter; a reason in words leaves, empty where the call is right. What a graph shows of its values
(`value_ranges`, `infinities`) decides: a toolchain that has 32 bits for int64 may take indices and shapes, and no hashes; one that computes
ties wrong may not take a TopK. No library is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..graph.dataflow_graph import HOST, DataflowGraph, Node, TensorType
from ..graph.infinities import may_be_infinite
from ..graph.value_policy import FINITE
from ..graph.value_ranges import is_index, ranges_of
from ..rules.operators import type_of

Limit = int | str
"""How a toolchain computes a call: `EXACT`, exactly for integers of so many bits beside the sign, exactly unless the result wraps around
(`SATURATES`), or never exactly; then the limit is the phrase that says how, such as ``in float32``."""

EXACT, SATURATES, ABSENT = "exact", "with saturation, where ONNX wraps around", "not at all"

RIGHT, FINITE_RIGHT, WRONG = "right", "finite", "wrong"
VERDICTS = (RIGHT, FINITE_RIGHT, WRONG)
"""Verdicts on a call and a class of floats: right in every element; right where the result is finite; wrong there, too."""

ORDINARY, INFINITE, TAILS, SIGNED_ZEROS = "ordinary", "infinite", "tails", "signed zeros"
_OF_FINITE: Mapping[str, str] = {
    "large": "large numbers", "offset": "numbers with a large mean", "ties": "equal elements", "halves": "halves", "zeros": "zeros",
}  # fmt: skip
_OF_ANY: Mapping[str, str] = {**_OF_FINITE, "huge": "numbers near the largest", INFINITE: "infinities", "nan": "NaN"}
"""Class of floats → its name in reasons: of those that are finite and of ordinary size, and of those that count by the policy `ANY`."""
_AFTER_RECIPROCAL: Mapping[str, str] = {TAILS: "results near 0", SIGNED_ZEROS: "the sign of zeros"}
"""Classes whose errors are next to nothing until a reader takes a logarithm or divides by the result."""

FloatRows = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Row → dtype → class → verdict, of the classes on which a call is not right. A row is an operator, or two that are fused."""


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


def measured_floats(table: Path) -> FloatRows:
    """Return what a table that `make value-contract` wrote says of floats."""
    read: FloatRows = json.loads(table.read_text())["floats"]
    return read


@dataclass(frozen=True)
class Contract:
    """A table of the calls that a toolchain computes exactly.

    Attributes:
        name: The toolchain's, as it stands in reasons.
        calls: Operator → dtype → limit. A Cast has a row for each type that it makes, such as ``Cast:bool``.
        others: Dtype → limit of what `calls` lacks; a dtype that is in neither table is exact.
        in_bits: Limit in bits → how the toolchain computes, for reasons, where more than the limit is known.
        reads_inputs: Rows of `calls` that are exact where they read an input of the model.
        floats: What was measured of calls on classes of floats.
        bears: Operators and classes of floats that the toolchain gets although it computes them wrong; the reason stands beside them.
        is_reference: Calls that were not measured are those of the reference. Others are refused where NaN and infinities count.
    """

    name: str
    calls: Mapping[str, Mapping[str, Limit]]
    others: Mapping[str, Limit] = field(default_factory=dict)
    in_bits: Mapping[int, str] = field(default_factory=dict)
    reads_inputs: frozenset[str] = frozenset()
    floats: FloatRows = field(default_factory=dict)
    bears: frozenset[tuple[str, str]] = frozenset()
    is_reference: bool = False

    def refusal(self, graph: DataflowGraph, node: Node, value_policy: str = FINITE) -> str:
        """Return what of `node` the toolchain may compute wrong, and how; empty where it computes all that counts right."""
        return self._of_integers(graph, node) or self._of_floats(graph, node, value_policy)

    def _of_floats(self, graph: DataflowGraph, node: Node, value_policy: str) -> str:
        dtype = next((kind.dtype for _, kind in _values(graph, node) if "float" in kind.dtype), "")
        if not dtype:
            return ""
        what, row = f"{node.op} of {dtype}", self.floats.get(node.op, {}).get(dtype)
        if value_policy == FINITE:
            return self._of_finite(graph, node, what, row or {})
        if row is None:
            return "" if self.is_reference else f"it was not measured what {self.name} makes of NaN and infinities in {what}"
        makers = {graph.nodes[graph.producer[name]].op for name in node.inputs if graph.producer.get(name, HOST) != HOST}
        for maker in ("", *sorted(makers)):
            verdicts = self.floats.get(f"{maker} {node.op}".strip(), {}).get(dtype, {})
            for name, words in _OF_ANY.items():
                if name in verdicts and (node.op, name) not in self.bears:
                    after = f" after {maker}" if maker else ""
                    return f"{self.name} computes {what}{after} wrong on {words}"
        return self._of_read_results(graph, node, what, row, _AFTER_RECIPROCAL)

    def _of_finite(self, graph: DataflowGraph, node: Node, what: str, row: Mapping[str, str]) -> str:
        """Return what is wrong on finite inputs of the model; the trial of a call shows whether it errs on ordinary numbers."""
        if ORDINARY in row:
            return ""
        for name, words in _OF_FINITE.items():
            if row.get(name) == WRONG and (node.op, name) not in self.bears:
                return f"{self.name} computes {what} wrong on {words}"
        if row.get(INFINITE) == WRONG:
            source = next((name for name in node.inputs if name in graph.derive(may_be_infinite)), None)
            if source is not None:
                return f"{self.name} computes {what} wrong on infinities, and {source!r} may hold some"
        return self._of_read_results(graph, node, what, row, (TAILS,))

    def _of_read_results(self, graph: DataflowGraph, node: Node, what: str, row: Mapping[str, str], classes: Iterable[str]) -> str:
        """Return what is wrong with results that a logarithm or a division reads."""
        found = next((name for name in classes if name in row), None)
        readers = [(graph.nodes[reader], tensor.name) for tensor in node.outputs for reader in graph.readers[tensor.name]]
        if found is None or not any(_is_reciprocal(graph, *pair) for pair in readers):
            return ""
        return f"{self.name} computes {what} wrong in {_AFTER_RECIPROCAL[found]}, of which a reader takes the logarithm or the reciprocal"

    def _of_integers(self, graph: DataflowGraph, node: Node) -> str:
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


def _is_reciprocal(graph: DataflowGraph, reader: Node, name: str) -> bool:
    """Return whether a node takes the logarithm of a tensor, or divides by it."""
    if reader.op in ("Log", "Reciprocal"):
        return True
    if reader.op == "Pow":
        return reader.inputs[0] == name and graph.derive(ranges_of).held[reader.inputs[1]][0] < 0
    return reader.op == "Div" and reader.inputs[1] == name


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
