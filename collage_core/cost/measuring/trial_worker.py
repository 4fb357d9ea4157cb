"""The worker's side of a trial: build a sub-model, run and check it, time it. There is one trial at a time, kept between the calls.

All of it runs in a process of its own that may crash or hang at any line. Arrays come as files, so that nothing large is sent.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...graph.dataflow_graph import Tensor
from ...graph.value_policy import FINITE
from ...model.model import SubModel
from ...model.reference.accuracy import has_other_type, is_float, output_errors, relative_error, worst_element
from ...model.row_sets import RowSet
from ...toolchains.abilities import check_boundary, layout_of
from ...toolchains.blocked_layout import is_blocked, to_blocked, to_plain
from ...toolchains.border import load_kernel
from ...toolchains.buffers import aligned_empty, buffer_dtype
from ...toolchains.built_packages import BuiltPackages, package_of
from ...toolchains.toolchain import AllocatingKernel, Kernel, Toolchain, outputs_of
from .core_latency import CoreLatencyProbe
from .noise_filter import Speed
from .sampling import NoiseSigns
from .timing import Samples, TimedSeries, TimingLimits, time_runs

GetToolchain = Callable[[str], Toolchain]
_MAP_FROM_BYTES = 1 << 20
_CACHE_LINE = 64


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """A tensor whose values lie in a ``.npy`` file.

    Attributes:
        rows: How it is compared where its length depends on values.
        noise: By how much it may differ by rounding alone; an error is what goes beyond that.
        step: The error of a difference by one, in integers that were rounded from floats; 0 where each element that differs counts.
    """

    tensor: Tensor
    path: Path
    rows: RowSet | None = None
    noise: float = 0.0
    step: float = 0.0

    def read(self) -> Any:
        """Return the values, mapped where they are large; never write to them. An opaque value is a pickle, of this program's own."""
        if self.tensor.type.is_opaque:
            return np.load(self.path, allow_pickle=True).item()
        mapped = self.path.stat().st_size >= _MAP_FROM_BYTES
        array = np.load(self.path, mmap_mode="r" if mapped else None)
        return array.view(buffer_dtype(self.tensor.type.dtype)).reshape(self.tensor.type.shape)


@dataclass(frozen=True, slots=True)
class CheckSet:
    """The tensors at the ends of a sub-model on one of the inputs of the whole model that it is checked on (`InputSet.name`)."""

    name: str
    given: Sequence[ArrayFile]
    wanted: Sequence[ArrayFile]


@dataclass(frozen=True, slots=True)
class Check:
    """One run, compared with the reference.

    Attributes:
        seconds: Of the run.
        error: Largest relative error over the outputs; may be infinite.
        worst: Name of the output that has it.
        element: Which of its elements errs most, and by what, where the error is over the accuracy (`worst_element`).
        overwritten: Name of an input that is not what it was, or empty.
        has_other_type: Whether the worst output has another shape or dtype than the reference.
    """

    seconds: float
    error: float
    worst: str
    overwritten: str
    element: str = ""
    has_other_type: bool = False


@dataclass(frozen=True, slots=True)
class Timed:
    """The result of timing, and a check of the outputs that the last timed run wrote."""

    samples: Samples
    check: Check


@dataclass
class _Trial:
    """The kernel under trial and its buffers, in the `layout` of its target; None for an output that the kernel allocates."""

    kernel: Kernel
    threads: int
    layout: str = ""
    given: list[ArrayFile] = field(default_factory=list)
    wanted: list[ArrayFile] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[np.ndarray | None] = field(default_factory=list)
    accuracy: float = 0.0
    value_policy: str = FINITE

    def run_checked(self) -> Check:
        """Run once, into buffers that hold other values before: so an element that the kernel does not write is found."""
        for array, file in zip(self.outputs, self.wanted, strict=True):
            if array is not None:
                _spoil(array, file)
        start = time.perf_counter()
        self.kernel.run()
        return self.check(time.perf_counter() - start)

    def values(self) -> dict[str, Any]:
        """Return what the last run made, by the names of the tensors."""
        made = outputs_of(self.kernel, self.outputs)
        return {
            file.tensor.name: to_plain(array) if self.holds_blocked(file) else array for file, array in zip(self.wanted, made, strict=True)
        }

    def check(self, seconds: float) -> Check:
        """Compare the outputs, and the inputs with what they were; `seconds` are those of the run."""
        got = self.values()
        wanted = {file.tensor.name: file.read() for file in self.wanted}
        rows = {file.tensor.name: file.rows for file in self.wanted if file.rows is not None}
        steps = {file.tensor.name: file.step for file in self.wanted if file.step}
        errors = output_errors(got, wanted, rows, self.value_policy, steps)
        errors = {file.tensor.name: max(errors[file.tensor.name] - file.noise, 0.0) for file in self.wanted}
        worst = max(errors, key=errors.__getitem__, default="")
        element = worst_element(got[worst], wanted[worst], self.value_policy) if errors.get(worst, 0.0) > self.accuracy else ""
        changed = (
            file.tensor.name for file, array in zip(self.given, self.inputs, strict=True) if not _same_bytes(array, self.given_values(file))
        )
        is_other = worst != "" and has_other_type(got[worst], wanted[worst])
        return Check(seconds, errors.get(worst, 0.0), worst, next(changed, ""), element, is_other)

    def holds_blocked(self, file: ArrayFile) -> bool:
        return self.layout != "" and is_blocked(file.tensor.type)

    def given_values(self, file: ArrayFile) -> Any:
        """Return the values of an input in the layout in which the kernel reads it."""
        return to_blocked(file.read()) if self.holds_blocked(file) else file.read()


