"""`Artifact`: an exported model that is loaded and run. Needs TVM's runtime and the toolchains of its partitions.

A folder and arrays by input name enter; arrays by output name, or seconds, leave. The folder is never written to. Opening an artifact
loads native code from it: open only those that you trust.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ...errors import CollageError
from ...toolchains import registry
from ...toolchains.base import Kernel
from ...toolchains.external_package import found_in
from ...toolchains.reasons import one_line
from .arrays_file import read_stored
from .control_entry import CONSTANTS, ControlEntry
from .host_control import HostBody, HostControl
from .machine import Machine
from .manifest import LIBRARY, NAME, REBUILD, Manifest, PartitionEntry, damaged, read_manifest
from .module_calls import ModuleCalls
from .packed import PackedPartition, make_packed

WARM_UP = 3
"""Number of inferences before those that `Artifact.time` times."""

LONGEST_TIMING_S = 1.0
"""Seconds after which `Artifact.time` ends, once it has its least number of samples."""


@dataclass(frozen=True)
class Profile:
    """Times inside an inference.

    Attributes:
        whole_s: Seconds of one inference.
        partitions: Seconds of each partition in it, by its id; those that are functions of the module itself are in the rest.
        rest_s: What is left: calls, functions of the module, copies that it makes.
    """

    whole_s: float
    partitions: Mapping[str, float]
    rest_s: float

    def of(self, whole_s: float) -> Profile:
        """Return the same shares of an inference of `whole_s` seconds: a profile is of few inferences, at another moment."""
        share = whole_s / self.whole_s if self.whole_s > 0 else 1.0
        return Profile(whole_s, {id: seconds * share for id, seconds in self.partitions.items()}, self.rest_s * share)


class Artifact:
    """A model that is ready to run in this process, by one thread at a time.

    Attributes:
        inputs, outputs: Those of the model, in order.
        calls: Calls its module.
        notes: Messages for the user, such as that a toolchain has another version now.
    """

    def __init__(self, folder: Path, manifest: Manifest, calls: ModuleCalls, notes: tuple[str, ...]):
        self.folder = folder
        self.manifest = manifest
        self.inputs = manifest.inputs
        self.outputs = manifest.outputs
        self.notes = notes
        self.calls = calls

    @classmethod
    def open(cls, folder: str | Path, *, is_body: bool = False) -> Artifact:
        """Load the artifact in `folder`.

        Args:
            is_body: It is a body of another artifact, whose kernels run beside its own.

        Raises:
            CollageError: the folder is no artifact, damaged, of another schema or machine, or needs a toolchain that is not usable.
        """
        folder = Path(folder)
        manifest = read_manifest(folder)
        manifest.check_files(folder)
        lacking = Machine.here().lacks(manifest.machine)
        if lacking:
            raise CollageError(f"the artifact {str(folder)!r} was built for {lacking}, which this machine is not", REBUILD, "machine")
        notes = _check_toolchains(manifest)
        _name_libraries(manifest)
        is_alone = not is_body and sum(bool(other.symbol or other.function) for other in manifest.partitions) == 1
        called = [entry for entry in manifest.partitions if entry.symbol]
        partitions = [make_packed(entry, _loaded(folder, entry, manifest.threads, is_alone)) for entry in called]
        return cls(folder, manifest, ModuleCalls(manifest, _linked(folder, partitions, manifest.threads), partitions), notes)

    def run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run one inference, and return new arrays by output name.

        Raises:
            CollageError: the inputs do not fit, or a partition failed.
        """
        self.calls.inputs.fill(arrays)
        self.calls.call()
        return self.calls.outputs()

    def time(self, arrays: Mapping[str, np.ndarray], repeat: int | None = None) -> list[float]:
        """Return the seconds of each of `repeat` inferences, with nothing copied in or out.

        Args:
            repeat: None for as many as fit into `LONGEST_TIMING_S`, from 5 to 100.
        """
        return timed(self.bind(arrays), repeat)

    def profile(self, arrays: Mapping[str, np.ndarray]) -> Profile:
        """Return how long each partition takes inside the whole: medians over as many inferences as fit into `LONGEST_TIMING_S`."""
        call = self.bind(arrays)
        call()
        begin = time.perf_counter()
        call()
        one_s = max(time.perf_counter() - begin, 1e-9)
        found = self.calls.profile(max(5, min(100, round(LONGEST_TIMING_S / one_s))))
        ids = [entry.id for entry in self.manifest.partitions if entry.symbol]
        partitions = {id: median(parts[id] for _, parts in found) for id in ids}
        return Profile(
            median(whole_s for whole_s, _ in found), partitions, median(whole_s - sum(parts.values()) for whole_s, parts in found)
        )

    def bind(self, arrays: Mapping[str, np.ndarray]) -> Callable[[], None]:
        """Return a function that runs one inference on `arrays` at each call, with nothing copied in or out. Raises as `run`."""
        self.calls.inputs.fill(arrays)
        return self.calls.bound()


