"""Functions on an artifact's folder (describe, run, time), to be called in a worker process. The last artifact stays open."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...graph.value_arrays import as_values
from ...toolchains.buffers import buffer_dtype
from .arrays_file import read_arrays, stored_value
from .artifact import Artifact, Profile
from .manifest import NAME, SAMPLE, damaged, read_manifest
from .shaped_artifact import ShapedArtifact, open_artifact
from .shaped_manifest import read_shaped_manifest

RUNS_ONLY = {"TVM_USE_RUNTIME_LIB": "1"}
"""Environment of a process that runs artifacts and builds none: TVM leaves its compiler out, and loads in half the time."""
MODULE_IMPORTS = ("tvm",)
"""Imports of a process that builds or runs the module of an artifact."""

_open: tuple[Any, Artifact | ShapedArtifact] | None = None


def run_artifact(folder: Path, arrays: Mapping[str, np.ndarray], other_versions: bool = False) -> dict[str, np.ndarray]:
    """Run one inference, and return arrays by output name. The artifact stays open for the other functions.

    Args:
        other_versions: As `Artifact` takes it.

    Raises:
        CollageError: the artifact cannot be opened, the inputs do not fit, or a partition failed.
    """
    return _opened(Path(folder), other_versions).run(arrays)


def notes_of(folder: Path) -> tuple[str, ...]:
    """Return what the user should know of the artifact, which `run_artifact` opened (`Artifact.notes`)."""
    return _opened(Path(folder)).notes


def run_loader(program: Path, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run one inference with the program beside native files, which loads them by itself, and return arrays by output name."""
    outputs: dict[str, np.ndarray] = runpy.run_path(str(program))["run"](dict(arrays))
    return outputs


def time_artifact(folder: Path, arrays: Mapping[str, np.ndarray]) -> list[float]:
    """Return the seconds of some inferences (`Artifact.time`)."""
    return _opened(Path(folder)).time(arrays)


def profile_artifact(folder: Path, arrays: Mapping[str, np.ndarray]) -> Profile:
    """Return where the time of an inference goes (`Artifact.profile`)."""
    return _opened(Path(folder)).profile(arrays)


def bind_artifact(folder: Path, arrays: Mapping[str, np.ndarray]) -> Callable[[], None]:
    """Return a function that runs one inference at each call (`Artifact.bind`)."""
    return _opened(Path(folder)).bind(arrays)


def describe_artifact(folder: Path) -> dict[str, Any]:
    """Return the content of ``artifact.json``, and as ``seeded`` inputs that the model takes, by name. Loads no toolchain.

    Of an artifact for several shapes they are of the shape of the largest weight, and the rest is about that one.
    """
    folder = Path(folder)
    shaped = read_shaped_manifest(folder)
    if shaped is not None:
        shaped.check_files(folder)
        most = max(shaped.shapes, key=lambda entry: entry.weight)
        return {**describe_artifact(folder / most.folder), "shapes": [entry.to_json() for entry in shaped.shapes]}
    manifest = read_manifest(folder)
    return {**manifest.to_json(), "seeded": _sample(folder, manifest.inputs)}


def _opened(folder: Path, other_versions: bool = False) -> Artifact | ShapedArtifact:
    global _open
    key = (folder.resolve(), (folder / NAME).stat().st_mtime_ns if (folder / NAME).is_file() else None)
    if _open is None or _open[0] != key:
        _open = None
        _open = (key, open_artifact(folder, other_versions=other_versions))
    return _open[1]


def _sample(folder: Path, inputs: tuple[Tensor, ...]) -> dict[str, np.ndarray]:
    """Return the inputs that assembly kept in the folder, else seeded ones: normal floats, integers 0 and 1."""
    path = folder / SAMPLE
    if not path.is_file():
        return {tensor.name: _drawn(tensor, seed) for seed, tensor in enumerate(inputs)}
    try:
        kept = as_values(read_arrays(path), [Tensor(f"arr_{index}", tensor.type) for index, tensor in enumerate(inputs)])
        return {tensor.name: stored_value(kept[f"arr_{index}"], tensor) for index, tensor in enumerate(inputs)}
    except CollageError as error:
        raise damaged(folder, f"{SAMPLE!r} cannot be read ({error.message})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(folder, f"{SAMPLE!r} holds other arrays ({error})") from error


def _drawn(tensor: Tensor, seed: int) -> Any:
    if tensor.type.is_opaque:
        raise CollageError(f"no values can be drawn for the input {tensor.name!r}, a {tensor.type}", "give --inputs FILE.npz", "bad_inputs")
    random, dtype = np.random.default_rng(seed), buffer_dtype(tensor.type.dtype)
    if dtype.kind in "biu":
        return random.integers(0, 2, tensor.type.shape).astype(dtype)
    return random.standard_normal(tensor.type.shape).astype(dtype)
