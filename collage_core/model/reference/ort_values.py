"""Runs a session of ONNX Runtime on values of every type: arrays of numpy and of `ml_dtypes`, strings, lists for sequences, None.

A session and values by input name enter; values by output name leave. ONNX Runtime's Python interface has no arrays for types that numpy
lacks; their bytes are written and read here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...errors import CollageError
from ..types.dtypes import BITS, dtype_name, elem_type, graph_dtype, numpy_dtype
from ..types.packed_types import packed, unpacked

_ODD = ("bfloat16", "float8", *BITS)


class ValueRunner:
    """Runs a session on values.

    Args:
        session: An `onnxruntime.InferenceSession`.
    """

    def __init__(self, session: Any):
        self._session = session
        self._types = {value.name: value.type for value in (*session.get_inputs(), *session.get_outputs())}

    def run(self, inputs: Mapping[str, Any], names: Iterable[str], options: Any = None) -> dict[str, Any]:
        """Return the values of the outputs `names` on `inputs`.

        Raises:
            CollageError: values that ONNX Runtime's Python interface does not take together.
            Exception: whatever ONNX Runtime raises.
        """
        wanted = list(names)
        odd = [name for name in wanted if self._is_odd(name)]
        feeds = {name: to_ort(value) if _has_odd_type(value) else value for name, value in inputs.items()}
        plain = [name for name in wanted if name not in odd]
        found = dict(zip(plain, self._session.run(plain, feeds, options), strict=True)) if plain else {}
        if odd:
            values = self._session.run_with_ort_values(odd, {name: self._bound(name, value) for name, value in feeds.items()}, options)
            found |= {name: from_ort(value) for name, value in zip(odd, values, strict=True)}
        return {name: found[name] for name in wanted}

    def _is_odd(self, name: str) -> bool:
        """Return whether the tensor `name` has a type that numpy lacks."""
        return any(odd in self._types[name] for odd in _ODD)

    def _bound(self, name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            if value is None or isinstance(value, list | dict):
                raise _not_together(name, self._types[name])
            return value
        if value.dtype.kind in "OUS":
            raise _not_together(name, self._types[name])
        import onnxruntime

        return onnxruntime.OrtValue.ortvalue_from_numpy(value)


def _not_together(name: str, kind: str) -> CollageError:
    found = (
        f"the input {name!r} is a {kind}, which ONNX Runtime's Python interface does not take where an output is of a type that numpy lacks"
    )
    return CollageError(found, "export the model with that output in a type of numpy", "dtype")


def _has_odd_type(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "OUS" and value.dtype.type.__module__ != "numpy"


def to_ort(array: np.ndarray) -> Any:
    """Return a value of ONNX Runtime with the elements of `array`, whose type numpy lacks."""
    import onnxruntime

    name = graph_dtype(array.dtype)
    made = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(array.shape), elem_type(name))
    raw = packed(array, BITS[name]) if name in BITS else np.ascontiguousarray(array)
    if raw.nbytes:
        ctypes.memmove(made.data_ptr(), raw.ctypes.data, raw.nbytes)
    return made


def from_ort(value: Any) -> np.ndarray:
    """Return a tensor of ONNX Runtime as an array of its own."""
    name = dtype_name(value.element_type())
    dtype = numpy_dtype(name)
    if dtype.type.__module__ == "numpy":
        return np.asarray(value.numpy())
    raw = np.frombuffer(ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()), np.uint8)
    if name in BITS:
        return unpacked(raw, BITS[name], value.shape(), dtype)
    return raw.view(dtype).reshape(value.shape())
