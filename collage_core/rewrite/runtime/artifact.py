"""`Artifact`: an exported model that is loaded and run. Needs the toolchains of its partitions, and TVM's runtime where it is a module.

A folder and arrays by input name enter; arrays by output name, or seconds, leave. The folder is never written to. Opening an artifact
loads native code from it: open only those that you trust.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ...base.bursts import burst
from ...errors import CollageError
from ...toolchains import registry
from ...toolchains.abilities import CallsLibraries, DeviceTensors, OwnFiles, location_of
from ...toolchains.border import availability_of, load_kernel, one_line, uncancelled
from ...toolchains.device_tensors import HOST_LOCATION, Copy, DeviceMemory
from ...toolchains.onnx_models.external_package import found_in
from ...toolchains.toolchain import Kernel, ToolchainError
from .arrays_file import read_stored
from .calls import Calls
from .control_entry import CONSTANTS, ControlEntry
from .host_control import HostBody, HostControl
from .machine import Machine
from .manifest import FALLBACK, LIBRARY, MODULE, NAME, REBUILD, Manifest, PartitionEntry, damaged, read_manifest
from .module_calls import ModuleCalls
from .packed import PackedPartition, make_packed
from .piece_calls import PieceCalls, device_of
from .requirements import pip_command, released

LONGEST_TIMING_S = 1.0
"""Approximate duration of `Artifact.profile` in seconds."""


@dataclass(frozen=True)
class Profile:
    """Times inside an inference.

    Attributes:
        whole_s: Seconds of one inference.
        partitions: Seconds of each partition in it, by its id; those that are functions of the module itself are in the rest.
        rest_s: What is left: calls, functions of the module, copies that it makes.
        functions: Seconds of that between two kernels, by the ids of the functions of the module that are called there.
    """

    whole_s: float
    partitions: Mapping[str, float]
    rest_s: float
    functions: Mapping[tuple[str, ...], float] = field(default_factory=dict)

    def of(self, whole_s: float) -> Profile:
        """Return the same shares of an inference of `whole_s` seconds: a profile is of few inferences, at another moment."""
        share = whole_s / self.whole_s if self.whole_s > 0 else 1.0
        functions = {ids: seconds * share for ids, seconds in self.functions.items()}
        return Profile(whole_s, {id: seconds * share for id, seconds in self.partitions.items()}, self.rest_s * share, functions)


class Artifact:
    """A model that is ready to run in this process. Close it when it is done with, or use it in a ``with`` statement.

    `run` may be called by several threads: they take turns, since every run has the same buffers and all threads of its toolchains. What
    works on these buffers (`buffers`, `call`, `bind`, `time`, `profile`) is for one thread at a time.

    Args:
        folder: The folder that `collage partition --out` or `collage apply` wrote.
        other_versions: Open it although a toolchain has another version than the one that built it; `notes` then says so.
        is_body: It is a body of another artifact, whose kernels run beside its own.

    Attributes:
        inputs, outputs: Those of the model, in order.
        notes: Messages for the user, such as that a toolchain has another version now.

    Raises:
        CollageError: the folder is no artifact, damaged, of another schema or machine, or needs a toolchain that is not usable or has
            another version.
    """

    def __init__(self, folder: str | Path, *, other_versions: bool = False, is_body: bool = False):
        self.folder = folder = Path(folder)
        self.manifest = manifest = read_manifest(folder)
        manifest.check_files(folder)
        self.inputs = manifest.inputs
        self.outputs = manifest.outputs
        self.notes = (*_check_machine(folder, manifest), *_check_toolchains(folder, manifest, other_versions))
        _name_libraries(manifest)
        try:
            self._calls: Calls | None = _opened(folder, manifest, other_versions, is_body)
        except ImportError as error:
            package = (error.name or "of a toolchain").partition(".")[0]
            said = f"the artifact {str(folder)!r} needs the package {package}, which is not installed"
            raise CollageError(said, f"pip install {package.replace('_', '-')}", "unavailable_target") from error
        except MemoryError as error:
            said = f"the artifact {str(folder)!r} needs more memory than this machine has free: {one_line(error)}"
            raise CollageError(said, "end other programs, or run it on a machine with more memory", "no_memory") from error
        self._turn = threading.RLock()
        self._prepared = threading.local()
        self._prepared.is_done = True

    @classmethod
    def open(cls, folder: str | Path, *, other_versions: bool = False) -> Artifact:
        """Load the artifact in `folder`, as the constructor does."""
        return cls(folder, other_versions=other_versions)

    def __enter__(self) -> Artifact:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release its kernels and buffers, once a run in progress has ended; nothing can be run afterwards."""
        with self._turn:
            self._calls = None

    @property
    def calls(self) -> Calls:
        """Return what calls its kernels.

        Raises:
            CollageError: the artifact is closed.
        """
        if self._calls is None:
            raise CollageError(f"the artifact {str(self.folder)!r} is closed", "open it again with Artifact(folder)", "closed")
        return self._calls

    @property
    def buffers(self) -> dict[str, np.ndarray]:
        """The memory that `call` reads, by input name: write into these arrays what the next call should compute on."""
        return self.calls.inputs.memory

    def call(self) -> dict[str, np.ndarray]:
        """Run one inference on what is in `buffers`; return arrays over the artifact's own memory, which the next run overwrites.

        Raises:
            CollageError: a partition failed, or the artifact is closed.
        """
        calls = self.calls
        with self._turn:
            self._prepare_thread()
            calls.call()
            return calls.made()

    def run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run one inference, and return new arrays by output name.

        Raises:
            CollageError: the inputs do not fit, a partition failed, or the artifact is closed.
        """
        with self._turn:
            calls = self.calls
            self._prepare_thread()
            calls.inputs.fill(arrays)
            calls.call()
            return calls.outputs()

    def _prepare_thread(self) -> None:
        """Let TVM's kernels use as many threads as the artifact was built for in this thread too, which has a pool of its own."""
        if not getattr(self._prepared, "is_done", False):
            if self.manifest.form == MODULE:
                from ...toolchains.tvm.tvm import use_threads

                use_threads(self.manifest.threads)
            self._prepared.is_done = True

    def time(self, arrays: Mapping[str, np.ndarray], repeat: int | None = None) -> list[float]:
        """Return the seconds of each of `repeat` inferences, with nothing copied in or out.

        Args:
            repeat: None for those of a burst of 0.1 s (`base.bursts`).
        """
        return timed(self.bind(arrays), repeat)

    def profile(self, arrays: Mapping[str, np.ndarray]) -> Profile:
        """Return how long each partition takes inside the whole: medians over as many inferences as fit into `LONGEST_TIMING_S`."""
        call = self.bind(arrays)
        call()
        begin = time.perf_counter()
        call()
        one_s = max(time.perf_counter() - begin, 1e-9)
        steps = self.calls.profile(max(5, min(100, round(LONGEST_TIMING_S / one_s))))
        ids = [entry.id for entry in self.manifest.called]
        return Profile(
            median(step.whole_s for step in steps),
            {id: median(step.seconds(id) for step in steps) for id in ids},
            median(step.whole_s - sum(step.seconds(id) for id in ids) for step in steps),
            {group: median(step.gap_s(*ends) for step in steps) for group, ends in function_groups(self.manifest.partitions).items()},
        )

    def bind(self, arrays: Mapping[str, np.ndarray]) -> Callable[[], None]:
        """Return a function that runs one inference on `arrays` at each call, with nothing copied in or out. Raises as `run`."""
        with self._turn:
            self._prepare_thread()
            self.calls.inputs.fill(arrays)
            return self.calls.bound()


