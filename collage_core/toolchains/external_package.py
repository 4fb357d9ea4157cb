"""Packages whose weights stay in files: an ONNX model that names each file, after a line that says so.

A toolchain makes one of a sub-model with external data and loads it again; the export of an artifact moves the weights into the artifact.
Nothing here reads weights.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.external_data import Slice

_MARK = b"collage: an ONNX model with weights in files\n"


def make_package(onnx: bytes) -> bytes:
    """Return the package of a serialised model with external data."""
    return _MARK + onnx


def is_external(package: bytes) -> bool:
    """Return whether `package` is one of `make_package`."""
    return package.startswith(_MARK)


def onnx_of(package: bytes) -> bytes:
    """Return the model in a package of `make_package`."""
    return package[len(_MARK) :]


def slices_of(package: bytes) -> list[Slice]:
    """Return where the weights of a package lie, each slice once."""
    from onnx import ModelProto

    from ..model.external_weights import external_tensors, slice_of

    return list(dict.fromkeys(map(slice_of, external_tensors(ModelProto.FromString(onnx_of(package))))))


def moved(package: bytes, new_slice: Callable[[Slice], Slice]) -> bytes:
    """Return `package` with its weights elsewhere: `new_slice` moves each slice; the new path may be relative to the artifact."""
    from onnx import ModelProto

    from ..model.external_weights import external_tensors, point_to, slice_of

    model = ModelProto.FromString(onnx_of(package))
    for tensor in external_tensors(model):
        point_to(tensor, new_slice(slice_of(tensor)))
    return make_package(model.SerializeToString())


def found_in(package: bytes, folder: Path) -> bytes:
    """Return `package` as it is loaded from an artifact: paths that are relative to its folder become absolute."""
    if not is_external(package):
        return package
    there = folder.resolve()
    return moved(package, lambda where: where._replace(path=there / where.path))
