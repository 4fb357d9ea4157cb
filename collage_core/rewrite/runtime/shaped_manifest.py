"""`ShapedManifest`: the content of ``artifact.json`` in the artifact of several shapes, which holds one artifact for each of them.

`rewrite/shaped_folder.py` writes it. What is read is checked before anything is loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...base.user_file import read_text
from ...errors import CollageError
from .manifest import NAME, REBUILD, PartitionEntry, damaged, fingerprint

SCHEMA = 1
KIND = "collage-artifact-by-shape"
SHAPES = "shapes"
"""Folder of the artifacts of single shapes."""
FALLBACK = "other_shapes.bin"
"""The package of the whole model for all other shapes."""

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
class ShapedManifest:
    """The whole of ``artifact.json``.

    Attributes:
        about: As in `Manifest`.
        fallback: The whole model for all other shapes, on ONNX Runtime; None where another shape is an error.
        files: Path in the folder → (bytes, SHA-256) of the manifests of the single artifacts, and of the fallback.
    """

    about: Mapping[str, Any]
    shapes: tuple[ShapeEntry, ...]
    threads: int
    fallback: PartitionEntry | None = None
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "about": dict(self.about),
            "shapes": [entry.to_json() for entry in self.shapes],
            "threads": self.threads,
            "other_shapes": None if self.fallback is None else self.fallback.to_json(),
            "files": {name: {"bytes": size, "sha256": digest} for name, (size, digest) in self.files.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ShapedManifest:
        return cls(
            about=dict(data["about"]),
            shapes=tuple(map(ShapeEntry.from_json, data["shapes"])),
            threads=int(data["threads"]),
            fallback=None if data["other_shapes"] is None else PartitionEntry.from_json(data["other_shapes"]),
            files={name: (int(entry["bytes"]), str(entry["sha256"])) for name, entry in data["files"].items()},
        )

    def check_files(self, folder: Path) -> None:
        """Check that every artifact and the fallback lie in `folder`, as they were written.

        Raises:
            CollageError: one is missing, changed, outside of the folder, or not listed.
        """
        wanted = [f"{entry.folder}/{NAME}" for entry in self.shapes] + ([FALLBACK] if self.fallback is not None else [])
        for name in wanted:
            path = folder / name
            if not path.resolve().is_relative_to(folder.resolve()):
                raise damaged(folder, f"it lists a file outside itself, {name!r}")
            if not os.path.isfile(path):
                raise damaged(folder, f"{name!r} is missing")
            if name not in self.files or fingerprint(path) != self.files[name]:
                raise damaged(folder, f"{name!r} is not the file that was written")


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
        made = ShapedManifest.from_json(data)
        if not made.shapes:
            raise ValueError("any shape")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise damaged(folder, f"{NAME!r} lacks or garbles {error}") from error
    return made
