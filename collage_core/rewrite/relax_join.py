"""The assembled Relax module: ``main`` calls one function a partition.

What TVM makes joins as Relax functions (equal kernels once only); every other partition is a `call_dps_packed` of a symbol
that the runtime registers; what only gives tensors another name is left out. Nothing is compiled here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import tvm
from onnx import numpy_helper
from tvm import relax

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..toolchains.buffers import numpy_dtype
from .pieces import Piece


@dataclass(frozen=True)
class Part:
    """A piece and how it is called: one of the two, or neither for the host's.

    Attributes:
        module: Its Relax functions.
        symbol: The function to call for it.
        function: Name for its Relax function.
    """

    piece: Piece
    module: tvm.IRModule | None = None
    symbol: str = ""
    function: str = ""


def joined(parts: Sequence[Part], inputs: Sequence[Tensor], outputs: Sequence[str], constants: Mapping[str, np.ndarray]) -> tvm.IRModule:
    """The module; its ``main`` takes `inputs` in order and returns a tuple of `outputs`."""
    builder = relax.BlockBuilder()
    functions = {place: _add_functions(builder, part) for place, part in enumerate(parts) if part.module is not None}
    parameters = [relax.Var(f"input{place}", _relax_type(tensor)) for place, tensor in enumerate(inputs)]
    values: dict[str, Any] = {name: _constant(array) for name, array in constants.items()}
    values |= {tensor.name: parameter for tensor, parameter in zip(inputs, parameters, strict=True)}
    with builder.function("main", parameters):
        with builder.dataflow():
            for place, part in enumerate(parts):
                values |= _called(builder, part, functions.get(place), values)
            returned = builder.emit_output(relax.Tuple([values[name] for name in outputs]))
        builder.emit_func_output(returned)
    return builder.get()


def _called(builder: relax.BlockBuilder, part: Part, function: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Emit the call of `part`; its outputs by name."""
    model = part.piece.model
    if function is None and not part.symbol:
        return _aliases(part.piece, values)
    arguments = [values[tensor.name] for tensor in model.inputs]
    kinds = [_relax_type(tensor) for tensor in model.outputs]
    if function is not None:
        result = builder.emit(relax.Call(function, arguments))
    else:
        result = builder.emit(relax.call_dps_packed(part.symbol, relax.Tuple(arguments), kinds[0] if len(kinds) == 1 else kinds))
    if len(kinds) == 1:
        return {model.outputs[0].name: result}
    return {tensor.name: builder.emit(relax.TupleGetItem(result, place)) for place, tensor in enumerate(model.outputs)}


def _aliases(piece: Piece, values: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors that a piece of the host makes: other names of what it reads, or constants."""
    graph = onnx.load_model_from_string(piece.model.onnx).graph
    known = dict(values) | {weight.name: _constant(numpy_helper.to_array(weight)) for weight in graph.initializer}
    for node in graph.node:
        if node.op_type != "Identity" or node.domain not in ("", "ai.onnx"):
            said = f"partition {piece.id} leaves {node.op_type} ({node.name!r}) to the host, which only gives tensors another name"
            raise CollageError(said, "give the node to a target", "bad_plan")
        known[node.output[0]] = known[node.input[0]]
    return {tensor.name: known[tensor.name] for tensor in piece.model.outputs}


def _constant(array: np.ndarray) -> Any:
    """With its dtype said: by itself TVM makes int32 of int64."""
    return relax.const(array, array.dtype.name)


def _relax_type(tensor: Tensor) -> Any:
    return relax.TensorType(tensor.type.shape, numpy_dtype(tensor.type.dtype).name)


def _add_functions(builder: relax.BlockBuilder, part: Part) -> Any:
    """Add the functions of a part's module under names of their own; the one that was ``main``."""
    assert part.module is not None
    renamed: dict[Any, Any] = {}
    for name, function in part.module.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            renamed[name] = builder.add_func(function.without_attr("global_symbol"), name.name_hint)
    renamer = _Renamer(renamed)
    for function in part.module.functions.values():
        if isinstance(function, relax.Function):
            private = renamer.visit_expr(function).without_attr("global_symbol")
            return builder.add_func(private.with_attr("collage.partition", part.piece.id), part.function)
    raise CollageError(f"{part.piece.target} gave a Relax module without a function for partition {part.piece.id}", "", "toolchain")


@relax.expr_functor.mutator
class _Renamer(relax.PyExprMutator):
    def __init__(self, renamed: Mapping[Any, Any]):
        super().__init__()
        self._renamed = renamed

    def visit_global_var_(self, name: Any) -> Any:
        return self._renamed.get(name, name)
