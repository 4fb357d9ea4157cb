"""Makes exactly one kernel of a sub-model, by TVM's own fusion of PrimFuncs but without its choice of what to fuse.

A sub-model enters; a Relax module whose ``main`` calls one scheduled PrimFunc leaves, or the reason why there is none. Where nothing is
left to compute, since everything was folded or only renames tensors, ``main`` calls nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax
from tvm_ffi import structural_hash

from ...model.model import SubModel
from ...model.relax.lifting import lifted
from ...model.relax.replacing import Replaced
from ..border import one_line
from ..toolchain import ToolchainError
from .tvm_build import before_fusion, cpu_target, with_schedules
from .tvm_import import import_onnx
from .tvm_schedule import finished


def one_kernel(model: SubModel, threads: int) -> tvm.IRModule:
    """Return `model` as a Relax function ``main`` that calls one scheduled PrimFunc.

    Raises:
        ToolchainError: at stage ``import`` or ``build``; TVM makes more than one kernel of it.
    """
    return with_schedules(one_unscheduled(model, threads), model.tuning, threads)


def one_unscheduled(model: SubModel, threads: int) -> tvm.IRModule:
    """Return `model` as a Relax function ``main`` that calls one PrimFunc as TVM makes it. Raises as `one_kernel`."""
    return _as_one(import_onnx(model), threads)


def as_one_kernel(module: tvm.IRModule, threads: int, tuning: bytes = b"") -> tvm.IRModule:
    """Return `module`, whose ``main`` is flat, with one PrimFunc that ``main`` calls, scheduled as `tuning` says.

    Raises:
        ToolchainError: at stage ``build``; TVM makes more than one kernel of it.
    """
    return with_schedules(_as_one(module, threads), tuning, threads)


def _as_one(module: tvm.IRModule, threads: int) -> tvm.IRModule:
    transform = relax.transform
    before = [*before_fusion(), AsOneFunction()]
    after = [transform.FuseTIR(), transform.DeadCodeElimination()]
    try:
        with cpu_target(threads):
            module = tvm.transform.Sequential(before)(module)
            module = tvm.transform.Sequential(after)(module)
    except ToolchainError:
        raise
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("build", one_line(error)) from error
    _check_at_most_one_call(module["main"])
    return module


def named_by_content(module: tvm.IRModule) -> tvm.IRModule:
    """Return a module of `as_one_kernel` whose kernel later passes leave as it is. Its name says what it computes: equal ones share it."""
    kernels = [(var, one) for var, one in module.functions_items() if isinstance(one, tvm.tirx.PrimFunc)]
    if not kernels:
        return module
    ((old, kernel),) = kernels
    kernel = finished(kernel.without_attr("global_symbol"))
    builder = relax.BlockBuilder()
    var = builder.add_func(kernel, f"tvm_fusion_{structural_hash(kernel) & (1 << 64) - 1:016x}")
    builder.add_func(Replaced({old: var}).visit_expr(module["main"]), "main")
    return builder.get()


def _check_at_most_one_call(main: relax.Function) -> None:
    calls = [one for block in main.body.blocks for one in block.bindings if isinstance(one.value, relax.Call)]
    odd = next((one.value for one in calls if getattr(one.value.op, "name", "") != "relax.call_tir"), None)
    if odd is not None:
        raise ToolchainError("build", f"TVM computes {one_line(str(odd.op))} outside of kernels")
    if len(calls) > 1:
        raise ToolchainError("build", f"TVM makes {len(calls)} kernels of it, not one")


def _check_no_library_call(module: tvm.IRModule, calls: Sequence[relax.Call]) -> None:
    """Raise ToolchainError where one of `calls` is of a kernel that calls TVM's library, as sorting does: it cannot be part of another."""
    for call in calls:
        kernel = module.functions.get(call.args[0]) if getattr(call.op, "name", "") == "relax.call_tir" else None
        if kernel is not None and "T.call_packed(" in kernel.script():
            raise ToolchainError("build", f"{call.args[0].name_hint} is a call of TVM's library, which is a kernel of its own")


@tvm.transform.module_pass(opt_level=0, name="CollageAsOneFunction")
class AsOneFunction:
    """Moves everything that ``main`` does into one private ``Primitive`` function, so that `FuseTIR` makes one PrimFunc of it.

    Constants become parameters, since `FuseTIR` takes none. A ``main`` of one call is left as it is.
    """

    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        main = mod["main"]
        bindings = [binding for block in main.body.blocks for binding in block.bindings]
        calls = [binding.value for binding in bindings if isinstance(binding.value, relax.Call)]
        if len(calls) < 2:
            return mod
        _check_no_library_call(mod, calls)
        inner, constants = lifted(main)
        given = [relax.const(array, array.dtype.name) for array in constants]
        builder = relax.BlockBuilder(mod)
        name = builder.add_func(inner.without_attr("global_symbol").with_attr("Primitive", True), "fused")
        with builder.function("collage_main", list(main.params)):
            with builder.dataflow():
                result = builder.emit_output(relax.Call(name, [*main.params, *given]))
            builder.emit_func_output(result)
        module = builder.get()
        function = module["collage_main"].with_attr("global_symbol", "main")
        del module[module.get_global_var("collage_main")]
        module.update_func(module.get_global_var("main"), function)
        return module
