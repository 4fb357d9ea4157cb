"""Profiling the partitions of a plan: the dearest first, for some time, in a worker; what fails gets the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from collage_core.base.isolation.worker import Worker
from collage_core.base.isolation.worker_errors import WorkerDied, WorkerTimeout
from collage_core.cost.measuring.profile_worker import profile_nodes
from collage_core.model.onnx_model import OnnxModel
from collage_core.pipeline.inside.profile_nodes import ALL_S, profiled_times
from collage_core.rewrite.plan import Plan
from collage_core.toolchains.profiling import NodeTime
from collage_core.toolchains.toolchain import ToolchainError
from tests.collage_core.pipeline.record.test_node_times import partition, plan
from tests.helpers.models import loaded


class FakeWorker:
    """Answers calls as `answer` says, from the target."""

    def __init__(self, answer: Callable[[str], list[NodeTime] | None]):
        self.answer = answer
        self.asked: list[str] = []
        self.given: list[np.ndarray] = []
        self.limits_s: list[float] = []

    def call(self, function: Any, get: Any, target: str, model: Any, files: Any, threads: int, *, timeout_s: float) -> Any:
        assert function is profile_nodes
        self.asked.append(target)
        self.limits_s.append(timeout_s)
        self.given += [file.read() for file in files]
        return self.answer(target)


@pytest.fixture
def model(tmp_path: Path) -> OnnxModel:
    lines = "[a] t = Neg(x) [b] u = Abs(t) [c] v = Neg(u) [d] y = Abs(v)"
    return loaded(tmp_path, f"g (float[2] x) => (float[2] y) {{ {lines} }}", fold=False)


INPUTS = {"x": np.array([1.0, -2.0], np.float32)}
HALVES = [NodeTime((0,), 1.0, "Neg"), NodeTime((1,), 1.0, "Abs")]


def times(
    model: OnnxModel, made: Plan, worker: Any, clock: Callable[[], float] = lambda: 0.0, limit_s: float = math.inf
) -> dict[str, tuple[str, str]]:
    found = profiled_times(model, made, INPUTS, cast(Worker, worker), clock, limit_s)
    return {one.partition: (one.source, one.reason) for one in found}


TWO = plan(partition(0, 1, id="cheap", target="a", cost_s=1.0), partition(2, 3, id="dear", target="b", cost_s=2.0))


def test_costs_of_another_machine_are_not_given_shares_of_this_one(model: OnnxModel):
    worker = FakeWorker(lambda target: HALVES)
    reason = "its cost is that of another machine (far, 8 cores), and a profile would be that of this one"
    assert times(model, TWO.model_copy(update={"machine": "far, 8 cores"}), worker) == dict.fromkeys(("cheap", "dear"), ("none", reason))
    assert worker.asked == []


def test_the_dearest_is_first_and_gets_what_arrives_at_it(model: OnnxModel):
    worker = FakeWorker(lambda target: HALVES)
    assert times(model, TWO, worker) == {"cheap": ("profiler", ""), "dear": ("profiler", "")}
    assert worker.asked == ["b", "a"]
    np.testing.assert_array_equal(worker.given, [[1.0, 2.0], [1.0, -2.0]])


def test_after_some_time_no_further_one_is_profiled(model: OnnxModel):
    clock: Iterator[float] = iter([0.0, 0.0, ALL_S + 1])
    found = times(model, TWO, FakeWorker(lambda target: HALVES), lambda: next(clock))
    assert found == {"cheap": ("none", "no time was left to profile it"), "dear": ("profiler", "")}


def test_a_run_without_time_profiles_nothing_and_one_with_little_what_it_can(model: OnnxModel):
    late = ("none", "no time was left to profile it")
    assert times(model, TWO, FakeWorker(lambda target: HALVES), limit_s=0.0) == {"cheap": late, "dear": late}
    clock: Iterator[float] = iter([0.0, 0.5, 2.5])
    worker = FakeWorker(lambda target: HALVES)
    assert times(model, TWO, worker, lambda: next(clock), 2.0) == {"cheap": late, "dear": ("profiler", "")}
    assert worker.limits_s == [1.5], "no profile takes longer than the run has"


def test_a_profile_that_was_ended_since_the_run_was_over_says_so(model: OnnxModel):
    def slow(target: str) -> None:
        raise WorkerTimeout(2.0, "")

    assert times(model, TWO, FakeWorker(slow), limit_s=2.0)["dear"] == ("none", "no time was left to profile it")
    assert times(model, TWO, FakeWorker(slow))["dear"][1].startswith("the profile failed: ")


def test_a_profiler_that_fails_or_dies_or_is_missing_is_told(model: OnnxModel):
    def failing(target: str) -> None:
        raise ToolchainError("run", "no counters") if target == "a" else WorkerDied("ended with SIGSEGV", -11, "")

    found = times(model, TWO, FakeWorker(failing))
    assert found["cheap"] == ("none", "the profile failed: no counters")
    assert found["dear"][1].startswith("the profile failed: ")
    assert "SIGSEGV" in found["dear"][1]
    assert times(model, TWO, FakeWorker(lambda target: None))["cheap"] == ("none", "a has no profiler")


def test_single_nodes_and_the_host_are_not_profiled(model: OnnxModel):
    worker = FakeWorker(lambda target: HALVES)
    assert times(model, plan(partition(0), partition(1, 2, id="q", target="host")), worker) == {}
    assert worker.asked == []


def test_a_real_profile_in_a_real_worker(model: OnnxModel):
    with Worker() as worker:
        [found] = profiled_times(model, plan(partition(0, 1, 2, 3, target="onnxruntime")), INPUTS, worker)
    assert (found.source, found.reason) == ("profiler", "")
    assert sorted(node for group in found.groups for node in group.nodes) == [0, 1, 2, 3]
    assert sum(group.share for group in found.groups) == pytest.approx(1.0)
