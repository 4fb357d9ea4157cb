"""Toolchains that tune, for tests: name them in ``COLLAGE_TOOLCHAINS`` as ``tuning_toolchains:Tunes``.

They compute with numpy. Each run of a sub-model with a Relu takes `DEFAULT_S` more, until it is built with the schedule that `tune`
finds in its first slice.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx
from collage_test_toolchains import Numpy, NumpyKernel

from collage_core.graph.dataflow_graph import Tensor
from collage_core.model.model import SubModel
from collage_core.toolchains.toolchain import Kernel
from collage_core.toolchains.tuning import TunedKernel, Tuning, Workload, begin_trial, decoded

DEFAULT_S, TUNED_S = 0.03, 0.001
SLICE = 16
TARGET = '{"kind": "numpy"}'
BEGUN = "COLLAGE_TEST_TUNING_BEGUN"
"""Environment variable with the path of a file that is made when a slice begins."""


class _Delayed(NumpyKernel):
    """A kernel whose runs with a Relu take so many seconds more."""

    def __init__(self, package: bytes, delay_s: float):
        super().__init__(package)
        self._delay_s = delay_s if self.has_relu else 0.0

    def run(self) -> None:
        super().run()
        time.sleep(self._delay_s)


class Tunes(Numpy):
    """Finds a faster schedule."""

    name = "tunes"
    letter = "U"
    tuned_s = TUNED_S

    def workloads(self, model: SubModel, threads: int) -> Sequence[Workload]:
        ops = [node.op_type for node in onnx.load_from_string(model.onnx).graph.node]
        return [Workload(hashlib.sha256(repr(ops).encode()).hexdigest()[:16], TARGET)]

    def tune(self, model: SubModel, threads: int, seconds: float, known: bytes) -> Tuning:
        if BEGUN in os.environ:
            Path(os.environ[BEGUN]).touch()
        self.misbehave()
        (workload,) = self.workloads(model, threads)
        trials = next((kernel.trials for kernel in decoded(known) if kernel.workload == workload.workload), 0) + SLICE
        kernel = TunedKernel(workload.workload, TARGET, '"fast"', TUNED_S, DEFAULT_S, trials, 0.25 * trials)
        return Tuning((kernel,), SLICE, 4.0, DEFAULT_S, TUNED_S)

    def build(self, model: SubModel, threads: int) -> bytes:
        return (b"T" if model.tuning else b"D") + model.onnx

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return _Delayed(package[1:], self.tuned_s if package[:1] == b"T" else DEFAULT_S)

    def misbehave(self) -> None:
        """Misbehave in place of a slice."""


class TunesForTheWorse(Tunes):
    """Takes a schedule for faster that is slower."""

    name = "tunes_for_the_worse"
    tuned_s = 3 * DEFAULT_S


class CrashesTuning(Tunes):
    name = "crashes_tuning"

    def misbehave(self) -> None:
        os.abort()


class TunesIntoThePast(Tunes):
    """Finds schedules that take less than no time."""

    name = "tunes_into_the_past"

    def tune(self, model: SubModel, threads: int, seconds: float, known: bytes) -> Tuning:
        found = super().tune(model, threads, seconds, known)
        return replace(found, kernels=tuple(replace(kernel, seconds=-1.0) for kernel in found.kernels))


class HangsInTheThirdTrial(Tunes):
    """Finds a faster schedule in its second trial, and hangs in the third; it finds none in a slice that goes on from there."""

    name = "hangs_in_the_third_trial"

    def tune(self, model: SubModel, threads: int, seconds: float, known: bytes) -> Tuning:
        (workload,) = self.workloads(model, threads)
        kernel = next(iter(decoded(known)), TunedKernel(workload.workload, TARGET, "", DEFAULT_S, DEFAULT_S, 0, 0.0))
        if kernel.trials:
            return Tuning((replace(kernel, trials=kernel.trials + SLICE),), SLICE, 1.0, DEFAULT_S, kernel.seconds)
        begin_trial(replace(kernel, trials=1))
        begin_trial(replace(kernel, trials=2))
        begin_trial(replace(kernel, trials=3, trace='"fast"', seconds=TUNED_S))
        self.misbehave()
        raise AssertionError("it went on")

    def misbehave(self) -> None:
        time.sleep(600)


class CrashesInTheThirdTrial(HangsInTheThirdTrial):
    """Crashes where the other hangs."""

    name = "crashes_in_the_third_trial"

    def misbehave(self) -> None:
        os.abort()


class HangsTuning(Tunes):
    name = "hangs_tuning"

    def misbehave(self) -> None:
        time.sleep(600)
