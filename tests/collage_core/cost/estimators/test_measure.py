"""Measuring with toolchains that crash, hang, err and stall: what each comes to, and that nothing else is lost by it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collage_test_toolchains import broken_in_a_worker
from misbehaviours import PLACES, REASONS, plug_in_names
from onnx import TensorProto, helper, numpy_helper, save_model

from collage_core.base.home import home
from collage_core.base.isolation.scratch import scratch_folder
from collage_core.cost.cost import Cost
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import Record
from collage_core.cost.estimators.factory import make_estimator
from collage_core.cost.estimators.measure import MeasureEstimator
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial import TrialLimits, TrialTask
from collage_core.errors import Cancelled, CollageError
from collage_core.events import CandidateBuilding, Event, Note
from collage_core.graph.computation import Computations
from collage_core.graph.index_set import IndexSet
from collage_core.model.model import Arrays
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from collage_core.toolchains import registry
from collage_core.toolchains.border import LONGEST
from tests.helpers.long_cases import mostly_long
from tests.helpers.workers import workers

QUICK = TimingLimits(warm_up_s=0.001, total_s=0.02, longest_s=1.0)
PATIENT = TrialLimits(timing=QUICK)
"""No healthy trial comes near these limits, however busy the machine."""
SHORT = replace(PATIENT, build_s=1.5, run_s=1.5)
"""For what hangs; the healthy trials beside it take a few milliseconds."""
LIMITS = {"eats_memory": replace(PATIENT, memory_bytes=400 << 20), **{name: SHORT for name in PLACES if name.startswith("hangs")}}
RELU1, ADD1, RELU2, ADD2 = range(4)
SINGLES = ((RELU1,), (ADD1,), (RELU2,), (ADD2,))
CLAMPED = {"x": np.full((2, 64), 1e6, np.float32)}
"""Inputs on which `clamps` is wrong; it is right on drawn and on extreme ones."""
OTHERS = ("Babbles", "Compiles", "Leaks", "Slow", "Crawls", "Absent", "HasNoVersion", "Numpy")
"""Those that are well, in the end, or not there."""


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    others = (f"collage_test_toolchains:{name}" for name in OTHERS)
    more = ("failing_toolchains:Poisoned", "inexact_toolchains:Clamps")
    monkeypatch.setenv(registry.EXTRA, ",".join([*others, *more, plug_in_names(*PLACES)]))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> OnnxModel:
    """x → relu1 → add1 → relu2 → add2 → y: two computations, each twice."""
    return chain(tmp_path_factory.mktemp("model") / "chain.onnx")


def chain(path: Path, **changed: float) -> OnnxModel:
    """Write and load the model, with numbers added to constants, by name."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="relu1"),
        helper.make_node("Add", ["a", "c1"], ["b"], name="add1"),
        helper.make_node("Relu", ["b"], ["c"], name="relu2"),
        helper.make_node("Add", ["c", "c2"], ["y"], name="add2"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 64]) for name in "xy"]
    weights = [numpy_helper.from_array(rng.standard_normal((2, 64), np.float32) + changed.get(name, 0), name) for name in ("c1", "c2")]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return load_model(path, fold=False)


