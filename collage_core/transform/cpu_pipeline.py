"""`ScheduleRest` and `cpu_pipeline`: what is left to TVM, with the kernels that the costs of the target ``tvm`` were measured with.

A partitioned module enters; the same module leaves with its calls of operators lowered to fused PrimFuncs under our default schedule.
TVM's own pipeline would make naive loops of them. It neither builds functions of toolchains nor chooses what they take.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline as cpu_generic

from ..base.processor import usable_cores
from ..errors import CollageError
from ..model.relax.branches import outline_branches
from ..toolchains.relax_attributes import TUNING
from ..toolchains.toolchain import ToolchainError
from ..toolchains.tvm.tvm_build import cpu_target, kernel_passes
from ..toolchains.tvm.tvm_schedule import finished
from .encodings import SYMBOL
from .hooks import builder_of, target_of
from .pass_errors import carried
from .symbols import has_symbols


@tvm.transform.module_pass(opt_level=0, name="CollageScheduleRest")
class ScheduleRest:
    """Lowers and schedules what no toolchain has taken. Comes after `RunHooks` or `RunCodegen`, and before `RunTirHooks`.

    PrimFuncs that are marked as scheduled, those of toolchains among them, stay as they are, and so do all in later passes. Kernels that
    were tuned get the schedules that the module's attribute ``collage.tuning`` has.

    Args:
        threads: Threads that the kernels will run with; the usable cores unless given.
    """

    def __init__(self, threads: int | None = None):
        self._threads = threads or usable_cores()

    @carried
    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        passes = [*_kernel_passes(mod), InlineFixedFunctions(), relax.transform.DeadCodeElimination()]
        with cpu_target(self._threads):
            made = outline_branches(tvm.transform.Sequential(passes)(mod))
        for var, function in made.functions_items():
            if isinstance(function, tvm.tirx.PrimFunc):
                made.update_func(var, finished(function))
        return made


@tvm.transform.module_pass(opt_level=0, name="CollageInlineFixedFunctions")
class InlineFixedFunctions:
    """Inlines private functions but those with symbols, to which TVM's own pass would not give the sizes of the caller."""

    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        functions = dict(mod.functions_items())
        held = [
            var
            for var, one in functions.items()
            if isinstance(one, relax.Function) and SYMBOL not in (one.attrs or {}) and has_symbols(one)
        ]
        public = {var: functions[var].with_attr(SYMBOL, var.name_hint) for var in held}
        made = relax.transform.InlinePrivateFunctions()(tvm.IRModule({**functions, **public}, attrs=mod.attrs))
        own = {var: one.without_attr(SYMBOL) if var in held else one for var, one in made.functions_items()}
        return tvm.IRModule(own, attrs=mod.attrs)


def _kernel_passes(mod: tvm.IRModule) -> list[Any]:
    try:
        return kernel_passes(str((mod.attrs or {}).get(TUNING, "")).encode())
    except ToolchainError as error:
        hint = "partition it again where it is to run"
        raise CollageError(f"the module's attribute {TUNING!r} cannot be used: {error.message}", hint, "toolchain") from error


def cpu_pipeline(threads: int | None = None) -> Any:
    """Return a pipeline for ``tvm.compile(module, cpu_target(threads), relax_pipeline=…)`` that compiles a partitioned module.

    Args:
        threads: Threads that the kernels will run with; the usable cores unless given.
    """
    target = cpu_target(threads or usable_cores())
    lowering = [*cpu_generic.dataflow_lower_passes(target), *cpu_generic.finalize_passes(target)]

    @tvm.transform.module_pass(opt_level=0, name="CollageCpuPipeline")
    @carried
    def pipeline(mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        check_no_hints(mod)
        with target:
            return tvm.transform.Sequential([ScheduleRest(threads), *lowering])(mod)

    return pipeline


def check_no_hints(mod: tvm.IRModule) -> None:
    """Raise CollageError where a function of `mod` still waits for its toolchain, so that TVM would compile it itself."""
    for var, function in mod.functions_items():
        name = str(var.name_hint)
        if builder_of(function):
            reason = f"the PrimFunc {name!r} still waits for {builder_of(function)!r}, which builds it"
            raise CollageError(reason, "run the pass RunTirHooks after LegalizeOps or ScheduleRest", "hint_left")
        if target_of(function):
            reason = f"the function {name!r} is still marked for {target_of(function)}"
            raise CollageError(reason, "run the pass RunHooks before", "hint_left")
