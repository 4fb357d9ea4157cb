"""Chains of products of two numbers for `make bench-calls`, in which kernels of TVM's call a library without Python."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax

from collage_core.toolchains.relax_attributes import THREADS
from collage_core.transform import RunHooks, cpu_pipeline, cpu_target

LENGTHS = (1, 9)
CALLS = 1000


def call_s(target: str, rounds: int) -> list[float]:
    """Return, for each round, the seconds of a call: by what a chain of calls takes longer than a single one."""
    kind = relax.TensorType((1, 1), "float32")
    x = tvm.runtime.tensor(np.ones((1, 1), np.float32))
    seconds = []
    for length in LENGTHS:
        hooked = RunHooks()(_chain(target, length, kind))  # type: ignore[operator]  # what module_pass makes of the class is one
        built = tvm.compile(hooked, cpu_target(1), relax_pipeline=cpu_pipeline(1))
        timed = relax.VirtualMachine(built, tvm.cpu()).time_evaluator("main", tvm.cpu(), number=CALLS, repeat=rounds)
        seconds.append(timed(x).results)
    return [(longer - shorter) / (LENGTHS[1] - LENGTHS[0]) for shorter, longer in zip(*seconds, strict=True)]


def _chain(target: str, length: int, kind: relax.TensorType) -> tvm.IRModule:
    """Return a module that multiplies a number by one, `length` times, each time by a call of `target`."""
    builder = relax.BlockBuilder()
    given = relax.Var("given", kind)
    attributes = {"Composite": f"{target}.matmul", "Primitive": True, THREADS: 1}
    with builder.function("product", [given], attrs=attributes, private=True):
        with builder.dataflow():
            made = builder.emit_output(relax.op.matmul(given, relax.const(np.ones((1, 1), np.float32))))
        builder.emit_func_output(made)
    product = builder.get().get_global_var("product")
    x = relax.Var("x", kind)
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for _ in range(length):
                value = builder.emit(relax.Call(product, [value]))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()
