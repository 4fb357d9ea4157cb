"""A trial's record: what it holds beside its samples, and what a task may bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.base.isolation.worker import Worker
from collage_core.cost.measuring import trial_worker
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial import TrialLimits, TrialRunner, TrialTask
from collage_core.cost.measuring.trial_worker import ArrayFile
from collage_core.model.probe import relu_model
from collage_core.toolchains import registry
from collage_core.toolchains.conformance.small_models import any_rows, drawn, reference

LIMITS = TrialLimits(build_s=60, timing=TimingLimits(interval=-1.0, total_s=1.0, longest_s=2.0, most=100))
"""No interval is narrow enough: only a bound of the task ends the timing before its last sample."""


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.EXTRA, "collage_test_toolchains:Numpy,collage_test_toolchains:NotesBuilds,failing_toolchains:HangsAtBuild")


@pytest.fixture
def task(tmp_path: Path) -> TrialTask:
    model = relu_model(64)
    given = np.linspace(-1, 1, 64, dtype=np.float32)[np.newaxis]
    np.save(tmp_path / "given.npy", given)
    np.save(tmp_path / "wanted.npy", np.maximum(given, 0))
    files = (ArrayFile(model.inputs[0], tmp_path / "given.npy"), ArrayFile(model.outputs[0], tmp_path / "wanted.npy"))
    return TrialTask("numpy", model, files[:1], files[1:], None)


@pytest.fixture
def runner() -> Iterator[TrialRunner]:
    made = TrialRunner(registry.get, 1, 1e-3, LIMITS)
    yield made
    made.close()


def test_record_tells_the_reference_and_the_seconds_spent(runner: TrialRunner, task: TrialTask) -> None:
    record = runner.run(task)
    assert (record.stage, record.error, record.stopped_early) == ("", 0.0, False)
    assert record.reference_s is not None
    assert 0 < record.reference_s < 0.1
    assert record.seconds_spent > sum(record.samples)
    assert record.slowed_by >= 0


@pytest.mark.parametrize(("policy", "stage"), [("finite", ""), ("any", "numerics")])
def test_a_number_for_a_nan_of_the_reference_is_wrong_where_all_values_count(
    runner: TrialRunner, task: TrialTask, policy: str, stage: str
) -> None:
    wanted = np.load(task.wanted[0].path)
    wanted[0, 3] = np.nan
    np.save(task.wanted[0].path, wanted)
    record = runner.run(replace(task, value_policy=policy))
    assert record.stage == stage
    assert ("[0, 3] is 0, not nan" in record.reason) == bool(stage)


def test_timing_is_told_what_bounds_it(runner: TrialRunner, task: TrialTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The effect of the bounds on timing is tested on a clock of its own: a disturbed machine takes all samples under any bound."""
    asked: list[tuple[object, ...]] = []
    call = Worker.call

    def heard(worker: Worker, function: Callable[..., object], *args: object, **limits: Any) -> object:
        asked.append((function, *args))
        return call(worker, function, *args, **limits)

    monkeypatch.setattr(Worker, "call", heard)
    runner.run(replace(task, budget_s=20.0, enough_s=10.0))
    assert [bounds[1:4] for bounds in asked if bounds[0] is trial_worker.sample] == [(LIMITS.timing, 20.0, 10.0)]


def test_failed_trial_tells_the_seconds_spent() -> None:
    runner = TrialRunner(registry.get, 1, 1e-3, replace(LIMITS, build_s=0.3))
    model = relu_model(64)
    try:
        record = runner.run(TrialTask("hangs_at_build", model, [], [], None))
    finally:
        runner.close()
    assert (record.stage, record.limit_s) == ("build", 0.3)
    assert record.seconds_spent >= 0.3


def open_task(target: str, folder: Path, rows: int, cut: int = 0) -> TrialTask:
    """Return a task whose tensors have `rows` rows in the run; `cut` of them are missing in what is wanted."""
    model = any_rows()
    given = np.resize(drawn(model.inputs)[0], (rows, 3))
    made = reference(model, [given])
    made[0] = made[0][: rows - cut]
    files = []
    for tensor, array in zip((*model.inputs, *model.outputs), (given, *made), strict=True):
        np.save(folder / f"{tensor.name}.npy", array)
        files.append(ArrayFile(replace(tensor, type=replace(tensor.type, shape=array.shape)), folder / f"{tensor.name}.npy"))
    return TrialTask(target, model, files[:1], files[1:], None, enough_s=10.0)


@pytest.mark.parametrize("rows", [6, 0])
def test_tensors_of_open_shape_have_the_shapes_that_really_occur(runner: TrialRunner, tmp_path: Path, rows: int) -> None:
    record = runner.run(open_task("onnxruntime", tmp_path, rows))
    assert (record.stage, record.reason) == ("", "")
    assert record.samples


def test_another_shape_than_the_reference_has_is_wrong(runner: TrialRunner, tmp_path: Path) -> None:
    record = runner.run(open_task("onnxruntime", tmp_path, 6, cut=1))
    assert record.stage == "numerics"
    assert record.reason == "its output 'y' has another shape or dtype than in the reference: it is float32[6, 3], not float32[5, 3]"


def test_a_toolchain_that_takes_fixed_shapes_only_is_not_asked_to_build(runner: TrialRunner, tmp_path: Path) -> None:
    record = runner.run(open_task("numpy", tmp_path, 6))
    assert record.stage == "import"
    assert record.reason == "'x' is float32[?, 3]: its shape differs from call to call, which is not supported"


def test_a_profile_comes_from_the_worker_of_the_target(runner: TrialRunner, task: TrialTask) -> None:
    """One that has no profiler, and one whose build hangs or fails, have none: nothing is raised."""
    task = replace(task, target="onnxruntime")
    [one] = runner.profile(task)
    assert one.nodes == (0,)
    assert one.seconds > 0
    assert runner.profile(replace(task, target="numpy")) == ()
    assert runner.profile(replace(task, model=replace(task.model, onnx=b"no model"))) == ()


def test_what_was_built_ahead_is_not_built_again(
    runner: TrialRunner, task: TrialTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = tmp_path / "builds"
    monkeypatch.setenv("COLLAGE_TEST_BUILDS", str(builds))
    runner.build_ahead(replace(task, target="notes_builds"))
    assert runner.run(task).stage == "", "other targets are measured beside it"
    for thread in runner._ahead:
        thread.join()
    assert builds.read_text() == "notes_builds\n", "it is built without its trial"
    assert runner.run(replace(task, target="notes_builds")).stage == ""
    assert builds.read_text() == "notes_builds\n"


def test_a_build_ahead_ends_with_the_runner(runner: TrialRunner, task: TrialTask) -> None:
    runner.build_ahead(replace(task, target="hangs_at_build"))
    runner.close()
    assert not any(thread.is_alive() for thread in runner._ahead)