class Bench:
    """An estimator on a database of its own, and what it told."""

    def __init__(self, model: OnnxModel, database: Path):
        self.model = model
        self.database = database
        self.events: list[Event] = []
        self.tried: list[tuple[str, str, int, int]] = []

    def estimator(
        self, limits: TrialLimits = PATIENT, accuracy: float = 1e-3, inputs: Arrays | None = None, threads: int = 1, **options: Any
    ) -> MeasureEstimator:
        def on_trial(candidate: CandidatePartition, done: int, total: int, repetition: int) -> None:
            assert repetition <= 2
            if repetition == 1:  # A busy machine may be shown to have been slow: then there is another.
                self.tried.append((candidate.target, candidate.sub_graph.label, done, total))

        inputs, database = inputs or self.model.seeded_inputs(), CostDatabase(self.database)
        told: dict[str, Any] = {"emit": self.events.append, "on_trial": on_trial, **options}
        return MeasureEstimator(self.model, inputs, threads, database, accuracy, limits=limits, **told)

    def candidates(self, target: str, *sets: Sequence[int]) -> list[CandidatePartition]:
        return [CandidatePartition(self.model.graph, target, IndexSet(nodes), "test") for nodes in sets]

    def costs(
        self, candidates: Sequence[CandidatePartition], limits: TrialLimits = PATIENT, **options: Any
    ) -> dict[tuple[str, tuple[int, ...]], Cost]:
        """(target, nodes) → cost, by an estimator that is closed again."""
        estimator = self.estimator(limits, **options)
        try:
            return {(c.target, tuple(c.inside)): cost for c, cost, _ in estimator.estimate(self.model.graph, candidates)}
        finally:
            estimator.close()

    def record(self) -> Record:
        """Return the one record of the database."""
        with CostDatabase(self.database) as database:
            return next(iter(database.of_computations([self.model.graph.derive(Computations).key(IndexSet((RELU1,)))])))[1]

    def saved(self) -> int:
        with CostDatabase(self.database) as database:
            return database.count()


@pytest.fixture
def bench(model: OnnxModel, tmp_path: Path) -> Bench:
    return Bench(model, tmp_path / "costs.sqlite3")


def test_single_nodes_come_first_and_of_these_what_is_quick_to_build(bench: Bench) -> None:
    bench.costs([*bench.candidates("compiles", (RELU1, ADD1), (RELU1,)), *bench.candidates("numpy", (RELU1, ADD1), (RELU1,))])
    assert [tried[:2] for tried in bench.tried] == [
        ("numpy", "Relu"),
        ("compiles", "Relu"),
        ("numpy", "Relu+Add"),
        ("compiles", "Relu+Add"),
    ]


def test_every_candidate_is_measured_and_compared(bench: Bench) -> None:
    costs = bench.costs(bench.candidates("numpy", *SINGLES, (RELU1, ADD1), (RELU1, ADD1, RELU2, ADD2)))
    assert len(costs) == 6
    for cost in costs.values():
        assert (cost.source, cost.stage, cost.reason) == ("measured", "", "")
        assert cost.seconds is not None
        assert 0 < cost.seconds < 1
        assert cost.samples >= 1
        assert cost.spread_s is not None
        assert cost.error == 0


def test_equal_computations_share_one_trial(bench: Bench) -> None:
    costs = bench.costs(bench.candidates("numpy", *SINGLES))
    assert bench.tried == [("numpy", "Relu", 0, 2), ("numpy", "Add", 1, 2)]
    assert costs["numpy", (RELU1,)] is costs["numpy", (RELU2,)]
    assert bench.saved() == 2


def test_before_a_part_as_much_is_read_as_the_rest_moves_and_nothing_before_the_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collage_core.cost.measuring.trial_backend._OWN_CACHE", 512)
    estimator = bench.estimator()
    part, whole = bench.candidates("numpy", (RELU1,), (RELU1, ADD1, RELU2, ADD2))
    taken, run_all = list[int](), estimator._backend.run_all

    def spied(tasks: Iterable[TrialTask]) -> Iterator[tuple[TrialTask, Record]]:
        for task in tasks:
            taken.append(task.flushed_bytes)
            yield from run_all([task])

    monkeypatch.setattr(estimator._backend, "run_all", spied)
    list(estimator.estimate(bench.model.graph, [part, whole]))
    keys = [estimator.computation_key(one).options for one in (part, whole)]
    estimator.close()
    assert ["flushed" in options for options in keys] == [True, False]
    assert sorted(taken) == [0, 4096], "three activations and both weights, rounded up"


def test_a_cost_that_was_checked_on_finite_values_is_none_where_all_values_count(bench: Bench) -> None:
    keys = []
    for policy in ("finite", "any"):
        estimator = bench.estimator(value_policy=policy)
        keys.append(estimator.computation_key(bench.candidates("numpy", (RELU1,))[0]))
        estimator.close()
    assert [key.options for key in keys] == ["float32", "float32, NaN and infinities compared"]


