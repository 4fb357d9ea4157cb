"""Lets artifacts of several shapes load one package for a partition that they have in common, in place of one for each shape.

Finished artifacts enter, and packages that were built for any shape; the artifacts name those then. It moves files and runs no toolchain.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .artifact_weights import list_anew
from .runtime.manifest import PartitionEntry, fingerprint, read_manifest


def put_packages(folder: Path, built: Sequence[PartitionEntry], source: Path, kept: Path) -> dict[str, Path]:
    """Put packages in the place of those that the artifact in `folder` has for the same partitions, which move to the folder `kept`.

    Args:
        built: Partitions with packages in the folder `source`. One whose tensors are others than in the artifact is left out: shape
            arithmetic, which is gone at one shape, may read more.

    Returns:
        Id of each partition that has another package now → that package.

    Raises:
        OSError: the disk has no room; the artifact is as it was.
    """
    packages = {
        entry.id: (folder / entry.package, source / package.package) for entry, package in _pairs(read_manifest(folder).called, built)
    }
    for id, (_, package) in packages.items():  # All of them first: a disk that is full then has changed nothing.
        _link(package, kept / f"{id}.new")
    for id, (path, _) in packages.items():
        path.replace(kept / id)
        (kept / f"{id}.new").replace(path)
    _list(folder, [path for path, _ in packages.values()])
    return {id: path for id, (path, _) in packages.items()}


def put_back(folder: Path, put: Mapping[str, Path], kept: Path) -> None:
    """Undo `put_packages`, which returned `put`."""
    for id, path in put.items():
        (kept / id).replace(path)
    _list(folder, list(put.values()))


def _link(file: Path, new: Path) -> None:
    """Give `file` another name, or copy it where the file system has no hard links."""
    try:
        os.link(file, new)
    except OSError:
        shutil.copyfile(file, new)


def _pairs(called: Sequence[PartitionEntry], built: Sequence[PartitionEntry]) -> Iterator[tuple[PartitionEntry, PartitionEntry]]:
    for entry in called:
        same = next((one for one in built if one.target == entry.target and set(one.nodes) == set(entry.nodes)), None)
        if entry.package and same is not None and _has_equal_ends(entry, same):
            yield entry, same


def _has_equal_ends(one: PartitionEntry, other: PartitionEntry) -> bool:
    """Return whether two builds read and make the same tensors; a kernel knows inputs by their names, and outputs by their order."""
    inputs = [{tensor.name for tensor in entry.inputs} for entry in (one, other)]
    outputs = [[tensor.name for tensor in entry.outputs] for entry in (one, other)]
    return inputs[0] == inputs[1] and outputs[0] == outputs[1]


def _list(folder: Path, changed: Sequence[Path]) -> None:
    list_anew(folder, {path: fingerprint(path) for path in changed})
