"""A Relax pass that lets products of float16 be summed in float32: sums of halves end at 2048 where ones are added, and at 65504.

It keeps one operator for a convolution or matrix product, which has the type of its sums as an attribute, so that kernels are fused as
before. What sums otherwise is imported in float32 (`tvm_import.Importer`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax

_CONV = ("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_layout")
_PRODUCTS: Mapping[str, tuple[str, ...]] = {
    "relax.matmul": (),
    **{f"relax.nn.conv{rank}d": _CONV for rank in (1, 2, 3)},
    **{f"relax.nn.conv{rank}d_transpose": (*_CONV, "output_padding") for rank in (1, 2, 3)},
}
"""Operator → its attributes beside the type of its sums."""


@tvm.transform.module_pass(opt_level=0, name="CollageSumHalvesInFloat32")
class SumHalvesInFloat32:
    """The pass."""

    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        mutator = _Widener(mod)
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                mutator.builder_.update_func(name, mutator.visit_expr(function))
        return mutator.builder_.get()


@relax.expr_functor.mutator
class _Widener(relax.PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = super().visit_call_(call)
        name = getattr(call.op, "name", "")
        if name not in _PRODUCTS or any(arg.ty.dtype != "float16" for arg in call.args) or call.attrs.out_dtype == "float32":
            return call
        make = relax.op.matmul if name == "relax.matmul" else getattr(relax.op.nn, name.rpartition(".")[2])
        attributes = {attribute: getattr(call.attrs, attribute) for attribute in _PRODUCTS[name]}
        return relax.op.astype(self.builder_.emit(make(*call.args, **attributes, out_dtype="float32")), "float16")