def test_host_partitions_cost_nothing(bench: Bench) -> None:
    assert bench.costs(bench.candidates(HOST_TARGET, (RELU1,)))[HOST_TARGET, (RELU1,)] == Cost(0.0, "host")


SHORTLY = (
    "segfaults_at_run",
    "hangs_at_build",
    "raises_oddly",
    "wrong_numbers",
    "sends_no_pickle",
    "leaves_quietly",
    "refuses_relu",
    "makes_nan",
)
"""Of each kind of misbehaviour one."""


@pytest.mark.parametrize("target", mostly_long([name for name in REASONS if name != "lacks_library"], SHORTLY))
def test_misbehaviour_costs_only_its_own_candidate(bench: Bench, target: str) -> None:
    costs = bench.costs(bench.candidates(target, (RELU1,), (ADD1,)), LIMITS.get(target, PATIENT))
    stage, reason = REASONS[target]
    failed = costs[target, (RELU1,)]
    assert (failed.source, failed.stage, failed.seconds) == ("invalid", stage, None), failed.reason
    assert re.search(reason, failed.reason), failed.reason
    assert len(failed.reason) <= LONGEST
    assert failed.reason.isprintable()
    assert costs[target, (ADD1,)].source == "measured"
    assert bench.saved() == 2, "a failure is kept too, so that it is not met again"


@pytest.mark.long
def test_failures_are_known_the_next_time(bench: Bench) -> None:
    targets = ("segfaults_at_build", "hangs_at_build", "hangs_at_run", "wrong_numbers", "refuses_relu")
    candidates = [c for target in targets for c in bench.candidates(target, (RELU1,))]
    limits = replace(SHORT, build_s=0.5, run_s=0.5)
    first = bench.costs(candidates, limits)
    bench.tried.clear()
    assert bench.costs(candidates, limits) == first
    assert bench.tried == []


@pytest.mark.long
def test_hang_is_tried_again_with_more_time(bench: Bench) -> None:
    candidates = bench.candidates("hangs_at_build", (RELU1,)) + bench.candidates("hangs_at_run", (RELU1,))
    bench.costs(candidates, replace(SHORT, build_s=0.3, run_s=0.3))
    bench.costs(candidates, replace(SHORT, build_s=0.4, run_s=0.4))
    assert len(bench.tried) == 4


@pytest.mark.long
def test_target_that_hangs_again_and_again_is_given_up_for_the_run(bench: Bench) -> None:
    sets = [(RELU1,), (RELU1, ADD1), (ADD1, RELU2), (RELU1, ADD1, RELU2)]
    limits = replace(SHORT, most_hangs=2)
    costs = bench.costs([*bench.candidates("hangs_at_build", *sets), *bench.candidates("numpy", *sets)], limits)
    given_up = costs["hangs_at_build", sets[-1]]
    assert given_up.stage == "device"
    assert given_up.reason == (
        "not tried: hangs_at_build hung 2 times in this run; the last time it gave no answer within 1.5 s while building"
    )
    assert bench.saved() == 4 + 2, "what was not tried is not kept"
    assert all(costs["numpy", nodes].source == "measured" for nodes in sets)


def test_process_that_an_earlier_trial_poisoned_is_no_fault_of_the_next(bench: Bench) -> None:
    costs = bench.costs(bench.candidates("poisoned", (RELU1,), (ADD1,)))
    assert [cost.source for cost in costs.values()] == ["measured", "measured"]


@pytest.mark.long
def test_memory_that_a_toolchain_leaks_costs_none_of_its_candidates(bench: Bench) -> None:
    """The second build in one process is one too many."""
    costs = bench.costs(bench.candidates("leaks", *SINGLES, (RELU1, ADD1)), replace(PATIENT, memory_bytes=280 << 20))
    assert {cost.source for cost in costs.values()} == {"measured"}


