"""`CostProgress` in whole runs: progress that a person can read, whatever the estimator counts by itself; notes on a run's inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from brief_runs import free_call, shorten_trials

from collage_core.cli.terminal import Progress, show_plan
from collage_core.cost.cost import Cost, TransitionModel
from collage_core.cost.estimator import Known
from collage_core.cost.measuring.call_meter import CallMeter
from collage_core.documents.json_form import to_json
from collage_core.documents.plan import PlanPartition
from collage_core.events import (
    CandidateBuilding,
    CandidateCosted,
    Event,
    Note,
    PhaseEnded,
    PhaseStarted,
    PlanConsidered,
    PlanImproved,
    StepStarted,
    ignore,
)
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.options import Options
from collage_core.pipeline.loop.budget import Budget
from collage_core.pipeline.loop.cost_progress import NEWEST, SLOW_S, CostProgress, TimeRemaining
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.rules.candidate import CandidatePartition
from tests.helpers.documents import run_document
from tests.helpers.models import model_of, write


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """The events of a measured run of the mini-MNIST, on ONNX Runtime alone, until its plan is decided; each trial times a few runs."""
    folder: Path = tmp_path_factory.mktemp("run")
    events: list[Event] = []
    with pytest.MonkeyPatch.context() as patch:
        shorten_trials(patch.setattr)
        patch.setattr(CallMeter, "_measured", free_call)
        options = Options(("onnxruntime",), costs_db=str(folder / "costs.sqlite3"), threads=1, budget_s=600)
        run = SearchedRun("mini_mnist", options, events.append)
        run.search(run.cost())
        run.close()
    return events


@pytest.mark.long
def test_progress_goes_up_and_never_past_its_end(told: list[Event]) -> None:
    costed = [event for event in told if isinstance(event, CandidateCosted)]
    assert len(costed) > 1
    assert [event.done for event in costed] == list(range(1, len(costed) + 1))
    assert all(event.done <= event.total for event in costed)
    building = [event for event in told if isinstance(event, CandidateBuilding) and event.repetition == 1]
    assert [event.done for event in building] == sorted(event.done for event in building)
    assert all(event.done < event.total for event in building)
    totals = [event.total for event in building]
    assert totals == sorted(totals), "the end never comes nearer while batches come and go"


@pytest.mark.long
def test_what_the_plan_rests_on_is_repeated_and_is_known_no_more_often(told: list[Event]) -> None:
    again = [event for event in told if isinstance(event, CandidateBuilding) and event.repetition > 1]
    assert {event.repetition for event in again} >= {2}, "each part of a plan is looked at twice"
    assert all(event.left_s is not None for event in again), "the budget has an end"


@pytest.mark.long
def test_the_share_that_is_known_never_falls(told: list[Event]) -> None:
    shares = [event.done / event.total for event in told if isinstance(event, CandidateBuilding | CandidateCosted)]
    assert shares == sorted(shares)
    assert shares[-1] < 1.0, "more may come, as long as something is measured"


def test_no_count_is_taken_back_whatever_is_asked_for() -> None:
    """All that is recalled from the database is known at once; then there are many more, and at last fewer than was likely."""
    events: list[Event] = []
    likely = [0]
    progress = CostProgress(["a"], ["a"], events.append, lambda: likely[0], Budget(60.0))
    made: Any = [SimpleNamespace(target="a", computation=number, id=str(number), inside=number, sub_graph=LABELLED) for number in range(40)]

    def known(first: int, last: int) -> list[Known]:
        return [(candidate, Cost(1.0, "measured"), False) for candidate in made[first:last]]

    list(progress.follow(known(0, 27), made, recalls=True))
    likely[0] = 228
    list(progress.follow(known(27, 30), made[27:30]))
    progress.pass_on(CandidateBuilding("a", "0", "Relu", (0, 0), 0, 1, repetition=2))
    likely[0] = 20
    progress.pass_on(CandidateBuilding("a", "31", "Relu", (0, 0), 0, 9))
    told = [event for event in events if isinstance(event, CandidateBuilding | CandidateCosted)]
    shares = [event.done / event.total for event in told]
    assert shares == sorted(shares)
    totals = [event.total for event in told]
    assert totals == sorted(totals)
    assert (told[-1].done, told[-2].repetition) == (30, 2)  # type: ignore[union-attr]


LABELLED = SimpleNamespace(label="Relu")


def test_what_a_recording_does_not_know_is_no_known_cost() -> None:
    progress = CostProgress(["a"], [], ignore, lambda: 2, Budget(60.0))
    made: Any = [SimpleNamespace(target="a", computation=number, id=str(number), inside=number, sub_graph=LABELLED) for number in range(2)]
    list(progress.follow([(made[0], Cost(1.0, "recorded"), True), (made[1], Cost.unknown("it has no cost of it"), True)], made))
    assert progress.counts == {"a": {"invalid": 0, "measured": 0, "cache_hits": 1}}


FIRST = {("onnxruntime", 2): 1.0, ("openvino", 2): 1.15, ("tvm", 2): 1.5}
TRUTH = {("onnxruntime", 2): 1.0, ("openvino", 2): 0.8, ("tvm", 2): 0.1}


class Unlucky:
    """Measures a chain of Relu and Sigmoid; its first costs are off by up to a fifth, and those of repetitions are the truth."""

    name = "measure"
    machine = "a machine"

    def __init__(self) -> None:
        self.told = {key: Cost(seconds, "measured", 0.0, 5, interval_s=seconds / 5) for key, seconds in FIRST.items()}
        self.repeated: list[tuple[str, int]] = []

    def computation_key(self, candidate: CandidatePartition) -> tuple[str, int]:
        return candidate.target, len(candidate.inside)

    def recall(self, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        return iter(())

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        return self.measure(candidates)

    def measure(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        for candidate in candidates:
            yield candidate, self.told.get(self.computation_key(candidate), Cost(9.0, "measured", 0.0, 5, interval_s=0.5)), False

    def repeat(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        for candidate in candidates:
            key = self.computation_key(candidate)
            if self.told[key].samples == 5:
                self.repeated.append(key)
                self.told[key] = Cost(TRUTH[key], "measured", 0.0, 35, interval_s=0.01)
                yield candidate, self.told[key], False

    def calls(self, targets: Sequence[str]) -> Iterator[Known]:
        return iter(())

    def known_transitions(self, targets: Sequence[str]) -> TransitionModel:
        return TransitionModel()

    def transitions_between(self, pairs: Collection[tuple[str, str]]) -> TransitionModel:
        return TransitionModel()

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        return TransitionModel()

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        return 0.0

    def close(self) -> None:
        pass


@pytest.mark.parametrize("measure_all", [True, False])
def test_what_was_left_out_is_repeated_where_its_interval_says_that_it_may_be_better(tmp_path: Path, measure_all: bool) -> None:
    path = write(tmp_path, model_of("g (float[8,8] x) => (float[8,8] y) { [relu] a = Relu(x) [sigmoid] y = Sigmoid(a) }"))
    targets = ("onnxruntime", "openvino", "tvm")
    options = Options(targets, costs_db=str(tmp_path / "costs.sqlite3"), fold=False, measure_all=measure_all)
    unlucky = Unlucky()

    def planned() -> list[tuple[str, int]]:
        run = SearchedRun(path, options, lambda event: None, estimator=unlucky)
        decision = run.search(run.cost())
        return [(placed.target, len(placed.nodes)) for placed in run.record(decision).plan.partitions]

    assert planned() == [("openvino", 2)]
    assert unlucky.repeated == [("onnxruntime", 2), ("openvino", 2)], "the one at 1.5 s is too dear, whatever it may be off by"
    assert planned() == [("openvino", 2)]
    assert len(unlucky.repeated) == 2, "a second run has nothing to ask"


def test_trials_tell_how_long_they_took_and_what_is_left(told: list[Event]) -> None:
    costed = [event for event in told if isinstance(event, CandidateCosted)]
    assert all(event.took_s is not None and event.took_s > 0 for event in costed if not event.from_cache)
    assert costed[-1].left_s is not None
    first = next(event for event in told if isinstance(event, CandidateBuilding))
    assert first.left_s is not None, "the budget is known before any trial has ended"
    steps = [event for event in told if isinstance(event, StepStarted) and event.step != "decide"]
    assert all(event.left_s is not None for event in steps), "merging and repeating, too"
    assert len(first.spans) == 2, "the largest candidate of the target comes first: the whole model"


def test_inputs_that_prove_little_are_told_where_something_is_compared(tmp_path: Path) -> None:
    model = model_of("g (float[8,8] x) => (float[8,8] y) { [zero] a = Mul(x, z) [add] y = Add(a, z) }", {"z": np.float32(0)})
    path, mine = write(tmp_path, model), tmp_path / "mine.npz"
    np.savez(mine, x=np.ones((8, 8), np.float32))

    def told(options: Options) -> list[Event]:
        events: list[Event] = []
        SearchedRun(path, options, events.append).close()
        return [event for event in events if isinstance(event, Note)]

    measured = {"costs_db": str(tmp_path / "costs.sqlite3"), "fold": False}
    said = "no inputs that were tried change the outputs: comparing with the reference proves little (--inputs FILE.npz brings your own)"
    assert told(Options(("onnxruntime",), **measured)) == [Note(said)]
    assert told(Options(("onnxruntime",), **measured, inputs=mine)) == told(Options(("onnxruntime",), costs="roofline", fold=False)) == []


def test_a_quiet_run_still_says_what_the_user_should_know(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(quiet=True) as progress:
        for event in (
            PhaseStarted("costs"),
            CandidateCosted("tvm", ("c",), "Conv", {"seconds": 1e-6}, False, 1, 2),
            Note("[b]the limit[/b] was hit " * 20),
            PhaseEnded("costs", 5.0),
        ):
            progress(event)
    assert capsys.readouterr() == ("", "note: " + "[b]the limit[/b] was hit " * 20 + "\n")


def test_the_plan_that_is_considered_becomes_one_that_is_measured(told: list[Event]) -> None:
    index = next(index for index, event in enumerate(told) if isinstance(event, StepStarted) and event.step == "search")
    considered = [event for event in told[:index] if isinstance(event, PlanConsidered)]
    plan = next(event for event in told[index:] if isinstance(event, PlanImproved))
    assert any(isinstance(event, PlanImproved) for event in told[:index]), "the first plan is told as soon as it is known"
    assert considered[0].best_s is not None, "the whole model on one target is a plan"
    bests = [event.best_s for event in considered if event.best_s is not None]
    assert bests == sorted(bests, reverse=True)
    assert all(is_known for _, _, is_known in considered[-1].partitions)
    assert considered[-1].total_s == bests[-1] == plan.total_s


def test_the_time_left_follows_from_the_newest_trials() -> None:
    now = [100.0]
    remaining = TimeRemaining(lambda: now[0])

    def trial(seconds: float, candidate: str = "a") -> float | None:
        remaining.begins(candidate)
        now[0] += seconds
        return remaining.ended(["same", candidate])

    assert trial(9.0) == 9.0
    assert remaining.ended(["from the cache"]) is None
    assert trial(1.0) == 1.0
    assert remaining.left_s(2, 20) is None, "two trials tell little"
    now[0] += SLOW_S
    assert remaining.left_s(2, 20) == (10.0 + SLOW_S) / 2 * 18, "but something must be said where they are slow"
    now[0] -= SLOW_S
    assert trial(2.0) == 2.0
    assert remaining.left_s(3, 20) == 68.0, "three took 12 s, 17 are left"
    for number in range(NEWEST):
        trial(0.5, str(number))
    assert remaining.left_s(15, 20) == 2.5, "the first ones were whole models"
    assert remaining.left_s(20, 20) == 0.0


def test_the_terminal_says_which_step_it_is() -> None:
    progress = Progress()
    assert progress._line(PhaseStarted("merge")) == "fusing adjacent partitions …"
    assert progress._line(StepStarted("repeat")) == "fusing adjacent partitions, re-timing …"
    assert progress._line(StepStarted("settle")) == "fusing adjacent partitions, settle …"
    assert progress._line(PhaseStarted("rewrite")) == "assembling …"


def test_the_terminal_says_what_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    part = {"id": "p1", "target": "tvm", "nodes": (0, 1), "names": ("conv", "relu"), "ops": ("Conv", "Relu"), "cost_s": 1e-3}
    placed = PlanPartition(**part, spread_s=None, interval_s=1e-4, samples=5, source="measured", decided_by="cost", stability=None)
    instead = [{"id": "p2", "target": "ncnn", "nodes": [0]}, {"id": "p3", "target": "tvm", "nodes": [1]}]
    rival = {"partitions": ["p1"], "instead": instead, "above_s": 0.0, "could_gain_s": 5e-5}
    plan = {"total_s": 1e-3, "total_interval_s": 1e-4, "partitions": [to_json(placed)]}
    budget = {"limit_s": 20.0, "spent_s": 20.2, "undecided": ["p1"], "rivals": [rival]}
    show_plan(run_document(plan=plan, budget=budget))
    said = capsys.readouterr().out
    assert "undecided after 20 s of measuring; run it again to continue, or with a larger --budget:" in said
    assert "tvm or ncnn + tvm in 2 partitions for 2 nodes from 'conv': the second could be 50 µs faster, 5%" in said
    show_plan(run_document(plan=plan, budget={**budget, "rivals": [{**rival, "could_gain_s": 4e-3}]}))
    assert "the second could be 4 ms faster\n" in capsys.readouterr().out, "more than the plan takes is no share of it"
    show_plan(run_document(plan=plan, budget={**budget, "rivals": [rival] * 31}))
    lines = capsys.readouterr().out.splitlines()
    assert sum("could be 50 µs faster" in line for line in lines) == 8
    assert "  and 23 more (--json has all)" in lines
    show_plan(run_document(plan=plan))
    assert "undecided" not in capsys.readouterr().out


def test_the_terminal_says_what_is_left() -> None:
    def line(left_s: float | None) -> str:
        progress = Progress(quiet=True)
        cost = {"seconds": 1e-6, "source": "measured"}
        progress(CandidateCosted("tvm", ("c",), "Conv", cost, False, 3, 20, left_s=left_s))
        return progress.shown().plain

    assert line(34.4).endswith("about 34 s left")
    assert "left" not in line(None)
    assert "left" not in line(0.4)
