"""Keeps engines that were built, so that none is built twice: in files of a folder, by what they were built from.

An engine and its key enter; the same engine leaves for the same key. A key covers the sub-model with its weights, the library and its
version, the compute capability and the precision. The folder is bounded: engines that were not asked for the longest go first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.bounded_folder import MOST_BYTES, BoundedFolder

_ENDING = ".engine"


@dataclass(frozen=True)
class BuiltEngine:
    """An engine: its serialised form, and its layers as ``name (type)`` in the order in which they run."""

    package: bytes
    layers: tuple[str, ...]


@dataclass(frozen=True)
class EngineStore:
    """The engines in one folder.

    Attributes:
        folder: It is created with the first engine.
        most_bytes: What the engines in it may take together; a larger one is not kept.
    """

    folder: Path
    most_bytes: int = MOST_BYTES

    def get(self, key: str) -> BuiltEngine | None:
        """Return the engine of `key`; None where there is none, or its file is damaged."""
        header, found, package = (self._files.get(key) or b"").partition(b"\n")
        try:
            layers = json.loads(header) if found else None
        except ValueError:
            return None
        if not (isinstance(layers, list) and all(isinstance(layer, str) for layer in layers) and package):
            return None
        return BuiltEngine(package, tuple(layers))

    def put(self, key: str, engine: BuiltEngine) -> None:
        """Keep `engine`, and remove older ones until all fit. A disk that is full, or no folder to write in, keeps nothing."""
        self._files.put(key, json.dumps(engine.layers).encode() + b"\n" + engine.package)

    @property
    def _files(self) -> BoundedFolder:
        return BoundedFolder(self.folder, _ENDING, self.most_bytes)


def engine_key(onnx: bytes, built_with: Sequence[str]) -> str:
    """Return the key of the engine of the model `onnx`; `built_with` is all that the engine depends on besides."""
    digest = hashlib.sha256(json.dumps(list(built_with)).encode())
    digest.update(onnx)
    return digest.hexdigest()[:32]
