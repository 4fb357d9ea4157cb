"""`placed_module`: a model in Relax with the device of each tensor in its type, and `to_vdevice` where two devices differ.

A model and the device of each node enter; a module leaves, in which nothing is compiled and nothing of the plan's toolchains is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax

from ...errors import CollageError
from ...model.model import SubModel
from ...model.relax.lifting import replaced
from ...toolchains.border import one_line
from ...toolchains.toolchain import ToolchainError
from ...toolchains.tvm.tvm_named_import import bindings_of, import_named
from .placements import HOST_DEVICE


def placed_module(model: SubModel, devices: Mapping[str, str]) -> tvm.IRModule:
    """Return `model` as a module; its ``main`` reads and returns tensors of the host, and variables are called after the model's nodes.

    Args:
        devices: Name of a node → its device, such as ``cuda:0``; any other is on the host.

    Raises:
        CollageError: TVM does not import the model, or has no target for a device.
    """
    try:
        named = import_named(model)
    except ToolchainError as error:
        raise CollageError(f"TVM cannot import the model: {error.message}", "export another format", "not_relax") from error
    infos = {device: _virtual_device(device) for device in dict.fromkeys((HOST_DEVICE, *devices.values()))}
    main = named.module["main"]
    builder, at = relax.BlockBuilder(), dict[Any, str]()
    copies: dict[tuple[Any, str], Any] = {}

    def there(var: Any, device: str) -> Any:
        """Return what has the value of `var` on `device`, copied once."""
        if at[var] == device or not isinstance(known[var].ty, relax.TensorType):
            return known[var]
        if (var, device) not in copies:
            copies[var, device] = builder.emit(relax.op.to_vdevice(known[var], infos[device]))
        return copies[var, device]

    known: dict[Any, Any] = {}
    counts: Counter[str] = Counter()
    for var in main.params:
        known[var], at[var] = relax.Var(var.name, _placed(var.ty, infos[HOST_DEVICE])), HOST_DEVICE
    with builder.function("main", list(known.values())):
        with builder.dataflow():
            for binding in bindings_of(main):
                node = named.node_of.get(binding.var.name, "")
                device = devices.get(node, HOST_DEVICE)
                counts[node] += 1
                read = {var: there(var, device) for var in relax.analysis.free_vars(binding.value)}
                value = builder.normalize(replaced(binding.value, read))
                var = relax.DataflowVar(
                    node if counts[node] == 1 and node else f"{node}.{counts[node]}", _placed(binding.var.ty, infos[device])
                )
                builder.emit_normalized(relax.VarBinding(var, value))
                known[binding.var], at[binding.var] = var, device
            result = replaced(main.body.body, {var: there(var, HOST_DEVICE) for var in relax.analysis.free_vars(main.body.body)})
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    module = builder.get()
    module.update_global_info("vdevice", list(infos.values()))
    return module


def _virtual_device(device: str) -> relax.VDevice:
    kind, _, number = device.partition(":")
    try:
        return relax.VDevice(tvm.target.Target("llvm" if kind == "cpu" else kind), int(number or 0), "global")
    except Exception as error:  # any exception of TVM is its reason
        raise CollageError(f"TVM has no target for {device!r}: {one_line(error)}", "export another format", "no_device") from error


def _placed(kind: Any, device: relax.VDevice) -> Any:
    """Return the type with `device` in that of each tensor."""
    if isinstance(kind, relax.TupleType):
        return relax.TupleType([_placed(field, device) for field in kind.fields])
    if not isinstance(kind, relax.TensorType):
        return kind
    if kind.shape is None:
        return relax.TensorType(None, kind.dtype, device, ndim=kind.ndim)
    return relax.TensorType(kind.shape, kind.dtype, device)
