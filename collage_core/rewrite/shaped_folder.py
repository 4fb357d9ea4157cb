"""Writes what makes one artifact of the artifacts of several shapes: the manifest that names them, and the model for other shapes.

Folders with finished artifacts enter, below the folder of the whole; afterwards that is an artifact too. Files of equal content in them
are one file on disk, with several names. Building the model for other shapes runs a toolchain, so it belongs in a worker process.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base.whole_file import write_whole
from ..errors import CollageError
from ..model.model import SubModel
from ..toolchains import registry
from ..toolchains.abilities import takes_open_shapes
from ..toolchains.border import availability_of, build_package, one_line
from ..toolchains.toolchain import ToolchainError
from .assemble import remove_artifact
from .runtime.manifest import NAME, WEIGHTS, PartitionEntry, fingerprint, read_manifest
from .runtime.requirements import REQUIREMENTS, requirements_text
from .runtime.shaped_manifest import FALLBACK, RANGES, SHAPES, RangeEntry, ShapedManifest, ShapeEntry, read_shaped_manifest

FEWEST_SHARED = 4096
"""Smaller files are not worth being one."""


def folder_of(number: int) -> str:
    """Return the folder of the artifact of a shape, relative to the whole."""
    return f"{SHAPES}/{number:03d}"


def write_shaped(
    out: Path,
    shapes: Sequence[tuple[str, float]],
    about: Mapping[str, Any],
    threads: int,
    ranges: Sequence[RangeEntry] = (),
    fallback: PartitionEntry | None = None,
) -> None:
    """Make `out` the artifact of several shapes, which are in its folders ``shapes/000`` and on.

    Args:
        shapes: Name and weight of each.
        ranges, fallback: With the entries that `build_dynamic` returned, which wrote their packages; without a fallback another shape is
            an error. Their weights, if they have some in a file, are in `out` as well.
    """
    entries = []
    for number, (name, weight) in enumerate(shapes):
        inputs = {tensor.name: tensor.type.shape for tensor in read_manifest(out / folder_of(number)).inputs}
        entries.append(ShapeEntry(name, folder_of(number), inputs, weight))
    share_equal_files(out / SHAPES)
    manifest = ShapedManifest(about, tuple(entries), threads, tuple(ranges), fallback)
    listed = [f"{entry.folder}/{NAME}" for entry in entries] + [entry.package for entry in manifest.dynamic]
    if (out / WEIGHTS).exists():
        listed.append(WEIGHTS)
    needed = [(out / entry.folder / REQUIREMENTS).read_text() for entry in entries]
    needed.append(requirements_text(registry.get(entry.target) for entry in manifest.dynamic))
    write_whole(out / REQUIREMENTS, "".join(sorted({line for text in needed for line in text.splitlines(keepends=True)})).encode())
    listed.append(REQUIREMENTS)
    manifest = replace(manifest, files={name: fingerprint(out / name) for name in listed})
    write_whole(out / NAME, (json.dumps(manifest.to_json(), indent=1) + "\n").encode())


def build_dynamic(
    model: SubModel, target: str, threads: int, out: str, package: str, id: str = "", nodes: Sequence[str] = ()
) -> PartitionEntry:
    """Build the whole model, or a partition of it, for any shape on `target`, and write it into `out` under the name `package`.

    Args:
        id, nodes: Of the partition, and names of its nodes; none for the whole model.

    Raises:
        CollageError: the toolchain is not usable, or cannot take the model.
    """
    toolchain, what = registry.get(target), f"partition {id}" if id else "the model"
    availability = availability_of(toolchain)
    if not availability.usable:
        reason = f"{target}, which should take {what} at any shape, is not usable here: {availability.reason}"
        raise CollageError(reason, availability.hint, "unavailable_target")
    if not takes_open_shapes(toolchain):
        raise CollageError(f"{target} takes fixed shapes only", "veto it for the whole model, or give a set of sizes", "toolchain")
    try:
        built = build_package(toolchain, model, threads)
    except ToolchainError as error:
        hint = "give --shape a set of sizes, and leave --other-shapes out: then another shape is an error"
        raise CollageError(f"{target} cannot build {what} for any shape: {one_line(error)}", hint, "toolchain") from error
    path = Path(out) / package
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, built)
    return PartitionEntry(id or package, target, availability.version, tuple(nodes), model.inputs, model.outputs, package=package)


def forget_artifact(out: Path) -> None:
    """Remove the artifact of an earlier run from `out`, of one shape or of several, and nothing else."""
    earlier = read_shaped_manifest(out)
    for entry in () if earlier is None else earlier.shapes:
        if (out / entry.folder).resolve().is_relative_to(out.resolve() / SHAPES):
            shutil.rmtree(out / entry.folder, ignore_errors=True)
    remove_artifact(out)
    (out / FALLBACK).unlink(missing_ok=True)
    if earlier is not None and REQUIREMENTS in earlier.files:
        (out / REQUIREMENTS).unlink(missing_ok=True)
    if earlier is not None and not (out / RANGES).is_symlink():
        shutil.rmtree(out / RANGES, ignore_errors=True)


def share_equal_files(folder: Path) -> int:
    """Let files of equal content below `folder` be one on disk, where the file system can; return how many bytes that saves."""
    first: dict[tuple[int, str], Path] = {}
    seen: set[tuple[int, int]] = set()
    saved = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        status = path.stat()
        if status.st_size < FEWEST_SHARED or (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        key = fingerprint(path)
        same = first.setdefault(key, path)
        if same is path:
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