def timed(call: Callable[[], None], repeat: int | None) -> list[float]:
    """Return the seconds of each of `repeat` calls, as `Artifact.time` does."""
    for _ in range(WARM_UP):
        call()
    samples: list[float] = []
    while len(samples) < (repeat or 100):
        begin = time.perf_counter()
        call()
        samples.append(time.perf_counter() - begin)
        if repeat is None and len(samples) >= 5 and sum(samples) > LONGEST_TIMING_S:
            break
    return samples


def _check_toolchains(manifest: Manifest) -> tuple[str, ...]:
    """Check that every needed toolchain is usable, and return notes on those that have another version now."""
    notes = []
    needed = {"tvm": manifest.tvm} | {entry.target: entry.version for entry in manifest.partitions if entry.version}
    for name, built_with in needed.items():
        found = registry.get(name).availability()
        if not found.usable:
            raise CollageError(f"the artifact needs {name}, which is not usable here: {found.reason}", found.hint, "unavailable_target")
        if found.version != built_with:
            notes.append(f"built with {name} {built_with}, run with {found.version}")
    return tuple(notes)


def _name_libraries(manifest: Manifest) -> None:
    """Let the functions of the module that call libraries find those of this installation; what the user names stays."""
    for target in {entry.target for entry in manifest.partitions if entry.function}:
        for variable, file in registry.get(target).environment().items():
            os.environ.setdefault(variable, file)


def _loaded(folder: Path, entry: PartitionEntry, threads: int, is_alone: bool) -> Kernel:
    if entry.control is not None:
        return _host_control(folder, entry, entry.control)
    toolchain = registry.get(entry.target)
    try:
        package = found_in((folder / entry.package).read_bytes(), folder)
        return (toolchain.load_alone if is_alone else toolchain.load)(package, entry.inputs, entry.outputs, threads)
    except OSError as error:
        raise damaged(folder, f"{entry.package!r} cannot be read ({error.strerror})") from error
    except CollageError as error:
        raise CollageError(
            f"{entry.target} cannot load partition {entry.id}: {error.message}", error.hint or REBUILD, error.code
        ) from error


def _host_control(folder: Path, entry: PartitionEntry, control: ControlEntry) -> HostControl:
    """Return the kernel of a partition that the host runs, with the artifacts of its bodies opened."""
    try:
        values = iter(read_stored(folder / control.folder / CONSTANTS, control.constants) if control.constants else ())
    except CollageError as error:
        raise damaged(folder, f"{control.folder}/{CONSTANTS} cannot be read ({error.message})") from error
    opened = {attribute: Artifact.open(folder / control.folder / attribute, is_body=True).calls for attribute in control.computed}
    node_constants = {tensor.name: next(values) for tensor in control.node_constants}
    body_constants = {name: {tensor.name: next(values) for tensor in tensors} for name, tensors in control.body_constants.items()}
    try:
        bodies = {name: HostBody(control.flow, name, opened.get(name), body_constants.get(name, {})) for name in control.flow.bodies}
        return HostControl(entry, control, bodies, node_constants)
    except (KeyError, ValueError, IndexError) as error:
        raise damaged(folder, f"{NAME!r} garbles the bodies of partition {entry.id} ({error})") from error


def _linked(folder: Path, partitions: list[PackedPartition], threads: int) -> tuple[Any, tuple[Any, ...]]:
    """Return the module's entry, whose calls are bound to `partitions`.

    The virtual machine looks functions up by name when it is created and keeps them; afterwards the names are removed again.
    """
    from tvm_ffi.registry import register_global_func, remove_global_func

    from ...toolchains.tvm import entry, use_threads

    use_threads(threads)
    for partition in partitions:
        register_global_func(partition.entry.symbol, partition, override=True)
    try:
        return entry((folder / LIBRARY).read_bytes())
    except Exception as error:
        raise CollageError(f"TVM cannot load {str(folder / LIBRARY)!r}: {one_line(error)}", REBUILD, "damaged") from error
    finally:
        for partition in partitions:
            remove_global_func(partition.entry.symbol)
