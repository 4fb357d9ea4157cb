"""Reads a model file as a `ModelProto`, or raises one clear line that says why it is not possible.

A path of the user enters; the model as it is in the file and a digest of its bytes leave. All of its data is inside, but for the weights of
a large model: these stay in their files (`external_data`). Its content is not interpreted here;
`normalising` is the next step.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import ModelProto

from ...base.model_file import HEAD_BYTES
from ...base.model_folder import folder_given
from ...base.user_file import open_file
from ...errors import CollageError
from ..nodes import all_nodes, check_size, inner_graphs
from .external_data import MOST_BYTES, external_slices, may_stay, point_to, read_slice, tensors_of
from .file_digests import file_digest
from .foreign_files import recognise, recognise_ending

LONGEST_NAME = 4096
"""Most characters of a name. A candidate is known by the names of its nodes, so time grows with their lengths and with its square."""


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file.

    Attributes:
        model: The model; its external data is inside, or named by absolute paths.
        digest: Hex digest of the file's bytes and its external data; independent of the path.
    """

    model: ModelProto
    digest: str


def read_model(path: Path) -> ModelFile:
    """Read the ONNX model at `path` with its external data.

    Raises:
        CollageError: the file does not exist, cannot be read, is damaged or no ONNX model, or external data is missing.
    """
    data = _bytes_of(path)
    model = _parse(path, data)
    check_size(len(model.graph.node))
    slices = external_slices(model, path)
    staying = may_stay(model, slices)
    size = len(data) + sum(where.length for (_, where), stays in zip(slices, staying, strict=True) if not stays)
    if size > MOST_BYTES:
        raise _too_big(path, size)
    digest = hashlib.sha256(data)
    del data
    real = {where.path: where.path.resolve() for _, where in slices}
    if any(staying):
        for file in sorted(real):
            digest.update(file_digest(file).encode())
    for (tensor, where), stays in zip(slices, staying, strict=True):
        if stays:
            point_to(tensor, where._replace(path=real[where.path]))
        else:
            read_slice(tensor, where)
    if not any(staying):
        for tensor, _ in slices:
            digest.update(tensor.name.encode())
            digest.update(tensor.raw_data)
    return ModelFile(model, digest.hexdigest())


def read_structure(path: Path) -> ModelFile:
    """Read the ONNX model at `path` alone: its external data is neither read nor looked for, and the digest is that of the file.

    Raises:
        CollageError: the file does not exist, cannot be read, is damaged or no ONNX model.
    """
    data = _bytes_of(path)
    return ModelFile(_parse(path, data), hashlib.sha256(data).hexdigest())


def _bytes_of(path: Path) -> bytes:
    name = str(path)
    if os.path.isdir(path):
        raise folder_given(path)
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MOST_BYTES:
                raise _too_big(path, size)
            return file.read(MOST_BYTES)
    except FileNotFoundError as error:
        raise CollageError(
            f"there is no file {name!r}", "check the path, or name a sample model (see `collage models`)", "no_file"
        ) from error
    except OSError as error:
        raise CollageError(f"cannot read {name!r}: {error.strerror}", "check the file's permissions", "unreadable") from error


def _too_big(path: Path, size: int) -> CollageError:
    message = f"{str(path)!r} holds {size / 2**30:.1f} GiB with its weights, more than the 2 GiB that one ONNX message can"
    return CollageError(message, "split the model, or take a smaller precision", "too_big")


def _parse(path: Path, data: bytes) -> ModelProto:
    name = str(path)
    if not data:
        raise CollageError(f"{name!r} is empty", "download or save it again", "not_onnx")
    try:
        model = ModelProto.FromString(data)
    except DecodeError as error:
        _check_known(path, data)
        # Almost every ONNX file begins with its IR version (field 1); a file that does is probably one that was cut off.
        begins_like_onnx = data[0] == 0x08 and len(data) > 1 and data[1] < 0x40
        what = "is cut off or damaged: it begins like an ONNX model" if begins_like_onnx else "is not an ONNX model"
        hint = "download or save it again" if begins_like_onnx else "name an .onnx file or a sample model (see `collage models`)"
        raise CollageError(f"{name!r} {what}", hint, "not_onnx") from error
    if not model.HasField("graph"):
        _check_known(path, data)
        raise CollageError(f"{name!r} is not an ONNX model: it holds no graph", "name an .onnx file or a sample model", "not_onnx")
    for word in _words(model):
        if not isinstance(word, str):
            raise CollageError(f"{name!r} is damaged: a name in it is not text", "download or save it again", "not_onnx")
        if len(word) > LONGEST_NAME:
            found = f"{name!r} holds a name of {len(word)} characters, {word[:40]!r}…: at most {LONGEST_NAME} are read"
            raise CollageError(found, "export the model with shorter names", "long_name")
    return model


def _check_known(path: Path, data: bytes) -> None:
    """Raise CollageError where the content of the file at `path`, which is no ONNX model, or its ending says what it is."""
    known = recognise(data[:HEAD_BYTES], path)
    if known is not None:
        raise CollageError(f"{str(path)!r} is {known.what}, not an ONNX model", known.hint, "not_onnx")
    usual = recognise_ending(path)
    if usual is not None:
        found = f"{str(path)!r} is not an ONNX model; a file with this ending is usually {usual.what}"
        raise CollageError(found, usual.hint, "not_onnx")


def _words(model: ModelProto) -> Iterator[str]:
    """Yield the names in `model`; protobuf gives bytes for a name that is not UTF-8."""
    nodes = [node for owner in (model.graph, *model.functions) for node in all_nodes(owner)]
    yield from (entry.domain for entry in model.opset_import)
    yield from (name for function in model.functions for name in (*function.input, *function.output))
    for graph in (model.graph, *(inner for node in nodes for inner in inner_graphs(node))):
        for value in (*graph.input, *graph.output):
            yield value.name
            yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
    yield from (tensor.name for tensor in tensors_of(model))
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
