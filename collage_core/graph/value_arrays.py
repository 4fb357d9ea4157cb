"""Values that are no tensors as arrays with names, which an ``.npz`` can hold without pickles, and back.

The elements of the sequence ``s`` are the arrays ``s[0]``, ``s[1]`` and so on; an empty one is an empty array ``s[]``. The map ``m`` is
``m.keys`` and ``m.values``. An optional that holds nothing has no array. Strings are arrays of text, and a type that numpy lacks is kept as
bytes of its elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .dataflow_graph import Tensor


def as_arrays(name: str, value: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a value of this name."""
    if value is None:
        return {}
    if isinstance(value, list | tuple):
        return {key: array for at, part in enumerate(value) for key, array in as_arrays(f"{name}[{at}]", part).items()} or {
            f"{name}[]": np.zeros(0)
        }
    if isinstance(value, dict):
        keys, values = list(value), list(value.values())
        return {f"{name}.keys": np.array(keys), f"{name}.values": np.array(values)}
    array = np.asarray(value)
    if array.dtype.kind == "O":
        return {name: array.astype(str)}
    return {name: array if array.dtype.type.__module__ == "numpy" else array.view(f"V{array.dtype.itemsize}")}


def as_text(array: np.ndarray) -> np.ndarray:
    """Return an array of text, or of bytes in UTF-8, as one of objects; any other as it is."""
    try:
        decoded = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    except UnicodeDecodeError:
        return array
    return decoded.astype(object) if decoded.dtype.kind == "U" else array


def as_values(arrays: Mapping[str, Any], tensors: Iterable[Tensor]) -> dict[str, Any]:
    """Return `arrays` with the parts of each sequence or map among `tensors` as one value, and None for an optional that has no array."""
    found = dict(arrays)
    for tensor in tensors:
        name, kind = tensor.name, tensor.type.dtype
        if not tensor.type.is_container or name in found:
            continue
        if "seq(" in kind and (f"{name}[]" in found or f"{name}[0]" in found):
            found.pop(f"{name}[]", None)
            parts: list[Any] = []
            while f"{name}[{len(parts)}]" in found:
                parts.append(found.pop(f"{name}[{len(parts)}]"))
            found[name] = parts
        elif "map(" in kind and {f"{name}.keys", f"{name}.values"} <= found.keys():
            keys, values = (found.pop(f"{name}.{part}").tolist() for part in ("keys", "values"))
            found[name] = dict(zip(keys, values, strict=False))
        elif kind.startswith("optional("):
            found[name] = None
    return found
