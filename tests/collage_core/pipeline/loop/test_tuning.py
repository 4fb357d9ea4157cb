"""The step ``tune``: what is tuned first, when it ends, and what the plan says of it; on costs and a tuner that are made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from recorded_costs import MEASURED_WHOLLY, RecordedCosts, computation_key
from tuning_toolchains import DEFAULT_S

from collage_core.cost.estimator import TunedCosts
from collage_core.documents.cost import Tuned
from collage_core.errors import CollageError
from collage_core.events import Event, Note, StepStarted
from collage_core.options import Options
from collage_core.pipeline.loop.budget import Budget
from collage_core.pipeline.loop.measure import MeasuringLoop
from collage_core.pipeline.loop.measuring_policy import MeasureEverything
from collage_core.pipeline.loop.search_and_merge import Planned
from collage_core.pipeline.loop.tuning import FOR_REPETITIONS, TuningStep
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.rewrite.plan import read_plan
from collage_core.rules.candidate import CandidatePartition
from collage_core.toolchains import registry
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.tuning import MOST_TRIALS

TARGET = "onnxruntime"
"""It stands for one that tunes: recorded plans have more of its partitions."""


@cache
def record_of(name: str) -> RunRecord:
    return RunRecord.load(MEASURED_WHOLLY / f"{name}.json.gz")


class MadeUp:
    """A loop over recorded costs with a tuner: each slice takes ten seconds, and the first leaves `share` of a cost.

    Args:
        keep: Says which of the recorded candidates there are.
    """

    def __init__(
        self,
        seconds: float = 200.0,
        share: float = 0.5,
        most_slices: int = 4,
        keep: Callable[[CandidatePartition], bool] = lambda candidate: True,
    ):
        self.recorded = RecordedCosts(record_of("squeezenet"))
        self.recorded.candidates = [candidate for candidate in self.recorded.candidates if keep(candidate)]
        self.tuned: list[CandidatePartition] = []
        self.events: list[Event] = []
        self.stops_at: int | None = None
        self.share, self.most_slices = share, most_slices
        self.budget = Budget(0.0, lambda: 10.0 * len(self.tuned), should_stop=lambda: len(self.tuned) == self.stops_at)
        loop = self.recorded.loop(MeasureEverything(), budget=self.budget)
        self.step = TuningStep(self.tune, [TARGET], seconds, lambda candidate: 0.0, self.budget, self.events.append)
        self.loop = MeasuringLoop(
            loop.table, loop.policy, self.recorded.measure, self.recorded.search, self.events.append, budget=self.budget, tuning=self.step
        )

    def tune(self, candidate: CandidatePartition, seconds: float, best_s: float | None) -> TunedCosts | None:
        assert 0 < seconds <= self.step.seconds
        self.tuned.append(candidate)
        if len(self.tuned) == self.stops_at:
            return None
        before = self.loop.table.costed_of([candidate])[0].cost
        slices = sum(computation_key(one) == computation_key(candidate) for one in self.tuned)
        if slices > 1 or before.seconds is None:
            return TunedCosts(trials=16, is_done=slices == self.most_slices)
        after = replace(before, seconds=self.share * before.seconds, tuned=Tuned("d1ce", before.seconds, 10.0, 16))
        return TunedCosts({candidate: after}, 16)

    def run(self) -> tuple[Planned, Planned]:
        """Return the plan before tuning, and the one after."""
        with self.budget.counting():
            self.loop.costs()
            before = self.loop.search()
            return before, self.loop.tune(before)


def is_part(candidate: CandidatePartition) -> bool:
    """Return whether `candidate` is a small one of the target that tunes."""
    return candidate.target == TARGET and len(candidate.inside) < 4


def test_what_could_make_the_plan_faster_by_most_is_tuned_first() -> None:
    made = MadeUp(keep=is_part)
    costs = {computation_key(one): made.recorded.cost(one).seconds or 0.0 for one in made.recorded.candidates}
    made.step.floor_s = lambda candidate: 0.8 * costs[computation_key(candidate)]
    before, _ = made.run()
    placed = [computation_key(item.held) for item in before.partitions if isinstance(item.held, CandidatePartition)]
    assert len(set(placed)) > 3
    first = computation_key(made.tuned[0])
    assert first == max(placed, key=lambda key: placed.count(key) * costs[key])
    assert computation_key(made.tuned[1]) != first, "less is hoped for after a slice, and others promise more"


def test_where_tuning_brings_nothing_for_some_convolutions_other_operators_have_their_turn() -> None:
    made = MadeUp(2000.0, share=1.0, keep=is_part)
    made.run()
    operators = [{node.op for node in (one.graph.nodes[index] for index in one.inside)} for one in made.tuned]
    first = next(at for at, ops in enumerate(operators) if "Conv" not in ops)
    costs = {computation_key(one): made.recorded.cost(one).seconds or 0.0 for one in made.tuned}
    assert all("Conv" in ops for ops in operators[:first])
    later = [one for one, ops in zip(made.tuned[first:], operators[first:], strict=True) if "Conv" in ops and one not in made.tuned[:first]]
    assert any(costs[computation_key(one)] > costs[computation_key(made.tuned[first])] for one in later)


def test_kernels_that_only_together_make_a_better_plan_are_tuned_too() -> None:
    made = MadeUp(600.0, share=0.05, keep=lambda one: is_part(one) or (one.target == "openvino" and len(one.inside) == len(one.graph)))
    before, after = made.run()
    assert {item.target for item in before.partitions} == {"openvino"}
    assert {item.target for item in after.partitions} == {TARGET}
    assert after.final.total < before.final.total


def test_tuning_makes_the_plan_faster_and_says_so() -> None:
    made = MadeUp(share=0.01)
    before, after = made.run()
    assert after.final.total < before.final.total
    assert any(item.cost.tuned == Tuned("d1ce", item.cost.tuned.untuned_s, 10.0, 16) for item in after.partitions if item.cost.tuned)
    assert [event.step for event in made.events if isinstance(event, StepStarted)][-1] == "tune"
    assert made.step.trials == 16 * len(made.tuned)
    tried = f"{made.step.trials} schedules were tried for {len({computation_key(one) for one in made.tuned})} computations"
    (note,) = [event.text for event in made.events if isinstance(event, Note)]
    assert note.startswith(f"{tried}: 1 of 1 partitions are tuned, the plan is predicted ")


def test_a_computation_that_is_done_is_left_and_in_the_end_all_are() -> None:
    made = MadeUp(seconds=300.0, share=0.95, most_slices=2, keep=is_part)
    made.run()
    keys = [computation_key(candidate) for candidate in made.tuned]
    assert all(keys.count(key) <= 2 for key in keys)
    assert len(set(keys)) > 3


def test_the_time_for_tuning_is_kept_and_some_is_left_for_repetitions() -> None:
    made = MadeUp(seconds=50.0)
    made.run()
    assert len(made.tuned) == (1 - FOR_REPETITIONS) * 50.0 / 10.0
    assert made.budget.limit_s == 50.0
    assert made.loop.tuned_s == 40.0
    assert MadeUp().loop.tuned_s == 0.0, "it has not begun"


def test_a_cancel_ends_tuning_and_what_was_tuned_is_kept() -> None:
    made = MadeUp(share=0.01)
    made.stops_at = 2
    before, after = made.run()
    assert len(made.tuned) == 2
    assert after.final.total < before.final.total


def test_a_tuner_that_fails_is_quoted() -> None:
    made = MadeUp()
    made.step.tune = lambda candidate, seconds, best_s: TunedCosts(is_done=True, note=f"{candidate.target} could not tune: no luck")
    before, after = made.run()
    assert Note(f"{TARGET} could not tune: no luck") in made.events
    assert after.final.total == before.final.total


@pytest.mark.parametrize(
    ("targets", "costs", "tune_s", "said"),
    [
        (("tvm",), "measure", 0.0, "--tune is 0, it must be more than 0"),
        (("tvm",), "roofline", 60.0, "--tune is 60, and nothing is measured with --costs 'roofline'"),
        (("onnxruntime",), "measure", 60.0, "--tune is 60, and no target tunes: onnxruntime"),
    ],
)
def test_tuning_that_cannot_be_is_refused(targets: tuple[str, ...], costs: str, tune_s: float, said: str) -> None:
    with pytest.raises(CollageError, match=said.replace("(", "\\(")):
        partition("mini_mnist", Options(targets, costs=costs, tune_s=tune_s))


@pytest.mark.long
@pytest.mark.usefixtures("brief")
def test_a_run_tunes_and_its_plan_is_built_with_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.EXTRA, "tuning_toolchains:Tunes")
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    model = tmp_path / "chain.onnx"
    nodes = [node("Relu", "x", "a"), node("Sigmoid", "a", "y")]
    model.write_bytes(sub_model(nodes, [tensor("x", (2, 64))], [tensor("y", (2, 64))]).onnx)

    def run() -> RunRecord:
        return partition(model, Options(("tunes",), threads=1, tune_s=60.0, out=tmp_path / "out"))

    tuned, again = run(), run()
    (part,) = tuned.plan.partitions
    assert part.tuned is not None
    assert part.cost_s is not None
    assert part.cost_s < part.tuned.untuned_s
    assert tuned.document.verify.measured_s < DEFAULT_S
    assert tuned.document.plan.partitions[0].tuned.trials == part.tuned.trials == MOST_TRIALS
    assert again.plan.partitions[0].tuned == part.tuned, "the kernel is done, so it costs no further trial"
    assert read_plan(tmp_path / "out") == again.plan
    assert again.plan.tuning_of(again.plan.partitions[0]).startswith(b'[{"workload"')
