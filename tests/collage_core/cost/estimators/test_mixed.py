"""Measured and described toolchains in one run: who is asked for what, what counts as measured, and what is built."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import collage_core
from collage_core.cost.cost import Cost, Transition, TransitionModel
from collage_core.cost.estimator import Known, LazyEstimator
from collage_core.cost.estimators.factory import make_estimator
from collage_core.cost.estimators.mixed import MixedEstimator
from collage_core.cost.estimators.roofline import RooflineEstimator
from collage_core.documents.json_form import to_json
from collage_core.documents.verify import Verify
from collage_core.errors import CollageError
from collage_core.events import CandidateBuilding, CandidateCosted, Event, Note
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.options import Options
from collage_core.pipeline.build_and_compare import baselines_not_built
from collage_core.pipeline.partition import partition
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.rules.candidate import CandidatePartition
from collage_core.toolchains import registry
from collage_core.toolchains.described import read_description
from tests.helpers.graphs import graph
from tests.helpers.models import loaded, model_of, write

CHAIN = "g (float[1,4] x) => (float[1,4] y) { [relu1] a = Relu(x) [add1] b = Add(a, c1) [relu2] c = Relu(b) [add2] y = Add(c, c2) }"
CONSTANTS = {name: np.ones((1, 4), np.float32) for name in ("c1", "c2")}
LINE = graph(["a: Relu <- x", "b: MatMul <- a", "c: Identity <- b", "d: Sum <- c"])


class Measured:
    """Stands for `MeasureEstimator`: a node costs a millisecond; candidates in `known` need not be measured."""

    name, machine = "measure", "this machine"

    def __init__(self, known: Sequence[tuple[str, int]] = ()):
        self.known = known
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self.handed_over: list[str] = []
        self.is_closed = False

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        return self.measure(candidates)

    def measure(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        self.asked += [(candidate.target, tuple(candidate.inside)) for candidate in candidates]
        yield from ((candidate, Cost(len(candidate.inside) * 1e-3, "measured"), False) for candidate in candidates)

    def recall(self, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        for candidate in candidates:
            if (candidate.target, candidate.inside.first()) in self.known:
                yield candidate, Cost(1e-3, "measured"), True

    def computation_key(self, candidate: CandidatePartition) -> Hashable:
        assert candidate.target == "tvm", "nobody else is measured"
        return "measured", candidate.computation

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        self.handed_over += targets
        return TransitionModel({("tvm", "openvino"): Transition(1.0, 2.0)})

    def known_transitions(self, targets: Sequence[str]) -> TransitionModel:
        return TransitionModel()

    def transitions_between(self, pairs: Collection[tuple[str, str]]) -> TransitionModel:
        self.handed_over += [f"{maker}->{reader}" for maker, reader in pairs]
        return TransitionModel()

    def calls(self, targets: Sequence[str]) -> Iterator[Known]:
        self.handed_over += targets
        return iter(())

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        return 5.0

    def close(self) -> None:
        self.is_closed = True


def hook(folder: Path, cost: str = "[cost]\nlaunch_s = 1e-9", match: str = "Add(Relu(*), *)", head: str = "") -> Path:
    path = folder / "hook.toml"
    path.write_text(f'name = "hook"\n{head}[[pattern]]\nmatch = "{match}"\n{cost}\n')
    return path


@pytest.fixture
def measured() -> Measured:
    return Measured(known=[("tvm", 1)])


@pytest.fixture
def mixed(tmp_path: Path, measured: Measured) -> MixedEstimator:
    described = {"hook": read_description(hook(tmp_path))}
    return MixedEstimator(measured, RooflineEstimator(described, 1), described)


def on(target: str, *nodes: int) -> CandidatePartition:
    return CandidatePartition(LINE, target, IndexSet(nodes), "test")


def answers(known: Iterator[Known]) -> dict[tuple[str, tuple[int, ...]], tuple[float | None, str, bool]]:
    return {(c.target, tuple(c.inside)): (cost.seconds, cost.source, from_cache) for c, cost, from_cache in known}


def test_each_is_asked_for_its_own(mixed: MixedEstimator, measured: Measured) -> None:
    wanted = [on("tvm", 0), on("hook", 0), on("hook", 0, 1), on("tvm", 1)]
    assert answers(mixed.estimate(LINE, wanted)) == {
        ("tvm", (0,)): (1e-3, "measured", False),
        ("hook", (0,)): (1e-9, "estimate", False),
        ("hook", (0, 1)): (1e-9, "estimate", False),
        ("tvm", (1,)): (1e-3, "measured", False),
    }
    assert measured.asked == [("tvm", (0,)), ("tvm", (1,))]


def test_estimates_are_recalled_beside_what_was_measured_before(mixed: MixedEstimator, measured: Measured) -> None:
    assert isinstance(mixed, LazyEstimator)
    assert answers(mixed.recall([on("tvm", 0), on("hook", 0), on("tvm", 1)])) == {
        ("hook", (0,)): (1e-9, "estimate", False),
        ("tvm", (1,)): (1e-3, "measured", True),
    }
    assert answers(mixed.recall([on("tvm", 1)])) == {("tvm", (1,)): (1e-3, "measured", True)}
    assert not measured.asked


def test_keys_of_both_are_kept_apart(mixed: MixedEstimator) -> None:
    one = on("hook", 0)
    assert mixed.computation_key(one) == ("hook", one.computation)
    assert mixed.computation_key(on("tvm", 0)) == ("measured", one.computation)


def test_transitions_are_measured_between_those_that_are_here(mixed: MixedEstimator, measured: Measured) -> None:
    assert mixed.transitions(["tvm", "hook", "openvino"]).pairs == {("tvm", "openvino"): Transition(1.0, 2.0)}
    assert measured.handed_over == ["tvm", "openvino"]
    assert [mixed.transition(*pair, 8, "float32") for pair in (("tvm", "openvino"), ("tvm", "hook"), ("hook", "tvm"))] == [5.0, 0.0, 0.0]


def test_only_those_that_are_here_are_asked_for_single_transitions_and_calls(mixed: MixedEstimator, measured: Measured) -> None:
    mixed.transitions_between([("tvm", "hook"), ("tvm", "openvino")])
    assert list(mixed.calls(["hook", "tvm"])) == []
    assert measured.handed_over == ["tvm->openvino", "tvm"]


def test_it_is_one_estimator_to_the_outside(mixed: MixedEstimator, measured: Measured) -> None:
    assert (mixed.name, mixed.machine) == ("measure", "this machine")
    mixed.close()
    assert measured.is_closed


@pytest.fixture
def chain(tmp_path: Path, brief: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(registry.EXTRA, "collage_test_toolchains:Numpy")
    monkeypatch.setenv("COLLAGE_COSTS", str(tmp_path / "costs.sqlite3"))
    return write(tmp_path, model_of(CHAIN, CONSTANTS))


def test_what_an_accelerator_on_paper_would_bring(tmp_path: Path, chain: Path) -> None:
    """A nanosecond a call is less than any call takes here: the hook gets all, twice Relu and Add, since its calls don't fuse."""
    events: list[Event] = []
    files = (hook(tmp_path, head='style = "library"\n'),)
    record = partition(chain, Options(("numpy", "hook"), toolchain_files=files, fold=False, out=tmp_path / "out"), events.append)
    document = to_json(record.document)
    assert [(p["target"], p["nodes"], p["source"]) for p in document["plan"]["partitions"]] == [
        ("hook", [0, 1], "estimate"),
        ("hook", [2, 3], "estimate"),
    ]
    assert document["plan"]["total_s"] == pytest.approx(2e-9)
    why = "not built, since the target 'hook' is not usable here: it is only described, in a file"
    assert record.document.verify == Verify(accuracy=1e-3, value_policy="finite", reason=why)
    reasons = {row["name"]: row["reason"] for row in document["baselines"]}
    assert (reasons["numpy"], reasons["hook"]) == ("", why)
    assert (document["phases"]["rewrite_s"], document["phases"]["baselines_s"]) == (None, None)
    assert Note(f"the plan is {why}") in events
    rows = {row["name"]: row for row in document["targets"]}
    assert rows["hook"]["measured"] == rows["hook"]["cache_hits"] == 0
    assert 1 <= rows["numpy"]["measured"] <= rows["numpy"]["unique"]
    assert {event.target for event in events if isinstance(event, CandidateBuilding)} == {"numpy"}
    told = [event for event in events if isinstance(event, CandidateCosted) and event.target == "hook"]
    assert {event.cost["source"] for event in told} == {"estimate"}, "its calls are never fused"
    assert any(isinstance(event, Note) and event.text.startswith("hook is not measured.") for event in events)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["plan.json", "run.json.gz"]


