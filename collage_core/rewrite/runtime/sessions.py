"""Artifacts by folder, for callers in another process: describe one, run it, time it. The last one stays open."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.dataflow_graph import Tensor
from ...toolchains.buffers import numpy_dtype
from .artifact import Artifact
from .manifest import NAME, SAMPLE, damaged, read_manifest

_open: tuple[Any, Artifact] | None = None


def run_artifact(folder: Path, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One inference; arrays by output name.

    Raises:
        CollageError: it cannot be opened, the inputs do not fit, or a partition failed.
    """
    return _opened(Path(folder)).run(arrays)


def time_artifact(folder: Path, arrays: Mapping[str, np.ndarray], repeat: int | None = None) -> list[float]:
    """Seconds of each of `repeat` inferences (`Artifact.time`)."""
    return _opened(Path(folder)).time(arrays, repeat)


def bound_artifact(folder: Path, arrays: Mapping[str, np.ndarray]) -> Callable[[], None]:
    """What makes one inference each time that it is called (`Artifact.bound`)."""
    return _opened(Path(folder)).bound(arrays)


def describe_artifact(folder: Path) -> dict[str, Any]:
    """What ``artifact.json`` says, and ``seeded``: inputs that the model takes, by name. Loads no toolchain."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    return {**manifest.to_json(), "seeded": _sample(folder, manifest.inputs)}


def _opened(folder: Path) -> Artifact:
    global _open
    key = (folder.resolve(), (folder / NAME).stat().st_mtime_ns if (folder / NAME).is_file() else None)
    if _open is None or _open[0] != key:
        _open = None
        _open = (key, Artifact.open(folder))
    return _open[1]


def _sample(folder: Path, inputs: tuple[Tensor, ...]) -> dict[str, np.ndarray]:
    """The inputs that were kept at the assembly, or else seeded ones: floats normal, integers 0 and 1."""
    path = folder / SAMPLE
    if not path.is_file():
        return {tensor.name: _drawn(tensor, seed) for seed, tensor in enumerate(inputs)}
    try:
        with np.load(path, allow_pickle=False) as data:
            kept = [data[f"arr_{place}"] for place in range(len(inputs))]
        return {tensor.name: _typed(array, tensor) for tensor, array in zip(inputs, kept, strict=True)}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise damaged(folder, f"{SAMPLE!r} cannot be read ({error})") from error


def _typed(array: np.ndarray, tensor: Tensor) -> np.ndarray:
    """`array` in the dtype of `tensor`: the file knows those that numpy has not only as bytes."""
    return array.view(numpy_dtype(tensor.type.dtype)).reshape(tensor.type.shape)


def _drawn(tensor: Tensor, seed: int) -> np.ndarray:
    random, dtype = np.random.default_rng(seed), numpy_dtype(tensor.type.dtype)
    if dtype.kind in "biu":
        return random.integers(0, 2, tensor.type.shape).astype(dtype)
    return random.standard_normal(tensor.type.shape).astype(dtype)
