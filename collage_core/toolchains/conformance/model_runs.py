"""A worker process that builds and runs small models on a toolchain, so that a crash or a hang is a result like any other.

Sub-models with inputs enter; the outputs of the second run of each leave, or why there are none.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...model.model import SubModel
from ..abilities import layout_of
from ..blocked_layout import is_blocked, to_blocked, to_plain
from ..buffers import aligned_empty
from ..toolchain import Toolchain

BATCH = 25
SECONDS = 300
"""How many models a worker gets, and how long it may take."""

_END = b"\n--end of case--\n"

_WORKER = """
import pickle, sys
from collage_core.toolchains.conformance import model_runs
name, threads, cases, function = pickle.load(sys.stdin.buffer)
for case in cases:
    sys.stdout.buffer.write(pickle.dumps(getattr(model_runs, function)(name, *case, threads)) + model_runs._END)
    sys.stdout.buffer.flush()
"""

Case = tuple[SubModel, Sequence[np.ndarray]]
Ran = list[np.ndarray] | str
"""The outputs, or why there are none: ``stage: message`` of a toolchain that refuses; ``crash``, ``hang`` or ``it changed an input``."""


def run_one(toolchain_name: str, model: SubModel, inputs: Sequence[np.ndarray], threads: int) -> Ran:
    """Build `model` and run it twice. The inputs and outputs are plain; a toolchain of another layout gets them in its own."""
    from ..registry import get
    from ..toolchain import ToolchainError

    toolchain = get(toolchain_name)
    given, outputs = [aligned_empty(tensor.type) for tensor in model.inputs], [aligned_empty(tensor.type) for tensor in model.outputs]
    for array, values, tensor in zip(given, inputs, model.inputs, strict=True):
        array[...] = to_blocked(values) if layout_of(toolchain) and is_blocked(tensor.type) else values
    before = [array.copy() for array in given]
    try:
        kernel = toolchain.load(toolchain.build(model, threads), model.inputs, model.outputs, threads)
        kernel.bind(given, outputs)
        kernel.run()
        for array in outputs:
            array.reshape(-1).view(np.uint8)[...] = 0x55 if array.dtype != bool else 1
        kernel.run()
    except ToolchainError as error:
        return f"{error.stage}: {error.message}"
    if any(array.tobytes() != was.tobytes() for array, was in zip(given, before, strict=True)):
        return "it changed an input"
    return [
        to_plain(array) if layout_of(toolchain) and is_blocked(tensor.type) else np.array(array)
        for array, tensor in zip(outputs, model.outputs, strict=True)
    ]


def run_sets(toolchain_name: str, model: SubModel, sets: Sequence[Sequence[np.ndarray]], threads: int) -> list[list[np.ndarray]] | str:
    """Build `model` once and run it on several sets of plain inputs, one after another; the outputs of each, or why there are none."""
    from ..registry import get
    from ..toolchain import ToolchainError

    toolchain = get(toolchain_name)
    given, outputs = [aligned_empty(tensor.type) for tensor in model.inputs], [aligned_empty(tensor.type) for tensor in model.outputs]
    results = []
    try:
        kernel = toolchain.load(toolchain.build(model, threads), model.inputs, model.outputs, threads)
        kernel.bind(given, outputs)
        for inputs in sets:
            for array, values in zip(given, inputs, strict=True):
                array[...] = values
            kernel.run()
            results.append([np.array(array) for array in outputs])
    except ToolchainError as error:
        return f"{error.stage}: {error.message}"
    return results


def run_models_on_sets(
    toolchain: Toolchain, cases: Sequence[tuple[SubModel, Sequence[Sequence[np.ndarray]]]], threads: int = 1
) -> Iterator[list[list[np.ndarray]] | str]:
    """Yield what came of each case, as `run_sets` gives it. A crash ends the worker, and a new one goes on after it."""
    return _answers(toolchain, cases, threads, "run_sets")


def run_models(toolchain: Toolchain, cases: Sequence[Case], threads: int = 1) -> Iterator[Ran]:
    """Yield what came of each case. A crash ends the worker, and a new one goes on after it."""
    return _answers(toolchain, cases, threads, "run_one")


def _answers(toolchain: Toolchain, cases: Sequence[Any], threads: int, function: str) -> Iterator[Any]:
    left = list(cases)
    while left:
        batch = left[:BATCH]
        sent = pickle.dumps((toolchain.name, threads, batch, function))
        try:
            ran = subprocess.run([sys.executable, "-c", _WORKER], input=sent, capture_output=True, timeout=SECONDS)
            written, ended = ran.stdout, f"crash: the process ended with {ran.returncode}"
        except subprocess.TimeoutExpired as error:
            written, ended = error.stdout or b"", f"hang: no answer after {SECONDS} s"
        answers = written.split(_END)[:-1]
        yield from map(pickle.loads, answers)
        done = len(answers)
        if done < len(batch):
            yield ended
            done += 1
        left = left[done:]


def is_broken(got: Ran) -> bool:
    """Return whether there are no outputs for a reason that is none: a toolchain may refuse, and nothing else."""
    return isinstance(got, str) and got.startswith(("crash", "hang", "it changed"))


def is_close(got: np.ndarray, want: np.ndarray, tolerance: float) -> bool:
    """Return whether an output is the expected one: floats up to `tolerance`, relative to the largest element."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if want.dtype.kind not in "fc":
        return bool((got == want).all())
    tolerance = max(tolerance, _HALF) if want.dtype.itemsize == 2 else tolerance
    finite = np.abs(want[np.isfinite(want)])
    return bool(np.allclose(got, want, rtol=tolerance, atol=tolerance * float(finite.max(initial=0)), equal_nan=True))


_HALF = 2e-3
"""The tolerance of float16: two units in its last place."""
