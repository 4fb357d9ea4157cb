"""Our toolchains as codegens of TVM: ``relax.ext.<target>``, which TVM's pass `RunCodegen` calls for functions of that ``Codegen``.

Relax functions enter; runtime modules leave that carry what the toolchain built. So every toolchain is a backend for any Relax module,
however it was partitioned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import get_global_func, relax
from tvm_ffi.registry import register_global_func

from ..base.isolation.shared import shared_worker
from ..base.isolation.worker import Worker
from ..base.processor import usable_cores
from ..toolchains import registry
from ..toolchains.relax_attributes import THREADS
from .building import built_package
from .encodings import is_tvm, kernel_function, threads_of
from .loading import register_loader
from .open_packages import open_package
from .packages import Carried, runtime_module, symbols_of
from .pass_errors import carried
from .symbols import has_symbols, planned_as


def register_codegens() -> None:
    """Register ``relax.ext.<target>`` for every toolchain but TVM itself, and the loader of exported libraries.

    A codegen of that name that TVM has, such as that of TensorRT, goes on building what `CollagePartition` has not marked.
    """
    register_loader()
    for name in registry.names():
        if not is_tvm(name) and name not in _registered:
            before = get_global_func(f"relax.ext.{name}", allow_missing=True)
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
        with shared_worker(self.target) as worker:
            modules = []
            for symbol, function in zip(symbols_of(functions), functions, strict=True):
                threads = int(asked) if asked is not None else threads_of(function, usable_cores())
                flat = planned_as(function, kernel_function(self.target, function))
                modules.append(runtime_module(symbol, _package(self.target, symbol, flat, threads, worker)))
            return modules


def runtime_of(target: str, name: str, symbol: str, function: relax.Function, threads: int) -> Any:
    """Return a runtime module that carries what `target` builds of the flat `function`, called `name`, as the function `symbol`."""
    with shared_worker(target) as worker:
        return runtime_module(symbol, _package(target, name, function, threads, worker))


def _package(target: str, name: str, function: relax.Function, threads: int, worker: Worker) -> Carried:
    make = open_package if has_symbols(function) else built_package
    return make(target, name, function, threads, worker)
