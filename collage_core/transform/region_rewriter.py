"""Puts the partitions of a plan into a region: a call of a new private function in the place of each partition's bindings.

A region of a function and groups of its bindings enter; bindings leave, and the functions that they call. What is left to TVM stays as
it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from ..model.relax.lifting import lifted
from ..model.relax.regions import variables
from ..model.relax.replacing import Replaced
from .grouping import HOST, Group

CODEGEN, COMPOSITE, PRIMITIVE, SYMBOL = "Codegen", "Composite", "Primitive", "global_symbol"

Encode = Callable[[str, relax.Function], relax.Function]
"""Target and a function of a partition's bindings → the function as the module holds it."""


class RegionRewriter:
    """Writes the bindings of one region anew.

    Args:
        builder: Has the module to which functions are added.
        bindings: The bindings of the region, in order.
        given: Variable of an input of the region → what it is outside.
        results: The tensors that leave the region, in order, as expressions inside it.
    """

    def __init__(self, builder: relax.BlockBuilder, bindings: Sequence[Any], given: Mapping[Any, Any], results: Sequence[Any]):
        self._builder, self._all, self._results = builder, list(bindings), list(results)
        self._known: dict[Any, Any] = dict(given)
        self.bindings: list[Any] = []

    def write(self, groups: Sequence[Group], targets: Sequence[str], names: Sequence[str], encode: Encode) -> None:
        """Write all groups, in order.

        Args:
            targets: Partition → its target.
            names: Partition → the name of its function.
        """
        for group in groups:
            members = [self._all[at] for at in group.bindings]
            if group.partition == HOST:
                self._copy(members[0])
            else:
                self._call(members, targets[group.partition], names[group.partition], encode)

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
        value = Replaced(self._known).visit_expr(binding.value)
        var = self._var(binding.var, binding.var.name, binding.var.ty)
        made = relax.MatchCast(var, value, binding.ty) if isinstance(binding, relax.MatchCast) else relax.VarBinding(var, value)
        self.bindings.append(made)
        self._known[binding.var] = var

    def _call(self, members: Sequence[Any], target: str, name: str, encode: Encode) -> None:
        inputs = _read_outside(members)
        outputs = self._read_later(members)
        function, constants = _function(members, inputs, outputs), []
        if target == "tvm":  # its fusion takes no constants inside
            function, arrays = lifted(function)
            constants = [relax.const(array, array.dtype.name) for array in arrays]
        function = encode(target, function)
        var = self._builder.add_func(function.with_attr(SYMBOL, name) if target != "tvm" else function.without_attr(SYMBOL), name)
        call = self._builder.normalize(relax.Call(var, [*map(self._expr, inputs), *constants]))
        result = self._var(outputs[0] if len(outputs) == 1 else None, name, call.ty)
        self.bindings.append(relax.VarBinding(result, call))
        for at, output in enumerate(outputs):
            if len(outputs) == 1:
                self._known[output] = result
                continue
            field = self._var(output, output.name, output.ty)
            self.bindings.append(relax.VarBinding(field, self._builder.normalize(relax.TupleGetItem(result, at))))
            self._known[output] = field

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
        return self._known.get(var, var)


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
            made = [known[var] for var in outputs]
            result = builder.emit_output(made[0] if len(made) == 1 else relax.Tuple(made))
        builder.emit_func_output(result)
    return builder.get()["main"].without_attr(SYMBOL)


def as_byoc(target: str, function: relax.Function) -> relax.Function:
    """Return `function` as TVM's `MergeCompositeFunctions` writes it: a ``Composite`` function inside one with ``Codegen``."""
    inner = function.with_attr({COMPOSITE: f"{target}.partition", PRIMITIVE: True})
    parameters = [relax.Var(var.name, var.ty) for var in function.params]
    kind = relax.FuncType([var.ty for var in function.params], function.ret_ty)
    local = relax.Var("composite", kind)
    result = relax.Var("result", function.ret_ty)
    block = relax.BindingBlock([relax.VarBinding(local, inner), relax.VarBinding(result, relax.Call(local, parameters))])
    made = relax.Function(parameters, relax.SeqExpr([block], result), function.ret_ty)
    return made.with_attr(CODEGEN, target)


def as_composite(target: str, function: relax.Function) -> relax.Function:
    """Return `function` as a call of a library: ``Composite`` only, since the library is called from inside TVM."""
    return function.with_attr({COMPOSITE: f"{target}.partition", PRIMITIVE: True})


def as_primitive(target: str, function: relax.Function) -> relax.Function:
    """Return `function` as one kernel of `target`, as the older draft of BYOC writes it."""
    made = function.with_attr(PRIMITIVE, True)
    return made if target == "tvm" else made.with_attr(CODEGEN, target)


def spliced(function: relax.Function, blocks: Mapping[int, Sequence[Any]]) -> relax.Function:
    """Return `function` with other bindings in some of its dataflow blocks."""
    made = [relax.DataflowBlock(list(blocks[at])) if at in blocks else block for at, block in enumerate(function.body.blocks)]
    body = relax.SeqExpr(made, function.body.body)
    return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)


def is_planned(function: Any) -> bool:
    """Return whether `function` is one that a toolchain has already, or that may not be divided."""
    attributes = function.attrs or {}
    return any(name in attributes for name in (CODEGEN, COMPOSITE, PRIMITIVE))


def names_of(module: tvm.IRModule) -> set[str]:
    return {str(var.name_hint) for var in module.get_global_vars()}
