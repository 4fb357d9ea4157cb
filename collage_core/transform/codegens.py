"""Our toolchains as codegens of TVM: ``relax.ext.<target>``, which TVM's pass `RunCodegen` calls for functions of that ``Codegen``.

Relax functions enter; runtime modules leave that carry what the toolchain built. So every toolchain is a backend for any Relax module,
however it was partitioned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import relax
from tvm_ffi.registry import register_global_func

from ..base.cores import usable_cores
from ..base.isolation.errors import WorkerError
from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..model.base import SubModel
from ..model.relax.flat_model import flat_model
from ..toolchains import registry
from ..toolchains.base import check_boundary
from ..toolchains.nchwc_models import REORDER_TARGET
from .blocked_tensors import reorder_of
from .encodings import is_tvm, kernel_function, threads_of
from .packages import Package, register_loader, runtime_module, symbols_of
from .pass_errors import carried

BUILD_S = 600.0
"""Longest that a toolchain may take to build a function."""


def register_codegens() -> None:
    """Register ``relax.ext.<target>`` for every toolchain but TVM itself, and the loader of exported libraries."""
    register_loader()
    for name in registry.names():
        if not is_tvm(name):
            register_global_func(f"relax.ext.{name}", _Codegen(name), override=True)


class _Codegen:
    def __init__(self, target: str):
        self.target = target

    @carried
    def __call__(self, functions: Sequence[relax.Function], options: Mapping[str, Any] | None, _constants: Any) -> list[Any]:
        asked = (options or {}).get("threads")
        with Worker() as worker:
            made = []
            for symbol, function in zip(symbols_of(functions), functions, strict=True):
                threads = int(asked) if asked is not None else threads_of(function, usable_cores())
                flat = kernel_function(self.target, function)
                made.append(runtime_module(symbol, _package(self.target, symbol, flat, threads, worker)))
            return made


def runtime_of(target: str, name: str, symbol: str, function: relax.Function, threads: int) -> Any:
    """Return a runtime module that carries what `target` builds of the flat `function`, called `name`, as the function `symbol`."""
    with Worker() as worker:
        return runtime_module(symbol, _package(target, name, function, threads, worker))


def _package(target: str, name: str, function: relax.Function, threads: int, worker: Worker) -> Package:
    """Return the package that `target` builds of the flat `function`.

    Raises:
        CollageError: the function, or the binding that is named, cannot be taken by the toolchain.
    """
    model, order = flat_model(name, function)
    if target == REORDER_TARGET:
        model = reorder_of(function, model) or model
    tool = registry.get(target)
    try:
        check_boundary(tool, model)
        data = worker.call(_build, target, model, threads, timeout_s=BUILD_S)
    except (CollageError, WorkerError) as error:
        raise CollageError(f"{target} cannot take the function {name!r}: {error}", "leave it to another toolchain", "toolchain") from error
    return Package(target, data, model.inputs, model.outputs, order, len(function.params), threads)


def _build(target: str, model: SubModel, threads: int) -> bytes:
    return registry.get(target).build(model, threads)
