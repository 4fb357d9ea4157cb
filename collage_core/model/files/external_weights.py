"""Leaves the weights of a large model in their files, so that no part of the program holds a copy of gigabytes.

A model whose tensors are external enters; afterwards each of them names its file by an absolute path, with offset and length, so every
model that is made of its nodes refers to slices of the same files. What needs a value maps it (`values_of`); what needs a model in one
piece reads its weights in (`read_in`), which is bounded by what one ONNX message can hold.

Quantised weights are read in: ONNX Runtime's are rewritten on some processors (`unsigned_weights`).
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from ...errors import CollageError
from ..model import may_name_files
from ..scopes import all_nodes
from ..types.dtypes import BITS, dtype_name, numpy_dtype
from .external_data import Slice, is_external, read_slice
from .unsigned_weights import INTEGER_PRODUCTS

MOST_BYTES = 2**31 - 2**20
"""Most bytes of weights inside a model: what protobuf can hold in one message, less some space for the graph itself."""

FROM_BYTES = 64 << 20
"""A model that keeps at least so much in other files is large: reading it in would cost a multiple of this in memory."""

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
    said = {entry.key: entry.value for entry in tensor.external_data}
    return Slice(Path(said["location"]), int(said.get("offset", 0)), int(said["length"]))


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
    """Take the pages of values that are mapped and were never written to out of memory; whoever reads them again gets them again."""
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
    """Let `tensor` name another file; what else is said of its data there stays (`toolchains/onnx_models/external_package.py`)."""
    for entry in tensor.external_data:
        if entry.key == "location":
            entry.value = str(path)


def without_external(model: ModelProto) -> ModelProto:
    """Return a copy of `model` in which its external initializers are inputs."""
    made = ModelProto()
    made.CopyFrom(model)
    for tensor in external_tensors(made):
        kind = made.graph.input.add(name=tensor.name).type.tensor_type
        kind.elem_type = tensor.data_type
        kind.shape.SetInParent()
        for size in tensor.dims:
            kind.shape.dim.add().dim_value = size
    kept = [tensor for tensor in made.graph.initializer if not is_external(tensor)]
    del made.graph.initializer[:]
    made.graph.initializer.extend(kept)
    return made


def point_to(tensor: TensorProto, where: Slice) -> None:
    """Let `tensor` name this slice as its data, and say nothing else of it."""
    del tensor.external_data[:]
    for key, value in (("location", where.path), ("offset", where.offset), ("length", where.length)):
        tensor.external_data.add(key=key, value=str(value))
