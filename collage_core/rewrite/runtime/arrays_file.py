"""`read_arrays`: reads the inputs that a user gives, from an ``.npz``. The file may be broken or hostile; nothing in it is run.

`write_arrays` writes outputs in the same way (`graph.value_arrays` says how sequences and other types become arrays).
`read_stored` reads the arrays that assembly kept in an artifact.
"""

from __future__ import annotations

import lzma
import struct
import tokenize
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

from ...base.user_file import open_file
from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...graph.value_arrays import as_arrays
from ...toolchains.buffers import buffer_dtype
from .inputs import typed

MOST_BYTES = 4 << 30
"""Most bytes of all arrays of a file, unpacked."""

_LONGEST_REASON = 300
_MISTAKES = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    RuntimeError,
    MemoryError,
    OverflowError,
    SyntaxError,
    BadZipFile,
    zlib.error,
    struct.error,
    lzma.LZMAError,
    tokenize.TokenError,
)
"""Errors that numpy and `zipfile` raise at files that lie about themselves."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays in the file `path`, by name.

    Raises:
        CollageError: it cannot be read, or is no ``.npz``.
    """
    try:
        with open_file(path) as file:
            arrays = np.load(file, allow_pickle=False)
            if isinstance(arrays, NpzFile):
                return _unpacked(arrays)
        why = "it holds a single array"
    except OSError as error:
        why = error.strerror or str(error)
    except _MISTAKES as error:
        why = str(error) or type(error).__name__
    why = " ".join(why.split())[:_LONGEST_REASON]
    raise CollageError(f"cannot read the inputs {str(path)!r}: {why}", "give an .npz with one array for each input", "bad_inputs")


def read_stored(path: Path, tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Return the arrays in the file `path`, one for each of `tensors`, in their dtypes; the file stores those that numpy lacks as bytes.

    Raises:
        CollageError: it cannot be read, or holds other arrays.
    """
    kept = read_arrays(path)
    try:
        pairs = zip((kept[f"arr_{index}"] for index in range(len(tensors))), tensors, strict=True)
        return [stored_value(array, tensor) for array, tensor in pairs]
    except (ValueError, KeyError, TypeError) as error:
        raise CollageError(f"it holds other arrays ({error})", "", "damaged") from error


def stored_value(array: Any, tensor: Tensor) -> Any:
    """Return what was stored of `tensor` in its dtype; the file has those that numpy lacks as bytes."""
    if tensor.type.is_opaque:
        return typed(array, tensor.type)
    return array.view(buffer_dtype(tensor.type.dtype)).reshape(tensor.type.shape)


def _unpacked(found: NpzFile) -> dict[str, np.ndarray]:
    """Return the arrays of `found`, unless they say that they are too large; no more is unpacked than they say."""
    size = sum(entry.file_size for entry in found.zip.infolist()) if found.zip else 0
    if size > MOST_BYTES:
        raise ValueError(f"it unpacks to {size / 2**30:.1f} GiB, at most {MOST_BYTES / 2**30:.1f} are read")
    with found:
        arrays = dict(found)
    if not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise ValueError("it holds something else than arrays")
    return arrays


def write_arrays(path: Path, values: Mapping[str, Any]) -> None:
    """Write the values to the file `path`, by name.

    Raises:
        CollageError: it cannot be written.
    """
    arrays = {key: array for name, value in values.items() for key, array in as_arrays(name, value).items()}
    try:
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
    except OSError as error:
        raise CollageError(f"cannot write the outputs {str(path)!r}: {error.strerror}", "give another file", "unwritable") from error
