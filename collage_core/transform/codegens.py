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
from ..graph.dataflow_graph import Tensor
from ..model.base import SubModel
from ..model.relax.regions import Region, divided, tensor_type
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
    model, order = sub_model(name, function)
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


def sub_model(name: str, function: relax.Function) -> tuple[SubModel, tuple[int, ...]]:
    """Return a flat function as a sub-model, and the parameter of each of its inputs.

    Raises:
        CollageError: a binding of it has no ONNX equivalent.
    """
    found = divided(function)
    regions, left = found.regions, found.left
    if left:
        raise CollageError(f"the function {name!r}, binding {left[0].name!r}: {left[0].reason}", "leave it to TVM", "untranslatable")
    if len(regions) != 1:
        raise CollageError(f"the function {name!r} calls no operator", "leave it to TVM", "untranslatable")
    (region,) = regions
    outputs = _outputs(name, region, function)
    proto = region.model(name)
    by_name = dict(zip(region.names, proto.graph.output, strict=True))
    ordered = [by_name[tensor.name] for tensor in outputs]
    del proto.graph.output[:]
    proto.graph.output.extend(ordered)
    inputs = tuple(Tensor(key, tensor_type(var.ty)) for key, var in region.inputs.items())
    parameters = list(function.params)
    order = tuple(parameters.index(var) for var in region.inputs.values())
    outputs = tuple(Tensor(value.name, tensor.type) for value, tensor in zip(ordered, outputs, strict=True))
    return SubModel(proto.SerializeToString(), inputs, outputs), order


def _outputs(name: str, region: Region, function: relax.Function) -> tuple[Tensor, ...]:
    """Return the tensors that `function` returns, in order, under their names in the region."""
    bound = {binding.var: binding.value for block in function.body.blocks for binding in block.bindings}
    result = function.body.body
    while result in bound and isinstance(bound[result], relax.Tuple | relax.Var):
        result = bound[result]
    fields = list(result.fields) if isinstance(result, relax.Tuple) else [result]
    made = []
    for field in fields:
        written = region.writer.values.get(field)
        if not isinstance(written, str) or written not in region.names:
            raise CollageError(
                f"the function {name!r} returns {str(field)[:40]!r}, which it does not compute", "leave it to TVM", "untranslatable"
            )
        made.append(Tensor(written, tensor_type(field.ty)))
    return tuple(made)
