"""Packages whose weights stay in files: an ONNX model that names each file, after a line that says so.

A toolchain makes one of a sub-model with external data and loads it again; the export of an artifact moves the weights into the artifact.
Beside a weight the file may hold the form in which a kernel of ONNX Runtime packs it, which is mapped then instead of copied. Nothing here
reads weights.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import TensorProto

    from ...model.files.external_data import Slice

_MARK = b"collage: an ONNX model with weights in files\n"
_PACKED = "prepacked_"
"""Such keys of ONNX Runtime's say ``name|offset;length;checksum|…``: the buffers of a packed form, in the file of the weight itself."""


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

    from ...model.files.external_data import external_tensors, slice_of

    return list(dict.fromkeys(map(slice_of, external_tensors(ModelProto.FromString(onnx_of(package))))))


def packed_slices_of(package: bytes) -> list[Slice]:
    """Return where the packed forms of the weights of a package lie, each slice once."""
    from onnx import ModelProto

    from ...model.files.external_data import external_tensors, slice_of

    slices: dict[Slice, None] = {}
    for tensor in external_tensors(ModelProto.FromString(onnx_of(package))):
        for _, buffers in _packed_forms(tensor, slice_of(tensor).path).values():
            slices |= dict.fromkeys(buffers)
    return list(slices)


def moved(package: bytes, new_slice: Callable[[Slice], Slice | None]) -> bytes:
    """Return `package` with its weights elsewhere; the new path may be relative to the artifact.

    Args:
        new_slice: Moves each slice; None leaves out the packed form that it is of.
    """
    from onnx import ModelProto

    from ...model.files.external_data import external_tensors, point_to, slice_of

    model = ModelProto.FromString(onnx_of(package))
    for tensor in external_tensors(model):
        there = slice_of(tensor)
        forms, where = _packed_forms(tensor, there.path), new_slice(there)
        assert where is not None, "a weight is needed"
        point_to(tensor, where)
        for key, (name, buffers) in forms.items():
            new = [new_slice(buffer) for buffer in buffers]
            if None not in new:
                value = "|".join([name, *(f"{buffer.offset};{buffer.length};0" for buffer in new if buffer is not None)])
                tensor.external_data.add(key=key, value=value)
    return make_package(model.SerializeToString())


def _packed_forms(tensor: TensorProto, path: Path) -> dict[str, tuple[str, list[Slice]]]:
    """Return the key of each packed form of `tensor`, whose data is in the file `path`, with its name and its buffers."""
    from ...model.files.external_data import Slice

    forms = {}
    for entry in tensor.external_data:
        if entry.key.startswith(_PACKED):
            name, *buffers = entry.value.split("|")
            forms[entry.key] = name, [Slice(path, *map(int, buffer.split(";")[:2])) for buffer in buffers]
    return forms


def found_in(package: bytes, folder: Path) -> bytes:
    """Return `package` as it is loaded from an artifact: paths that are relative to its folder become absolute."""
    if not is_external(package):
        return package
    there = folder.resolve()
    return moved(package, lambda where: where._replace(path=there / where.path))


def with_file_numbers(package: bytes) -> bytes:
    """Return `package` with each file named by its number on disk, so that two are equal whose files are links to the same."""
    if not is_external(package):
        return package
    return moved(package, lambda where: where._replace(path=Path(*map(str, (where.path.stat().st_dev, where.path.stat().st_ino)))))
