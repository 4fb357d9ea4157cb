"""Relax functions as TVM's partitioning nests them, made flat: the bindings of local functions in the place of their calls."""

from __future__ import annotations

from typing import Any

from tvm import relax

from ..errors import CollageError
from ..model.relax.replacing import Replaced
from .symbols import with_symbols_of


def flattened(function: relax.Function) -> relax.Function:
    """Return `function` with the local functions that it defines inlined, in one dataflow block. Its attributes are left out.

    Raises:
        CollageError: it does something else than binding values.
    """
    builder = relax.BlockBuilder()
    parameters = [relax.Var(var.name, var.ty) for var in function.params]
    with builder.function("main", parameters):
        with builder.dataflow():
            inliner = _Inliner(builder, dict(zip(function.params, parameters, strict=True)))
            result = builder.emit_output(inliner.body(function))
        builder.emit_func_output(result)
    return builder.get()["main"]


class _Inliner:
    def __init__(self, builder: relax.BlockBuilder, known: dict[Any, Any]):
        self._builder, self._known = builder, known
        self._locals: dict[Any, relax.Function] = {}

    def body(self, function: relax.Function) -> Any:
        """Emit the bindings of `function`, whose parameters are known, and return its result."""
        if not isinstance(function.body, relax.SeqExpr):
            raise CollageError("a function of a codegen has no bindings", "partition it as TVM does", "bad_module")
        for block in function.body.blocks:
            for binding in block.bindings:
                self._emit(binding)
        return self._replaced(function.body.body)

    def _emit(self, binding: Any) -> None:
        value = binding.value
        if isinstance(value, relax.Function):
            self._locals[binding.var] = value
        elif isinstance(value, relax.Call) and value.op in self._locals:
            given = [self._replaced(argument) for argument in value.args]
            inner = with_symbols_of(self._locals[value.op], given)
            self._known.update(zip(inner.params, given, strict=True))
            self._known[binding.var] = self.body(inner)
        elif isinstance(binding, relax.MatchCast):
            self._known[binding.var] = self._builder.match_cast(self._replaced(value), binding.ty)
        else:
            self._known[binding.var] = self._builder.emit(self._replaced(value), binding.var.name)

    def _replaced(self, expr: Any) -> Any:
        return Replaced(self._known).visit_expr(expr)
