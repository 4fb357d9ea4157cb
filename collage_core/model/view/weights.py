"""`weight_values`: some values of a weight, and what all of them are like.

The weight's name, the scope in whose graph it is read and the model's file enter; only this weight is read, from wherever it lies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, numpy_helper

from ...documents.model_view import Histogram, WeightValues
from ...errors import CollageError
from ..files.external_data import external_slices_of, is_external, read_slice
from ..forms.normalising import constant_value
from ..nodes import ONNX_DOMAINS, inner_graphs
from ..types.dtypes import dtype_name
from .card import tensor_bytes

MOST_PAGED = 1000
BINS = 40
MOST_BYTES = 2 << 30
"""Most bytes of a weight that is read to be described."""


def weight_of(model: ModelProto, name: str, source: Path) -> TensorProto | None:
    """Return the weight or constant `name` of a graph of `model`, with its values; None where no graph has one of that name.

    Raises:
        CollageError: its data is missing, outside the model's folder, or too large.
    """
    tensor = next(_named(model, name), None)
    if tensor is None:
        return None
    size = tensor_bytes(tensor)
    if size > MOST_BYTES:
        raise CollageError(f"the weight {name!r} has {size} bytes, more than the {MOST_BYTES} that are read to show it", "", "too_big")
    if is_external(tensor):
        read = TensorProto()
        read.CopyFrom(tensor)
        [(_, where)] = external_slices_of([read], source)
        read_slice(read, where)
        return read
    return tensor


def _named(model: ModelProto, name: str) -> Iterator[TensorProto]:
    graphs = [model.graph]
    while graphs:
        graph: GraphProto = graphs.pop()
        yield from (tensor for tensor in graph.initializer if tensor.name == name)
        for node in graph.node:
            if node.op_type == "Constant" and node.domain in ONNX_DOMAINS and list(node.output) == [name] and len(node.attribute) == 1:
                constant = constant_value(node)
                if constant is not None:
                    yield constant
            graphs.extend(inner_graphs(node))
    for function in model.functions:
        for node in function.node:
            tensors = (attribute.t for attribute in node.attribute if attribute.type == AttributeProto.TENSOR)
            if node.op_type == "Constant" and list(node.output) == [name]:
                yield from tensors


def values_of_tensor(tensor: TensorProto) -> np.ndarray:
    """Return the values of `tensor`.

    Raises:
        CollageError: its data does not fit its shape, or is of an unknown type.
    """
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError) as error:
        claimed = f"{dtype_name(tensor.data_type)} {list(tensor.dims)}"
        raise CollageError(
            f"the data of {tensor.name!r} does not fit its type {claimed}", "export the model again", "broken_model"
        ) from error


def weight_values(name: str, dtype: str, array: np.ndarray, size_bytes: int, first: int = 0, count: int = 100) -> WeightValues:
    """Return the values of a weight from the flat index `first` on, at most `MOST_PAGED`, and what all of them are like."""
    flat = array.reshape(-1)
    page = [_plain(value) for value in flat[first : first + min(count, MOST_PAGED)].tolist()]
    plain = WeightValues(name, dtype, list(array.shape), flat.size, size_bytes, first, page)
    if flat.size == 0 or flat.dtype.kind not in "biufV" or flat.dtype.fields:
        return plain
    numbers = flat.astype(np.float64) if flat.dtype != np.float64 else flat
    finite = numbers[np.isfinite(numbers)]
    facts: dict[str, Any] = {"zeros": float(np.mean(numbers == 0)), "not_finite": int(numbers.size - finite.size)}
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        facts |= {"minimum": low, "maximum": high, "mean": float(finite.mean()), "deviation": float(finite.std())}
        if math.isfinite(high - low):
            counts = np.histogram(finite, BINS, (low, high))[0] if low < high else np.array([finite.size])
            facts["histogram"] = Histogram(low, high, counts.tolist())
    return WeightValues(name, dtype, list(array.shape), flat.size, size_bytes, first, page, **facts)


def _plain(value: Any) -> float | str | bool:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    return float(value) if isinstance(value, float) and math.isfinite(value) else str(value)
