"""Computations that are tuned: what they cost then, whose schedules they share, and what a tuner does that fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model
from tuning_toolchains import BEGUN, DEFAULT_S, SLICE, Tunes

from collage_core.cost.cost import Cost
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.maintenance import Selection, records, selected_tunings
from collage_core.cost.estimators import tuner
from collage_core.cost.estimators.measure import MeasureEstimator
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial import TrialLimits
from collage_core.errors import Cancelled
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.rules.candidate import CandidatePartition
from collage_core.toolchains import registry
from collage_core.toolchains.tuning import MOST_TRIALS, schedules

LIMITS = TrialLimits(timing=TimingLimits(warm_up_s=0.001, total_s=0.02, longest_s=1.0))
NAMES = ("Tunes", "TunesForTheWorse", "CrashesTuning", "HangsTuning", "TunesIntoThePast", "HangsInTheThirdTrial", "CrashesInTheThirdTrial")


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.EXTRA, ",".join(f"tuning_toolchains:{name}" for name in NAMES))


def chain(path: Path, shape: tuple[int, int], seed: int) -> OnnxModel:
    """Return x → relu → add → y."""
    weight = numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), "c")
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="relu"), helper.make_node("Add", ["a", "c"], ["y"], name="add")]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], [weight])
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return load_model(path, fold=False)


class Bench:
    """Estimators of one model on one database."""

    def __init__(self, model: OnnxModel, database: Path):
        self.model = model
        self.database = database

    def candidate(self, target: str) -> CandidatePartition:
        return CandidatePartition(self.model.graph, target, IndexSet((0, 1)), "test")

    def measured(self, target: str, should_stop: Callable[[], bool] | None = None) -> tuple[MeasureEstimator, CandidatePartition, Cost]:
        """Return an estimator, and the whole model as a candidate with its cost."""
        database = CostDatabase(self.database)
        estimator = MeasureEstimator(self.model, self.model.seeded_inputs(), 1, database, 1e-3, limits=LIMITS, should_stop=should_stop)
        candidate = self.candidate(target)
        ((_, cost, _),) = estimator.estimate(self.model.graph, [candidate])
        return estimator, candidate, cost


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(chain(tmp_path / "chain.onnx", (2, 64), 0), tmp_path / "costs.sqlite3")


def test_a_tuned_computation_costs_less_and_its_untuned_cost_stays(bench: Bench) -> None:
    estimator, candidate, untuned = bench.measured("tunes")
    found = estimator.tune(candidate, 5.0)
    again = estimator.tune(candidate, 5.0)
    (_, repeated, _), *_ = estimator.repeat([candidate])
    estimator.close()
    again_tuned = again.costs[candidate].tuned
    assert again_tuned is not None
    assert untuned.seconds is not None
    assert untuned.seconds >= DEFAULT_S
    assert (found.trials, found.is_done, again.trials, again_tuned.trials) == (SLICE, False, SLICE, 2 * SLICE)
    cost = found.costs[candidate]
    assert cost.seconds is not None
    assert cost.seconds < DEFAULT_S
    assert cost.tuned is not None
    assert (cost.tuned.untuned_s, cost.tuned.spent_s, cost.tuned.trials) == (untuned.seconds, 4.0, SLICE)
    assert repeated.tuned is not None
    assert repeated.tuned.trials == 2 * SLICE
    assert estimator.tunings.keys() == {cost.tuned.digest}
    with CostDatabase(bench.database) as database:
        kept = sorted(key.options for key, _ in records(database, Selection()))
        assert kept == ["float32", f"float32, tuned {cost.tuned.digest}"]
        ((key, record),) = selected_tunings(database, Selection())
        assert (key.toolchain, key.threads, record.trials) == ("tunes", 1, 2 * SLICE)


def test_another_model_with_the_same_kernel_costs_no_trial(bench: Bench, tmp_path: Path) -> None:
    estimator, candidate, _ = bench.measured("tunes")
    estimator.tune(candidate, 5.0)
    estimator.close()
    other = Bench(chain(tmp_path / "other.onnx", (4, 32), 1), bench.database)
    estimator, candidate, untuned = other.measured("tunes")
    found = estimator.tune(candidate, 5.0)
    estimator.close()
    assert found.trials == 0
    cost = found.costs[candidate]
    assert cost.tuned is not None
    assert cost.tuned.trials == SLICE
    assert cost.tuned.untuned_s == untuned.seconds


def test_schedules_of_another_run_are_built_with(bench: Bench) -> None:
    estimator, candidate, _ = bench.measured("tunes")
    (tuning,) = (schedules([kernel]) for kernel in Tunes().tune(bench.model.cut(candidate.inside), 1, 1.0, b"").kernels)
    estimator.take(candidate, tuning)
    ((_, cost, from_cache),) = estimator.measure([candidate])
    estimator.close()
    assert not from_cache
    assert cost.seconds is not None
    assert cost.seconds < DEFAULT_S
    assert estimator.computation_key(candidate).options == "float32", "whatever it is built with, it is the same computation"


def test_a_kernel_that_was_tried_often_enough_is_done(bench: Bench) -> None:
    estimator, candidate, _ = bench.measured("tunes")
    slices = [estimator.tune(candidate, 5.0) for _ in range(MOST_TRIALS // SLICE)]
    estimator.close()
    assert [one.is_done for one in slices] == [False, False, False, True]


def test_a_tuned_schedule_that_is_slower_is_not_taken(bench: Bench) -> None:
    estimator, candidate, untuned = bench.measured("tunes_for_the_worse")
    found = estimator.tune(candidate, 5.0)
    ((_, cost, from_cache),) = estimator.measure([candidate])
    estimator.close()
    assert (found.costs, found.trials) == ({}, SLICE)
    assert (cost.seconds, cost.tuned, from_cache) == (untuned.seconds, None, True)


def test_a_tuner_that_crashes_is_quoted_and_not_asked_again(bench: Bench) -> None:
    estimator, candidate, _ = bench.measured("crashes_tuning")
    found = estimator.tune(candidate, 5.0)
    estimator.close()
    assert (found.costs, found.trials, found.is_done) == ({}, 0, True)
    assert found.note == "crashes_tuning could not tune: its process crashed with SIGABRT"


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("hangs_in_the_third_trial", "it took longer than 200 ms to build and run"),
        ("crashes_in_the_third_trial", "its process crashed with SIGABRT"),
    ],
)
def test_a_schedule_that_hangs_or_crashes_costs_no_other(bench: Bench, monkeypatch: pytest.MonkeyPatch, target: str, fault: str) -> None:
    monkeypatch.setattr(tuner, "TRIAL_S", 0.2)
    estimator, candidate, untuned = bench.measured(target)
    found = estimator.tune(candidate, 5.0)
    again = estimator.tune(candidate, 5.0)
    estimator.close()
    assert (found.trials, found.is_done, again.trials) == (3, False, SLICE)
    assert found.note == f"{target}: a schedule is left out: {fault}"
    cost = found.costs[candidate]
    assert cost.seconds is not None
    assert cost.seconds < DEFAULT_S
    assert cost.tuned is not None
    assert (cost.tuned.untuned_s, cost.tuned.trials) == (untuned.seconds, 3)
    with CostDatabase(bench.database) as database:
        ((_, record),) = selected_tunings(database, Selection())
        assert record.trials == 3 + SLICE


def test_what_cannot_be_true_is_quoted_and_not_kept(bench: Bench) -> None:
    estimator, candidate, _ = bench.measured("tunes_into_the_past")
    found = estimator.tune(candidate, 5.0)
    estimator.close()
    assert (found.costs, found.trials, found.is_done) == ({}, 0, True)
    said = "tunes_into_the_past could not tune: what it found cannot be true: seconds is -1.0, it must be seconds"
    assert found.note.startswith(said)
    with CostDatabase(bench.database) as database:
        assert selected_tunings(database, Selection()) == []


def test_a_cancel_ends_a_slice_and_what_was_measured_is_kept(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "begun"
    monkeypatch.setenv(BEGUN, str(begun))
    estimator, candidate, untuned = bench.measured("hangs_tuning", begun.exists)
    with pytest.raises(Cancelled):
        estimator.tune(candidate, 5.0)
    begun.unlink()
    ((_, cost, _),) = estimator.measure([candidate])
    estimator.close()
    assert cost.seconds == untuned.seconds
    with CostDatabase(bench.database) as database:
        assert selected_tunings(database, Selection()) == []
