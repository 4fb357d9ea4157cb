"""`widened`: a model in float16 or bfloat16 as the same model in float32, for a reference that the model's own precision does not round.

A normalised model enters and stays as it is; a copy leaves in which every tensor, attribute and cast of these types is float32.
Quantised types, float8 among them, stay: their rounding is what such a model means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, numpy_helper

from ..model import Arrays
from ..nodes import ONNX_DOMAINS, all_nodes, inner_graphs
from ..reference.accuracy import is_float, relative_error
from ..reference.ort_session import OrtSession, RuntimeRefusal

OWN_SHARE = 0.5
"""Share of the accuracy by which a model's own precision may move an output."""
HALVES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
_TYPE_ATTRIBUTES = ("to", "dtype", "output_datatype", "output_dtype", "stash_type", "softmax_precision")
"""Attributes that hold an element type."""


def widened(model: ModelProto) -> ModelProto:
    """Return `model` in float32 where it is in float16 or bfloat16; its inputs and outputs too."""
    wide = ModelProto()
    wide.CopyFrom(model)
    _widen(wide.graph)
    return wide


def types_of(model: ModelProto) -> Iterator[int]:
    """Yield the element types that `model` says it computes in: of inputs, outputs, constants and casts."""
    graphs = [model.graph, *(inner for node in all_nodes(model.graph) for inner in inner_graphs(node))]
    for graph in graphs:
        yield from (kind.elem_type for value in (*graph.input, *graph.output) for kind in _tensor_types(value.type))
        yield from (tensor.data_type for tensor in graph.initializer)
    for node in all_nodes(model.graph):
        yield from (attribute.i for attribute in node.attribute if _is_type(node, attribute))
        yield from (attribute.t.data_type for attribute in node.attribute if attribute.HasField("t"))


def _widen(graph: GraphProto) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info):
        for kind in _tensor_types(value.type):
            kind.elem_type = _wide(kind.elem_type)
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if _is_type(node, attribute):
                attribute.i = _wide(attribute.i)
            elif attribute.HasField("t"):
                _widen_tensor(attribute.t)
        for inner in inner_graphs(node):
            _widen(inner)


def _tensor_types(kind: TypeProto) -> Iterator[TypeProto.Tensor]:
    """Yield the tensor type of a value, or of the elements of a sequence or an optional."""
    while (which := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
        kind = getattr(kind, which).elem_type
    if which == "tensor_type":
        yield kind.tensor_type


def _is_type(node: NodeProto, attribute: AttributeProto) -> bool:
    return node.domain in ONNX_DOMAINS and attribute.name in _TYPE_ATTRIBUTES and attribute.type == AttributeProto.INT


def _wide(elem_type: int) -> int:
    return TensorProto.FLOAT if elem_type in HALVES else elem_type


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type in HALVES:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))


def unrounded(own: Arrays, wide: OrtSession, inputs: Arrays, accuracy: float) -> dict[str, Any]:
    """Return the outputs `own` of a model with the float ones as `wide` computes them, in their own types.

    An output stays where its own precision moves it by more than `OWN_SHARE` of `accuracy`: there the two are different functions, as
    where a sum overflows, and a right plan may compute either.
    """
    try:
        exact = wide.run({name: _as_wide(value) for name, value in inputs.items()}, own)
    except RuntimeRefusal:
        return dict(own)
    rounded = {name: _rounded(exact[name], value) for name, value in own.items()}
    return {name: rounded[name] if relative_error(rounded[name], value) <= OWN_SHARE * accuracy else value for name, value in own.items()}


def _rounded(value: Any, like: Any) -> Any:
    """Return the value `value` with its arrays in the types of those of `like`; `like` where it holds no floats."""
    if isinstance(like, list):
        return [_rounded(part, one) for part, one in zip(value, like, strict=False)]
    if not isinstance(like, np.ndarray) or not is_float(like.dtype):
        return like
    with np.errstate(over="ignore"):
        return value.astype(like.dtype)


def _as_wide(value: Any) -> Any:
    """Return a value with arrays of float16 and bfloat16 as float32."""
    if isinstance(value, list):
        return [_as_wide(part) for part in value]
    is_half = isinstance(value, np.ndarray) and value.dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
    return value.astype(np.float32) if is_half else value