def test_one_that_brings_nothing_is_in_no_plan(tmp_path: Path, chain: Path) -> None:
    """A second a call: the plan is numpy's and can be built; of the baselines the hook's own cannot."""
    files = (hook(tmp_path, cost="[cost]\nlaunch_s = 1"),)
    run = SearchedRun(chain, Options(("numpy", "hook"), toolchain_files=files, fold=False), lambda event: None)
    try:
        decision = run.search(run.cost())
    finally:
        run.close()
    record = run.record(decision)
    assert {partition.target for partition in record.plan.partitions} == {"numpy"}
    assert {partition.source for partition in record.plan.partitions} == {"measured"}
    assert run.why_not_built(record.plan) == ""
    reasons = baselines_not_built(run, decision)
    assert reasons["hook"] == "not built, since the target 'hook' is not usable here: it is only described, in a file"
    assert reasons["numpy"] == ""
    assert {row.name: row.total_s for row in record.document.baselines}["hook"] == 1.0


def test_one_without_cost_cannot_be_measured(tmp_path: Path, chain: Path) -> None:
    path = hook(tmp_path, cost="")
    with pytest.raises(CollageError) as caught:
        collage_core.partition(chain, targets=["numpy", "hook"], toolchain_files=(path,))
    assert caught.value.message == "the target 'hook' is not usable here: it is only described, in a file"
    assert caught.value.hint == "use mock costs, or give its file a [cost] for an estimate"


