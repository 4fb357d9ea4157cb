"""`lifted`: a function whose constants are parameters, so that weights belong to its call and not to its code; `replaced` below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax


def lifted(function: relax.Function) -> tuple[relax.Function, list[np.ndarray]]:
    """Return `function`, which is flat, with a parameter for each of its tensor constants behind its own, and their values."""
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    constants = list(dict.fromkeys(found for binding in bindings for found in _constants(binding.value)))
    known: dict[Any, Any] = {var: relax.Var(var.name, var.ty) for var in function.params}
    known |= {constant: relax.Var(f"constant{at}", constant.ty) for at, constant in enumerate(constants)}
    builder = relax.BlockBuilder()
    with builder.function("main", list(known.values())):
        with builder.dataflow():
            for binding in bindings:
                known[binding.var] = builder.emit(replaced(binding.value, known), binding.var.name)
            result = builder.emit_output(replaced(function.body.body, known))
        builder.emit_func_output(result)
    return builder.get()["main"], [constant.value.numpy() for constant in constants]


def _constants(expr: Any) -> Iterator[Any]:
    if isinstance(expr, tvm.ir.GenericConst):
        yield expr
    parts = expr.args if isinstance(expr, relax.Call) else expr.fields if isinstance(expr, relax.Tuple) else ()
    for part in parts:
        yield from _constants(part)


def replaced(expr: Any, known: Mapping[Any, Any], span: tvm.ir.Span | None = None) -> Any:
    """Return `expr` with the variables and constants that `known` names replaced; a call gets `span`."""
    if isinstance(expr, relax.Var | tvm.ir.GenericConst):
        return known.get(expr, expr)
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([replaced(part, known) for part in expr.fields])
    if isinstance(expr, relax.TupleGetItem):
        return relax.TupleGetItem(replaced(expr.tuple_value, known), expr.index)
    if isinstance(expr, relax.Call):
        return relax.Call(expr.op, [replaced(part, known) for part in expr.args], expr.attrs, expr.ty_args, span)
    return expr
