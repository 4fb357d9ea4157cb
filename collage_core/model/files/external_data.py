"""Finds weights that an ONNX file keeps in other files, checks where they are, and reads them in or leaves them there.

A tensor may name a file, an offset and a length. Only files in the folder of the model are read: a model of unknown origin must not
read `/etc/passwd`. Where the model's file is a link, as in the cache of Hugging Face, the folder that it leads to counts too.

Weights of a large model stay in its files, so that no part of the program holds a copy of gigabytes: each tensor then names its file by an
absolute path, with offset and length, so every model that is made of its nodes refers to slices of the same files. What needs a value maps
it (`values_of`); what needs a model in one piece reads its weights in (`read_in`), which is bounded by what one ONNX message can hold.
Quantised weights are read in: ONNX Runtime's are rewritten on some processors (`unsigned_weights`).
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ...base.user_file import open_file
from ...errors import CollageError
from ..model import may_name_files
from ..nodes import all_nodes
from ..types.dtypes import BITS, dtype_name, numpy_dtype
from .unsigned_weights import INTEGER_PRODUCTS

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
    return external_slices_of(filter(is_external, tensors_of(model)), source)


def external_slices_of(tensors: Iterable[TensorProto], source: Path) -> list[tuple[TensorProto, Slice]]:
    """Return where the data of each of some external tensors is, as `external_slices` does."""
    folders = list(dict.fromkeys((source.parent.resolve(), source.resolve().parent)))
    files: dict[str, tuple[Path, int]] = {}
    return [(tensor, _slice(tensor, source.parent, folders, files)) for tensor in tensors]


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
    fields = {entry.key: entry.value for entry in tensor.external_data}
    location = fields.get("location", "")
    if location not in files:
        found = _inside(folder, folders, location, tensor.name)
        if not os.path.isfile(found):
            hint = f"put {location!r} beside the model file, as it was when the model was saved"
            raise CollageError(f"the data of {tensor.name!r} is in {str(found)!r}, which is not there", hint, _ABSENT)
        files[location] = found, found.stat().st_size
    path, size = files[location]
    offset, length = _number(fields, "offset", tensor.name), _number(fields, "length", tensor.name)
    needed = _data_bytes(tensor)
    length = needed if length is None else length
    offset = offset or 0
    if length != needed:
        raise CollageError(f"the data of {tensor.name!r} is declared with {length} bytes, its shape needs {needed}", _SAVE_AGAIN, _CODE)
    if offset + length > size:
        message = f"the data of {tensor.name!r} is declared to end at byte {offset + length} of {str(path)!r}, which has {size}"
        raise CollageError(message, "the file is cut off or belongs to another model: copy it again", _CODE)
    return Slice(path, offset, length)


_SAVE_AGAIN = "the model file is damaged: save or download it again"


def _inside(folder: Path, folders: Sequence[Path], location: str, tensor: str) -> Path:
    """Return the path of `location` in `folder`; raise CollageError where it, or a link in it, leads out of all `folders`."""
    if not location:
        raise CollageError(f"the data of {tensor!r} is declared to be in another file, which is not named", _SAVE_AGAIN, _CODE)
    path = folder / location
    try:
        real = path.resolve()
        outside = Path(location).is_absolute() or not any(real.is_relative_to(one) for one in folders)
    except (OSError, RuntimeError, ValueError) as error:
        raise CollageError(
            f"the data of {tensor!r} is declared to be in {location!r}, which is not a usable path: {error}", _SAVE_AGAIN, _CODE
        ) from error
    if outside:
        message = f"the data of {tensor!r} is declared to be in {location!r}, which lies outside the model's folder"
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
        raise CollageError(f"the data of {tensor!r} has the {key} {said[key]!r}, which is not a number of bytes", _SAVE_AGAIN, _CODE)
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


MOST_BYTES = 2**31 - 2**20
"""Most bytes of weights inside a model: what protobuf can hold in one message, less some space for the graph itself."""

FROM_BYTES = 64 << 20
"""From this size of external data on, a model is large: loading it would take a multiple of this in memory."""

SMALL_BYTES = 4096
"""Tensors up to this size are always read in: axes, scales and shapes, from which others follow."""

_READ_IN = INTEGER_PRODUCTS | {"DequantizeLinear", "QuantizeLinear"}
"""Operators whose weights are read in."""


def may_stay(model: ModelProto, slices: Sequence[tuple[TensorProto, Slice]]) -> list[bool]:
    """Return for each external tensor of `model` whether its data stays in its file: nearly all of a large one."""
    if sum(where.length for _, where in slices) < FROM_BYTES:
        return [False] * len(slices)
    weights = {id(tensor) for tensor in model.graph.initializer}
    read = {name for node in all_nodes(model.graph) if node.op_type in _READ_IN for name in node.input}
    return [where.length > SMALL_BYTES and id(tensor) in weights and tensor.name not in read for tensor, where in slices]


def external_tensors(model: ModelProto) -> list[TensorProto]:
    """Return the initializers of `model` whose data is in files."""
    return [tensor for tensor in model.graph.initializer if is_external(tensor)]


def slice_of(tensor: TensorProto) -> Slice:
    """Return where the data of an external tensor lies."""
    fields = {entry.key: entry.value for entry in tensor.external_data}
    return Slice(Path(fields["location"]), int(fields.get("offset", 0)), int(fields["length"]))


def values_of(tensor: TensorProto) -> np.ndarray:
    """Return the values of `tensor`; those in a file are mapped, so that only what is written to is copied, and the file stays as it is."""
    if not is_external(tensor):
        return numpy_helper.to_array(tensor)
    where, name = slice_of(tensor), dtype_name(tensor.data_type)
    if name in BITS:
        copy = TensorProto()
        copy.CopyFrom(tensor)
        read_slice(copy, where)
        return numpy_helper.to_array(copy)
    raw = np.memmap(where.path, np.uint8, "c", where.offset, where.length)
    return np.asarray(raw).view(numpy_dtype(name)).reshape(tuple(tensor.dims))


def release_pages(values: np.ndarray) -> None:
    """Drop the unmodified pages of mapped values from memory; the next read loads them again."""
    base: object = values
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)


def read_in(model: ModelProto) -> None:
    """Read all external tensors of `model` into it.

    Raises:
        CollageError: they do not fit into one message, or a file cannot be read.
    """
    tensors = external_tensors(model)
    size = model.ByteSize() + sum(slice_of(tensor).length for tensor in tensors)
    if size > MOST_BYTES:
        raise CollageError(f"the sub-graph holds {size / 2**30:.1f} GiB of weights, more than one ONNX message can", "", "too_big")
    for tensor in tensors:
        read_slice(tensor, slice_of(tensor))


def in_one_piece(onnx: bytes) -> bytes:
    """Return a serialised model with all of its weights inside.

    Raises:
        CollageError: as `read_in`.
    """
    if not may_name_files(onnx):
        return onnx
    model = ModelProto.FromString(onnx)
    read_in(model)
    return model.SerializeToString()


def with_relative_paths(model: ModelProto) -> tuple[bytes, str]:
    """Return `model` serialised with paths relative to a folder, and that folder; ONNX Runtime reads no other. Empty without such paths."""
    if not external_tensors(model):
        return model.SerializeToString(), ""
    copy = ModelProto()
    copy.CopyFrom(model)
    tensors = external_tensors(copy)
    folder = os.path.commonpath([slice_of(tensor).path.parent for tensor in tensors])
    for tensor in tensors:
        _rename_file(tensor, slice_of(tensor).path.relative_to(folder))
    return copy.SerializeToString(), folder


def make_paths_absolute(model: ModelProto, folder: str | Path) -> None:
    """Let the external tensors of `model`, whose paths are relative to `folder`, name their files by absolute paths."""
    for tensor in external_tensors(model):
        _rename_file(tensor, Path(folder) / slice_of(tensor).path)


def _rename_file(tensor: TensorProto, path: Path) -> None:
    """Let `tensor` name another file and keep the other entries of its location (`toolchains/onnx_models/external_package.py`)."""
    for entry in tensor.external_data:
        if entry.key == "location":
            entry.value = str(path)


def without_external(model: ModelProto) -> ModelProto:
    """Return a copy of `model` in which its external initializers are inputs."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for tensor in external_tensors(copy):
        kind = copy.graph.input.add(name=tensor.name).type.tensor_type
        kind.elem_type = tensor.data_type
        kind.shape.SetInParent()
        for size in tensor.dims:
            kind.shape.dim.add().dim_value = size
    kept = [tensor for tensor in copy.graph.initializer if not is_external(tensor)]
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    return copy


def point_to(tensor: TensorProto, where: Slice) -> None:
    """Make this slice the data of `tensor`, with no other entries."""
    del tensor.external_data[:]
    for key, value in (("location", where.path), ("offset", where.offset), ("length", where.length)):
        tensor.external_data.add(key=key, value=str(value))
