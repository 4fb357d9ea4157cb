"""Tensors as the open inference protocol writes them: JSON lists, or bytes after the JSON (its extension for binary tensors).

JSON from outside enters, which may hold anything, and bytes; arrays leave, of the shapes and types that were said. And the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..graph.dataflow_graph import is_addressable
from .refusal import Refusal

DATATYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
    "bfloat16": "BF16",
    "string": "BYTES",
}
"""The graph's dtype → the protocol's; a tensor of another dtype cannot be served."""

_DTYPES = {said: name for name, said in DATATYPES.items()}
_KINDS = {"BOOL": "b", "FP16": "fiu", "FP32": "fiu", "FP64": "fiu"}
"""Kinds of numpy that a JSON list may have for a datatype; whole numbers for all others."""
MOST_DIMENSIONS = 32
_LARGEST_ITEM = 8
"""Bytes of an element of the widest datatype."""
_LENGTH_BYTES = 4
"""Bytes of the length that precedes each text of a binary tensor."""


def array_of(name: str, tensor: Mapping[str, Any], binary: bytes | None) -> np.ndarray:
    """Return the array of an input of a request.

    Args:
        tensor: Its ``datatype``, its ``shape`` and, without `binary`, its ``data``.

    Raises:
        Refusal: they do not fit together.
    """
    datatype, shape = tensor.get("datatype"), _shape(name, tensor.get("shape"))
    if not isinstance(datatype, str) or datatype not in _DTYPES:
        raise Refusal(400, f"the input {name!r} has the datatype {_short(datatype)}; the known ones are {', '.join(_DTYPES)}")
    if binary is not None:
        flat = _from_bytes(name, datatype, binary)
    elif datatype == "BYTES":
        flat = np.array(list(_texts(name, tensor.get("data"))), object)
    else:
        flat = _from_list(name, datatype, tensor.get("data"))
    if flat.size != math.prod(shape):
        raise Refusal(400, f"the input {name!r} has {flat.size} elements, and its shape {list(shape)} has {math.prod(shape)}")
    return flat.reshape(shape)


def json_of(name: str, array: np.ndarray, datatype: str) -> list[Any]:
    """Return the elements of an output in a flat list.

    Raises:
        Refusal: JSON has no such numbers.
    """
    if datatype == "BYTES":
        return [text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text) for text in array.reshape(-1)]
    flat = array.reshape(-1)
    wide = flat.astype(np.float32) if datatype == "BF16" else flat
    if wide.dtype.kind == "f" and not np.isfinite(wide).all():
        raise Refusal(406, f"the output {name!r} is not finite everywhere, which JSON cannot say: ask for it with 'binary_data': true")
    elements: list[Any] = wide.tolist()
    return elements


def bytes_of(array: np.ndarray, datatype: str) -> bytes:
    """Return the elements of an output as a binary tensor."""
    if datatype != "BYTES":
        return np.ascontiguousarray(array).tobytes()
    encoded = [text if isinstance(text, bytes) else str(text).encode() for text in array.reshape(-1)]
    return b"".join(len(text).to_bytes(_LENGTH_BYTES, "little") + text for text in encoded)


def _shape(name: str, shape: object) -> tuple[int, ...]:
    if not isinstance(shape, list) or len(shape) > MOST_DIMENSIONS or not all(type(size) is int and size >= 0 for size in shape):
        raise Refusal(400, f"the input {name!r} has the shape {_short(shape)}; it must be a list of whole numbers, such as [1, 3]")
    if not is_addressable(shape, _LARGEST_ITEM):
        raise Refusal(400, f"the input {name!r} has the shape {_short(shape)}, which no array can have: its sizes are too large together")
    return tuple(shape)


def _from_bytes(name: str, datatype: str, binary: bytes) -> np.ndarray:
    if datatype == "BYTES":
        return np.array(list(_lengthened(name, binary)), object)
    if datatype == "BF16":
        import ml_dtypes

        dtype = np.dtype(ml_dtypes.bfloat16)
    else:
        dtype = np.dtype(_DTYPES[datatype])
    if len(binary) % dtype.itemsize:
        raise Refusal(400, f"the input {name!r} has {len(binary)} bytes, which is no whole number of {datatype}")
    if dtype.kind == "b" and any(byte > 1 for byte in set(binary)):
        raise Refusal(400, f"the input {name!r} has bytes other than 0 and 1, which are no BOOL")
    return np.frombuffer(bytearray(binary), dtype)


def _lengthened(name: str, binary: bytes) -> Iterator[str]:
    """Yield the texts of a binary tensor."""
    start = 0
    while start < len(binary):
        begin = start + _LENGTH_BYTES
        end = begin + int.from_bytes(binary[start:begin], "little")
        if end > len(binary) or begin > len(binary):
            raise Refusal(400, f"the input {name!r} is cut off: its text at byte {start} ends at {end}, and there are {len(binary)} bytes")
        yield _decoded(name, binary[begin:end])
        start = end


def _decoded(name: str, text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"the input {name!r} has a text that is not UTF-8: {error.reason} at byte {error.start}") from error


def _texts(name: str, data: object) -> Iterator[str]:
    """Yield the texts of a list, which may be nested."""
    if not isinstance(data, list):
        raise Refusal(400, f"the input {name!r} has no list as its data, but {_short(data)}")
    waiting: list[object] = list(reversed(data))
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            waiting += reversed(part)
        else:
            raise Refusal(400, f"the input {name!r} has {_short(part)} among its data; BYTES are texts")


def _from_list(name: str, datatype: str, data: object) -> np.ndarray:
    if not isinstance(data, list):
        raise Refusal(400, f"the input {name!r} has no list as its data, but {_short(data)}")
    if datatype == "BF16":
        raise Refusal(400, f"the input {name!r} is BF16, which JSON has no numbers for: send it as a binary tensor")
    try:
        array = np.asarray(data)
    except (ValueError, OverflowError, RecursionError) as error:
        raise Refusal(400, f"the data of the input {name!r} is no tensor: its lists differ in length, or are nested too deeply") from error
    if array.size and array.dtype.kind not in _KINDS.get(datatype, "iu"):
        raise Refusal(400, f"the data of the input {name!r} is not of the datatype {datatype}")
    dtype = np.dtype(_DTYPES[datatype])
    flat = array.reshape(-1)
    if dtype.kind in "iu" and flat.size:
        bounds = np.iinfo(dtype)
        least, most = int(flat.min()), int(flat.max())
        if least < bounds.min or most > bounds.max:
            raise Refusal(400, f"the input {name!r} has the number {least if least < bounds.min else most}, which is no {datatype}")
    with np.errstate(over="ignore"):
        return flat.astype(dtype)


def _short(value: object) -> str:
    """Return a value from outside in a few words."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
