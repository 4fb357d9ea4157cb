"""Joins partitions into one Relax module whose ``main`` calls one function per partition. Nothing is compiled.

Partitions of TVM, and calls of libraries from C, become Relax functions, equal kernels only once; the C sources go with the module. Every
other partition is a `call_dps_packed` of a symbol that the runtime registers; one that allocates an output, or reads an opaque value, is a
`call_pure_packed`, which returns its outputs instead of writing into buffers.
Partitions of the host, which only rename tensors, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import tvm
from tvm import relax

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..model.files.external_data import values_of
from ..model.nodes import op_name
from ..toolchains.buffers import buffer_dtype
from ..toolchains.libraries.tvm_library_calls import linked
from ..toolchains.relax_attributes import EXTERNAL
from .partition_models import PartitionModel


@dataclass(frozen=True)
class CalledPartition:
    """A partition, and how ``main`` calls it: as a Relax function, by a symbol, or not at all where it is the host's.

    Attributes:
        module: Its Relax functions.
        symbol: Name of the registered function to call.
        function: Name of its Relax function in the joined module.
    """

    partition: PartitionModel
    module: tvm.IRModule | None = None
    symbol: str = ""
    function: str = ""


def join_partitions(
    partitions: Sequence[CalledPartition], inputs: Sequence[Tensor], outputs: Sequence[str], constants: Mapping[str, np.ndarray]
) -> tvm.IRModule:
    """Return the module; its ``main`` takes `inputs` in order and returns a tuple of `outputs`."""
    builder = relax.BlockBuilder()
    functions = {index: _add_functions(builder, called) for index, called in enumerate(partitions) if called.module is not None}
    parameters = [relax.Var(f"input{index}", _relax_type(tensor)) for index, tensor in enumerate(inputs)]
    values: dict[str, Any] = {name: _constant(array) for name, array in constants.items()}
    values |= {tensor.name: parameter for tensor, parameter in zip(inputs, parameters, strict=True)}
    with builder.function("main", parameters):
        with builder.dataflow():
            for index, called in enumerate(partitions):
                values |= _called(builder, called, functions.get(index), values)
            returned = builder.emit_output(relax.Tuple([values[name] for name in outputs]))
        builder.emit_func_output(returned)
    modules = [called.module for called in partitions if called.module is not None]
    return linked(builder.get(), [source for module in modules for source in (module.attrs or {}).get(EXTERNAL, [])])


def _called(builder: relax.BlockBuilder, called: CalledPartition, function: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Emit the call of `called`, and return its outputs by name."""
    model = called.partition.model
    if function is None and not called.symbol:
        return _aliases(called.partition, values)
    arguments = [values[tensor.name] for tensor in model.inputs]
    kinds = [_relax_type(tensor) for tensor in model.outputs]
    if function is not None:
        result = builder.emit(relax.Call(function, arguments))
    elif not all(tensor.type.has_buffer for tensor in model.outputs) or any(tensor.type.is_opaque for tensor in model.inputs):
        returned = kinds[0] if len(kinds) == 1 else relax.TupleType(kinds)
        result = builder.emit(relax.op.call_pure_packed(called.symbol, *arguments, ty_args=[returned]))
    else:
        result = builder.emit(relax.call_dps_packed(called.symbol, relax.Tuple(arguments), kinds[0] if len(kinds) == 1 else kinds))
    if len(kinds) == 1:
        return {model.outputs[0].name: result}
    return {tensor.name: builder.emit(relax.TupleGetItem(result, index)) for index, tensor in enumerate(model.outputs)}


def _aliases(partition: PartitionModel, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors that a partition of the host makes: other names of tensors that it reads, or of constants."""
    graph = onnx.load_model_from_string(partition.model.onnx).graph
    known = dict(values) | {weight.name: _constant(values_of(weight)) for weight in graph.initializer}
    for node in graph.node:
        if op_name(node) != "Identity":
            reason = f"partition {partition.id} leaves {node.op_type} ({node.name!r}) to the host, which only gives tensors another name"
            raise CollageError(reason, "give the node to a target", "bad_plan")
        known[node.output[0]] = known[node.input[0]]
    return {tensor.name: known[tensor.name] for tensor in partition.model.outputs}


def _constant(array: np.ndarray) -> Any:
    """Return `array` as a constant of its own dtype; by default TVM makes int32 of int64."""
    return relax.const(array, array.dtype.name)


def _relax_type(tensor: Tensor) -> Any:
    if tensor.type.is_opaque:
        return relax.ObjectType()
    dtype = buffer_dtype(tensor.type.dtype).name
    if tensor.type.open_axes:
        return relax.TensorType(dtype=dtype, ndim=len(tensor.type.shape))
    return relax.TensorType(tensor.type.shape, dtype)


def _add_functions(builder: relax.BlockBuilder, called: CalledPartition) -> Any:
    """Add the functions of the partition's module under unique names, and return the one that was ``main``."""
    assert called.module is not None
    renamed: dict[Any, Any] = {}
    for name, function in called.module.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            renamed[name] = builder.add_func(function.without_attr("global_symbol"), name.name_hint)
    renamer = _Renamer(renamed)
    for function in called.module.functions.values():
        if isinstance(function, relax.Function):
            private = renamer.visit_expr(function).without_attr("global_symbol")
            return builder.add_func(private.with_attr("collage.partition", called.partition.id), called.function)
    raise CollageError(
        f"{called.partition.target} gave a Relax module without a function for partition {called.partition.id}", "", "toolchain"
    )


@relax.expr_functor.mutator
class _Renamer(relax.PyExprMutator):
    def __init__(self, renamed: Mapping[Any, Any]):
        super().__init__()
        self._renamed = renamed

    def visit_global_var_(self, name: Any) -> Any:
        return self._renamed.get(name, name)