def test_a_toolchain_that_says_what_it_costs_is_asked_and_not_measured(
    tmp_path: Path, chain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(registry.EXTRA, "collage_test_toolchains:Numpy,collage_test_toolchains:Priced")
    events: list[Event] = []
    run = SearchedRun(chain, Options(("numpy", "priced"), fold=False), events.append)
    try:
        decision = run.search(run.cost())
    finally:
        run.close()
    costs = {tuple(item.inside): item.cost for item in run.record(decision).candidates if item.target == "priced"}
    assert (costs[0,].seconds, costs[0,].source, costs[0,].reason) == (1e-9, "estimate", "by the function 'cost_s'")
    assert (costs[1,].source, costs[1,].reason) == ("invalid", "the function 'cost_s' raised ValueError: no price for an Add")
    assert {event.target for event in events if isinstance(event, CandidateBuilding)} == {"numpy"}
    assert Note("every cost of priced is an estimate by the function 'cost_s'; transitions are free") in events
    rows = {row.name: row for row in run.record(decision).document.targets}
    assert (rows["priced"].measured, rows["numpy"].measured > 0) == (0, True)


def test_measure_is_mixed_only_where_something_is_described(tmp_path: Path, chain: Path) -> None:
    model = loaded(tmp_path, CHAIN, CONSTANTS, fold=False)
    numpy, described = registry.get("numpy"), read_description(hook(tmp_path))
    for toolchains, is_mixed in (({"numpy": numpy}, False), ({"numpy": numpy, "hook": described}, True)):
        given = {"model": model, "inputs": {}, "threads": 1, "accuracy": 1e-3, "toolchains": toolchains}
        estimator = make_estimator("measure", **given, emit=lambda event: None)  # type: ignore[arg-type]
        assert isinstance(estimator, MixedEstimator) == is_mixed
        assert isinstance(estimator, LazyEstimator)
        estimator.close()
