"""Converts the attributes of a node to JSON, and initializers to the constants of the graph.

Floats are written as short as their 32 bits allow; NaN and infinities, for which JSON has no number, become strings.
"""

from __future__ import annotations

import hashlib
import math
from math import prod
from typing import Any

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

from ...errors import CollageError
from ...graph.dataflow_graph import Constant, TensorType
from .dtypes import dtype_name

_MOST_VALUES = 64
_MOST_IN_RANGE = 1 << 20
"""Most elements of a constant whose range is looked for: a table of positions or a mask, and no large matrix of weights."""


def attributes_of(node: NodeProto) -> dict[str, Any]:
    """Return the attributes of `node`; an inner graph is ``{"graph": digest, "nodes": count}``, a tensor ``{"tensor": digest}``."""
    return {attribute.name: _plain(attribute) for attribute in node.attribute}


def attribute_text(attribute: AttributeProto) -> str:
    """Return the value of an attribute as one short line."""
    value = _plain(attribute)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def constant_of(tensor: TensorProto) -> Constant:
    """Return the constant that `tensor` is, with its values where they are few and the computation depends on them, else their range.

    Raises:
        CollageError: the data does not fit the shape.
    """
    kind = TensorType(tuple(tensor.dims), dtype_name(tensor.data_type))
    count = prod(kind.shape)
    whole = "int" in kind.dtype or kind.dtype == "bool"
    if kind.dtype in ("string", "undefined"):
        return Constant(kind)
    if count > _MOST_VALUES if whole else kind.shape != ():
        return Constant(kind, range=_range_of(tensor, kind))
    try:
        values = numpy_helper.to_array(tensor).reshape(-1)
    except (ValueError, TypeError) as error:
        raise CollageError(
            f"the data of {tensor.name!r} does not fit its shape {list(kind.shape)}", "export the model again", "broken_model"
        ) from error
    if whole:
        return Constant(kind, tuple(values.tolist()) if kind.dtype == "bool" else tuple(int(value) for value in values))
    if np.iscomplexobj(values):
        return Constant(kind)
    scalar = _short(values[0]) if values.dtype == np.float32 else float(values[0])
    if math.isinf(scalar):
        return Constant(kind, range=(scalar, scalar))
    return Constant(kind, (scalar,) if math.isfinite(scalar) else None)


def _range_of(tensor: TensorProto, made: TensorType) -> tuple[float, float] | None:
    """Return the least and the largest value; None where they are not plain numbers, too many, in a file, or one is NaN."""
    plain = "int" in made.dtype or made.dtype in ("float32", "float64")
    if not plain or not 0 < prod(made.shape) <= _MOST_IN_RANGE or tensor.data_location == TensorProto.EXTERNAL:
        return None
    try:
        values = numpy_helper.to_array(tensor)
    except (ValueError, TypeError):
        return None  # What reads the weights refuses them.
    low, high = values.min(), values.max()
    if made.dtype.startswith("float"):
        return None if np.isnan(low) else (float(low), float(high))
    return int(low), int(high)


def _short(value: Any) -> float:
    """Return a float32 as the Python float with the shortest text that is equal in 32 bits."""
    return float(str(np.float32(value)))


def _plain(attribute: AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    return [_value(item) for item in value] if isinstance(value, list | tuple) or _is_repeated(value) else _value(value)


def _is_repeated(value: Any) -> bool:
    return not isinstance(value, str | bytes) and hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return _short(value) if math.isfinite(value) else str(value)
    if isinstance(value, int | str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    digest = hashlib.sha256(value.SerializeToString(deterministic=True)).hexdigest()[:16]
    if hasattr(value, "node"):
        return {"graph": digest, "nodes": len(value.node)}
    return {"tensor": digest}
