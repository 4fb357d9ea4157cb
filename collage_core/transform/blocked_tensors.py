"""Reorders between the plain and the blocked layout of a tensor (`toolchains.blocked_layout`), as calls of Relax.

A variable enters; one that holds it in the other layout, of the same type, leaves. `reorder_function` is a function that does only this,
and `reorder_of` recognises it, so that its kernel can be the one that an assembled module reorders with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax
from tvm_ffi import structural_equal

from ..graph.dataflow_graph import Tensor
from ..model.model import SubModel
from ..model.relax.operators.call_writer import Untranslatable
from ..model.relax.regions import tensor_type
from ..toolchains.blocked_layout import BLOCK, is_blocked
from ..toolchains.onnx_models.nchwc_models import reorder_model
from .flattening import flattened

Bind = Callable[[str, Any], Any]
"""Binds an expression to a variable of that name, and returns the variable."""


def is_held_blocked(kind: Any) -> bool:
    """Return whether a toolchain of the blocked layout holds a tensor of this type of Relax blocked."""
    try:
        return is_blocked(tensor_type(kind))
    except Untranslatable:
        return False


def to_blocked(var: Any, bind: Bind) -> Any:
    """Return `var`, which is plain, in the blocked layout."""
    _, channels, rows, columns = shape = _shape(var)
    return _moved(var, (channels // BLOCK, BLOCK, rows, columns), (0, 2, 3, 1), shape, bind, "blocked")


def to_plain(var: Any, bind: Bind) -> Any:
    """Return `var`, which is blocked, in the plain layout."""
    _, channels, rows, columns = shape = _shape(var)
    return _moved(var, (channels // BLOCK, rows, columns, BLOCK), (0, 3, 1, 2), shape, bind, "plain")


def reorder_function(kind: Any, blocked: bool) -> relax.Function:
    """Return a function of a tensor of type `kind` that reorders it to the blocked layout, or to the plain one."""
    builder = relax.BlockBuilder()
    given = relax.Var("given", kind)
    with builder.function("main", [given]):
        with builder.dataflow():
            made = (to_blocked if blocked else to_plain)(given, lambda name, value: builder.emit(value, name))
            result = builder.emit_output(made)
        builder.emit_func_output(result)
    return builder.get()["main"].without_attr("global_symbol")


def reorder_of(function: relax.Function, model: SubModel) -> SubModel | None:
    """Return the model of a flat function that only reorders a tensor; None for any other. `model` is what it is in general."""
    if len(function.params) != 1 or not is_held_blocked(function.params[0].ty):
        return None
    kind, (given,), (made,) = function.params[0].ty, model.inputs, model.outputs
    for blocked in (True, False):
        if structural_equal(function, flattened(reorder_function(kind, blocked))):
            return reorder_model(Tensor(given.name, given.type), given.name, made.name, blocked)
    return None


def _moved(var: Any, seen: tuple[int, ...], axes: tuple[int, ...], shape: tuple[int, ...], bind: Bind, form: str) -> Any:
    name = f"{var.name}_{form}"
    turned = bind(f"{name}_turned", relax.op.permute_dims(bind(f"{name}_seen", relax.op.reshape(var, seen)), axes))
    return bind(name, relax.op.reshape(turned, shape))


def _shape(var: Any) -> tuple[int, ...]:
    return tensor_type(var.ty).shape
