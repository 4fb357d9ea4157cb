"""Schedules a module of TVM's PrimFuncs: as its tuning records say where there are some, by the default schedule elsewhere.

A module after fusion enters, and the records of its kernels; a scheduled module leaves. Nothing is searched or measured (`tvm_tuning`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import tvm
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace
from tvm.target.codegen import llvm_get_system_cpu
from tvm.tirx import PrimFunc
from tvm_ffi import structural_hash

from ...errors import CollageError
from ..border import one_line
from ..toolchain import ToolchainError
from ..tuning import TunedKernel, decoded
from .tvm_schedule import SCHEDULED, scheduled

log = logging.getLogger(__name__)


def target_text() -> str:
    """Return what kernels are compiled for here, as JSON. The number of threads changes no code and stands beside it in each key."""
    return json.dumps({"kind": "llvm", "mcpu": str(llvm_get_system_cpu())}, sort_keys=True)


def workload_of(function: PrimFunc) -> str:
    """Return the digest of an unscheduled PrimFunc: equal for equal ones, whatever they are called."""
    return f"{int(structural_hash(_bare(function))) & (1 << 64) - 1:016x}"


@tvm.transform.module_pass(opt_level=0, name="CollageSchedule")
class ScheduleTuned:
    """The pass, which schedules every PrimFunc of a module that is not marked as scheduled.

    Args:
        tuning: As `SubModel.tuning`.

    Raises:
        ToolchainError: a record is for another target, or damaged.
    """

    def __init__(self, tuning: bytes):
        self._kernels = checked(tuning)

    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        for name, function in mod.functions_items():
            if isinstance(function, PrimFunc) and not (function.attrs or {}).get(SCHEDULED):
                mod.update_func(name, replayed(function, self._kernels) or scheduled(function))
        return mod


def checked(tuning: bytes) -> Mapping[str, TunedKernel]:
    """Return the records of `tuning` by their workloads.

    Raises:
        ToolchainError: one is for another target, or they are damaged.
    """
    try:
        kernels = decoded(tuning)
    except CollageError as error:
        raise ToolchainError("build", one_line(error)) from error
    here = target_text()
    for kernel in kernels:
        if kernel.target != here:
            raise ToolchainError("build", f"the tuning record of the kernel {kernel.workload} is for {kernel.target}, this is {here}")
    return {kernel.workload: kernel for kernel in kernels}


def replayed(function: PrimFunc, kernels: Mapping[str, TunedKernel]) -> PrimFunc | None:
    """Return `function` with the schedule of its record; None where it has none, or TVM cannot replay it."""
    kernel = kernels.get(workload_of(function)) if kernels else None
    if kernel is None or not kernel.trace:
        return None
    try:
        schedule = Schedule(tvm.IRModule({"main": function.without_attr("global_symbol")}))
        Trace.apply_json_to_schedule(json.loads(kernel.trace), schedule)
    except Exception as error:  # noqa: BLE001 - whatever TVM says: the default schedule is right, too
        log.warning("the tuning record of the kernel %s cannot be replayed: %s", kernel.workload, one_line(error))
        return None
    return schedule.mod["main"].with_attrs(function.attrs)


def _bare(function: PrimFunc) -> PrimFunc:
    for name in ("global_symbol", "op_pattern"):
        function = function.without_attr(name)
    return function
