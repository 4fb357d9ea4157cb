"""`with_exact_integers`: the same model with exact operators in place of those that ONNX Runtime computes wrong on large integers.

A model enters, and one leaves that computes what ONNX defines. ONNX Runtime 1.31 compares int64 in Max, Min, Clip, Sign, Relu,
ReduceMax and ReduceMin as if the lower halves had a sign, so these are right to 2^31 only. It adds up and raises to powers in double, which
is right to 2^53, and saturates where the result wraps around. Less, Greater, Where, Add, Sub, Mul, Div and Mod are exact, and each such
call is written in these, with the name of its output as before. Means, norms, logarithms and products over an axis stay: what they are
on integers ONNX does not define, or none of these operators compute it.

Element types are found by the signatures of operators (`ElementTypes`); no shape is inferred, so asking for a few tensors of a large model
is quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx.defs
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ...graph.dataflow_graph import DataflowGraph, Node
from ...graph.value_ranges import ValueRanges, ranges_of
from ..nodes import ONNX_DOMAINS, FreeNames, all_nodes, domain_of, inner_graphs, opset_versions, read_by

_BY_ATTRIBUTE = {"Cast": "to", "EyeLike": "dtype", "Bernoulli": "dtype", "RandomNormalLike": "dtype", "RandomUniformLike": "dtype"}
"""Operators that say the element type of their output themselves."""
_CONSTANTS = {"value_float": TensorProto.FLOAT, "value_int": TensorProto.INT64, "value_string": TensorProto.STRING}
_BY_NAME = {f"tensor({TensorProto.DataType.Name(number).lower()})": number for number in TensorProto.DataType.values()}


class ElementTypes:
    """The element types of one graph.

    Args:
        versions: Domain → opset version of the model.
        outer: Those of the graph around it.
    """

    def __init__(self, graph: GraphProto, versions: Mapping[str, int], outer: ElementTypes | None = None):
        self._versions, self._outer = versions, outer
        typed = ((value.name, value.type.tensor_type.elem_type) for value in (*graph.input, *graph.value_info, *graph.output))
        self._known = {name: number for name, number in typed if number}
        self._known |= {tensor.name: tensor.data_type for tensor in graph.initializer}
        self._makers = {name: node for node in graph.node for name in node.output if name}

    def of(self, name: str) -> int | None:
        """Return the element type of a tensor; None where the signatures do not tell it."""
        passed: list[str] = []
        step: int | str | None = name
        while isinstance(step, str):
            if step in self._known:
                step = self._known[step]
            elif step in self._makers and step not in passed:
                passed.append(step)
                step = self._step(self._makers[step], step)
            else:
                step = self._outer.of(step) if self._outer is not None else None
        if step is not None:
            self._known |= dict.fromkeys(passed, step)
        return step

    def _step(self, node: NodeProto, name: str) -> int | str | None:
        """Return the type of an output of `node`, or the tensor that it has the type of; None where neither is known."""
        index = list(node.output).index(name)
        bodies = list(inner_graphs(node))
        if bodies:
            output = bodies[0].output[index + (node.op_type == "Loop")]
            return output.type.tensor_type.elem_type or ElementTypes(bodies[0], self._versions, self).of(output.name)
        attributes = {attribute.name: attribute for attribute in node.attribute}
        if node.op_type == "Constant":
            (value,) = attributes.values()
            return _CONSTANTS.get(value.name.removesuffix("s")) or int(value.t.data_type) or None
        if node.op_type == "ConstantOfShape":
            return int(attributes["value"].t.data_type) if "value" in attributes else TensorProto.FLOAT
        if node.op_type in _BY_ATTRIBUTE and _BY_ATTRIBUTE[node.op_type] in attributes:
            return int(attributes[_BY_ATTRIBUTE[node.op_type]].i)
        domain = domain_of(node)
        try:
            schema = onnx.defs.get_schema(node.op_type, self._versions.get(domain, 1), domain)
        except onnx.defs.SchemaError:
            return None
        made = schema.outputs[min(index, len(schema.outputs) - 1)]
        if len(made.types) == 1:
            return _BY_NAME.get(next(iter(made.types)))
        slots = range(min(len(node.input), len(schema.inputs)))
        return next((node.input[slot] for slot in slots if schema.inputs[slot].type_str == made.type_str and node.input[slot]), None)


INT64, INT32, UINT64 = TensorProto.INT64, TensorProto.INT32, TensorProto.UINT64

_OLDEST = 10
"""The opset that has all operators which are used here. In older ones nothing is changed."""
_SUM_READS_AXES = 13
"""The opset from which on ReduceSum reads its axes. Other reductions do so from 18 on."""
_DIGIT = 2**22
"""Sums of so large numbers are exact in double for 2^31 of them."""
_HALF = 2**32
_COMPARED_BELOW, _SUMMED_BELOW = 2**31, 2**53
_LARGEST_POWER = 63


def with_exact_integers(model: ModelProto, ranges: ValueRanges | None = None, *, constants_only: bool = False) -> ModelProto:
    """Return `model`, or a copy in which the calls that ONNX Runtime may compute wrong are made of exact ones.

    Args:
        ranges: Of the tensors of the model; a call whose values are small stays. Without them none does.
        constants_only: Change only calls that follow from constants alone: those that folding evaluates.
    """
    versions = opset_versions(model)
    if versions.get("", 1) < _OLDEST or not any(map(_may_change, all_nodes(model.graph))):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    writing = _Writing(versions, FreeNames(copy), ranges, constants_only)
    changed = writing.rewrite(copy.graph, None, set())
    return copy if changed else model


def inexact_nodes(graph: DataflowGraph) -> list[str]:
    """Return the nodes of a graph that ONNX Runtime may compute wrong as they are, by name; those in bodies are not looked at."""
    ranges = graph.derive(ranges_of)
    return [node.name for node in graph.nodes if _is_inexact(graph, node, ranges)]


def _is_inexact(graph: DataflowGraph, node: Node, ranges: ValueRanges) -> bool:
    if node.op not in _CALLS:
        return False
    output = node.outputs[0]
    if node.op in _COMPARING:
        data = node.inputs[:1] if node.op.startswith("Reduce") else node.inputs
        return output.type.dtype == "int64" and not all(_within(ranges.held.get(name), _COMPARED_BELOW) for name in data if name)
    if node.op == "Mod":
        is_wide = output.type.dtype in ("int64", "uint64") and bool(node.attributes.get("fmod", 0))
        return is_wide and not all(_within(ranges.held.get(name), _SUMMED_BELOW) for name in node.inputs)
    is_integer = output.type.dtype in ("int64", "int32")
    return is_integer and (output.name in ranges.wrapping or not _within(ranges.held.get(output.name), _SUMMED_BELOW))


def may_hold(model: bytes) -> bool:
    """Return whether a serialised model may have calls that are changed, without parsing it."""
    return any(op.encode() in model for op in _CALLS)


def _may_change(node: NodeProto) -> bool:
    return node.op_type in _CALLS and node.domain in ONNX_DOMAINS


class _Writing:
    """One model while its calls are changed, in place."""

    def __init__(self, versions: Mapping[str, int], free: FreeNames, ranges: ValueRanges | None, constants_only: bool):
        self._versions, self._free, self._ranges, self._constants_only = versions, free, ranges, constants_only

    def rewrite(self, graph: GraphProto, outer: ElementTypes | None, known: set[str]) -> bool:
        """Change the calls of a graph and of its inner graphs; return whether there were any.

        Args:
            known: Tensors of the graphs around it that follow from constants; those of this graph are added in a copy.
        """
        types = ElementTypes(graph, self._versions, outer)
        known = known | {tensor.name for tensor in graph.initializer} - {value.name for value in graph.input}
        nodes: list[NodeProto] = []
        changed = False
        for node in list(graph.node):
            follows = node.op_type in ("Shape", "Size") or all(name in known for name in read_by(node) if name)
            if follows:
                known.update(node.output)
            for inner in inner_graphs(node):
                changed |= self.rewrite(inner, types, known)
            call = _Call(graph, node, types, self._versions, self._free)
            if (follows or not self._constants_only) and self._is_wrong(call, is_inner=outer is not None):
                nodes += call.written()
                changed = True
            else:
                nodes.append(node)
        if changed:
            del graph.node[:]
            graph.node.extend(nodes)
        return changed

    def _is_wrong(self, call: _Call, is_inner: bool) -> bool:
        """Return whether ONNX Runtime may compute a call wrong, as far as its types and ranges show."""
        if not _may_change(call.node) or not call.is_meant():
            return False
        if self._ranges is None or is_inner:
            return True
        held, output = self._ranges.held, call.node.output[0]
        if call.node.op_type in _COMPARING:
            return not all(_within(held.get(name), _COMPARED_BELOW) for name in call.node.input[: call.data_inputs] if name)
        if call.node.op_type == "Mod":
            return not all(_within(held.get(name), _SUMMED_BELOW) for name in call.node.input)
        return output in self._ranges.wrapping or not _within(held.get(output), _SUMMED_BELOW)


def _within(values: tuple[float, float] | None, bound: int) -> bool:
    return values is not None and -bound <= values[0] and values[1] < bound


class _Call:
    """A call, and the exact ones that take its place."""

    def __init__(self, graph: GraphProto, node: NodeProto, types: ElementTypes, versions: Mapping[str, int], free: FreeNames):
        self._graph, self.node, self._types, self._free = graph, node, types, free
        self._version = versions.get("", 1)
        self._added: list[NodeProto] = []

    @property
    def dtype(self) -> int | None:
        return self._types.of(self.node.input[0])

    @property
    def data_inputs(self) -> int:
        """How many of its first inputs are data, as the others are axes."""
        return 1 if self.node.op_type.startswith("Reduce") else len(self.node.input)

    def attribute(self, name: str, default: int) -> int:
        return next((item.i for item in self.node.attribute if item.name == name), default)

    def is_meant(self) -> bool:
        """Return whether the call is on a type, and of a form, that ONNX Runtime computes wrong on some values."""
        op, dtype = self.node.op_type, self.dtype
        if op == "Mod":
            return bool(self.attribute("fmod", 0)) and (dtype == INT64 or (dtype == UINT64 and self._version >= 12))
        if op == "Pow":
            return dtype in (INT64, INT32) and self._types.of(self.node.input[1]) in (INT64, INT32)
        if op in ("ReduceL1", "ReduceSumSquare") and self.attribute("noop_with_empty_axes", 0):
            return False
        return dtype in ((INT64, INT32) if op in _SUMMING else (INT64,))

    def written(self) -> list[NodeProto]:
        """Return the calls that compute what this one does; the last one makes its output."""
        made = _CALLS[self.node.op_type](self)
        if made in self.node.input:  # a Max of one tensor, or a Clip without bounds
            self.add("Identity", made)
        self._added[-1].output[0], self._added[-1].name = self.node.output[0], self.node.name
        return self._added

    def constant(self, value: int, dtype: int = INT64, shape: tuple[int, ...] = ()) -> str:
        """Add a constant that holds one value, a scalar unless a shape is given."""
        return self._store(np.full(shape, value, helper.tensor_dtype_to_np_dtype(dtype)), str(value))

    def value(self, name: str) -> np.ndarray | None:
        """Return a constant of the graph; None where the tensor is none."""
        found = next((tensor for tensor in self._graph.initializer if tensor.name == name), None)
        return None if found is None else numpy_helper.to_array(found)

    def add(self, op: str, *inputs: str, **attributes: int) -> str:
        """Add a node, and return the tensor that it makes."""
        made = self._free(f"{self.node.output[0]}/{op}")
        self._added.append(helper.make_node(op, inputs, [made], made, **attributes))
        return made

    def cast(self, name: str, dtype: int) -> str:
        return self.add("Cast", name, to=dtype)

    def again(self, data: str, op: str = "", **attributes: int) -> str:
        """Add the call itself once more on other data, as another operator or with other attributes where they are given."""
        node = NodeProto()
        node.CopyFrom(self.node)
        node.op_type, node.input[0] = op or node.op_type, data
        kept = {item.name: item for item in self.node.attribute if item.name not in attributes}
        if node.op_type == "ReduceSum" and self._version >= _SUM_READS_AXES and "axes" in kept:
            node.input.append(self._store(np.array(kept.pop("axes").ints, np.int64), "axes"))
        written = [*kept.values(), *(helper.make_attribute(name, value) for name, value in attributes.items())]
        del node.attribute[:]
        node.attribute.extend(written)
        made = self._free(f"{self.node.output[0]}/{node.op_type}")
        node.output[:], node.name = [made], made
        self._added.append(node)
        return made

    def _store(self, values: np.ndarray, name: str) -> str:
        free = self._free(f"{self.node.output[0]}/{name}")
        self._graph.initializer.append(numpy_helper.from_array(values, free))
        return free


def _extremum(comparison: str) -> Callable[[_Call], str]:
    """Write a Max or a Min: of two values the first where it compares so with the second, as often as there are more."""

    def write(call: _Call) -> str:
        best, *others = call.node.input
        for other in others:
            best = _chosen(call, comparison, best, other)
        return best

    return write


def _chosen(call: _Call, comparison: str, one: str, other: str) -> str:
    return call.add("Where", call.add(comparison, one, other), one, other)


def _clip(call: _Call) -> str:
    data, *bounds = call.node.input
    for bound, comparison in zip(bounds, ("Greater", "Less"), strict=False):
        data = _chosen(call, comparison, data, bound) if bound else data
    return data


def _sign(call: _Call) -> str:
    x, zero = call.node.input[0], call.constant(0)
    return call.add("Sub", call.cast(call.add("Greater", x, zero), INT64), call.cast(call.add("Less", x, zero), INT64))


def _positive_part(call: _Call) -> str:
    return _chosen(call, "Greater", call.node.input[0], call.constant(0))


def _reduced_extremum(of_nothing: int, last: int) -> Callable[[_Call], str]:
    """Write a ReduceMax or a ReduceMin: that of the higher halves, then that of the lower halves of those which have this higher one.

    Args:
        of_nothing: What ONNX Runtime makes of no elements.
        last: A lower half that none comes behind.
    """

    def write(call: _Call) -> str:
        x, half = call.node.input[0], call.constant(_HALF)
        middle, rest = call.constant(_HALF // 2), call.add("Mod", x, half)
        high, low = call.add("Div", call.add("Sub", x, rest), half), call.add("Sub", rest, middle)
        is_first = call.add("Equal", high, call.again(high, keepdims=1))
        low = call.again(call.add("Where", is_first, low, call.constant(last)))
        first, nothing = call.again(high), call.constant(of_nothing)
        whole = call.add("Add", call.add("Mul", first, half), call.add("Add", low, middle))
        return call.add("Where", call.add("Equal", first, nothing), nothing, whole)

    return write


def _sum(call: _Call, prepare: Callable[[_Call, str], str]) -> str:
    """Write a sum of what `prepare` makes of the data: by digits, whose sums are exact, and which wrap around where they are joined."""
    dtype = call.dtype
    x = call.node.input[0] if dtype == INT64 else call.cast(call.node.input[0], INT64)
    x, base = prepare(call, x), call.constant(_DIGIT)
    digits = []
    for _ in range(2):
        higher = call.add("Div", x, base)
        digits.append(call.add("Sub", x, call.add("Mul", higher, base)))
        x = higher
    total = call.again(x, "ReduceSum")
    for digit in reversed(digits):
        total = call.add("Add", call.add("Mul", total, base), call.again(digit, "ReduceSum"))
    return total if dtype == INT64 else call.cast(total, INT32)


def _remainder(call: _Call) -> str:
    """Write a Mod with the sign of the dividend. A division by 0, or of the least number by −1, would end the process: both make 0 here."""
    x, by = call.node.input
    if call.dtype == UINT64:
        return call.add("Mod", x, call.add("Max", by, call.constant(1, UINT64)))
    zero, one = call.constant(0), call.constant(1)
    by = call.add("Where", call.add("Or", call.add("Equal", by, zero), call.add("Equal", by, call.constant(-1))), one, by)
    rest = call.add("Mod", x, by)
    has_other_sign = call.add("Xor", call.add("Less", rest, zero), call.add("Less", x, zero))
    is_other = call.add("And", call.add("Not", call.add("Equal", rest, zero)), has_other_sign)
    return call.add("Where", is_other, call.add("Sub", rest, by), rest)


def _power(call: _Call) -> str:
    """Write a power by squaring."""
    dtype, (base, exponent) = call.dtype, call.node.input
    known = call.value(exponent)
    base = base if dtype == INT64 else call.cast(base, INT64)
    if known is not None and known.size == 1 and 0 < known.item() <= _LARGEST_POWER:
        product = _power_of_constant(call, base, known)
    else:
        product = _power_of_any(call, base, call.cast(exponent, INT64))
    return product if dtype == INT64 else call.cast(product, INT32)


def _power_of_constant(call: _Call, base: str, exponent: np.ndarray) -> str:
    product, square, left = call.constant(1, shape=exponent.shape), base, int(exponent.item())
    while left:
        if left % 2:
            product = call.add("Mul", product, square)
        left //= 2
        if left:
            square = call.add("Mul", square, square)
    return product


def _power_of_any(call: _Call, base: str, exponent: str) -> str:
    """Write a power whose exponents may be any. Above `_LARGEST_POWER` only powers of −1, 0 and 1 fit: whether they are odd is enough."""
    zero, one, two, largest = (call.constant(value) for value in (0, 1, 2, _LARGEST_POWER))
    left = call.add("Abs", exponent)
    as_odd = call.add("Add", call.add("Mod", left, two), call.constant(_LARGEST_POWER - 1))
    left = call.add("Where", call.add("Greater", left, largest), as_odd, left)
    product, square = one, base
    for bit in range(_LARGEST_POWER.bit_length()):
        square = call.add("Mul", square, square) if bit else square
        is_odd = call.add("Equal", call.add("Mod", left, two), one)
        product = call.add("Mul", product, call.add("Where", is_odd, square, one))
        left = call.add("Div", left, two)
    is_fraction = call.add("And", call.add("Less", exponent, zero), call.add("Greater", call.add("Abs", base), one))
    return call.add("Where", is_fraction, zero, product)


_CALLS: Mapping[str, Callable[[_Call], str]] = {
    "Clip": _clip,
    "Max": _extremum("Greater"),
    "Min": _extremum("Less"),
    "Mod": _remainder,
    "Pow": _power,
    "ReduceL1": lambda call: _sum(call, lambda call, x: call.add("Abs", x)),
    "ReduceMax": _reduced_extremum(-(2**63), -(2**31)),
    "ReduceMin": _reduced_extremum(2**63 - 1, 2**31 - 1),
    "ReduceSum": lambda call: _sum(call, lambda call, x: x),
    "ReduceSumSquare": lambda call: _sum(call, lambda call, x: call.add("Mul", x, x)),
    "Relu": _positive_part,
    "Sign": _sign,
}
"""Operator → what writes a call of it in others."""
_COMPARING = frozenset({"Clip", "Max", "Min", "ReduceMax", "ReduceMin", "Relu", "Sign"})
_SUMMING = frozenset({"ReduceL1", "ReduceSum", "ReduceSumSquare"})