def test_toolchain_without_a_version_is_measured_once(bench: Bench) -> None:
    first = bench.costs(bench.candidates("has_no_version", (ADD1,)))
    assert bench.costs(bench.candidates("has_no_version", (ADD1,))) == first
    assert (len(bench.tried), bench.saved(), bench.events) == (1, 1, [])


def test_what_a_toolchain_cancelled_for_us_does_not_stop_the_others(bench: Bench) -> None:
    estimator = bench.estimator(should_stop=lambda: False)
    candidates = bench.candidates("gives_up_for_all", (RELU1,), (ADD1,))
    found = {tuple(candidate.inside): cost.source for candidate, cost, _ in estimator.estimate(bench.model.graph, candidates)}
    estimator.close()
    assert found == {(RELU1,): "invalid", (ADD1,): "measured"}


def test_garbage_on_both_streams_disturbs_nothing(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    costs = bench.costs(bench.candidates("babbles", *SINGLES))
    assert {cost.source for cost in costs.values()} == {"measured"}
    assert capfd.readouterr() == ("", "")


def test_larger_candidate_that_holds_what_cannot_be_imported_is_not_tried(bench: Bench) -> None:
    costs = bench.costs(bench.candidates("refuses_relu", (ADD1, RELU2), (RELU1,), (ADD1,)))
    assert costs["refuses_relu", (ADD1, RELU2)] == Cost.invalid(
        "import", "holds 'relu2' (Relu), which refuses_relu cannot import: no converter for Relu"
    )
    assert [label for _, label, _, _ in bench.tried] == ["Relu", "Add"]


def test_target_that_is_not_installed_is_not_tried_and_not_kept(bench: Bench) -> None:
    costs = bench.costs([*bench.candidates("absent", (RELU1,)), *bench.candidates("numpy", (RELU1,))])
    assert costs["absent", (RELU1,)] == Cost.invalid("device", "its library is not installed")
    assert bench.saved() == 1


def test_worker_that_cannot_be_made_ready_is_told_once_for_all(bench: Bench) -> None:
    costs = bench.costs(bench.candidates("numpy", (RELU1,), (ADD1,)), get_toolchain=broken_in_a_worker)
    for cost in costs.values():
        assert cost.stage == "device"
        assert cost.reason == "its worker process cannot be started: ZeroDivisionError: division by zero"
    assert bench.saved() == 0


def test_what_is_sure_to_lose_is_ended_early_and_says_so(bench: Bench) -> None:
    costs = bench.costs(
        [*bench.candidates("slow", (RELU1,)), *bench.candidates("numpy", *SINGLES), *bench.candidates("slow", (RELU1, ADD1))]
    )
    # `slow` is a single node on an equal rank, so it may come before a bound is known; the pair comes after both.
    cost = costs["slow", (RELU1, ADD1)]
    assert cost.stopped_early
    assert cost.seconds is not None
    assert cost.seconds >= 0.03


@pytest.mark.long
def test_what_was_ended_early_is_measured_whole_where_nothing_bounds_it(bench: Bench) -> None:
    pair = bench.candidates("slow", (RELU1, ADD1))
    both = [*bench.candidates("numpy", *SINGLES), *pair]
    assert bench.costs(both)["slow", (RELU1, ADD1)].stopped_early
    bench.tried.clear()
    assert bench.costs(both)["slow", (RELU1, ADD1)].stopped_early
    assert bench.tried == []
    alone = bench.costs(pair)["slow", (RELU1, ADD1)]
    assert (alone.source, alone.stopped_early) == ("measured", False)


@pytest.mark.long
def test_run_that_takes_far_too_long_is_ended_and_tried_again_without_a_bound(bench: Bench) -> None:
    pair = bench.candidates("crawls", (RELU1, ADD1))
    both = [*bench.candidates("numpy", *SINGLES), *pair]
    limits = replace(PATIENT, lose_s=0.15)
    cost = bench.costs(both, limits)["crawls", (RELU1, ADD1)]
    assert (cost.source, cost.stage) == ("invalid", "run")
    assert cost.reason.startswith("ended after 150 ms in its first run: sure to lose, it would have to take less than ")
    bench.tried.clear()
    assert bench.costs(both, limits)["crawls", (RELU1, ADD1)] == cost
    assert bench.tried == []
    alone = bench.costs(pair, limits)["crawls", (RELU1, ADD1)]
    assert alone.source == "measured"


def test_second_run_needs_no_trial_and_no_worker(bench: Bench) -> None:
    single, pair = bench.candidates("numpy", *SINGLES), bench.candidates("numpy", (RELU1, ADD1))
    candidates = [*single, *pair]
    # Apart, nothing bounds the pair: beside the single ones a busy machine may end it early, and what was ended early is measured again.
    first = {**bench.costs(single), **bench.costs(pair)}
    bench.tried.clear()
    before = set(workers())
    estimator = bench.estimator()
    again = {(c.target, tuple(c.inside)): (cost, cached) for c, cost, cached in estimator.estimate(bench.model.graph, candidates)}
    assert again == {key: (cost, True) for key, cost in first.items()}
    assert bench.tried == []
    assert not set(workers()) - before
    estimator.close()


def test_another_version_is_measured_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = bench.candidates("numpy", (RELU1,))
    bench.costs(candidates)
    monkeypatch.setenv("COLLAGE_TEST_VERSION", "2")
    bench.costs(candidates)
    assert len(bench.tried) == bench.saved() == 2


def test_a_target_with_a_layout_shares_the_cost_of_the_plain_one_where_nothing_at_the_ends_has_the_layout(bench: Bench) -> None:
    both = [*bench.candidates("ncnn", (RELU1,)), *bench.candidates("ncnn@nchw16c", (RELU1,))]
    costs = bench.costs(both)
    assert len(bench.tried) == bench.saved() == 1
    assert costs["ncnn", (RELU1,)] == costs["ncnn@nchw16c", (RELU1,)]
    assert costs["ncnn", (RELU1,)].seconds


def test_a_cost_is_checked_again_on_other_inputs_and_keeps_its_time(bench: Bench) -> None:
    candidates = bench.candidates("numpy", (RELU1,))
    before = bench.costs(candidates)["numpy", (RELU1,)]
    measured = bench.record()
    assert measured.checked_on
    bench.costs(candidates)
    assert len(bench.tried) == 1, "it is known on these inputs"
    after = bench.costs(candidates, inputs=CLAMPED)["numpy", (RELU1,)]
    checked = bench.record()
    assert (len(bench.tried), after.seconds, after.error) == (2, before.seconds, 0.0)
    assert checked == replace(measured, checked_on=checked.checked_on)
    assert checked.checked_on != measured.checked_on


@pytest.mark.parametrize(("changed", "checked"), [("c2", []), ("c1", ["Add"])])
def test_equal_candidates_of_another_model_are_checked_again_on_other_values_alone(
    bench: Bench, tmp_path: Path, changed: str, checked: list[str]
) -> None:
    bench.costs(bench.candidates("numpy", *SINGLES))
    before, changed_model = bench.record(), Bench(chain(tmp_path / "other.onnx", **{changed: 1.0}), bench.database)
    for trials in (checked, []):
        changed_model.tried.clear()
        costs = changed_model.costs(changed_model.candidates("numpy", *SINGLES))
        assert [label for _, label, *_ in changed_model.tried] == trials
        assert {cost.source for cost in costs.values()} == {"measured"}
    after = bench.record()
    assert after.checked_on != before.checked_on
    assert replace(after, checked_on="") == replace(before, checked_on="")


def test_a_cost_that_is_wrong_on_other_inputs_is_not_offered_there_and_keeps_its_time(bench: Bench) -> None:
    candidates = bench.candidates("clamps", (RELU1,))
    before = bench.costs(candidates)["clamps", (RELU1,)]
    wrong = bench.costs(candidates, inputs=CLAMPED)["clamps", (RELU1,)]
    again = bench.costs(candidates)["clamps", (RELU1,)]
    assert (wrong.source, wrong.stage, wrong.error) == ("invalid", "numerics", pytest.approx(0.9))
    assert wrong.reason.startswith("it errs by 0.9 of the largest value")
    assert (again.source, again.seconds, len(bench.tried)) == ("measured", before.seconds, 3)


def test_what_the_database_knows_of_other_inputs_is_not_recalled(bench: Bench) -> None:
    candidates = bench.candidates("clamps", (RELU1,))
    bench.costs(candidates)
    for inputs, known in ((None, 1), (CLAMPED, 0)):
        estimator = bench.estimator(inputs=inputs)
        assert len(list(estimator.recall(candidates))) == known
        estimator.close()


def test_accuracy_of_today_decides_over_what_was_measured(bench: Bench) -> None:
    candidates = bench.candidates("wrong_numbers", (RELU1,))
    assert bench.costs(candidates)["wrong_numbers", (RELU1,)].stage == "numerics"
    bench.tried.clear()
    allowed = bench.costs(candidates, accuracy=0.1)["wrong_numbers", (RELU1,)]
    assert allowed.source == "measured"
    assert allowed.error == pytest.approx(0.01, rel=1e-3)
    assert len(bench.tried) == 1, "a failure of another accuracy is tried again"
    refused = bench.costs(candidates)["wrong_numbers", (RELU1,)]
    assert (refused.stage, refused.reason) == ("numerics", "it errs by 0.01 of the largest value, more than the accuracy allows")
    assert len(bench.tried) == 1, "a measured error needs no other trial"


def test_percentile_is_that_of_the_samples(bench: Bench) -> None:
    candidates = bench.candidates("numpy", (RELU1,))
    low, high = (bench.costs(candidates, percentile=p)["numpy", (RELU1,)].seconds for p in (0, 100))
    with CostDatabase(bench.database) as database:
        computation = bench.estimator()._computation(IndexSet((RELU1,)))
        ((_, record),) = database.of_computations([computation])
    assert (low, high) == (min(record.samples), max(record.samples))


def leftovers() -> list[Path]:
    scratch = home() / "scratch"
    return list(scratch.iterdir()) if scratch.exists() else []


def test_scratch_of_an_earlier_life_is_removed_and_that_of_this_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container each run may have the same number."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    first = scratch_folder()
    for name in (f"{os.getpid()}-left", "4194305-left", "unknown"):
        (tmp_path / "scratch" / name).mkdir()
    second = scratch_folder()
    assert sorted(path.name for path in (tmp_path / "scratch").iterdir()) == sorted([first.name, second.name, "unknown"])


@pytest.mark.parametrize("taken", [1, 2])
def test_consumer_that_stops_half_way_keeps_what_was_measured(bench: Bench, taken: int) -> None:
    before = set(workers())
    estimator = bench.estimator()
    costs: Iterator[Any] = estimator.estimate(bench.model.graph, bench.candidates("numpy", (RELU1,), (ADD1,), (RELU1, ADD1)))
    assert len(list(itertools.islice(costs, taken))) == taken
    costs.close()  # type: ignore[attr-defined]
    assert bench.saved() == taken
    estimator.close()
    assert leftovers() == []
    assert not set(workers()) - before


def test_cancel_between_trials_keeps_what_was_measured(bench: Bench) -> None:
    done: list[Any] = []
    estimator = bench.estimator(should_stop=lambda: bool(done))
    costs = estimator.estimate(bench.model.graph, bench.candidates("numpy", (RELU1,), (ADD1,)))
    done.append(next(costs))
    with pytest.raises(Cancelled):
        next(costs)
    assert (len(bench.tried), bench.saved()) == (1, 1)
    estimator.close()


def test_cancel_within_a_trial_ends_it_at_once(bench: Bench) -> None:
    estimator = bench.estimator(should_stop=lambda: len(bench.tried) == 2)
    with pytest.raises(Cancelled):
        list(estimator.estimate(bench.model.graph, bench.candidates("hangs_at_build", (ADD1,), (ADD1, RELU2))))
    assert bench.saved() == 1
    estimator.close()


def test_unsaved_costs_are_told_as_a_note_and_measuring_goes_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = bench.estimator()
    with estimator._database._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=1")
    known = estimator.estimate(bench.model.graph, bench.candidates("numpy", (RELU1,), (ADD1,)))
    assert {tuple(one.inside): cost.source for one, cost, _ in known} == {(RELU1,): "measured", (ADD1,): "measured"}
    notes = [event.text for event in bench.events if isinstance(event, Note)]
    assert len(notes) == 1
    assert "it is read-only): measuring goes on, but new costs may not be kept" in notes[0]
    estimator.close()


def test_make_estimator_tells_what_is_being_built(model: OnnxModel) -> None:
    events: list[Event] = []
    estimator = make_estimator(
        "measure", model=model, inputs=model.seeded_inputs(), threads=1, accuracy=1e-3, toolchains={}, emit=events.append
    )
    candidate = CandidatePartition(model.graph, "numpy", IndexSet((RELU1,)), "test")
    ((_, cost, cached),) = estimator.estimate(model.graph, [candidate])
    estimator.close()
    assert (cost.source, cached) == ("measured", False)
    assert events == [CandidateBuilding("numpy", candidate.id, "Relu", (RELU1, RELU1), 0, 1)]


@pytest.mark.parametrize(
    ("costs", "message"),
    [("guess", "unknown costs 'guess'"), ("mock:", "--costs 'mock:' names no file"), ("replay", "--costs 'replay' names no file")],
)
def test_costs_that_do_not_exist_are_a_mistake(model: OnnxModel, costs: str, message: str) -> None:
    with pytest.raises(CollageError, match=message):
        make_estimator(costs, model=model, inputs={}, threads=1, accuracy=1e-3, toolchains={}, emit=lambda event: None)


@pytest.mark.parametrize("text", ["soon", "0", "nan", "-1", "inf"])
def test_time_limit_of_the_environment_must_be_seconds(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("COLLAGE_BUILD_TIMEOUT_S", text)
    with pytest.raises(CollageError, match=f"COLLAGE_BUILD_TIMEOUT_S is '{text}', it must be a number of seconds above 0"):
        TrialLimits.from_environment()


def test_time_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_BUILD_TIMEOUT_S", "7.5")
    limits = TrialLimits.from_environment()
    assert (limits.build_s, limits.run_s) == (7.5, TrialLimits.run_s)


def test_a_profile_that_was_taken_is_found_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each two nodes that are the same computation, one is profiled; other threads are another profile."""
    first, second = bench.candidates("onnxruntime", (RELU1, ADD1), (RELU2, ADD2))
    for candidate, threads in ((first, 1), (second, 1), (second, 2)):
        estimator = bench.estimator(threads=threads)
        asked: list[TrialTask] = []
        take = estimator._backend.profile
        monkeypatch.setattr(estimator._backend, "profile", lambda task, asked=asked, take=take: asked.append(task) or take(task))
        try:
            told = estimator.profile(candidate)
        finally:
            estimator.close()
        assert told is not None
        assert sorted(node for nodes, _ in told.groups for node in nodes) == list(candidate.inside)
        assert len(asked) == (candidate is first or threads == 2)


def test_a_profile_names_the_nodes_of_the_model(bench: Bench) -> None:
    """One that cannot be built has none; nor has a toolchain without a profiler, which is not asked."""
    estimator = bench.estimator()
    try:
        [part] = bench.candidates("onnxruntime", (ADD1, RELU2))
        told = estimator.profile(part)
        assert told is not None
        assert sorted(node for nodes, _ in told.groups for node in nodes) == [ADD1, RELU2]
        assert told.total_s > 0
        assert estimator.profile(*bench.candidates("segfaults_at_build", (ADD1, RELU2))) is None
        assert [estimator.has_profiler(target) for target in ("onnxruntime", "numpy")] == [True, False]
    finally:
        estimator.close()
