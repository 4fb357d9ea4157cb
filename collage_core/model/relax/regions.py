"""Divides the functions of a module into regions, and writes each as an ONNX graph.

A binding that has no ONNX equivalent (control flow, a call of another function, an operator that is not in the table, a shape that
depends on data) stays where it is and divides its dataflow block: the bindings before it are one region, those that wait for it another.
So the bindings of a region never wait for one that is outside and waits for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm
from onnx import ModelProto, ValueInfoProto, helper
from tvm import relax

from ...graph.dataflow_graph import TensorType
from ..shapes.inference import value_info
from .operators import elementwise, layers, reducing, shaping
from .operators.call_writer import CallWriter, GraphWriter, Untranslatable, Written, shape_of, shape_of_type
from .operators.table import OPSET, TABLE

ON_PROCESSOR = ("llvm", "c")
"""Kinds of TVM's targets that are this machine's processor."""

_WRITERS = (elementwise, layers, reducing, shaping)
"""Their import fills `TABLE`."""


@dataclass
class Region:
    """Bindings of a dataflow block that are one ONNX graph.

    Attributes:
        block: Index of the block in its function.
        level: Number of bindings left out that it waits for, one after another.
        bindings: Index in the block → the binding, in order.
        inputs: Name of each input of the graph → the variable outside that it is.
        outputs: The variables that something outside reads, in order.
        names: Names of the graph's outputs; a tuple has one for each field.
    """

    block: int
    level: int = 0
    writer: GraphWriter = field(default_factory=GraphWriter)
    bindings: dict[int, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: list[Any] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [name for var in self.outputs for name in _fields(self.writer.values[var])]

    def model(self, name: str) -> ModelProto:
        """Return the region as an ONNX model."""
        nodes = list(self.writer.nodes)
        made = {output for node in nodes for output in node.output}
        outputs: list[ValueInfoProto] = []
        for at, (tensor, kind) in enumerate(zip(self.names, self._output_types(), strict=True)):
            unique = tensor if tensor in made and tensor not in [known.name for known in outputs] else f"{tensor}.out{at}"
            if unique != tensor:
                nodes.append(helper.make_node("Identity", [tensor], [unique], unique))
            outputs.append(value_info(unique, kind))
        inputs = [value_info(tensor, tensor_type(var.ty)) for tensor, var in self.inputs.items()]
        graph = helper.make_graph(nodes, name, inputs, outputs, self.writer.initializers())
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10, producer_name="collage")

    def _output_types(self) -> list[TensorType]:
        return [tensor_type(kind) for var in self.outputs for kind in _leaves(var.ty)]


@dataclass(frozen=True)
class LeftBinding:
    """A binding that stays as it is.

    Attributes:
        block: Index of its block in the function.
        name: The name of its variable.
        reason: Why it is in no region.
        level: As that of a `Region`: those of equal levels come after the region.
        binding: The binding.
    """

    block: int
    name: str
    reason: str
    level: int = 0
    binding: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Division:
    """A function, divided.

    Attributes:
        regions: Those with nodes, in order.
        left: The bindings that are in none.
        blocks: Index of each dataflow block → its regions, also those that only rename, and what is left, in an order that can be run.
    """

    regions: list[Region]
    left: list[LeftBinding]
    blocks: dict[int, list[Region | LeftBinding]]


def largest(regions: Sequence[Region]) -> Region:
    """Return the region of the most bindings, the first of several."""
    return max(regions, key=lambda region: len(region.bindings))


def divided(function: relax.Function) -> Division:
    """Divide `function` into regions."""
    division = Division([], [], {})
    for index, block in enumerate(function.body.blocks):
        if isinstance(block, relax.DataflowBlock):
            divider = _BlockDivider(index, block)
            division.blocks[index] = divider.ordered()
            division.regions.extend(region for region in division.blocks[index] if isinstance(region, Region) and region.writer.nodes)
            division.left.extend(divider.left)
        else:
            division.left.extend(LeftBinding(index, binding.var.name, "it is outside of a dataflow block") for binding in block.bindings)
    return division


class _BlockDivider:
    """Writes the bindings of a block into regions by their level: the most bindings left out that they wait for in turn."""

    def __init__(self, index: int, block: Any):
        self.index = index
        self.by_level: dict[int, Region] = {}
        self.left: list[LeftBinding] = []
        self._level: dict[Any, int] = {}
        self._home: dict[Any, Region | None] = {}
        self._names = _unique_names([binding.var.name for binding in block.bindings])
        for at, binding in enumerate(block.bindings):
            self._place(at, binding)
        self._find_outputs(block)

    def ordered(self) -> list[Region | LeftBinding]:
        """Everything in the block, in an order in which it can be run."""
        parts: list[Region | LeftBinding] = [*self.by_level.values(), *self.left]
        return sorted(parts, key=lambda one: (one.level, isinstance(one, LeftBinding)))

    def _place(self, at: int, binding: Any) -> None:
        read = list(variables(binding.value))
        level = max((self._level.get(var, 0) for var in read), default=0)
        region = self.by_level.setdefault(level, Region(self.index, level))
        try:
            _declare(region, read)
            written = _written(region, binding, self._names[at], at)
        except Untranslatable as reason:
            reason_here = f"{_operator(binding.value)} {reason}"
            self.left.append(LeftBinding(self.index, binding.var.name, reason_here, level, binding))
            self._level[binding.var] = level + 1
            self._home[binding.var] = None
            return
        region.writer.values[binding.var] = written
        region.bindings[at] = binding
        self._level[binding.var] = level
        self._home[binding.var] = region

    def _find_outputs(self, block: Any) -> None:
        for binding in block.bindings:
            home = self._home[binding.var]
            for var in variables(binding.value):
                other = self._home.get(var)
                if other is not None and other is not home and var not in other.outputs:
                    other.outputs.append(var)
        for binding in block.bindings:
            home = self._home[binding.var]
            if home is not None and not isinstance(binding.var, relax.DataflowVar) and binding.var not in home.outputs:
                home.outputs.append(binding.var)
        for region in self.by_level.values():
            for name in [name for name, var in region.inputs.items() if not _is_read(region, name, var)]:
                del region.inputs[name]


def _is_read(region: Region, name: str, var: Any) -> bool:
    return any(name in node.input for node in region.writer.nodes) or name in region.names


def _declare(region: Region, read: Sequence[Any]) -> None:
    """Make inputs of the region of the variables that something outside of it binds. Raises Untranslatable for a tuple or open shape."""
    for var in read:
        if var in region.writer.values or not isinstance(var.ty, relax.TensorType):
            continue
        shape_of(var)
        name = var.name
        while name in region.inputs:
            name += "'"
        region.inputs[name] = var
        region.writer.values[var] = name


def _written(region: Region, binding: Any, name: str, at: int) -> Written:
    value, values = binding.value, region.writer.values
    if isinstance(binding, relax.MatchCast):
        return _cast(binding, CallWriter(region.writer, name, value))
    if isinstance(value, relax.Call):
        return _called(region.writer, value, name, at)
    if isinstance(value, relax.TupleGetItem) and isinstance(values.get(value.tuple_value), tuple):
        return values[value.tuple_value][value.index]
    if isinstance(value, relax.Tuple):
        plain = CallWriter(region.writer, name, value)
        return tuple(values[part] if part in values else plain.as_tensor(part) for part in value.fields)
    if isinstance(value, relax.Var | tvm.ir.GenericConst):
        return values[value] if value in values else CallWriter(region.writer, name, value).as_tensor(value)
    raise Untranslatable("is no call of an operator")


def _cast(binding: Any, writer: CallWriter) -> Written:
    """A cast between equal fixed shapes changes nothing."""
    if shape_of(binding.value) != shape_of(binding.var):
        raise Untranslatable("changes what is known of the shape")
    return writer.as_tensor(binding.value)


def _called(graph: GraphWriter, call: Any, name: str, at: int) -> Written:
    write = TABLE.get(getattr(call.op, "name", ""))
    if write is None:
        raise Untranslatable("has no ONNX equivalent here")
    for kind in _leaves(call.ty):
        tensor_type(kind)
    writer = CallWriter(graph, name, call)
    known = dict(graph.constants)
    try:
        return writer.finish(write(writer), at)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
        graph.constants = known
        raise Untranslatable(f"has attributes that are not understood ({type(error).__name__}: {str(error)[:80]})") from error
    except Untranslatable:
        graph.constants = known
        raise


def _operator(value: Any) -> str:
    if isinstance(value, relax.Call):
        return str(getattr(value.op, "name", None) or getattr(value.op, "name_hint", "") or "a call")
    return {"If": "`If`", "TupleGetItem": "a field", "MatchCast": "match_cast"}.get(type(value).__name__, type(value).__name__)


def variables(expr: Any) -> Iterator[Any]:
    """Yield the variables that a binding's value reads."""
    if isinstance(expr, relax.Var):
        yield expr
    elif isinstance(expr, relax.If):
        yield from relax.analysis.free_vars(expr)
    elif isinstance(expr, relax.Tuple):
        for part in expr.fields:
            yield from variables(part)
    elif isinstance(expr, relax.TupleGetItem):
        yield from variables(expr.tuple_value)
    elif isinstance(expr, relax.Call):
        for part in expr.args:
            yield from variables(part)


def _fields(written: Written) -> list[str]:
    return [written] if isinstance(written, str) else [name for part in written for name in _fields(part)]


def _leaves(kind: Any) -> list[Any]:
    return [leaf for part in kind.fields for leaf in _leaves(part)] if isinstance(kind, relax.TupleType) else [kind]


def tensor_type(kind: Any) -> TensorType:
    """Return the type of a Relax tensor. Raises Untranslatable where its shape or dtype is open."""
    if not isinstance(kind, relax.TensorType) or not str(kind.dtype):
        raise Untranslatable("makes no tensor")
    if not is_on_processor(kind):
        raise Untranslatable(f"makes a tensor on the device {kind.vdevice.target.kind.name}, on which no toolchain here runs")
    return TensorType(tuple(shape_of_type(kind)), str(kind.dtype))


def is_on_processor(kind: Any) -> bool:
    """Return whether a tensor of this type lies in the processor's memory, as all do whose type names no device."""
    device = getattr(kind, "vdevice", None)
    return device is None or str(device.target.kind.name) in ON_PROCESSOR


def _unique_names(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique
