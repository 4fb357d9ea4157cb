"""`bring_weights`: copies the weights that an artifact's packages have in the model's files into the artifact, each slice once.

An artifact that was just built and the files of its model enter; afterwards the artifact needs these files no more. What is only timed
and then removed keeps its weights where they are, so that no plan beside the chosen one takes disk.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ..errors import CollageError
from ..model.files.external_data import Slice
from ..toolchains.onnx_models.external_package import is_external, moved, slices_of
from .runtime.manifest import NAME, WEIGHTS, fingerprint, read_manifest

ALIGNED = 4096
"""Weights begin at such multiples, so that a page of memory holds those of one tensor."""
_BLOCK_BYTES = 1 << 20
_SPARE_BYTES = 256 << 20
"""Bytes that stay free on the disk."""


def bring_weights(folder: Path) -> int:
    """Copy what packages of the artifact in `folder` have in files elsewhere into `WEIGHTS`, and return its size; 0 where there is none.

    Raises:
        CollageError: the disk has no room, or a file of the model is gone; the artifact is as it was.
    """
    manifest = read_manifest(folder)
    paths = [folder / entry.package for entry in manifest.partitions if entry.package]
    packages = {path: data for path in paths if is_external(data := path.read_bytes())}
    if not packages:
        return 0
    new, size = layout(where for data in packages.values() for where in slices_of(data))
    free = shutil.disk_usage(folder).free
    if size > free - _SPARE_BYTES:
        found = f"the artifact's weights take {size / 1e9:.1f} GB, and {str(folder)!r} has {free / 1e9:.1f} GB free"
        raise CollageError(found, "make room, or give --out a folder on another disk", "no_room")
    try:
        copy_slices(new, folder / WEIGHTS, size)
    except OSError as error:
        (folder / WEIGHTS).unlink(missing_ok=True)
        raise CollageError(f"cannot copy weights into {str(folder)!r}: {error.strerror}", "make room on the disk", "no_room") from error
    for path, data in packages.items():
        path.write_bytes(moved(data, new.__getitem__))
    list_anew(folder, {path: fingerprint(path) for path in (*packages, folder / WEIGHTS)})
    return size


def layout(slices: Iterable[Slice]) -> tuple[dict[Slice, Slice], int]:
    """Return where each slice comes to lie in the artifact, and the size of all."""
    new: dict[Slice, Slice] = {}
    end = 0
    for where in dict.fromkeys(slices):
        new[where] = Slice(Path(WEIGHTS), end, where.length)
        end += -(-where.length // ALIGNED) * ALIGNED
    return new, end


def copy_slices(new: dict[Slice, Slice], path: Path, size: int) -> None:
    """Write the file of all slices; blocks of zeros become holes, so that a sparse file stays one."""
    with path.open("wb") as copy:
        for old, there in new.items():
            with old.path.open("rb") as source:
                for start in range(0, old.length, _BLOCK_BYTES):
                    block = os.pread(source.fileno(), min(_BLOCK_BYTES, old.length - start), old.offset + start)
                    if np.frombuffer(block, np.uint8).any():
                        copy.seek(there.offset + start)
                        copy.write(block)
        copy.truncate(size)


def list_anew(folder: Path, changed: Mapping[Path, tuple[int, str]]) -> None:
    """Write the manifest of the artifact in `folder` with the new sizes and digests of the files `changed` in it."""
    data = json.loads((folder / NAME).read_text())
    for path, (size, digest) in changed.items():
        data["files"][path.relative_to(folder).as_posix()] = {"bytes": size, "sha256": digest}
    (folder / NAME).write_text(json.dumps(data, indent=1) + "\n")
