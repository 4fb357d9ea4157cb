"""Groups of a model's nodes that the functions `partition_for_<toolchain>` of TVM would take.

A sub-model and the name of a toolchain enter; names of nodes leave. Nothing is compiled, so the toolchain's own library is not needed. It
runs TVM, and belongs in a worker process.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from ...model.model import SubModel
from ...model.relax.relax_model import RelaxSource
from ..border import one_line
from ..toolchain import ToolchainError
from .tvm_byoc import MODULES
from .tvm_fuse_ops import owned
from .tvm_named_import import PREFIX, NamedModule, bindings_of, import_source, nodes_of


def partition_groups(model: SubModel | RelaxSource, toolchain: str) -> list[tuple[str, ...]]:
    """Return the names of the nodes of each function that ``partition_for_<toolchain>`` gives to it.

    Calls that the function rewrites first, as that of CUTLASS does with attention, have lost their nodes: these are in no group.

    Raises:
        ToolchainError: TVM does not take the model, or the function fails.
    """
    named = import_source(model)
    try:
        partitioned = partition_for(toolchain)(named.module)
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("build", one_line(error)) from error
    groups = owned([[named.nodes[number] for number in numbers] for numbers in function_groups(named, partitioned)])
    return [nodes_of(model, group) for group in groups]


def partition_for(toolchain: str) -> Callable[[tvm.IRModule], tvm.IRModule]:
    """Return TVM's function ``partition_for_<toolchain>``, without what it notes of the memory of kernels."""
    module = importlib.import_module(f"tvm.relax.backend.{MODULES[toolchain]}")
    function: Callable[[tvm.IRModule], tvm.IRModule] = getattr(module, f"partition_for_{toolchain}")

    def quietly(mod: tvm.IRModule) -> tvm.IRModule:
        with _without_workspaces(module):
            return function(mod)

    return quietly


@tvm.transform.module_pass(opt_level=0, name="CollageUnchanged")
def _unchanged(mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
    return mod


@contextmanager
def _without_workspaces(module: Any) -> Iterator[None]:
    """Leave out the pass of `module`, if it has one, that notes the workspace of each kernel for code generation.

    In 0.27 those of CUTLASS and cuDNN look a dtype up by its name where it is an object, and raise a KeyError on attention. Which
    functions there are does not depend on it.
    """
    own = getattr(module, "annotate_workspace", None)
    if own is not None:
        module.annotate_workspace = _unchanged
    try:
        yield
    finally:
        if own is not None:
            module.annotate_workspace = own


def function_groups(named: NamedModule, made: tvm.IRModule) -> list[list[int]]:
    """Return the numbers of the bindings of each call of a function with ``Codegen`` or ``Composite``, outermost, in `made`.

    Args:
        named: The module before.
        made: What a partitioning pass of TVM made of it.
    """
    tracer = _Tracer(named, made)
    main = made["main"]
    tracer.run(main, [_parameter(index) for index in range(len(main.params))], None)
    return [sorted(numbers) for numbers in tracer.groups if numbers]


Known = Hashable
"""The meaning of a variable: a binding of the module before, by its number; a parameter; a constant; a tuple of such; or nothing known."""


def _parameter(index: int) -> Known:
    return "parameter", index


class _Tracer:
    """Runs the new ``main`` on the bindings of the old one: each call is found again by its operator, arguments and attributes.

    TVM's passes make one function of those that are equal, so neither names nor spans tell the calls of such a function apart. They do
    where a call cannot be found again, since what it reads was rewritten.

    Attributes:
        groups: The numbers of each call of a function that a toolchain has.
    """

    def __init__(self, named: NamedModule, made: tvm.IRModule):
        self._made = made
        self._numbers: dict[Known, list[int]] = {}
        self._hashes: dict[Any, int] = {}
        self.groups: list[list[int]] = []
        main = named.module["main"]
        known: dict[Any, Known] = {var: _parameter(index) for index, var in enumerate(main.params)}
        for number, binding in enumerate(bindings_of(main)[: len(named.nodes)]):
            self._numbers.setdefault(self._key(binding.value, known), []).append(number)
            known[binding.var] = number

    def run(self, function: relax.Function, given: Sequence[Known], group: list[int] | None) -> Known:
        """Go through the bindings of `function`, called with what is `given`, and return what it returns."""
        known: dict[Any, Known] = dict(zip(function.params, given, strict=False))
        local: dict[Any, relax.Function] = {}
        for binding in bindings_of(function):
            value = binding.value
            if isinstance(value, relax.Function):
                local[binding.var] = value
                continue
            called = self._called(value, local)
            if called is None:
                known[binding.var] = self._found(binding, known, group)
                continue
            inner = group
            if group is None and called.attrs and ("Codegen" in called.attrs or "Composite" in called.attrs):
                self.groups.append(inner := [])
            known[binding.var] = self.run(called, [self._known(part, known) for part in value.args], inner)
        return self._known(function.body.body, known)

    def _called(self, value: Any, local: Mapping[Any, relax.Function]) -> relax.Function | None:
        if not isinstance(value, relax.Call):
            return None
        if isinstance(value.op, relax.Var):
            return local.get(value.op)
        found = self._made[value.op] if isinstance(value.op, tvm.ir.GlobalVar) else None
        return found if isinstance(found, relax.Function) else None

    def _found(self, binding: Any, known: Mapping[Any, Known], group: list[int] | None) -> Known:
        """Return what a binding stands for; the number of one that was there before is added to the group."""
        value = binding.value
        if isinstance(value, relax.TupleGetItem):
            fields = self._known(value.tuple_value, known)
            if isinstance(fields, tuple) and fields[:1] == ("tuple",):
                return fields[value.index + 1]
        elif not isinstance(value, relax.Call | relax.Tuple):
            return self._known(value, known)
        same = self._numbers.get(self._key(value, known), [])
        number = same.pop(0) if len(same) > 1 else same[0] if same else _number_of(binding)
        if number is not None and group is not None:
            group.append(number)
        return ("unknown", binding.var) if number is None else number

    def _key(self, value: Any, known: Mapping[Any, Known]) -> Known:
        if isinstance(value, relax.Call):
            return value.op, str(value.attrs), tuple(self._known(part, known) for part in value.args)
        if isinstance(value, relax.TupleGetItem):
            return "field", value.index, self._known(value.tuple_value, known)
        return self._known(value, known)

    def _known(self, expr: Any, known: Mapping[Any, Known]) -> Known:
        if isinstance(expr, relax.Tuple):
            return ("tuple", *(self._known(part, known) for part in expr.fields))
        if isinstance(expr, relax.Var):
            return known.get(expr, ("free", expr))
        if isinstance(expr, tvm.ir.GenericConst):  # by content: equal functions with equal constants inside are made one, too
            if expr not in self._hashes:
                self._hashes[expr] = tvm_ffi.structural_hash(expr)
            return "constant", self._hashes[expr]
        return str(expr)


def _number_of(binding: Any) -> int | None:
    """Return the number that the span of a call, or the name of its variable, has kept; None where neither has."""
    span = getattr(binding.value, "span", None)
    if span is not None and span.source_name.name == PREFIX:
        return int(span.line)
    name = binding.var.name.removeprefix(PREFIX)
    return int(name) if name != binding.var.name and name.isdecimal() else None
