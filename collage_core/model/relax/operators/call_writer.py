"""`CallWriter`: what the translation of one Relax call needs, its arguments as ONNX tensors and a way to add ONNX nodes.

A Relax call enters; ONNX nodes and constants are collected in a `GraphWriter`. Shapes are fixed: symbols were bound before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm
from onnx import NodeProto, TensorProto, helper, numpy_helper
from tvm import relax

Written = str | tuple["Written", ...]
"""An ONNX tensor by name, or a tuple of such, as a Relax value is a tensor or a tuple."""


class Untranslatable(Exception):
    """Raised where a call has no ONNX equivalent; its text says what about it, after the name of its operator."""


class GraphWriter:
    """Collects the ONNX nodes of a region.

    Attributes:
        nodes: The nodes, in order.
        constants: Name → values.
        values: Relax variable → its tensors.
        binding_of: Name of a node → index of the binding that it belongs to.
    """

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.values: dict[Any, Written] = {}
        self.binding_of: dict[str, int] = {}

    def constant(self, name: str, values: np.ndarray) -> str:
        """Add a constant under `name`, or under a name that begins with it, and return that."""
        unique, count = name, 1
        while unique in self.constants:
            count += 1
            unique = f"{name}.{count}"
        self.constants[unique] = values
        return unique

    def initializers(self) -> list[TensorProto]:
        return [numpy_helper.from_array(np.require(values, requirements="C"), name) for name, values in self.constants.items()]


class CallWriter:
    """Writes one call.

    Args:
        graph: Where the nodes go.
        name: The name of the binding, unique in the region.
        call: The call.
    """

    def __init__(self, graph: GraphWriter, name: str, call: Any):
        self.graph, self.name, self.call = graph, name, call
        self.made: list[NodeProto] = []

    def attr(self, name: str) -> Any:
        """Return an attribute as plain Python: numbers, texts, and lists of them."""
        return plain(getattr(self.call.attrs, name))

    def ints(self, name: str) -> list[int]:
        """Return an attribute that is a list of integers; one integer is a list of one."""
        found = self.attr(name)
        return [int(value) for value in (found if isinstance(found, list) else [found])]

    def given(self, index: int) -> Any:
        """Return the argument `index`, an expression; None where the call has fewer."""
        return self.call.args[index] if index < len(self.call.args) else None

    def tensor(self, index: int) -> str:
        """Return the argument `index` as an ONNX tensor."""
        return self.as_tensor(self.given(index), self._role(index))

    def tensors(self, index: int) -> list[str]:
        """Return the fields of the argument `index`, a tuple, as ONNX tensors."""
        found = self.given(index)
        if isinstance(found, relax.Tuple):
            return [self.as_tensor(field, f"{self._role(index)}{at}") for at, field in enumerate(found.fields)]
        written = self.graph.values.get(found)
        if not isinstance(written, tuple):
            raise Untranslatable(f"reads the tuple {found}, which is not known")
        return [_single(field) for field in written]

    def as_tensor(self, expr: Any, role: str = "constant") -> str:
        """Return a Relax expression as an ONNX tensor; a constant gets a name with `role` in it."""
        if isinstance(expr, tvm.ir.GenericConst):
            return self.constant(expr.value.numpy(), role)
        if isinstance(expr, relax.ShapeExpr):
            return self.constant(np.array(plain(expr.values), np.int64), role)
        if isinstance(expr, tvm.tirx.IntImm | tvm.tirx.FloatImm):
            return self.constant(np.array(expr.value, str(expr.ty.dtype)), role)
        if expr not in self.graph.values:
            raise Untranslatable(f"reads {str(expr).strip()[:60]!r}, which is no tensor of the region")
        return _single(self.graph.values[expr])

    def number(self, index: int) -> float | int:
        """Return the argument `index`, a constant of one element or a number, as a number."""
        expr = self.given(index)
        if isinstance(expr, tvm.ir.GenericConst) and expr.value.numpy().size == 1:
            return float(expr.value.numpy().item()) if str(expr.value.dtype).startswith("float") else int(expr.value.numpy().item())
        value = plain(expr)
        if not isinstance(value, int | float):
            raise Untranslatable(f"takes {self._role(index)} from a tensor, which has to be a constant")
        return value

    def shape(self, index: int) -> list[int]:
        return shape_of(self.given(index))

    def dtype(self, index: int) -> str:
        return str(self.given(index).ty.dtype)

    @property
    def out_shape(self) -> list[int]:
        return shape_of(self.call)

    @property
    def out_dtype(self) -> str:
        return str(self.call.ty.dtype)

    def constant(self, values: Any, role: str = "constant", dtype: str | None = None) -> str:
        """Add a constant, and return its name."""
        return self.graph.constant(f"{self.name}.{role}", np.asarray(values, dtype))

    def emit(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> Any:
        """Add a node, and return its output, or a tuple of its outputs where they are several."""
        at = len(self.made)
        names = [f"{self.name}/{at}" + (f".{field}" if outputs > 1 else "") for field in range(outputs)]
        given = {key: value for key, value in attributes.items() if value is not None}
        self.made.append(helper.make_node(op, list(inputs), names, f"{self.name}/{at}", **given))
        return names[0] if outputs == 1 else tuple(names)

    def finish(self, result: Written, index: int) -> Written:
        """Give the result the name of the binding, move the nodes into the graph, and return the result."""
        renamed = self._final_names(result)
        for node in self.made:
            node.input[:] = [renamed.get(name, name) for name in node.input]
            node.output[:] = [renamed.get(name, name) for name in node.output]
        if self.made:
            self.made[-1].name = self.name
        self.graph.nodes.extend(self.made)
        self.graph.binding_of.update((node.name, index) for node in self.made)
        return _renamed(result, renamed)

    def _final_names(self, result: Written) -> dict[str, str]:
        own = {name for node in self.made for name in node.output}
        if isinstance(result, str):
            return {result: self.name} if result in own else {}
        return {field: f"{self.name}.{at}" for at, field in enumerate(result) if isinstance(field, str) and field in own}

    def _role(self, index: int) -> str:
        arguments = getattr(self.call.op, "arguments", None) or []
        return str(arguments[index].name) if index < len(arguments) else "constant"


def _single(written: Written) -> str:
    if isinstance(written, tuple):
        raise Untranslatable("reads a tuple where a tensor is expected")
    return written


def _renamed(result: Written, names: dict[str, str]) -> Written:
    if isinstance(result, tuple):
        return tuple(_renamed(field, names) for field in result)
    return names.get(result, result)


def shape_of(expr: Any) -> list[int]:
    """Return the shape of an expression. Raises Untranslatable where it is not fixed."""
    return shape_of_type(expr.ty)


def shape_of_type(kind: Any) -> list[int]:
    """Return the shape of a tensor's type. Raises Untranslatable where it is not fixed."""
    shape = getattr(kind, "shape", None)
    values = getattr(shape, "values", None)
    if values is None or not all(isinstance(extent, tvm.tirx.IntImm) for extent in values):
        raise Untranslatable(f"has a tensor of the open shape {shape}")
    return [int(extent.value) for extent in values]


def plain(value: Any) -> Any:
    """Return a value of TVM's as plain Python: numbers, texts, None, and lists of them."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tvm.tirx.IntImm | tvm.tirx.FloatImm):
        return bool(value.value) if str(value.ty.dtype) == "bool" else value.value
    if isinstance(value, relax.ShapeExpr):
        return [plain(item) for item in value.values]
    if isinstance(value, relax.Tuple):
        return [plain(item) for item in value.fields]
    if isinstance(value, tvm.ir.Array | list | tuple):
        return [plain(item) for item in value]
    return str(value)
