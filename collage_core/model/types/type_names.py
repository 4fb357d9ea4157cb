"""Names of the types of values: the graph's dtype for a tensor, ONNX's own text (``seq(tensor(float))``) for all that is none.

ONNX's `TypeProto` enters or leaves. ONNX Runtime writes the same text.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto, TypeProto, helper

from .dtypes import dtype_name, elem_type


def type_name(kind: TypeProto) -> str:
    """Return the name of `kind`; empty where it says none."""
    which = kind.WhichOneof("value")
    return dtype_name(kind.tensor_type.elem_type) if which == "tensor_type" else _text(kind)


def _text(kind: TypeProto) -> str:
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        return f"tensor({TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()})"
    if which == "sequence_type":
        return f"seq({_text(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({_text(kind.optional_type.elem_type)})"
    if which == "map_type":
        return f"map({TensorProto.DataType.Name(kind.map_type.key_type).lower()},{_text(kind.map_type.value_type)})"
    return "" if which is None else f"{which.removesuffix('_type')}()"


def type_proto(name: str, shape: Sequence[int | None] | None) -> TypeProto:
    """Return the type of this name. `shape` is that of a tensor; tensors inside of other types have none."""
    outer, _, inner = name.partition("(")
    inner = inner.removesuffix(")")
    if not inner:
        return helper.make_tensor_type_proto(elem_type(name), shape)
    if outer == "tensor":
        return helper.make_tensor_type_proto(TensorProto.DataType.Value(inner.upper()), None)
    if outer == "map":
        key, _, value = inner.partition(",")
        return helper.make_map_type_proto(TensorProto.DataType.Value(key.upper()), type_proto(value, None))
    make = helper.make_sequence_type_proto if outer == "seq" else helper.make_optional_type_proto
    return make(type_proto(inner, None))


def element_of(name: str) -> str:
    """Return the graph's dtype of the tensors in a sequence or an optional of this name; empty where they are in a map."""
    innermost = name.rpartition("(")[2].rstrip(")")
    return "" if "map(" in name else dtype_name(TensorProto.DataType.Value(innermost.upper()))


def element_shape(kind: TypeProto) -> tuple[int, ...]:
    """Return the shape that `kind` declares for a tensor in a sequence or an optional, with 1 for each dynamic dimension; else none."""
    while (which := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
        kind = getattr(kind, which).elem_type
    return tuple(max(dim.dim_value, 0) if dim.HasField("dim_value") else 1 for dim in kind.tensor_type.shape.dim)
