"""The worker's side of a trial: build a sub-model, run and check it, time it. One trial at a time, kept between the calls.

Runs in a process of its own that may crash or hang at any line. Arrays come as files, so that nothing large is sent.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...graph.dataflow_graph import Tensor
from ...model.accuracy import is_float, output_errors, worst_element
from ...model.base import SubModel
from ...toolchains.base import Kernel, Toolchain, ToolchainError
from ...toolchains.buffers import aligned_empty, buffer_dtype
from .core_latency import CoreLatencyProbe
from .noise_filter import Speed
from .timing import Samples, TimingLimits, time_runs

GetToolchain = Callable[[str], Toolchain]
_MAP_FROM_BYTES = 1 << 20
_CACHE_LINE = 64
_KEPT_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """A tensor whose values lie in a ``.npy`` file."""

    tensor: Tensor
    path: Path

    def read(self) -> np.ndarray:
        """The values, mapped where they are large; never to be written to."""
        mapped = self.path.stat().st_size >= _MAP_FROM_BYTES
        array = np.load(self.path, mmap_mode="r" if mapped else None)
        return array.view(buffer_dtype(self.tensor.type.dtype)).reshape(self.tensor.type.shape)


@dataclass(frozen=True, slots=True)
class Check:
    """What one run gave.

    Attributes:
        seconds: Of the run.
        error: Largest relative error over the outputs; may be infinite.
        worst: Name of the output that has it.
        element: Which of its elements errs most, and by what, where the error is over the accuracy (`worst_element`).
        overwritten: Name of an input that is not what it was, or empty.
    """

    seconds: float
    error: float
    worst: str
    overwritten: str
    element: str = ""


@dataclass(frozen=True, slots=True)
class Timed:
    """What timing came to, and a check of what the last timed run left behind."""

    samples: Samples
    check: Check


@dataclass
class _Trial:
    """The kernel under trial and its buffers."""

    kernel: Kernel
    threads: int
    given: list[ArrayFile] = field(default_factory=list)
    wanted: list[ArrayFile] = field(default_factory=list)
    inputs: list[np.ndarray] = field(default_factory=list)
    outputs: list[np.ndarray] = field(default_factory=list)
    accuracy: float = 0.0

    def run_checked(self) -> Check:
        """Run once, into buffers that hold something else before: what the kernel leaves out is found."""
        for array, file in zip(self.outputs, self.wanted, strict=True):
            _spoil(array, file)
        start = time.perf_counter()
        self.kernel.run()
        return self.check(time.perf_counter() - start)

    def check(self, seconds: float) -> Check:
        names = [file.tensor.name for file in self.wanted]
        got = dict(zip(names, self.outputs, strict=True))
        wanted = {file.tensor.name: file.read() for file in self.wanted}
        errors = output_errors(got, wanted)
        worst = max(errors, key=errors.__getitem__, default="")
        element = worst_element(got[worst], wanted[worst]) if errors.get(worst, 0.0) > self.accuracy else ""
        changed = (file.tensor.name for file, array in zip(self.given, self.inputs, strict=True) if not _same_bytes(array, file.read()))
        return Check(seconds, errors.get(worst, 0.0), worst, next(changed, ""), element)


class _Packages:
    """What was built of late, so that a further repetition need not build again."""

    def __init__(self) -> None:
        self._packages: OrderedDict[tuple[str, bytes, int], bytes] = OrderedDict()

    def built(self, toolchain: Toolchain, target: str, model: SubModel, threads: int) -> bytes:
        """The package of `model`, kept until there are newer ones of `_KEPT_BYTES`. Raises as `build`."""
        key = target, hashlib.blake2b(model.onnx).digest(), threads
        if key not in self._packages:
            package = toolchain.build(model, threads)
            if not isinstance(package, bytes):
                raise ToolchainError("build", f"it gave a {type(package).__name__} as a package, not bytes")
            self._packages[key] = package
        self._packages.move_to_end(key)
        found = self._packages[key]
        while sum(map(len, self._packages.values())) > _KEPT_BYTES:
            self._packages.popitem(last=False)
        return found


_trial: _Trial | None = None
_packages = _Packages()
_echo = CoreLatencyProbe()


def warm_up(get_toolchain: GetToolchain, target: str) -> None:
    """Nothing but the imports that come with this module and the toolchain's, so that no trial pays for them."""
    get_toolchain(target)


