"""`ShapedArtifact`: the artifact of several shapes, which finds the one for the shapes of its inputs; `open_artifact` opens either kind.

Arrays enter and leave as in `Artifact`. Which artifact serves a call is one look-up by the shapes of the inputs that have several. A shape
between planned ones may be served by a build for any shape. Another shape is an error, or goes to ONNX Runtime, which then has the whole
model with its dimensions dynamic.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...toolchains import registry
from ...toolchains.border import load_kernel, one_line
from ...toolchains.buffers import aligned_empty, buffer_dtype
from ...toolchains.onnx_models.external_package import found_in
from ...toolchains.toolchain import Kernel, outputs_of
from .artifact import Artifact, Profile, check_toolchains, timed
from .fallback import folder_here
from .inputs import as_array, check_mapping
from .manifest import REBUILD, PartitionEntry, damaged
from .shaped_manifest import RangeEntry, ShapedManifest, read_shaped_manifest

MOST_KEPT = 4096
"""Most shapes for which what serves them is kept: the next call of the same shape finds it at once."""
MOST_NAMED = 8
"""Most shapes that an error names."""


class DynamicModel:
    """The model on toolchains that take any shape: as a whole, or in parts that run one after another.

    Kernels are bound anew at each call. Threads that call `run` take turns.

    Args:
        parts: The partitions, each with its kernel, in an order in which they run.

    Attributes:
        targets: The toolchain of each.
    """

    def __init__(self, parts: Sequence[tuple[PartitionEntry, Kernel]], inputs: tuple[Tensor, ...], outputs: Sequence[str]):
        self.targets = tuple(entry.target for entry, _ in parts)
        self._inputs, self._outputs = inputs, outputs
        self._parts = [_DynamicPart(entry, kernel) for entry, kernel in parts]
        self._turn = threading.Lock()

    def run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run one inference, and return new arrays by output name.

        Raises:
            CollageError: the inputs do not fit, or a kernel failed.
        """
        values = self._given(arrays)
        with self._turn:
            for part in self._parts:
                part.bind(values)
                part.run()
                part.add_outputs(values)
            return {name: values[name].copy() for name in self._outputs}

    def bind(self, arrays: Mapping[str, np.ndarray]) -> Callable[[], None]:
        """Return a function that runs one inference on `arrays` at each call. Raises as `run`."""
        given = self._given(arrays)
        if len(self._parts) == 1:
            self._parts[0].bind(given)
            return self._parts[0].run

        def call() -> None:
            values = dict(given)
            for part in self._parts:
                part.bind(values)
                part.run()
                part.add_outputs(values)

        return call

    def _given(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        given = {tensor.name: _fitting(tensor, arrays, self._inputs) for tensor in self._inputs}
        unknown = next((name for name in arrays if name not in given), None)
        if unknown is not None:
            raise CollageError(f"the model has no input {unknown!r}", _described(self._inputs), "bad_inputs")
        return given


class _DynamicPart:
    """A kernel of a `DynamicModel`, with the buffers of those outputs whose shape is always the same."""

    def __init__(self, entry: PartitionEntry, kernel: Kernel):
        self._entry, self._kernel = entry, kernel
        self._made = [None if tensor.type.open_axes else aligned_empty(tensor.type) for tensor in entry.outputs]

    def bind(self, values: Mapping[str, np.ndarray]) -> None:
        """Let the next runs read `values`, by tensor name."""
        try:
            self._kernel.bind([values[tensor.name] for tensor in self._entry.inputs], self._made)  # type: ignore[arg-type]
        except CollageError as error:
            raise CollageError(f"{self._entry.target} cannot take these inputs: {one_line(error)}", "", "toolchain") from error

    def run(self) -> None:
        """Run the kernel once."""
        try:
            self._kernel.run()
        except CollageError as error:
            where = f"partition {self._entry.id}" if self._entry.nodes else "the whole model"
            raise CollageError(f"{self._entry.target} failed on {where}: {one_line(error)}", "", "toolchain") from error

    def add_outputs(self, values: dict[str, np.ndarray]) -> None:
        """Add what the last run made to `values`; it stays as it is until the next run."""
        outputs = outputs_of(self._kernel, self._made)
        values.update({tensor.name: array for tensor, array in zip(self._entry.outputs, outputs, strict=True)})


class ShapedArtifact:
    """Artifacts of one model by the shapes of its inputs, and what runs other shapes. Threads share it, and it is closed, as an `Artifact`.

    Attributes:
        inputs, outputs: Those of the first shape.
        notes: Those of all artifacts, each once.
    """

    def __init__(self, manifest: ShapedManifest, artifacts: list[Artifact], dynamic: list[DynamicModel]):
        self.manifest = manifest
        self._artifacts = artifacts
        self.inputs, self.outputs = artifacts[0].inputs, artifacts[0].outputs
        self.notes = tuple(dict.fromkeys(note for artifact in artifacts for note in artifact.notes))
        self._ranges = list(zip(manifest.ranges, dynamic, strict=False))  # A fallback comes after them.
        self._fallback = None if manifest.fallback is None else dynamic[-1]
        self._names = varying_inputs(manifest)
        self._by_shape: dict[tuple[tuple[int, ...], ...], Artifact | DynamicModel] = {
            tuple(entry.inputs[name] for name in self._names): artifact for entry, artifact in zip(manifest.shapes, artifacts, strict=True)
        }

    @classmethod
    def open(cls, folder: Path, manifest: ShapedManifest, *, other_versions: bool = False) -> ShapedArtifact:
        """Load the artifacts in `folder`. Raises as `Artifact`."""
        manifest.check_files(folder)
        check_toolchains({entry.target: entry.version for entry in manifest.dynamic}, other_versions)
        artifacts = [Artifact(folder / entry.folder, other_versions=other_versions) for entry in manifest.shapes]
        for entry, artifact in zip(manifest.shapes, artifacts, strict=True):
            if {tensor.name: tensor.type.shape for tensor in artifact.inputs} != dict(entry.inputs):
                raise damaged(folder, f"{entry.folder!r} is for other shapes than it says")
        dynamic = [_range(folder, one, manifest.threads) for one in manifest.ranges]
        if manifest.fallback is not None:
            dynamic.append(_whole(folder, manifest.fallback, manifest.threads))
        return cls(manifest, artifacts, dynamic)

    def __enter__(self) -> ShapedArtifact:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the kernels and buffers of all shapes."""
        self._by_shape = {shapes: found for shapes, found in self._by_shape.items() if isinstance(found, Artifact)}
        self._ranges, self._fallback = [], None
        for artifact in self._artifacts:
            artifact.close()

    def serving(self, arrays: Mapping[str, np.ndarray]) -> Artifact | DynamicModel:
        """Return what runs inputs of the shapes of `arrays`.

        Raises:
            CollageError: an input is missing, or no artifact is for these shapes and there is no fallback.
        """
        try:
            return self._by_shape[tuple([arrays[name].shape for name in self._names])]
        except (KeyError, AttributeError, TypeError):
            return self._otherwise(arrays)

    def run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run one inference, and return new arrays by output name. Raises as `Artifact.run` and `serving`."""
        return self.serving(arrays).run(arrays)

    def time(self, arrays: Mapping[str, np.ndarray], repeat: int | None = None) -> list[float]:
        """Return the seconds of some inferences (`Artifact.time`)."""
        return timed(self.bind(arrays), repeat)

    def bind(self, arrays: Mapping[str, np.ndarray]) -> Callable[[], None]:
        """Return a function that runs one inference on `arrays` at each call (`Artifact.bind`)."""
        return self.serving(arrays).bind(arrays)

    def profile(self, arrays: Mapping[str, np.ndarray]) -> Profile:
        """Return how long each partition takes (`Artifact.profile`).

        Raises:
            CollageError: as `serving`; or the shape has no plan, so that there are no partitions.
        """
        artifact = self.serving(arrays)
        if isinstance(artifact, DynamicModel):
            raise CollageError("this shape has no plan of its own, whose partitions could be timed", "give a planned shape", "shape")
        return artifact.profile(arrays)

    def _otherwise(self, arrays: Mapping[str, Any]) -> Artifact | DynamicModel:
        check_mapping(arrays)
        missing = next((name for name in self._names if name not in arrays), None)
        if missing is not None:
            raise CollageError(f"the input {missing!r} is missing", _described(self.inputs), "bad_inputs")
        shapes = tuple(as_array(name, arrays[name]).shape for name in self._names)
        in_range = (model for entry, model in self._ranges if entry.holds(self._names, shapes))
        found = self._by_shape.get(shapes) or next(in_range, self._fallback)
        if found is not None:
            if len(self._by_shape) < MOST_KEPT:
                self._by_shape[shapes] = found
            return found
        given_shapes = ", ".join(f"{name} {list(shape)}" for name, shape in zip(self._names, shapes, strict=True))
        known = [", ".join(f"{name} {list(entry.inputs[name])}" for name in self._names) for entry in self.manifest.shapes]
        known += [", ".join(f"{name} {list(one.first[name])} to {list(one.last[name])}" for name in self._names) for one, _ in self._ranges]
        listed = "; ".join(known[:MOST_NAMED]) + (f"; and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else "")
        hint = f"it was built for {listed} (--other-shapes onnxruntime builds one that takes any)"
        raise CollageError(f"the artifact has no plan for the shapes {given_shapes}", hint, "other_shape")


def open_artifact(folder: str | Path, *, other_versions: bool = False, fallback: bool = False) -> Artifact | ShapedArtifact:
    """Load the artifact in `folder`, of one shape or of several; with `fallback` as `folder_here`. Raises as `Artifact`."""
    here = folder_here(Path(folder))[0] if fallback else Path(folder)
    manifest = read_shaped_manifest(here)
    if manifest is None:
        return Artifact(here, other_versions=other_versions)
    return ShapedArtifact.open(here, manifest, other_versions=other_versions)


def run_dynamic(folder: str, built: RangeEntry | PartitionEntry, threads: int, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run what is built for any shape in `folder`, which need not be an artifact yet: for a range, or the whole model for all shapes."""
    model = _whole(Path(folder), built, threads) if isinstance(built, PartitionEntry) else _range(Path(folder), built, threads)
    return model.run(arrays)


def varying_inputs(manifest: ShapedManifest) -> tuple[str, ...]:
    """Return the inputs that have several shapes; the first one where none has."""
    names = tuple(manifest.shapes[0].inputs)
    return tuple(name for name in names if len({entry.inputs[name] for entry in manifest.shapes}) > 1) or names[:1]


def _whole(folder: Path, entry: PartitionEntry, threads: int) -> DynamicModel:
    kernel = _kernel(folder, entry, threads, is_alone=True)
    return DynamicModel([(entry, kernel)], entry.inputs, [tensor.name for tensor in entry.outputs])


def _range(folder: Path, one: RangeEntry, threads: int) -> DynamicModel:
    parts = [(part, _kernel(folder, part, threads, is_alone=len(one.parts) == 1)) for part in one.parts]
    return DynamicModel(parts, one.inputs, one.outputs)


def _kernel(folder: Path, entry: PartitionEntry, threads: int, is_alone: bool) -> Kernel:
    toolchain = registry.get(entry.target)
    try:
        package = found_in((folder / entry.package).read_bytes(), folder)
        return load_kernel(toolchain, package, entry.inputs, entry.outputs, threads, is_alone=is_alone)
    except OSError as error:
        raise damaged(folder, f"{entry.package!r} cannot be read ({error.strerror})") from error
    except CollageError as error:
        what = f"partition {entry.id}" if entry.nodes else "the whole model"
        raise CollageError(f"{entry.target} cannot load {what}: {error.message}", error.hint or REBUILD, error.code) from error


def _fitting(tensor: Tensor, arrays: Mapping[str, np.ndarray], inputs: tuple[Tensor, ...]) -> np.ndarray:
    """Return the array of an input, which its kernel may read in place."""
    if tensor.name not in arrays:
        raise CollageError(f"the input {tensor.name!r} is missing", _described(inputs), "bad_inputs")
    array, kind = as_array(tensor.name, arrays[tensor.name]), tensor.type
    sizes = [size for axis, size in enumerate(array.shape) if axis not in kind.open_axes]
    wanted = [size for axis, size in enumerate(kind.shape) if axis not in kind.open_axes]
    if array.ndim != len(kind.shape) or sizes != wanted or array.dtype != buffer_dtype(kind.dtype):
        found = f"the input {tensor.name!r} is {array.dtype}{list(array.shape)}, the model takes {kind}"
        raise CollageError(found, _described(inputs), "bad_inputs")
    return np.ascontiguousarray(array)


def _described(inputs: tuple[Tensor, ...]) -> str:
    return "the model's inputs are " + ", ".join(f"{tensor.name}: {tensor.type}" for tensor in inputs)
