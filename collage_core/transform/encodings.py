"""The functions of partitions as a module holds them, in TVM's own encoding of BYOC or the older one with ``Primitive``.

A flat function of a partition's bindings enters, and leaves with the attributes that say who builds it. A toolchain that computes in a
blocked layout gets a function that says so: its tensors arrive blocked, and local calls between plain and blocked form stand around the
partition. `kernel_function` takes that off again, for the toolchain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm_ffi import structural_equal

from ..errors import CollageError
from ..toolchains import registry
from ..toolchains.abilities import layout_of
from ..toolchains.relax_attributes import THREADS
from .blocked_tensors import is_held_blocked, to_blocked, to_plain
from .flattening import flattened
from .symbols import has_symbols, with_own_symbols

CODEGEN, COMPOSITE, PRIMITIVE, SYMBOL = "Codegen", "Composite", "Primitive", "global_symbol"


@dataclass(frozen=True)
class Placement:
    """Who computes a partition, and how.

    Attributes:
        target: Name of the toolchain.
        label: The toolchain's name for what it computes; ``partition`` where it has none.
        threads: Threads of the kernel.
    """

    target: str
    label: str = ""
    threads: int = 1

    @property
    def composite(self) -> str:
        """Value of the attribute ``Composite``."""
        return f"{self.target}.{self.label or 'partition'}"

    @property
    def is_tvm(self) -> bool:
        """True if TVM itself computes it, in any of its modes."""
        return is_tvm(self.target)

    @property
    def is_blocked(self) -> bool:
        """True if its tensors are held in a blocked layout where they can be."""
        return bool(layout_of(registry.get(self.target)))

    def holds_blocked(self, kind: Any) -> bool:
        """Return whether it reads and makes a tensor of type `kind` in the blocked layout."""
        return self.is_blocked and is_held_blocked(kind)


Encode = Callable[[Placement, relax.Function], relax.Function]
"""A placement and a function of a partition's bindings → the function as the module holds it."""


def is_tvm(target: str) -> bool:
    """Return whether `target` is TVM itself, in any of its modes."""
    return target == "tvm" or target.startswith("tvm@")


def as_byoc(placement: Placement, function: relax.Function) -> relax.Function:
    """Return `function` as TVM's own partitioning writes it for the style of its toolchain.

    For the style ``graph`` that is `MergeCompositeFunctions`: a ``Composite`` function inside one with ``Codegen``. Calls of a library, and
    kernels of TVM, are ``Composite`` only, since they are called from inside TVM.
    """
    composite = function.with_attr({COMPOSITE: placement.composite, PRIMITIVE: True})
    if placement.is_tvm or registry.get(placement.target).style == "library":
        return composite.with_attr(THREADS, placement.threads)
    return _around(composite, placement.is_blocked).with_attr({CODEGEN: placement.target, THREADS: placement.threads})


def as_primitive(placement: Placement, function: relax.Function) -> relax.Function:
    """Return `function` as one kernel of its toolchain, as the older draft of BYOC writes it."""
    if placement.is_tvm:
        return function.with_attr(PRIMITIVE, True)
    made = function
    if placement.is_blocked:
        made = _around(function.with_attr({COMPOSITE: placement.composite, PRIMITIVE: True}), True)
    return made.with_attr({PRIMITIVE: True, CODEGEN: placement.target, THREADS: placement.threads})


def kernel_function(target: str, function: relax.Function) -> relax.Function:
    """Return, flat, what the kernel of `function` computes: where the layout of `target` is blocked, of tensors in that layout.

    Raises:
        CollageError: `target` computes in a blocked layout, and `function` reads or makes an image in the plain one.
    """
    if not layout_of(registry.get(target)):
        return flattened(function)
    inner = _composite_in(function)
    if inner is not None and structural_equal(_normal(_around(inner, True)), _normal(function)):
        return flattened(inner)
    odd = next((var.name for var in function.params if is_held_blocked(var.ty)), None)
    if odd is None and not any(map(is_held_blocked, _kinds(function.ret_ty))):
        return flattened(function)
    doing = f"reads {odd!r} as" if odd is not None else "makes"
    raise CollageError(
        f"a function for {target} {doing} a plain image, and its kernels hold images in the layout {layout_of(registry.get(target))}",
        f"mark it for {target.partition('@')[0]}, or let CollagePartition write it",
        "layout",
    )


def threads_of(function: Any, otherwise: int) -> int:
    """Return the threads that the kernel of `function` was chosen for; `otherwise` where it does not say."""
    return int((function.attrs or {}).get(THREADS, otherwise))


def is_planned(function: Any) -> bool:
    """Return whether `function` is one that a toolchain has already, or that may not be divided."""
    attributes = function.attrs or {}
    return any(name in attributes for name in (CODEGEN, COMPOSITE, PRIMITIVE))


def _around(inner: relax.Function, blocked: bool) -> relax.Function:
    """Return a function that calls the local function `inner`; if `blocked`, its own tensors are blocked where they can be."""
    builder = relax.BlockBuilder()
    bindings: list[Any] = []
    parameters = [relax.Var(var.name, var.ty) for var in inner.params]

    def bound(name: str, value: Any) -> Any:
        value = builder.normalize(value)
        var = relax.Var(name, value.ty)
        bindings.append(relax.VarBinding(var, value))
        return var

    inner = with_own_symbols(inner) if has_symbols(inner) else inner
    local = relax.Var("composite", relax.FuncType([var.ty for var in inner.params], inner.ret_ty))
    bindings.append(relax.VarBinding(local, inner))
    given = [to_plain(var, bound) if blocked and is_held_blocked(var.ty) else var for var in parameters]
    result = bound("result", relax.Call(local, given))
    if blocked and any(map(is_held_blocked, _kinds(result.ty))):
        result = _blocked_result(result, bound)
    body = relax.SeqExpr([relax.BindingBlock(bindings)], result)
    return relax.Function(parameters, body, result.ty)


def _blocked_result(result: Any, bound: Callable[[str, Any], Any]) -> Any:
    if not isinstance(result.ty, relax.TupleType):
        return to_blocked(result, bound)
    fields = [bound("field", relax.TupleGetItem(result, at)) for at in range(len(result.ty.fields))]
    return bound("results", relax.Tuple([to_blocked(one, bound) if is_held_blocked(one.ty) else one for one in fields]))


def _composite_in(function: relax.Function) -> relax.Function | None:
    values = [one.value for block in getattr(function.body, "blocks", ()) for one in block.bindings]
    return next((value for value in values if isinstance(value, relax.Function)), None)


def _normal(function: relax.Function) -> Any:
    """Return `function` with all types known, and without its attributes."""
    bare = relax.Function(function.params, function.body, function.ret_ty).with_attr(SYMBOL, "main")
    return relax.transform.Normalize()(tvm.IRModule({"main": bare}))["main"]


def _kinds(kind: Any) -> list[Any]:
    return list(kind.fields) if isinstance(kind, relax.TupleType) else [kind]
