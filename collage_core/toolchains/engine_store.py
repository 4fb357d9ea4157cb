"""Keeps engines that were built, so that none is built twice: in files of a folder, by what they were built from.

An engine and its key enter; the same engine leaves for the same key. A key covers the sub-model with its weights, the library and its
version, the compute capability and the precision. The folder is bounded: engines that were not asked for the longest go first.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..base.whole_file import write_whole

MOST_BYTES = 2**30
"""Most bytes of all engines together."""
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
        path = self._path(key)
        try:
            header, found, package = path.read_bytes().partition(b"\n")
            layers = json.loads(header) if found else None
        except (OSError, ValueError):
            return None
        if not (isinstance(layers, list) and all(isinstance(layer, str) for layer in layers) and package):
            return None
        with suppress(OSError):
            os.utime(path)
        return BuiltEngine(package, tuple(layers))

    def put(self, key: str, engine: BuiltEngine) -> None:
        """Keep `engine`, and remove older ones until all fit. A disk that is full, or no folder to write in, keeps nothing."""
        data = json.dumps(engine.layers).encode() + b"\n" + engine.package
        if len(data) > self.most_bytes:
            return
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._make_room(len(data))
            write_whole(self._path(key), data)

    def _make_room(self, size: int) -> None:
        kept = sorted((path.stat().st_mtime_ns, path.stat().st_size, path) for path in self.folder.glob(f"*{_ENDING}"))
        taken = sum(bytes_of for _, bytes_of, _ in kept)
        for _, bytes_of, path in kept:
            if taken + size <= self.most_bytes:
                return
            path.unlink(missing_ok=True)
            taken -= bytes_of

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENDING}"


def engine_key(onnx: bytes, built_with: Sequence[str]) -> str:
    """Return the key of the engine of the model `onnx`; `built_with` is all that the engine depends on besides."""
    digest = hashlib.sha256(json.dumps(list(built_with)).encode())
    digest.update(onnx)
    return digest.hexdigest()[:32]
