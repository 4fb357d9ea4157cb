"""The toolchain `tvm`: Apache TVM on the CPU. Sub-models become Relax functions over fused kernels with a default schedule, or a tuned one.

A package is a shared library whose ``main`` writes into given buffers. An assembled module takes the result as Relax functions
(`relax_module`) instead. Only the methods that build, load or tune import tvm.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.extras import install_command
from ...base.processor import usable_cores
from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ..border import one_line
from ..buffers import ALIGNMENT, aligned_copy, array_at
from ..toolchain import Availability, Kernel, Toolchain, ToolchainError
from ..values.wrong_calls import TVM_REFUSALS
from .tvm_operators import OPERATORS

if TYPE_CHECKING:
    import tvm

    from ...rules.rule import PartitionRule, RuleOptions
    from ..tuning import Tuning, Workload

DEFAULT_DEPTH = 4
SUPPORTED_VERSIONS = "0.27."
"""Beginning of the versions whose interfaces this file uses."""

PASSES_VERSION = "+collage.5"
"""Version of the passes here, which the toolchain's version ends with: kernels depend on them too. Count up when kernels change, so that
their costs are measured again."""

SPIN_COUNT = "200"
"""How often an idle thread looks for work before it sleeps: about 50 microseconds. With TVM's default of 300,000 the threads still spin
while the next toolchain runs: ResNet-50 on TVM and OpenVINO in turn took half as much processor time again."""

LIBRARY_FUNCTION = "tvm.contrib.sort.topk"
"""A function of TVM's library of such functions."""