def function_groups(partitions: Sequence[PartitionEntry]) -> dict[tuple[str, ...], tuple[str | None, str | None]]:
    """Return the ids of functions of the module that run in a row → the kernels before and after them; None for an end of the inference.

    The module calls its partitions in the order of the manifest.
    """
    groups: dict[tuple[str, ...], tuple[str | None, str | None]] = {}
    row: list[str] = []
    before: str | None = None
    for entry in partitions:
        if entry.function:
            row.append(entry.id)
        elif entry.symbol:
            if row:
                groups[tuple(row)] = before, entry.id
            row, before = [], entry.id
    if row:
        groups[tuple(row)] = before, None
    return groups


def timed(call: Callable[[], None], repeat: int | None) -> list[float]:
    """Return the seconds of each of `repeat` calls, as `Artifact.time` does."""
    return burst(call) if repeat is None else burst(call, 0.0, fewest=repeat)


def _check_machine(folder: Path, manifest: Manifest) -> tuple[str, ...]:
    """Check that this machine can run all that is loaded, and return a note where it only was measured on another one."""
    lacking = Machine.here().lacks(manifest.machine)
    if lacking and manifest.is_portable:
        return (f"its plan was measured on {lacking}: here another one may be faster",)
    if lacking:
        raise CollageError(f"the artifact {str(folder)!r} was built for {lacking}, which this machine is not", REBUILD, "machine")
    return ()


def _check_toolchains(folder: Path, manifest: Manifest, other_versions: bool) -> tuple[str, ...]:
    needed = {entry.target: entry.version for entry in manifest.partitions if entry.version}
    try:
        return check_toolchains({"tvm": manifest.tvm} | needed if manifest.form == MODULE else needed, other_versions)
    except CollageError as error:
        if (folder / FALLBACK / NAME).is_file():
            error.hint = f"{error.hint}, or run its plan for the host with --fallback"
        raise


