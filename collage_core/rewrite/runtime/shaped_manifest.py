"""`ShapedManifest`: the content of ``artifact.json`` in the artifact of several shapes, which holds one artifact for each of them.

`rewrite/shaped_folder.py` writes it. What is read is checked before anything is loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...base.user_file import read_text
from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from .manifest import NAME, REBUILD, WEIGHTS, Manifest, PartitionEntry, damaged, fingerprint, is_inside, read_manifest

SCHEMA = 1
KIND = "collage-artifact-by-shape"
SHAPES = "shapes"
"""Folder of the artifacts of single shapes."""
FALLBACK = "other_shapes.bin"
"""The package of the whole model for all other shapes."""
RANGES = "ranges"
"""Folder of the packages for ranges of shapes."""

Shapes = Mapping[str, tuple[int, ...]]
"""Input → its shape."""


@dataclass(frozen=True, slots=True)
class ShapeEntry:
    """One shape.

    Attributes:
        name: In a few words.
        folder: Its artifact, in the folder.
        inputs: The shapes of all inputs.
        weight: Its share of the calls that the plans were chosen for.
    """

    name: str
    folder: str
    inputs: Shapes
    weight: float

    def to_json(self) -> dict[str, Any]:
        inputs = {name: list(shape) for name, shape in self.inputs.items()}
        return {"name": self.name, "folder": self.folder, "inputs": inputs, "weight": self.weight}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ShapeEntry:
        inputs = {str(name): tuple(map(int, shape)) for name, shape in data["inputs"].items()}
        return cls(str(data["name"]), str(data["folder"]), inputs, float(data["weight"]))


@dataclass(frozen=True, slots=True)
class RangeEntry:
    """A range of shapes that one build of the model serves, whole or in parts.

    Attributes:
        first, last: The smallest and the largest shape of each input; every dimension of a call lies between.
        parts: The partitions in an order in which they run; a single one is the whole model.
        inputs, outputs: Inputs of the model, and names of its outputs.
    """

    first: Shapes
    last: Shapes
    parts: tuple[PartitionEntry, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of_whole(cls, first: Shapes, last: Shapes, entry: PartitionEntry) -> RangeEntry:
        """Return the range that the whole model serves as one partition."""
        return cls(first, last, (entry,), entry.inputs, tuple(tensor.name for tensor in entry.outputs))

    def holds(self, names: Sequence[str], shapes: Sequence[Sequence[int]]) -> bool:
        """Return whether the inputs `names` lie in the range where they have these shapes."""
        return all(_is_between(self.first[name], shape, self.last[name]) for name, shape in zip(names, shapes, strict=True))

    def to_json(self) -> dict[str, Any]:
        ends = {end: {name: list(shape) for name, shape in getattr(self, end).items()} for end in ("first", "last")}
        if len(self.parts) == 1:
            return {**ends, "entry": self.parts[0].to_json()}
        inputs, parts = [tensor.to_json() for tensor in self.inputs], [part.to_json() for part in self.parts]
        return {**ends, "parts": parts, "inputs": inputs, "outputs": list(self.outputs)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RangeEntry:
        first, last = ({str(name): tuple(map(int, shape)) for name, shape in data[end].items()} for end in ("first", "last"))
        if "entry" in data:
            return cls.of_whole(first, last, PartitionEntry.from_json(data["entry"]))
        parts = tuple(map(PartitionEntry.from_json, data["parts"]))
        return cls(first, last, parts, tuple(map(Tensor.from_json, data["inputs"])), tuple(map(str, data["outputs"])))


def _is_between(first: Sequence[int], shape: Sequence[int], last: Sequence[int]) -> bool:
    return len(first) == len(shape) == len(last) and all(low <= size <= high for low, size, high in zip(first, shape, last, strict=True))


@dataclass(frozen=True, slots=True)
class ShapedManifest:
    """The whole of ``artifact.json``.

    Attributes:
        about: As in `Manifest`.
        ranges: Builds of the model for ranges of shapes between those.
        fallback: The whole model for all other shapes, on ONNX Runtime; None where another shape is an error.
        files: Path in the folder → (bytes, SHA-256) of the manifests of the single artifacts, of the whole models, and of their weights.
    """

    about: Mapping[str, Any]
    shapes: tuple[ShapeEntry, ...]
    threads: int
    ranges: tuple[RangeEntry, ...] = ()
    fallback: PartitionEntry | None = None
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "about": dict(self.about),
            "shapes": [entry.to_json() for entry in self.shapes],
            "threads": self.threads,
            "ranges": [one.to_json() for one in self.ranges],
            "other_shapes": None if self.fallback is None else self.fallback.to_json(),
            "files": {name: {"bytes": size, "sha256": digest} for name, (size, digest) in self.files.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ShapedManifest:
        return cls(
            about=dict(data["about"]),
            shapes=tuple(map(ShapeEntry.from_json, data["shapes"])),
            threads=int(data["threads"]),
            ranges=tuple(map(RangeEntry.from_json, data["ranges"])),
            fallback=None if data["other_shapes"] is None else PartitionEntry.from_json(data["other_shapes"]),
            files={name: (int(entry["bytes"]), str(entry["sha256"])) for name, entry in data["files"].items()},
        )

    @property
    def boxes(self) -> list[Shapes]:
        """The shapes, and the ends of the ranges."""
        return [*(entry.inputs for entry in self.shapes), *(end for one in self.ranges for end in (one.first, one.last))]

    @property
    def dynamic(self) -> list[PartitionEntry]:
        """The builds for any shape: the parts for ranges, and the whole model for all other shapes."""
        return [*(part for one in self.ranges for part in one.parts), *([] if self.fallback is None else [self.fallback])]

    def check_files(self, folder: Path) -> None:
        """Check that every artifact, and every whole model with its weights, lie in `folder`, as they were written.

        Raises:
            CollageError: one is missing, changed, outside of the folder, or not listed.
        """
        wanted = [f"{entry.folder}/{NAME}" for entry in self.shapes] + [entry.package for entry in self.dynamic]
        if WEIGHTS in self.files or os.path.lexists(folder / WEIGHTS):
            wanted.append(WEIGHTS)
        for name in wanted:
            path = folder / name
            if not is_inside(folder, path):
                raise damaged(folder, f"it lists a file outside itself, {name!r}")
            if not os.path.isfile(path):
                raise damaged(folder, f"{name!r} is missing")
            if name not in self.files or fingerprint(path) != self.files[name]:
                raise damaged(folder, f"{name!r} is not the file that was written")


def read_manifests(folder: Path) -> list[Manifest]:
    """Return the manifest of the artifact in `folder`; of one for several shapes that of each shape. Raises as `read_manifest`."""
    shaped = read_shaped_manifest(folder)
    return [read_manifest(folder)] if shaped is None else [read_manifest(folder / entry.folder) for entry in shaped.shapes]


def read_shaped_manifest(folder: Path) -> ShapedManifest | None:
    """Return the manifest in `folder`; None where that is no artifact of several shapes, which its own reader explains.

    Raises:
        CollageError: it is damaged, or of another schema.
    """
    try:
        data = json.loads(read_text(folder / NAME))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("kind") != KIND:
        return None
    if data.get("schema") != SCHEMA:
        found = f"the artifact {str(folder)!r} has schema {data.get('schema')!r}, this version reads {SCHEMA}"
        raise CollageError(found, REBUILD, "schema")
    try:
        manifest = ShapedManifest.from_json(data)
        if not manifest.shapes:
            raise ValueError("any shape")
        if any(box.keys() != manifest.shapes[0].inputs.keys() for box in manifest.boxes):
            raise ValueError("the inputs of a shape")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise damaged(folder, f"{NAME!r} lacks or garbles {error}") from error
    return manifest