class TvmToolchain(Toolchain):
    """Takes the operators of TVM's ONNX importer, but for calls that give wrong numbers, in sub-graphs that `FuseOps` could fuse."""

    name = "tvm"
    has_value_contract = True
    letter = "T"
    distributions = ("apache-tvm", "apache-tvm-ffi")
    build_s = 0.4

    def availability(self) -> Availability:
        if util.find_spec("tvm") is None:
            return Availability(False, reason="the package apache-tvm is not installed", hint=install_command("tvm"))
        version = _version()
        if not version.startswith(SUPPORTED_VERSIONS):
            reason = f"apache-tvm {version} is installed, {SUPPORTED_VERSIONS}x is needed"
            return Availability(False, version, reason, install_command("tvm"))
        if not _linker():
            return Availability(False, version, "no C++ compiler was found, and TVM links with one", "apt install g++")
        return Availability(True, version + PASSES_VERSION)

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.base_rules import OpCallByKind
        from ...rules.combinators import MatchCheck, classic_fusion

        return classic_fusion(MatchCheck(TVM_REFUSALS[options.value_policy], OpCallByKind("O", OPERATORS)), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        from .tvm_build import compile_library, lowered

        return compile_library(lowered(model, threads), threads)

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        use_threads(threads)
        try:
            return _Kernel(*entry(package))
        except Exception as error:  # any exception of TVM is its reason
            raise ToolchainError("build", one_line(error)) from error

    def relax_module(self, model: SubModel) -> tvm.IRModule:
        from .tvm_build import lowered

        return lowered(model, usable_cores())

    def workloads(self, model: SubModel, threads: int) -> Sequence[Workload]:
        from .tvm_tuning import workloads_of

        return workloads_of(self._unscheduled(model, threads))

    def tune(self, model: SubModel, threads: int, seconds: float, known: bytes) -> Tuning:
        from .tvm_tuning import tuned

        use_threads(threads)
        return tuned(self._unscheduled(model, threads), threads, seconds, known)

    def _unscheduled(self, model: SubModel, threads: int) -> tvm.IRModule:
        """Return the PrimFuncs of `model`, and a Relax function ``main`` that calls them."""
        from .tvm_build import unscheduled

        return unscheduled(model, threads)


class _Kernel:
    """A virtual machine whose ``main`` reads and writes the caller's buffers.

    TVM's kernels need buffers aligned to 64 bytes (`buffers.aligned_empty`); a buffer that is not is copied at every run.
    """

    def __init__(self, main: Callable[..., None], scratch: tuple[Any, ...]):
        self._main = main
        self._scratch = scratch
        self._arguments: tuple[Any, ...] = ()
        self._before: list[tuple[np.ndarray, np.ndarray]] = []
        self._after: list[tuple[np.ndarray, np.ndarray]] = []
        self._buffers: tuple[np.ndarray, ...] = ()

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        used_inputs = [aligned_copy(array) for array in inputs]
        used_outputs = [aligned_copy(array) for array in outputs]
        try:
            self._arguments = (*map(tvm_tensor, used_inputs), *map(tvm_tensor, used_outputs), *self._scratch)
        except Exception as error:  # any exception of TVM is its reason
            raise ToolchainError("run", one_line(error)) from error
        self._before = [pair for pair in zip(used_inputs, inputs, strict=True) if pair[0] is not pair[1]]
        self._after = [pair for pair in zip(outputs, used_outputs, strict=True) if pair[0] is not pair[1]]
        self._buffers = (*used_inputs, *used_outputs)

    def run(self) -> None:
        for ours, theirs in self._before:
            ours[...] = theirs
        try:
            self._main(*self._arguments)
        except Exception as error:  # any exception of TVM is its reason
            raise ToolchainError("run", one_line(error)) from error
        for theirs, ours in self._after:
            theirs[...] = ours


def tvm_tensor(array: np.ndarray) -> Any:
    """Return a tensor of TVM over the memory of `array`, which is aligned, C-contiguous, and kept alive by the caller."""
    from tvm_ffi import from_dlpack

    return from_dlpack(array_at(array.ctypes.data, array.shape, array.dtype), require_alignment=ALIGNMENT, require_contiguous=True)


def use_threads(threads: int) -> None:
    """Let TVM's kernels in this process use `threads` threads from now on.

    The first call creates TVM's thread pool with ``TVM_NUM_THREADS`` threads; later calls can only use a part of it. The threads
    are not bound to cores and sleep soon when idle, so that they do not keep the threads of another toolchain from running.
    """
    os.environ.setdefault("TVM_BIND_THREADS", "0")
    os.environ.setdefault("TVM_THREAD_POOL_SPIN_COUNT", SPIN_COUNT)
    os.environ.setdefault("TVM_NUM_THREADS", str(max(threads, usable_cores())))
    import tvm_ffi

    _runtime()
    tvm_ffi.get_global_func("runtime.config_threadpool")(0, threads)


def entry(library: bytes, device: Any = None) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """Return the function of `library` that runs the model, and its intermediate buffers.

    The function is called with the tensors of the inputs, those of the outputs, and these buffers. It writes the outputs, and
    returns a tuple of those whose shape is open, which have no buffer. The library is loaded from a new file, since the system's
    loader takes a file of the same name for the library that it has loaded already. `device` has its buffers and weights, the processor
    unless it is given.
    """
    runtime = _runtime()
    with tempfile.TemporaryDirectory(prefix="collage-tvm-") as folder:
        path = Path(folder) / "module.so"
        path.write_bytes(library)
        machine = runtime.vm.VirtualMachine(runtime.load_module(str(path)), device or runtime.cpu())
    return machine["main"], tuple(machine["buffers"]())


def _runtime() -> Any:
    import tvm.runtime.vm

    _load_library_functions()
    return tvm.runtime


@cache
def _load_library_functions() -> None:
    """Load what kernels call for sorting and the like, which TVM leaves out where it leaves its compiler out."""
    import tvm_ffi
    from tvm import libinfo
    from tvm_ffi.libinfo import load_lib_ctypes

    if tvm_ffi.get_global_func(LIBRARY_FUNCTION, allow_missing=True) is None:
        with suppress(OSError, RuntimeError):  # TVM can be built without it; then who calls one of them says so
            load_lib_ctypes("tvm", "tvm_runtime_extra", "RTLD_LOCAL", extra_lib_paths=libinfo.package_lib_paths())


def _version() -> str:
    try:
        return metadata.version("apache-tvm")
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _linker() -> str | None:
    """Return the path of the compiler that TVM links with; None where there is none."""
    named = os.environ.get("CXX") or os.environ.get("CC")
    names = [named] if named else ["g++", "gcc", "clang++", "clang", "c++", "cc"]
    return next(filter(None, map(shutil.which, names)), None)