def build(get_toolchain: GetToolchain, target: str, model: SubModel, threads: int) -> None:
    """Build and load `model`.

    Raises:
        ToolchainError: in the toolchain's own words.
    """
    release()
    toolchain = get_toolchain(target)
    package = _packages.built(toolchain, target, model, threads)
    global _trial
    kernel = toolchain.load(package, model.inputs, model.outputs, threads)
    if not all(callable(getattr(kernel, method, None)) for method in ("bind", "run")):
        raise ToolchainError("build", f"it gave a {type(kernel).__name__} as a kernel, which cannot be bound and run")
    _trial = _Trial(kernel, threads)


def check(given: Sequence[ArrayFile], wanted: Sequence[ArrayFile], accuracy: float) -> Check:
    """Run once on the activations that really arrive; `accuracy` as `output_errors` counts it."""
    trial = _current()
    trial.given, trial.wanted, trial.accuracy = list(given), list(wanted), accuracy
    trial.inputs = [_aligned(file) for file in given]
    trial.outputs = [aligned_empty(file.tensor.type) for file in wanted]
    trial.kernel.bind(list(trial.inputs), list(trial.outputs))
    return trial.run_checked()


def sample(limits: TimingLimits, budget_s: float | None, enough_s: float | None, flushed_bytes: int, known: Speed) -> Timed:
    """Time the kernel that was checked, check what it computed meanwhile, and let go of it.

    Checked is what the last timed run left, and one run more: a kernel that is right in every other run, or that took what
    it found in its buffers for its own work, is wrong in one of the two.

    Args:
        budget_s, enough_s, known: As `time_runs` takes them.
        flushed_bytes: What the rest of the model moves between two runs of this kernel: that much is read before each sample.
            0 where the whole model stays in the cache: then runs follow each other.
    """
    trial = _current()
    between = _rest_of_the_model(trial, flushed_bytes) if flushed_bytes else None
    echo = _echo.seconds if trial.threads > 1 else None
    samples = time_runs(trial.kernel.run, limits, budget_s, between=between, enough_s=enough_s, known=known, echo=echo)
    found = trial.check(samples.seconds[-1])
    if not samples.stopped_early:
        found = max(found, trial.run_checked(), key=lambda check: check.error)
    release()
    return Timed(samples, found)


def _rest_of_the_model(trial: _Trial, flushed_bytes: int) -> Callable[[], None]:
    """Leaves the caches as the kernel meets them in the model: its weights gone cold, its inputs just written."""
    flushed = np.ones(flushed_bytes // 8)
    lines = [array.reshape(-1).view(np.uint8)[::_CACHE_LINE] for array in trial.inputs]

    def between() -> None:
        flushed.sum()
        for line in lines:
            line.max(initial=0)

    return between


def release() -> None:
    """Let go of the kernel and its buffers."""
    global _trial
    _trial = None
    gc.collect()


def _current() -> _Trial:
    if _trial is None:
        raise RuntimeError("no kernel was built in this process")
    return _trial


def _aligned(file: ArrayFile) -> np.ndarray:
    array = aligned_empty(file.tensor.type)
    array[...] = file.read()
    return array


def _spoil(array: np.ndarray, file: ArrayFile) -> None:
    """Fill the buffer of an output with values that are not the right ones."""
    if is_float(array.dtype):
        array.fill(np.nan)
    elif array.dtype.kind == "b":
        np.logical_not(file.read(), out=array)
    else:
        array.reshape(-1).view(np.uint8)[...] = 0xA5


def _same_bytes(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one.reshape(-1).view(np.uint8), np.ascontiguousarray(other).reshape(-1).view(np.uint8))
