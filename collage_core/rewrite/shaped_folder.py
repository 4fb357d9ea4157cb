"""Writes what makes one artifact of the artifacts of several shapes: the manifest that names them, and the model for other shapes.

Folders with finished artifacts enter, below the folder of the whole; afterwards that is an artifact too. Files of equal content in them
are one file on disk, with several names. Building the model for other shapes runs a toolchain, so it belongs in a worker process.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.whole_file import write_whole
from ..errors import CollageError
from ..model.base import SubModel
from ..toolchains import registry
from ..toolchains.base import ToolchainError
from ..toolchains.reasons import one_line
from .assemble import ARTIFACT_FILES
from .runtime.manifest import NAME, PartitionEntry, fingerprint, read_manifest
from .runtime.shaped_manifest import FALLBACK, SHAPES, ShapedManifest, ShapeEntry, read_shaped_manifest

FEWEST_SHARED = 4096
"""Smaller files are not worth being one."""


def folder_of(number: int) -> str:
    """Return the folder of the artifact of a shape, relative to the whole."""
    return f"{SHAPES}/{number:03d}"


def write_shaped(
    out: Path, shapes: Sequence[tuple[str, float]], about: Mapping[str, Any], threads: int, fallback: PartitionEntry | None
) -> None:
    """Make `out` the artifact of several shapes, which are in its folders ``shapes/000`` and on.

    Args:
        shapes: Name and weight of each.
        fallback: As `build_fallback` returned it, which wrote its package; None where another shape is an error.
    """
    entries = []
    for number, (name, weight) in enumerate(shapes):
        inputs = {tensor.name: tensor.type.shape for tensor in read_manifest(out / folder_of(number)).inputs}
        entries.append(ShapeEntry(name, folder_of(number), inputs, weight))
    share_equal_files(out / SHAPES)
    listed = [f"{entry.folder}/{NAME}" for entry in entries] + ([FALLBACK] if fallback is not None else [])
    files = {name: fingerprint(out / name) for name in listed}
    manifest = ShapedManifest(about, tuple(entries), threads, fallback, files)
    write_whole(out / NAME, (json.dumps(manifest.to_json(), indent=1) + "\n").encode())


def build_fallback(model: SubModel, target: str, threads: int, out: str) -> PartitionEntry:
    """Build the whole model for any shape on `target`, and write its package into `out`.

    Raises:
        CollageError: the toolchain is not usable, or cannot take the model.
    """
    toolchain = registry.get(target)
    found = toolchain.availability()
    if not found.usable:
        raise CollageError(f"--other-shapes needs {target}, which is not usable here: {found.reason}", found.hint, "unavailable_target")
    try:
        package = toolchain.build(model, threads)
    except ToolchainError as error:
        hint = "leave --other-shapes out: then another shape is an error"
        raise CollageError(f"{target} cannot build the model for other shapes: {one_line(error)}", hint, "toolchain") from error
    write_whole(Path(out) / FALLBACK, package)
    return PartitionEntry("other_shapes", target, found.version, (), model.inputs, model.outputs, package=FALLBACK)


def forget_artifact(out: Path) -> None:
    """Remove the artifact of an earlier run from `out`, of one shape or of several, and nothing else."""
    earlier = read_shaped_manifest(out)
    for entry in () if earlier is None else earlier.shapes:
        if (out / entry.folder).resolve().is_relative_to(out.resolve() / SHAPES):
            shutil.rmtree(out / entry.folder, ignore_errors=True)
    for name in (*ARTIFACT_FILES, FALLBACK):
        path = out / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def share_equal_files(folder: Path) -> int:
    """Let files of equal content below `folder` be one on disk, where the file system can; return how many bytes that saves."""
    first: dict[tuple[int, str], Path] = {}
    saved = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        if path.stat().st_size < FEWEST_SHARED:
            continue
        key = fingerprint(path)
        same = first.setdefault(key, path)
        if same is path or same.samefile(path):
            continue
        linked = path.with_name(f".{path.name}.linked")
        try:
            os.link(same, linked)
            linked.replace(path)
        except OSError:
            linked.unlink(missing_ok=True)
            continue
        saved += key[0]
    return saved
