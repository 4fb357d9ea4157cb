"""Apache TVM on the CPU: sub-models become Relax functions over fused kernels with a default schedule, untuned.

A package is a shared library whose ``main`` writes into the buffers that it is given. In an assembled module its result
joins as Relax functions (`relax_module`). `import tvm` happens in `build`, `load` and `relax_module` only.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.dataflow_graph import Tensor
from ..model.base import SubModel
from ..rules.base import PartitionRule, RuleOptions
from .base import Availability, Kernel, Toolchain, ToolchainError
from .buffers import ALIGNMENT, aligned_copy, array_at
from .reasons import one_line
from .tvm_operators import OPERATORS

if TYPE_CHECKING:
    import tvm

DEFAULT_DEPTH = 4
MAKES = "0.27."
"""The versions whose interfaces this file is written for."""

LOWERING = "+collage.2"
"""Our own part of the version: what TVM compiles also depends on the passes here. Count up when kernels change, so that
costs that were measured before are measured again."""

SPINS = "200"
"""How often an idle thread looks for work before it sleeps, some 50 microseconds. TVM's own 300,000 spin through the next
toolchain's turn: ResNet-50 on TVM and OpenVINO by turns took half as much processor time again."""

HINT = "pip install collage-explorer[tvm]"


class TvmToolchain(Toolchain):
    """Takes what TVM's ONNX importer takes, in what `FuseOps` would fuse."""

    name = "tvm"
    letter = "T"

    def availability(self) -> Availability:
        if util.find_spec("tvm") is None:
            return Availability(False, reason="the package apache-tvm is not installed", hint=HINT)
        version = _version()
        if not version.startswith(MAKES):
            reason = f"apache-tvm {version} is installed, {MAKES}x is needed"
            return Availability(False, version, reason, HINT)
        if not _linker():
            return Availability(False, version, "no C++ compiler was found, and TVM links with one", "apt install g++")
        return Availability(True, version + LOWERING)

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ..rules.base_rules import OpCallByKind
        from ..rules.trees import classic_fusion

        return classic_fusion(OpCallByKind("O", OPERATORS), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        from .tvm_build import compile_library, lowered

        return compile_library(lowered(model, threads), threads)

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        use_threads(threads)
        try:
            return _Kernel(*entry(package))
        except Exception as error:  # the border to TVM
            raise ToolchainError("build", one_line(error)) from error

    def relax_module(self, model: SubModel) -> tvm.IRModule:
        from .tvm_build import lowered

        return lowered(model, os.cpu_count() or 1)


class _Kernel:
    """A virtual machine whose ``main`` reads and writes the caller's buffers.

    TVM's kernels need buffers aligned to 64 bytes (`buffers.aligned_empty`); one that is not is copied at every run.
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
        except Exception as error:  # the border to TVM
            raise ToolchainError("run", one_line(error)) from error
        self._before = [pair for pair in zip(used_inputs, inputs, strict=True) if pair[0] is not pair[1]]
        self._after = [pair for pair in zip(outputs, used_outputs, strict=True) if pair[0] is not pair[1]]
        self._buffers = (*used_inputs, *used_outputs)

    def run(self) -> None:
        for ours, theirs in self._before:
            ours[...] = theirs
        try:
            self._main(*self._arguments)
        except Exception as error:  # the border to TVM
            raise ToolchainError("run", one_line(error)) from error
        for theirs, ours in self._after:
            theirs[...] = ours


def tvm_tensor(array: np.ndarray) -> Any:
    """A tensor of TVM's over the memory of `array` (aligned, C-contiguous, kept alive by the caller), writable or not."""
    from tvm_ffi import from_dlpack

    return from_dlpack(array_at(array.ctypes.data, array.shape, array.dtype), require_alignment=ALIGNMENT, require_contiguous=True)


def use_threads(threads: int) -> None:
    """Lets TVM's kernels in this process use `threads` threads from now on.

    Its pool is made once, at the first call, as large as ``TVM_NUM_THREADS`` says; later it can only be used in part. The
    threads are not bound to cores, and soon sleep when there is nothing to do: else they keep another toolchain's from running.
    """
    os.environ.setdefault("TVM_BIND_THREADS", "0")
    os.environ.setdefault("TVM_THREAD_POOL_SPIN_COUNT", SPINS)
    os.environ.setdefault("TVM_NUM_THREADS", str(max(threads, os.cpu_count() or 1)))
    import tvm_ffi

    _runtime()
    tvm_ffi.get_global_func("runtime.config_threadpool")(0, threads)


def entry(library: bytes) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """The function of a library that runs the model, and the buffers that it works in.

    It is called with the tensors of the inputs, those of the outputs, and these buffers; it writes the outputs and returns
    nothing. The library is loaded from a file of its own: the system's loader would take one of the same name or the same
    file for the library that it already has.
    """
    runtime = _runtime()
    with tempfile.TemporaryDirectory(prefix="collage-tvm-") as folder:
        path = Path(folder) / "module.so"
        path.write_bytes(library)
        machine = runtime.vm.VirtualMachine(runtime.load_module(str(path)), runtime.cpu())
    return machine["main"], tuple(machine["buffers"]())


def _runtime() -> Any:
    import tvm.runtime.vm

    return tvm.runtime


def _version() -> str:
    try:
        return metadata.version("apache-tvm")
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _linker() -> str | None:
    """The compiler that TVM would link with, if there is one."""
    named = os.environ.get("CXX") or os.environ.get("CC")
    names = [named] if named else ["g++", "gcc", "clang++", "clang", "c++", "cc"]
    return next(filter(None, map(shutil.which, names)), None)