_trial: _Trial | None = None
_latency_probe = CoreLatencyProbe()


def warm_up(get_toolchain: GetToolchain, target: str) -> None:
    """Import this module and the toolchain's, so that no trial pays for that."""
    get_toolchain(target)


def build(get_toolchain: GetToolchain, target: str, model: SubModel, threads: int, packages: BuiltPackages | None = None) -> None:
    """Build and load `model`; it is not built where it is among `packages`.

    Raises:
        ToolchainError: in the toolchain's own words.
    """
    release()
    toolchain = get_toolchain(target)
    check_boundary(toolchain, model)
    package = package_of(toolchain, model, threads, packages)
    global _trial
    kernel = load_kernel(toolchain, package, model.inputs, model.outputs, threads)
    _trial = _Trial(kernel, threads, layout_of(toolchain))


def check(given: Sequence[ArrayFile], wanted: Sequence[ArrayFile], accuracy: float, value_policy: str = FINITE) -> Check:
    """Run once on the activations that really arrive, and compare; `accuracy` is a largest relative error (`output_errors`)."""
    trial = _current()
    trial.given, trial.wanted, trial.accuracy, trial.value_policy = list(given), list(wanted), accuracy, value_policy
    trial.inputs = [_aligned(file.tensor, trial.given_values(file)) for file in given]
    trial.outputs = [aligned_empty(file.tensor.type) if file.tensor.type.has_buffer else None for file in wanted]
    cast(AllocatingKernel, trial.kernel).bind(list(trial.inputs), list(trial.outputs))
    return trial.run_checked()


def values_on(stored: Sequence[ArrayFile], wanted: Sequence[ArrayFile]) -> dict[str, Any]:
    """Run once on activations that really arrive, and return the values of the outputs, by the names of the tensors."""
    check(stored, wanted, math.inf)
    return _current().values()


def check_also(given: Sequence[ArrayFile], wanted: Sequence[ArrayFile]) -> Check:
    """Run once on other activations, and compare as `check` did; then the buffers of before are bound again."""
    trial = _current()
    before = trial.given, trial.wanted, trial.inputs, trial.outputs
    found = check(given, wanted, trial.accuracy, trial.value_policy)
    trial.given, trial.wanted, trial.inputs, trial.outputs = before
    cast(AllocatingKernel, trial.kernel).bind(list(trial.inputs), list(trial.outputs))
    return found


def sample(limits: TimingLimits, budget_s: float | None, enough_s: float | None, flushed_bytes: int, known: Speed) -> Timed:
    """Time the kernel that was checked, check what it computed meanwhile, and release it.

    The outputs of the last timed run are checked, and those of one more run: a kernel that is right in every other run, or that
    left in its buffers what it found there, is wrong in one of the two.

    Args:
        budget_s, enough_s, known: As `time_runs` takes them.
        flushed_bytes: How much the rest of the model reads and writes between two runs of this kernel: so much is read before each
            sample. 0 where the whole model stays in the cache: then runs follow each other.
    """
    trial = _current()
    samples = sample_kernel(limits, budget_s, enough_s, flushed_bytes, known, noise_signs()).result()
    found = trial.check(samples.seconds[-1])
    if not samples.stopped_early:
        found = max(found, trial.run_checked(), key=lambda check: check.error)
    release()
    return Timed(samples, found)


def noise_signs() -> NoiseSigns:
    """Return the signs of noise for the kernel that was checked: the core-to-core latency matters to several threads."""
    return NoiseSigns(core_latency_s=_latency_probe.round_trip_s if _current().threads > 1 else None)


def sample_kernel(
    limits: TimingLimits, budget_s: float | None, enough_s: float | None, flushed_bytes: int, known: Speed, signs: NoiseSigns
) -> TimedSeries:
    """Time the kernel that was checked, as `sample` does, and return all samples."""
    trial = _current()
    before_sample = _flush(trial, flushed_bytes) if flushed_bytes else None
    run = getattr(trial.kernel, "run_at_device", trial.kernel.run)  # what copies cost is a cost of their own
    return time_runs(run, limits, budget_s, enough_s=enough_s, before_sample=before_sample, known=known, signs=signs)


def _flush(trial: _Trial, flushed_bytes: int) -> Callable[[], None]:
    """Return a function that leaves the caches as the kernel meets them in the model: its weights cold, its inputs just written."""
    flushed = np.ones(flushed_bytes // 8)
    plain = [array for file, array in zip(trial.given, trial.inputs, strict=True) if not file.tensor.type.is_opaque]
    lines = [array.reshape(-1).view(np.uint8)[::_CACHE_LINE] for array in plain]

    def flush() -> None:
        flushed.sum()
        for line in lines:
            line.max(initial=0)

    return flush


def release() -> None:
    """Release the kernel and its buffers."""
    global _trial
    _trial = None
    gc.collect()


def _current() -> _Trial:
    if _trial is None:
        raise RuntimeError("no kernel was built in this process")
    return _trial


def _aligned(tensor: Tensor, values: Any) -> Any:
    if tensor.type.is_opaque:
        return values
    array = aligned_empty(tensor.type)
    array[...] = values
    return array


def _spoil(array: np.ndarray, file: ArrayFile) -> None:
    """Fill the buffer of an output with wrong values."""
    if is_float(array.dtype):
        array.fill(np.nan)
    elif array.dtype.kind == "b":
        np.logical_not(file.read(), out=array)
    else:
        array.reshape(-1).view(np.uint8)[...] = 0xA5


def _same_bytes(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or one.dtype.kind == "O":
        return not relative_error(one, other) > 0
    return np.array_equal(one.reshape(-1).view(np.uint8), np.ascontiguousarray(other).reshape(-1).view(np.uint8))