def check_toolchains(needed: Mapping[str, str], other_versions: bool) -> tuple[str, ...]:
    """Check that every needed toolchain is usable and has the version that it was built with.

    Args:
        needed: Its name → that version.
        other_versions: Return notes on those that have another version, in place of an error.

    Raises:
        CollageError: one is not usable, or has another version.
    """
    notes, commands = [], list[str]()
    for name, built_with in needed.items():
        availability = availability_of(registry.get(name))
        command = pip_command(registry.get(name), built_with)
        if not availability.usable:
            hint = availability.hint if availability.version or not command else command
            raise CollageError(f"the artifact needs {name}, which is not usable here: {availability.reason}", hint, "unavailable_target")
        if availability.version != built_with:
            notes.append(f"built with {name} {built_with}, run with {availability.version}")
            # Where the library is the same, this program has changed: nothing that pip installs brings the former kernels back.
            if command and released(availability.version) != released(built_with):
                commands.append(command)
    if notes and not other_versions:
        hint = ", or ".join([*([" && ".join(commands)] if commands else []), REBUILD, "try it all the same with --other-versions"])
        raise CollageError(f"the artifact was {'; '.join(notes)}", hint, "other_version")
    return tuple(notes)


def _name_libraries(manifest: Manifest) -> None:
    """Let the functions of the module that call libraries find those of this installation; what the user names stays."""
    for target in {entry.target for entry in manifest.partitions if entry.function}:
        toolchain = registry.get(target)
        for variable, file in toolchain.environment().items() if isinstance(toolchain, CallsLibraries) else ():
            os.environ.setdefault(variable, file)


def _opened(folder: Path, manifest: Manifest, other_versions: bool, is_body: bool) -> Calls:
    """Load the kernels, and return what calls them."""
    is_alone = not is_body and sum(bool(other.symbol or other.function) for other in manifest.partitions) == 1
    memories = _memories(folder, manifest)
    kernels = [
        Copy(memories[device_of(entry)])
        if entry.copied_from is not None
        else _loaded(folder, entry, manifest.threads, is_alone, other_versions)
        for entry in manifest.called
    ]
    if manifest.form == MODULE:
        partitions = [make_packed(entry, kernel) for entry, kernel in zip(manifest.called, kernels, strict=True)]
        return ModuleCalls(manifest, _linked(folder, partitions, manifest.threads), partitions)
    try:
        values = read_stored(folder / CONSTANTS, manifest.constants) if manifest.constants else []
        constants = dict(zip((tensor.name for tensor in manifest.constants), values, strict=True))
        return PieceCalls(manifest, kernels, constants, memories)
    except (KeyError, RecursionError) as error:
        raise damaged(folder, f"{NAME!r} names a tensor that nothing makes ({one_line(error)})") from error


def _memories(folder: Path, manifest: Manifest) -> dict[str, DeviceMemory]:
    """Return the memory of each location but the host's, of a toolchain that computes there."""
    memories = {}
    for entry in manifest.called:
        if entry.location != HOST_LOCATION and entry.copied_from is None and entry.location not in memories:
            toolchain = registry.get(entry.target)
            if location_of(toolchain) != entry.location or not isinstance(toolchain, DeviceTensors):
                raise damaged(folder, f"{NAME!r} says that {entry.target} computes at {entry.location!r}")
            memories[entry.location] = toolchain.memory()
    unknown = next((entry for entry in manifest.called if entry.copied_from is not None and device_of(entry) not in memories), None)
    if unknown is not None:
        raise damaged(folder, f"{NAME!r} copies {unknown.id!r} where no partition computes")
    return memories


def _loaded(folder: Path, entry: PartitionEntry, threads: int, is_alone: bool, other_versions: bool) -> Kernel:
    if entry.control is not None:
        return _host_control(folder, entry, entry.control, other_versions)
    toolchain = registry.get(entry.target)
    try:
        if entry.settings is not None:
            if not isinstance(toolchain, OwnFiles):
                raise ToolchainError("build", f"{entry.target} has no files of its own")
            with uncancelled():
                return toolchain.open_native((folder / entry.package).resolve(), entry.inputs, entry.outputs, entry.settings)
        package = found_in((folder / entry.package).read_bytes(), folder)
        if entry.location != HOST_LOCATION and isinstance(toolchain, DeviceTensors):
            with uncancelled():
                return toolchain.load_at_device(package, entry.inputs, entry.outputs, threads)
        return load_kernel(toolchain, package, entry.inputs, entry.outputs, threads, is_alone=is_alone)
    except OSError as error:
        raise damaged(folder, f"{entry.package!r} cannot be read ({error.strerror})") from error
    except CollageError as error:
        raise CollageError(
            f"{entry.target} cannot load partition {entry.id}: {error.message}", error.hint or REBUILD, error.code
        ) from error


def _host_control(folder: Path, entry: PartitionEntry, control: ControlEntry, other_versions: bool) -> HostControl:
    """Return the kernel of a partition that the host runs, with the artifacts of its bodies opened."""
    try:
        values = iter(read_stored(folder / control.folder / CONSTANTS, control.constants) if control.constants else ())
    except CollageError as error:
        raise damaged(folder, f"{control.folder}/{CONSTANTS} cannot be read ({error.message})") from error
    below = folder / control.folder
    opened = {name: Artifact(below / name, other_versions=other_versions, is_body=True).calls for name in control.computed}
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

    from ...toolchains.tvm.tvm import entry, use_threads

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
