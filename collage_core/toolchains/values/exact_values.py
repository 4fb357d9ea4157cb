"""`Contract`: which calls a toolchain computes right, by a table of its own: for which integers, element types, and classes of floats.

A table, a graph and a node enter; a reason in words leaves, empty where the call is right. What a graph shows of its values
(`value_ranges`, `infinities`) decides: a toolchain that has 32 bits for int64 may take indices and shapes, and no hashes; one that computes
ties wrong may not take a TopK. No library is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...graph.dataflow_graph import HOST, DataflowGraph, Node, TensorType
from ...graph.value_policy import FINITE
from ...graph.value_ranges import LARGEST_EXPONENT, is_index, may_be_infinite, ranges_of
from ...rules.operators import type_of

Limit = int | str
"""How a toolchain computes a call: `EXACT`, exactly for integers of so many bits beside the sign, exactly unless the result wraps around
(`SATURATES`), or never exactly; then the limit is the phrase that says how, such as ``in float32``."""

EXACT, SATURATES, ABSENT = "exact", "with saturation, where ONNX wraps around", "not at all"

RIGHT, FINITE_RIGHT, WRONG = "right", "finite", "wrong"
EMPTY_DTYPES = ("float32", "int32", "int64")
"""Types of which calls on tensors without elements are measured; for others the worst of these holds."""
VERDICTS = (RIGHT, FINITE_RIGHT, WRONG)
"""Verdicts on a call and a class of floats: right in every element; right where the result is finite; wrong there, too."""

ORDINARY, INFINITE, MASKED, TAILS, SIGNED_ZEROS, WHOLE = "ordinary", "infinite", "masked", "tails", "signed zeros", "whole"
EXPONENTS = "exponents"
_OF_FINITE: Mapping[str, str] = {
    "large": "large numbers", "offset": "numbers with a large mean", "ties": "equal elements", "halves": "halves", "zeros": "zeros",
    EXPONENTS: "numbers near 88, whose exponentials are nearly infinite",
}  # fmt: skip
_OF_ANY: Mapping[str, str] = {**_OF_FINITE, "huge": "numbers near the largest", INFINITE: "infinities", MASKED: "rows of −∞", "nan": "NaN"}
"""Class of floats → its name in reasons: of those that are finite and of ordinary size, and of those that count by the policy `ANY`."""
_AFTER_RECIPROCAL: Mapping[str, str] = {TAILS: "results near 0", SIGNED_ZEROS: "the sign of zeros"}
"""Classes whose errors are next to nothing until a reader takes a logarithm or divides by the result."""

_ROUNDING = frozenset({"Ceil", "Equal", "Floor", "Mod", "Round"})
"""Operators, beside a Cast to integers, whose results jump where a number is whole, or between two whole ones."""
_TESTS = frozenset({"Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"})
"""Operators that make finite results of whether a number is infinite or NaN."""
_MOVES = frozenset({"Cast", "Expand", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
_KEEPS_WHOLE = _MOVES | {"Abs", "Add", "Clip", "Max", "Min", "Neg", "Relu", "Sub", "Where"}
"""Operators that hand whole numbers on as such, wrong ones too."""

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


def measured_empty(table: Path) -> Mapping[str, Mapping[str, str]]:
    """Return operator → dtype → verdict of a table that `make value-contract` wrote, on tensors without elements."""
    read: Mapping[str, Mapping[str, str]] = json.loads(table.read_text())["empty"]
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
        empty: Operator → dtype → verdict, of calls on tensors without elements that are not right.
        bears: Operators and classes of floats that the toolchain gets although it computes them wrong, unless their results are outputs of
            the model; the reason stands beside them.
        is_reference: Calls that were not measured are those of the reference. Others are refused where NaN and infinities count.
    """

    name: str
    calls: Mapping[str, Mapping[str, Limit]]
    others: Mapping[str, Limit] = field(default_factory=dict)
    in_bits: Mapping[int, str] = field(default_factory=dict)
    reads_inputs: frozenset[str] = frozenset()
    floats: FloatRows = field(default_factory=dict)
    empty: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    bears: frozenset[tuple[str, str]] = frozenset()
    is_reference: bool = False

    def refusal(self, graph: DataflowGraph, node: Node, value_policy: str = FINITE) -> str:
        """Return what of `node` the toolchain may compute wrong, and how; empty where it computes all that counts right."""
        return self._of_empty(graph, node) or self._of_integers(graph, node) or self._of_floats(graph, node, value_policy)

    def _of_empty(self, graph: DataflowGraph, node: Node) -> str:
        row = self.empty.get(node.op)
        if not row:
            return ""
        name, kind = next(((name, kind) for name, kind in _values(graph, node) if 0 in kind.shape), ("", None))
        if kind is None:
            return ""
        verdict = row.get(kind.dtype) or (max(row.values(), key=(ABSENT, WRONG).index) if kind.dtype not in EMPTY_DTYPES else RIGHT)
        if verdict == RIGHT:
            return ""
        call = f"{node.op} of {kind.dtype} without elements"
        fault = f"does not take {call}" if verdict == ABSENT else f"computes {call} wrong"
        return f"{self.name} {fault}, and {name!r} is {kind}"

    def _is_borne(self, graph: DataflowGraph, node: Node, name: str) -> bool:
        outputs = {tensor.name for tensor in node.outputs}
        return (node.op, name) in self.bears and outputs.isdisjoint(graph.outputs)

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
                if name in verdicts and not self._is_borne(graph, node, name):
                    after = f" after {maker}" if maker else ""
                    return f"{self.name} computes {what}{after} wrong on {words}"
        return self._of_read_results(graph, node, what, row, _AFTER_RECIPROCAL)

    def _of_finite(self, graph: DataflowGraph, node: Node, what: str, row: Mapping[str, str]) -> str:
        """Return what is wrong on finite inputs of the model; the trial of a call shows whether it errs on ordinary numbers."""
        if ORDINARY in row:
            return ""
        for name, words in _OF_FINITE.items():
            is_reached = name != EXPONENTS or _may_reach_exponents(graph, node)
            if row.get(name) == WRONG and is_reached and not self._is_borne(graph, node, name):
                return f"{self.name} computes {what} wrong on {words}"
        in_float32 = self.floats.get(node.op, {}).get("float32", {})  # Beside other calls a narrower type may be computed in float32.
        row = {**row, **{name: in_float32[name] for name in (MASKED, WHOLE) if name in in_float32}}
        for name in (INFINITE, MASKED):
            is_tested = row.get(name) == FINITE_RIGHT and _is_read_by(graph, node, _MOVES, lambda reader: reader.op in _TESTS)
            source = next((source for source in node.inputs if source in graph.derive(may_be_infinite)), None)
            if source is not None and (row.get(name) == WRONG or is_tested):
                tested = ", and a reader tests for these" if is_tested else ""
                return f"{self.name} computes {what} wrong on {_OF_ANY[name]}, and {source!r} may hold some{tested}"
        return self._of_read_results(graph, node, what, row, (TAILS,))

    def _of_read_results(self, graph: DataflowGraph, node: Node, what: str, row: Mapping[str, str], classes: Iterable[str]) -> str:
        """Return what is wrong with results that a reader rounds, takes the logarithm of or divides by."""
        if row.get(WHOLE) == WRONG and _is_read_by(graph, node, _KEEPS_WHOLE, _rounds):
            return f"{self.name} does not compute {what} exactly where the result is whole, and a reader rounds it"
        known = next((name for name in classes if name in row), None)
        readers = [(graph.nodes[reader], tensor.name) for tensor in node.outputs for reader in graph.readers[tensor.name]]
        if known is None or not any(_is_reciprocal(graph, *pair) for pair in readers):
            return ""
        return f"{self.name} computes {what} wrong in {_AFTER_RECIPROCAL[known]}, of which a reader takes the logarithm or the reciprocal"

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


def _may_reach_exponents(graph: DataflowGraph, node: Node) -> bool:
    """Return whether some input may hold numbers whose exponentials are nearly infinite."""
    held = graph.derive(ranges_of).held
    return any(held[name][1] > LARGEST_EXPONENT for name in node.inputs if name)


def _is_read_by(graph: DataflowGraph, node: Node, through: Collection[str], is_asked: Callable[[Node], bool]) -> bool:
    """Return whether a node that is asked for reads a result, also behind operators of `through`."""
    left, seen = [node], set[int]()
    while left:
        for index in (index for tensor in left.pop().outputs for index in graph.readers[tensor.name]):
            reader = graph.nodes[index]
            if is_asked(reader):
                return True
            if reader.op in through and index not in seen:
                seen.add(index)
                left.append(reader)
    return False


def _rounds(reader: Node) -> bool:
    dtype = reader.outputs[0].type.dtype
    return reader.op in _ROUNDING or (reader.op == "Cast" and "int" in dtype)


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
