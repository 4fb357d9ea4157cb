"""Our toolchains as codegens of TVM: ``relax.ext.<target>``, which TVM's pass `RunCodegen` calls for functions of that ``Codegen``.

Relax functions enter; runtime modules leave that carry what the toolchain built. So every toolchain is a backend for any Relax module,
however it was partitioned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import tvm
from tvm import relax
from tvm_ffi.registry import register_global_func

from ..base.cores import usable_cores
from ..base.isolation.errors import WorkerError
from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..model.base import SubModel
from ..model.relax.flat_model import flat_model, operators_of
from ..toolchains import registry
from ..toolchains.base import check_boundary
from ..toolchains.nchwc_models import REORDER_TARGET
from ..toolchains.relax_attributes import THREADS
from .blocked_tensors import reorder_of
from .encodings import is_tvm, kernel_function, threads_of
from .packages import Package, register_loader, runtime_module, symbols_of
from .pass_errors import carried

_HINT = "leave it to another toolchain"
BUILD_S = 600.0
"""Longest that a toolchain may take to build a function."""


def register_codegens() -> None:
    """Register ``relax.ext.<target>`` for every toolchain but TVM itself, and the loader of exported libraries.

    A codegen of that name that TVM has, such as that of TensorRT, goes on building what `CollagePartition` has not marked.
    """
    register_loader()
    for name in registry.names():
        if not is_tvm(name) and name not in _registered:
            before = tvm.get_global_func(f"relax.ext.{name}", allow_missing=True)
            register_global_func(f"relax.ext.{name}", _Codegen(name, before), override=True)
            _registered.add(name)


_registered: set[str] = set()
"""Toolchains whose codegens are ours already."""


class _Codegen:
    """The codegen of a toolchain.

    Args:
        before: TVM's own of that name; None where there is none.
    """

    def __init__(self, target: str, before: Any = None):
        self.target, self.before = target, before

    @carried
    def __call__(self, functions: Sequence[relax.Function], options: Mapping[str, Any] | None, constants: Any) -> list[Any]:
        if self.before is None:
            return self._built(functions, options)
        others = [function for function in functions if THREADS not in (function.attrs or {})]
        ours = [function for function in functions if THREADS in (function.attrs or {})]
        made = list(self.before(others, options, constants)) if others else []
        return [*made, *(self._built(ours, options) if ours else [])]

    def _built(self, functions: Sequence[relax.Function], options: Mapping[str, Any] | None) -> list[Any]:
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
        raise refused(target, name, function, str(error)) from error
    return Package(target, data, model.inputs, model.outputs, order, len(function.params), threads)


def refused(target: str, name: str, function: relax.Function, reason: str) -> CollageError:
    """Return the error of a toolchain that cannot take the flat `function`, called `name`, with the bindings that its reason is about.

    These are the ones of operators that the reason names.
    """
    words = set(re.findall(r"\w+", reason))
    with suppress(CollageError):
        about = dict.fromkeys(binding for binding, op in operators_of(name, function) if op in words)
        where = f", binding {', '.join(map(repr, about))}" if about else ""
        return CollageError(f"{target} cannot take the function {name!r}{where}: {reason}", _HINT, "toolchain")
    return CollageError(f"{target} cannot take the function {name!r}: {reason}", _HINT, "toolchain")


def _build(target: str, model: SubModel, threads: int) -> bytes:
    return registry.get(target).build(model, threads)
