"""`ActivationStore`: the tensors that really arrive at candidates, as ``.npy`` files that worker processes map.

It takes a model and its inputs, and gives files. Only tensors that are asked for are kept, and never many of
them in memory at once. The folder is removed with the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.isolation.scratch import ScratchFolder
from ...errors import CollageError
from ...graph.cut_points import STEPS, rounded
from ...graph.dataflow_graph import Tensor
from ...model.model import Arrays, Model
from ...model.reference.movements import row_sets_of
from .trial_worker import ArrayFile

CHUNK_BYTES = 1 << 30
"""Bytes of activations that are in memory at once, unless a single one is larger."""


class ActivationStore:
    """Keeps files of a model's tensors, as they are when it runs on `inputs`.

    Args:
        allows_noise: Whether a candidate may differ by what rounding alone moves there (`Model.noise`), as on extreme inputs.
    """

    def __init__(self, model: Model, inputs: Arrays, *, allows_noise: bool = False):
        self._model = model
        self._inputs = inputs
        self._allows_noise = allows_noise
        self._files: dict[str, ArrayFile] = {}
        self._digests: dict[str, bytes] = {}
        self._scratch = ScratchFolder()

    def fetch(self, names: Iterable[str]) -> None:
        """Write files of the named tensors, where there are none yet.

        Raises:
            CollageError: the disk is full or cannot be written.
        """
        wanted = [name for name in dict.fromkeys(names) if name not in self._files]
        for chunk in self._chunks(wanted):
            given = {name: self._inputs[name] for name in chunk if name in self._inputs}
            made = self._model.activations(self._inputs, [name for name in chunk if name not in given])
            noise = self._model.noise(self._inputs, made) if self._allows_noise and made else {}
            for name in chunk:
                file = self._write(name, given[name] if name in given else made[name])
                self._files[name] = replace(file, noise=noise.get(name, 0.0))

    def file(self, name: str) -> ArrayFile:
        """Return the file of a tensor that was fetched.

        How far rounding moves rows that the model returns takes further runs of it; they are made for the first candidate that makes them.
        """
        file = self._files[name]
        if not file.tensor.type.open_axes:
            return file
        graph = self._model.graph
        rows = self._model.row_sets(self._inputs) if name in graph.outputs else graph.derive(row_sets_of)
        return replace(file, rows=rows.get(name))

    def digest(self, name: str) -> bytes:
        """Return a digest of the values of a tensor that was fetched, with its dtype and shape."""
        if name not in self._digests:
            with self._files[name].path.open("rb") as file:
                self._digests[name] = hashlib.file_digest(file, "sha256").digest()
        return self._digests[name]

    def close(self) -> None:
        """Remove the files."""
        self._files.clear()
        self._scratch.remove()

    def _chunks(self, names: list[str]) -> Iterator[list[str]]:
        chunk: list[str] = []
        size = 0
        for name in names:
            size += self._model.graph.types[name].bytes
            if chunk and size > CHUNK_BYTES:
                yield chunk
                chunk, size = [], self._model.graph.types[name].bytes
            chunk.append(name)
        if chunk:
            yield chunk

    def _write(self, name: str, value: Any) -> ArrayFile:
        known = self._model.graph.types[name]
        array = _boxed(value) if known.is_opaque else np.ascontiguousarray(value).reshape(value.shape)
        try:
            path = self._scratch.path / f"{len(self._files)}.npy"
            np.save(path, array, allow_pickle=known.is_opaque)
        except OSError as error:
            raise CollageError(
                f"the activations of {name!r} cannot be kept for measuring: {error.strerror or error}",
                "make room on the disk, or set COLLAGE_HOME to another folder",
                "unwritable",
            ) from error
        step = STEPS[known.dtype] if name in self._model.graph.derive(rounded) else 0.0
        return ArrayFile(Tensor(name, replace(known, shape=value.shape) if known.open_axes else known), path, step=step)


def _boxed(value: Any) -> np.ndarray:
    """Return an array of one element, the object `value`."""
    box = np.empty((), object)
    box[()] = value
    return box
