"""Passes around TVM's `FuseOps` that keep from `FuseTIR` what it refuses. Modules enter and leave; nothing is lowered or scheduled."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.ir import IRModule

from .tvm_schedule import OPAQUE


@tvm.transform.module_pass(opt_level=0, name="CollageKeepSymbolicKernels")
class KeepSymbolicKernels:
    """Has nothing fused with PrimFuncs of open shapes that are called with fixed ones; comes after the kinds are known, before `FuseOps`.

    `FuseTIR` would take their tensors for others than those of the kernels beside them.
    """

    def transform_module(self, mod: IRModule, _context: Any) -> IRModule:
        for value in [binding.value for function in mod.functions.values() for binding in _bindings(function)]:
            if getattr(getattr(value, "op", None), "name", "") == "relax.call_tir" and _is_fixed(value.ty):
                called = mod[value.args[0]]
                if not all(_is_shape(getattr(parameter.ty, "shape", ())) for parameter in called.params):
                    mod.update_func(value.args[0], called.with_attr("op_pattern", OPAQUE))
        return mod


@tvm.transform.module_pass(opt_level=0, name="CollageKeepProjections")
class KeepProjections:
    """Takes the mark of a kernel off functions that call nothing; comes after `FuseOps`, and before `FuseTIR`.

    `FuseOps` makes a kernel of a field of a field of what a call returns.
    """

    def transform_module(self, mod: IRModule, _context: Any) -> IRModule:
        for name, function in mod.functions_items():
            is_kernel = isinstance(function, relax.Function) and "Primitive" in (function.attrs or {})
            if is_kernel and not any(isinstance(binding.value, relax.Call) for binding in _bindings(function)):
                mod.update_func(name, function.without_attr("Primitive"))
        return mod


def _bindings(function: Any) -> list[Any]:
    return [binding for block in function.body.blocks for binding in block.bindings] if isinstance(function, relax.Function) else []


def _is_fixed(kind: Any) -> bool:
    if isinstance(kind, relax.TupleType):
        return all(_is_fixed(field) for field in kind.fields)
    return isinstance(getattr(kind, "shape", None), relax.ShapeExpr) and _is_shape(kind.shape.values)


def _is_shape(extents: Any) -> bool:
    return all(isinstance(extent, tvm.tirx.IntImm) for extent in extents)
