"""Puts the partitions of a plan into a region: a call of a new private function in the place of each partition's bindings.

A region of a function and groups of its bindings enter; bindings leave, and the functions that they call. What is left to TVM stays as
it is. A tensor has a plain form and, beside toolchains that compute in a blocked layout, a blocked one; a reorder stands just before the
first that reads a form which is not there yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from ..model.relax.lifting import lifted
from ..model.relax.regions import variables
from ..model.relax.replacing import Replaced
from ..toolchains.blocked_layout import NCHW16C
from ..toolchains.onnx_models.nchwc_models import REORDER_TARGET
from ..toolchains.relax_attributes import SHAPES
from .blocked_tensors import reorder_function
from .encodings import CODEGEN, COMPOSITE, PRIMITIVE, SYMBOL, Encode, Placement
from .grouping import HOST, Group
from .symbols import has_symbols, says_its_symbols, with_own_symbols


class RegionRewriter:
    """Writes the bindings of one region anew.

    Args:
        builder: Has the module to which functions are added.
        bindings: The bindings of the region, in order.
        given: Variable of an input of the region → what it is outside.
        results: The tensors that leave the region, in order, as expressions inside it.
        encode: Writes the function of a partition as the module holds it.
        new_name: Gets who computes a function, and returns a name for it that nothing else has.
        planned_shape: Returns the shape for which a variable of the region is planned whose type has symbols.
    """

    def __init__(
        self,
        builder: relax.BlockBuilder,
        bindings: Sequence[Any],
        given: Mapping[Any, Any],
        results: Sequence[Any],
        encode: Encode,
        new_name: Callable[[Placement], str],
        planned_shape: Callable[[Any], Sequence[int]],
    ):
        self._builder, self._all, self._results = builder, list(bindings), list(results)
        self._encode, self._new_name, self._planned_shape = encode, new_name, planned_shape
        self._known: dict[Any, Any] = dict(given)
        self._blocked: dict[Any, Any] = {}
        self._reorders: dict[tuple[str, bool], Any] = {}
        self._threads = 1
        self.bindings: list[Any] = []

    def write(self, groups: Sequence[Group], placements: Sequence[Placement]) -> None:
        """Write all groups, in order; `placements` says of each partition who computes it."""
        self._threads = max((placement.threads for placement in placements), default=1)
        for group in groups:
            members = [self._all[at] for at in group.bindings]
            if group.partition == HOST or not self._call(members, placements[group.partition]):
                for binding in members:
                    self._copy(binding)

    def finish(self, outputs: Sequence[Any]) -> None:
        """Bind the variables `outputs` outside to the results, some of them as tuples."""
        results = iter(self._results)
        for output in outputs:
            self.bindings.append(relax.VarBinding(output, self._result(output.ty, results)))

    def _result(self, kind: Any, results: Iterator[Any]) -> Any:
        if isinstance(kind, relax.TupleType):
            return self._builder.normalize(relax.Tuple([self._result(field, results) for field in kind.fields]))
        return self._expr(next(results))

    def _copy(self, binding: Any) -> None:
        for read in variables(binding.value):
            self._expr(read)
        value = Replaced(self._known).visit_expr(binding.value)
        var = self._var(binding.var, binding.var.name, binding.var.ty)
        copied = relax.MatchCast(var, value, binding.ty) if isinstance(binding, relax.MatchCast) else relax.VarBinding(var, value)
        self.bindings.append(copied)
        self._known[binding.var] = var

    def _call(self, members: Sequence[Any], placement: Placement) -> bool:
        """Write a call of `members` as one function; return False, and write nothing, where its inputs would not give its symbols."""
        inputs = _read_outside(members)
        outputs = self._read_later(members)
        plain = _function(members, inputs, outputs)
        if not says_its_symbols(plain):
            return False
        function = self._encoded(placement, plain, inputs)
        constants: list[Any] = []
        if PRIMITIVE in function.attrs and CODEGEN not in function.attrs and COMPOSITE not in function.attrs:
            # `FuseTIR` takes no constants inside: they become parameters.
            bare, arrays = lifted(function)
            function = bare.with_attrs(function.attrs)
            constants = [relax.const(array, array.dtype.name) for array in arrays]
        name = self._new_name(placement)
        var = self._added(name, function)
        forms = [self._blocked_expr(one) if placement.holds_blocked(one.ty) else self._expr(one) for one in inputs]
        result = self._bound(name, relax.Call(var, [*forms, *constants]), outputs[0] if len(outputs) == 1 else None)
        for at, output in enumerate(outputs):
            made = result if len(outputs) == 1 else self._bound(output.name, relax.TupleGetItem(result, at), output)
            (self._blocked if placement.holds_blocked(output.ty) else self._known)[output] = made
        return True

    def _encoded(self, placement: Placement, function: relax.Function, inputs: Sequence[Any]) -> relax.Function:
        """Encode `function`, of these inputs; where it has symbols, with ones of its own and the shapes for which it is planned."""
        if not has_symbols(function):
            return self._encode(placement, function)
        shapes = json.dumps([self._planned_shape(var) for var in inputs])
        return self._encode(placement, with_own_symbols(function)).with_attr(SHAPES, shapes)

    def _added(self, name: str, function: relax.Function) -> Any:
        """Add a function to the module, and return its variable."""
        function = function.with_attr(SYMBOL, name) if CODEGEN in function.attrs else function.without_attr(SYMBOL)
        return self._builder.add_func(function, name)

    def _bound(self, name: str, value: Any, old: Any = None) -> Any:
        """Return a new variable, in the place of `old`, that is bound to `value`."""
        value = self._builder.normalize(value)
        var = self._var(old, name, value.ty)
        self.bindings.append(relax.VarBinding(var, value))
        return var

    def _var(self, old: Any, name: str, kind: Any) -> Any:
        """Return a variable in the place of `old`: one of the block alone, unless it leaves the region."""
        return (relax.Var if old in self._results else relax.DataflowVar)(name, kind)

    def _read_later(self, members: Sequence[Any]) -> list[Any]:
        """Return the variables of `members` that others read, or that leave the region."""
        inside = {binding.var for binding in members}
        rest = [binding for binding in self._all if binding.var not in inside]
        read = {var for binding in rest for var in variables(binding.value)} | set(self._results)
        return [binding.var for binding in members if binding.var in read]

    def _expr(self, var: Any) -> Any:
        """Return `var` in its plain form."""
        if var not in self._known and var in self._blocked:
            self._known[var] = self._reordered(self._blocked[var], blocked=False)
        return self._known.get(var, var)

    def _blocked_expr(self, var: Any) -> Any:
        if var not in self._blocked:
            self._blocked[var] = self._reordered(self._expr(var), blocked=True)
        return self._blocked[var]

    def _reordered(self, var: Any, blocked: bool) -> Any:
        """Return a new variable that is bound to the other form of `var`, by the toolchain that reorders in an assembled module."""
        key = str(var.ty), blocked
        if key not in self._reorders:
            placement = Placement(REORDER_TARGET, f"to_{NCHW16C if blocked else 'plain'}", self._threads)
            function = self._encode(placement, reorder_function(var.ty, blocked))
            self._reorders[key] = self._added(self._new_name(placement), function)
        return self._bound("reordered", relax.Call(self._reorders[key], [var]))


def _read_outside(members: Sequence[Any]) -> list[Any]:
    inside = {binding.var for binding in members}
    read = dict.fromkeys(var for binding in members for var in variables(binding.value))
    return [var for var in read if var not in inside]


def _function(members: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> relax.Function:
    """Return the bindings `members` as a function of `inputs`."""
    builder = relax.BlockBuilder()
    parameters = [relax.Var(var.name, var.ty) for var in inputs]
    known = dict(zip(inputs, parameters, strict=True))
    with builder.function("main", parameters):
        with builder.dataflow():
            for binding in members:
                value = Replaced(known).visit_expr(binding.value)
                is_cast = isinstance(binding, relax.MatchCast)
                known[binding.var] = builder.match_cast(value, binding.ty) if is_cast else builder.emit(value, binding.var.name)
            results = [known[var] for var in outputs]
            result = builder.emit_output(results[0] if len(results) == 1 else relax.Tuple(results))
        builder.emit_func_output(result)
    return builder.get()["main"].without_attr(SYMBOL)


def spliced(function: relax.Function, blocks: Mapping[int, Sequence[Any]]) -> relax.Function:
    """Return `function` with other bindings in some of its dataflow blocks."""
    blocks_now = [relax.DataflowBlock(list(blocks[at])) if at in blocks else block for at, block in enumerate(function.body.blocks)]
    body = relax.SeqExpr(blocks_now, function.body.body)
    return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)


def names_of(module: tvm.IRModule) -> set[str]:
    return {str(var.name_hint) for var in module.get_global_vars()}
