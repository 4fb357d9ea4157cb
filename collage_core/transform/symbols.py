"""Symbols in the shapes of Relax functions: each function has its own, and says them all by its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tvm
from tvm import relax

from ..toolchains.relax_attributes import SHAPES


def has_symbols(function: relax.Function) -> bool:
    """Return whether a size of a parameter of `function` is not fixed."""
    return not all(isinstance(extent, tvm.tirx.IntImm) for var in function.params for extent in _extents(var.ty))


def says_its_symbols(function: relax.Function) -> bool:
    """Return whether the shapes of the parameters of `function` give all symbols that it uses."""
    return not relax.analysis.free_symbolic_vars(function)


def with_own_symbols(function: relax.Function) -> relax.Function:
    """Return `function` with other variables and symbols than any other function has."""
    return relax.utils.copy_with_new_vars(function)


def planned_as(planned: relax.Function, function: relax.Function) -> relax.Function:
    """Return `function` with the shapes that `planned` was planned for, where it says them."""
    shapes = (planned.attrs or {}).get(SHAPES)
    return function if shapes is None else function.with_attr(SHAPES, shapes)


def with_symbols_of(function: relax.Function, arguments: Sequence[Any]) -> relax.Function:
    """Return `function` with the sizes of `arguments`, of which it is called, in the place of its symbols."""
    known = dict(_matched([var.ty for var in function.params], [argument.ty for argument in arguments]))
    return function.bind_symbolic_vars(known) if known else function


def _matched(own: Sequence[Any], given: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    for kind, other in zip(own, given, strict=True):
        for extent, size in zip(_extents(kind), _extents(other), strict=False):
            if isinstance(extent, tvm.tirx.Var) and not extent.same_as(size):
                yield extent, size


def _extents(kind: Any) -> Sequence[Any]:
    return getattr(getattr(kind, "shape", None), "values", ())
