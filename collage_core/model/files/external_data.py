"""Finds weights that an ONNX file keeps in other files, checks where they are, and reads them into the model.

A tensor may name a file, an offset and a length. Only files in the folder of the model are read: a model of unknown origin must not
read `/etc/passwd`. Where the model's file is a link, as in the cache of Hugging Face, the folder that it leads to counts too. Which
weights are left where they are is decided elsewhere (`external_weights`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from ...base.user_file import open_file
from ...errors import CollageError
from ..types.dtypes import BITS, dtype_name, numpy_dtype

_CODE, _ABSENT = "external_data", "no_external_data"


class Slice(NamedTuple):
    """The position of the data of a tensor: a file, the first byte in it, and how many bytes."""

    path: Path
    offset: int
    length: int


def tensors_of(model: ModelProto) -> Iterator[TensorProto]:
    """Yield every tensor with data in `model`: initializers and attributes, those of inner graphs and functions included."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        yield from _node_tensors(function.node)


def external_slices(model: ModelProto, source: Path) -> list[tuple[TensorProto, Slice]]:
    """Return the tensors whose data the model in the file `source` keeps in other files, each with where that is. Nothing is read.

    Raises:
        CollageError: a file is missing, is outside the model's folder or too short, or the offset or length is invalid.
    """
    folders = list(dict.fromkeys((source.parent.resolve(), source.resolve().parent)))
    files: dict[str, tuple[Path, int]] = {}
    return [(tensor, _slice(tensor, source.parent, folders, files)) for tensor in tensors_of(model) if is_external(tensor)]


def read_slice(tensor: TensorProto, where: Slice) -> None:
    """Read the data of `tensor` into it.

    Raises:
        CollageError: the file cannot be read, or has become too short.
    """
    try:
        with open_file(where.path) as file:
            file.seek(where.offset)
            data = file.read(where.length)
    except OSError as error:
        message = f"cannot read {str(where.path)!r}, which holds the data of {tensor.name!r}: {error.strerror}"
        raise CollageError(message, "", _CODE) from error
    if len(data) < where.length:
        raise CollageError(f"{str(where.path)!r} became shorter while it was read", "copy it again", _CODE)
    tensor.raw_data = data
    tensor.ClearField("data_location")
    del tensor.external_data[:]


def is_external(tensor: TensorProto) -> bool:
    """Return whether the data of `tensor` is in another file."""
    return tensor.data_location == TensorProto.EXTERNAL


def _slice(tensor: TensorProto, folder: Path, folders: Sequence[Path], files: dict[str, tuple[Path, int]]) -> Slice:
    """Return where the data of `tensor` lies: beside the model in `folder`, and really in one of `folders`.

    Args:
        files: Locations that were found already, each with its path and size; further ones are added.
    """
    said = {entry.key: entry.value for entry in tensor.external_data}
    location = said.get("location", "")
    if location not in files:
        found = _inside(folder, folders, location, tensor.name)
        if not os.path.isfile(found):
            hint = f"put {location!r} beside the model file, as it was when the model was saved"
            raise CollageError(f"the data of {tensor.name!r} is in {str(found)!r}, which is not there", hint, _ABSENT)
        files[location] = found, found.stat().st_size
    path, size = files[location]
    offset, length = _number(said, "offset", tensor.name), _number(said, "length", tensor.name)
    needed = _data_bytes(tensor)
    length = needed if length is None else length
    offset = offset or 0
    if length != needed:
        raise CollageError(f"the data of {tensor.name!r} is said to be {length} bytes long, its shape needs {needed}", _SAVE_AGAIN, _CODE)
    if offset + length > size:
        message = f"the data of {tensor.name!r} is said to end at byte {offset + length} of {str(path)!r}, which has {size}"
        raise CollageError(message, "the file is cut off or belongs to another model: copy it again", _CODE)
    return Slice(path, offset, length)


_SAVE_AGAIN = "the model file is damaged: save or download it again"


def _inside(folder: Path, folders: Sequence[Path], location: str, tensor: str) -> Path:
    """Return the path of `location` in `folder`; raise CollageError where it, or a link in it, leads out of all `folders`."""
    if not location:
        raise CollageError(f"the data of {tensor!r} is said to be in another file, which is not named", _SAVE_AGAIN, _CODE)
    path = folder / location
    try:
        real = path.resolve()
        outside = Path(location).is_absolute() or not any(real.is_relative_to(one) for one in folders)
    except (OSError, RuntimeError, ValueError) as error:
        raise CollageError(
            f"the data of {tensor!r} is said to be in {location!r}, which is no usable path: {error}", _SAVE_AGAIN, _CODE
        ) from error
    if outside:
        message = f"the data of {tensor!r} is said to be in {location!r}, which lies outside the model's folder"
        raise CollageError(
            message, "for safety only files of the model's own folder are read: move the data there and save the model anew", _CODE
        )
    return path


def _number(said: dict[str, str], key: str, tensor: str) -> int | None:
    if key not in said:
        return None
    try:
        value = int(said[key])
    except ValueError:
        value = -1
    if value < 0:
        raise CollageError(f"the data of {tensor!r} has the {key} {said[key]!r}, which is no number of bytes", _SAVE_AGAIN, _CODE)
    return value


def _data_bytes(tensor: TensorProto) -> int:
    name = dtype_name(tensor.data_type)
    if name in ("undefined", "string") or any(dim < 0 for dim in tensor.dims):
        raise CollageError(f"the data of {tensor.name!r} is in another file, but its type {name!r} cannot be", _SAVE_AGAIN, _CODE)
    count = prod(tensor.dims)
    if name in BITS:
        return -(-count * BITS[name] // 8)
    return count * np.dtype(numpy_dtype(name)).itemsize


def _graph_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            yield from _attribute_tensors(attribute)


def _attribute_tensors(attribute: AttributeProto) -> Iterator[TensorProto]:
    if attribute.HasField("t"):
        yield attribute.t
    yield from attribute.tensors
    for sparse in (*([attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else ()), *attribute.sparse_tensors):
        yield from (sparse.values, sparse.indices)
    for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
        yield from _graph_tensors(graph)
