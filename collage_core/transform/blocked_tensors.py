"""Reorders between the plain and the blocked layout of a tensor (`toolchains.blocked_layout`), as calls of Relax.

A variable enters; one that holds it in the other layout, of the same type, leaves. TVM compiles the calls as any others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax

from ..model.relax.call_writer import Untranslatable
from ..model.relax.regions import tensor_type
from ..toolchains.blocked_layout import BLOCK, is_blocked

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


def _moved(var: Any, seen: tuple[int, ...], axes: tuple[int, ...], shape: tuple[int, ...], bind: Bind, form: str) -> Any:
    name = f"{var.name}_{form}"
    turned = bind(f"{name}_turned", relax.op.permute_dims(bind(f"{name}_seen", relax.op.reshape(var, seen)), axes))
    return bind(name, relax.op.reshape(turned, shape))


def _shape(var: Any) -> tuple[int, ...]:
    return tensor_type(var.ty).shape
