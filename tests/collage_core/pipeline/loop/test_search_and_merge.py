"""From costed candidates to a plan: exclusive toolchains, unknown costs, objectives, and what is said of each."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from collage_test_toolchains import Numpy
from stand_in_device import OnDevice

from collage_core.cost.cost import Cost, Transition
from collage_core.documents.run import RunDocument
from collage_core.events import Event, Note, SearchProgress
from collage_core.graph.index_set import IndexSet
from collage_core.options import Options
from collage_core.pipeline.loop.search_and_merge import (
    PAUSE_S,
    Planned,
    PlanSearch,
    SearchSettings,
    _Teller,
    guessed_total_s,
    known_total_s,
    make_problem,
    regret_seconds,
    searched,
)
from collage_core.pipeline.partition import partition
from collage_core.pipeline.plan_documents import priority_note
from collage_core.pipeline.record.record import CostedCandidate
from collage_core.rules.candidate import CandidatePartition
from collage_core.search.objectives import parse_objective
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import FEMTOSECONDS, SearchProblem
from collage_core.search.searcher import SearchResult
from collage_core.search.solve import solve
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from tests.helpers.graphs import graph

CHAIN = graph(["conv: Conv <- x", "relu: Relu <- conv", "pool: MaxPool <- relu"])


@dataclass
class Rival:
    """Stands for a toolchain that only knows whom it excludes."""

    conflicts: tuple[str, ...] = ()


def problem_of(costs: dict[tuple[str, int], float | None], conflicts: dict[str, tuple[str, ...]] | None = None) -> Planned:
    """The chain with single nodes of these costs, not yet searched."""
    targets = list(dict.fromkeys(target for target, _ in costs))
    costed = []
    for (target, node), seconds in costs.items():
        cost = Cost.unknown("nobody measured it") if seconds is None else Cost(seconds, "mock")
        costed.append(CostedCandidate(CandidatePartition(CHAIN, target, IndexSet((node,)), "test"), cost))
    toolchains: Any = {target: Rival((conflicts or {}).get(target, ())) for target in targets}
    problem = make_problem(CHAIN, costed, {}, toolchains)
    nothing = SearchResult("none", (), 0, False, 0, 0, 0, 0.0)
    return Planned(nothing, nothing, problem, costed)


def with_search(planned: Planned, settings: SearchSettings | None = None) -> Planned:
    planned.final = searched(planned.problem, (), settings or SearchSettings(), lambda event: None)
    return planned


def targets_of(problem: SearchProblem, result: SearchResult) -> list[str]:
    return [problem.candidates[index].target for index in result.chosen]


@pytest.mark.parametrize("said_by", ["a", "b"])
def test_toolchains_that_exclude_each_other_never_meet(said_by: str) -> None:
    costs: dict[tuple[str, int], float | None] = {("a", 0): 1.0, ("a", 1): 9.0, ("a", 2): 1.0, ("b", 0): 9.0, ("b", 1): 1.0, ("b", 2): 9.0}
    free = with_search(problem_of(costs))
    assert targets_of(free.problem, free.final) == ["a", "b", "a"]
    apart = with_search(problem_of(costs, {said_by: ("b" if said_by == "a" else "a",)}))
    assert apart.problem.exclusive == (("a", "b"),)
    assert targets_of(apart.problem, apart.final) == ["a", "a", "a"]


def test_a_search_that_took_as_long_as_it_may_is_not_begun_again_for_its_transitions(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[float | None] = []

    def stopped(problem: SearchProblem, constraints: object, settings: SearchSettings, emit: object) -> SearchResult:
        searches.append(settings.limit_s)
        found = solve(problem)
        return replace(found, optimal=False, stopped=True, lower_bound=found.total)

    monkeypatch.setattr("collage_core.pipeline.loop.search_and_merge.searched", stopped)
    pair = Transition(1.0)
    search = PlanSearch(CHAIN, {"a": Rival(), "b": Rival()}, lambda wanted: dict.fromkeys(wanted, pair), (), SearchSettings())  # type: ignore[dict-item]
    costed = problem_of({("a", 0): 1.0, ("a", 1): 9.0, ("a", 2): 1.0, ("b", 0): 9.0, ("b", 1): 1.0, ("b", 2): 9.0}).costed
    planned = search.best(costed, lambda event: None, 3.0)
    assert searches == [3.0]
    assert targets_of(planned.problem, planned.final) == ["a", "b", "a"]
    assert planned.final.total == plan_total(planned.problem, planned.final.chosen) == 5 * FEMTOSECONDS, "with its transitions"
    assert planned.final.lower_bound == 3 * FEMTOSECONDS
    monkeypatch.undo()
    assert search.best(costed, lambda event: None, 3.0).final.total == 5 * FEMTOSECONDS


def test_a_conflict_with_a_toolchain_that_is_not_asked_for_means_nothing() -> None:
    assert problem_of({("a", 0): 1.0, ("a", 1): 1.0, ("a", 2): 1.0}, {"a": ("z",)}).problem.exclusive == ()


def test_where_costs_are_unknown_the_order_of_the_targets_decides_and_that_is_said() -> None:
    planned = with_search(problem_of({("a", 0): 1.0, ("b", 0): 2.0, ("b", 1): None, ("a", 1): None, ("a", 2): 1.0, ("b", 2): 0.5}))
    assert targets_of(planned.problem, planned.final) == ["a", "a", "b"]
    assert priority_note(planned) == "tie broken by priority (a, b): the costs of 1 of 3 partitions are not known (relu)"
    assert priority_note(with_search(problem_of({("a", 0): 1.0, ("a", 1): 1.0, ("a", 2): 1.0}))) == ""


def test_a_total_is_known_where_each_cost_in_it_is() -> None:
    planned = with_search(problem_of({("a", 0): 1.0, ("a", 1): 2.0, ("b", 2): None}))
    assert known_total_s(planned.costed, planned.final) is None
    assert guessed_total_s(planned.problem, planned.final) is None
    planned = with_search(problem_of({("a", 0): 1.0, ("a", 1): 2.0, ("b", 2): 0.5}))
    assert known_total_s(planned.costed, planned.final) == guessed_total_s(planned.problem, planned.final) == 3.5


def test_a_bound_in_place_of_a_cost_makes_no_total() -> None:
    planned = with_search(problem_of({("a", 0): 1.0, ("a", 1): 2.0, ("b", 2): 0.5}))
    planned.costed[2].cost = Cost.bound(0.5)
    assert known_total_s(planned.costed, planned.final) is None
    assert guessed_total_s(planned.problem, planned.final) == 3.5
    planned.costed[2].cost = Cost(0.5, "estimate", reason="its toolchain is described")
    assert known_total_s(planned.costed, planned.final) == 3.5


def test_regrets_come_with_the_plan_only_where_it_is_known_to_be_the_fastest() -> None:
    costs: dict[tuple[str, int], float | None] = {("a", 0): 1.0, ("a", 1): 1.0, ("a", 2): 1.0, ("b", 1): 4.0}
    regrets = regret_seconds(with_search(problem_of(costs)), ())
    assert sorted(value for value in regrets.values() if value is not None) == [0.0, 0.0, 0.0, 3.0]
    assert regret_seconds(with_search(problem_of(costs), SearchSettings("greedy")), ()) == {}
    assert regret_seconds(with_search(problem_of(costs), SearchSettings(objective=parse_objective("partitions,time"))), ()) == {}


MOCK = {
    "targets": {"onnxruntime": {"op_s": 1, "ops": {"Relu": 9}}, "tvm": {"op_s": 2, "ops": {"Relu": 1}}},
    "transitions": {},
}


@pytest.fixture
def options(tmp_path: Path) -> Options:
    (tmp_path / "mock.json").write_text(json.dumps(MOCK))
    return Options(("onnxruntime", "tvm"), costs=f"mock:{tmp_path / 'mock.json'}", max_depth={"": 1})


def used(document: RunDocument) -> set[str]:
    return {part.target for part in document.plan.partitions}


def test_the_objective_holds_in_the_whole_run_and_in_those_after_it(options: Options) -> None:
    fastest = partition("mini_mnist", options)
    assert used(fastest.document) == {"onnxruntime", "tvm"}
    quiet = partition("mini_mnist", Options(**{**vars(options), "objective": "bytes,time"}))
    assert used(quiet.document) == {"tvm"}, "alone it takes 11 s, ONNX Runtime 14 s"
    assert quiet.document.search.optimal
    again = search_again(quiet, Terms([{"kind": "veto", "target": "tvm"}]))
    assert used(again.document) == {"onnxruntime"}
    assert again.document.verify == quiet.document.verify, "nothing is built in either"
    back = search_again(again, Terms())
    assert used(back.document) == {"tvm"}
    rows = quiet.node_candidates(1).candidates
    assert {row.target: row.regret_s for row in rows if len(row.nodes) == 1} == {"tvm": 0.0, "onnxruntime": 8.0}, "regret is of time"


@pytest.mark.long
def test_a_run_without_known_costs_says_where_priorities_decided(options: Options, tmp_path: Path) -> None:
    recorded = partition("mini_mnist", Options(**{**vars(options), "out": tmp_path / "first", "targets": ("onnxruntime",)}))
    assert recorded.plan.partitions[0].decided_by == "cost"
    events: list[Event] = []
    replay = f"replay:{tmp_path / 'first' / 'run.json.gz'}"
    blind = partition("mini_mnist", Options(("tvm",), costs=replay, max_depth={"": 1}), events.append)
    assert {part.decided_by for part in blind.document.plan.partitions} == {"priority"}
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any("are not known" in note and note.startswith("tie broken by priority (tvm)") for note in notes), notes


def test_a_search_tells_its_newest_state_and_no_more_often_than_can_be_drawn() -> None:
    now = [0.0]
    events: list[Event] = []
    problem = problem_of({("a", 0): 1.0, ("b", 1): 1.0}).problem
    teller = _Teller(events.append, problem, lambda: now[0])
    asked: list[float] = []

    def newest() -> tuple[int, ...]:
        asked.append(now[0])
        return (1, 0)

    for moment in (0.0, PAUSE_S / 2, PAUSE_S, 2 * PAUSE_S):
        now[0] = moment
        teller.progress(7, 9, 3, 1, 2 * FEMTOSECONDS, None, newest)
    chosen = [problem.candidates[index] for index in (1, 0)]
    placed = tuple((candidate.target, tuple(candidate.inside.spans())) for candidate in chosen)
    assert events == [SearchProgress(7, 9, 3, 1, problem.nodes, 2.0, None, placed, 2.0)] * 3
    assert asked == [0.0, PAUSE_S, 2 * PAUSE_S], "a state that nobody is told of is not worked out"


def test_a_device_is_a_location_whose_copies_are_asked_for_before_the_first_search() -> None:
    """The two targets share the device, so the copies of the first count; none is left among the transitions."""
    toolchains: Any = {"numpy": Numpy(), "standin:dev:0": OnDevice(), "other": OnDevice()}
    asked: list[set[tuple[str, str]]] = []

    def pairs(wanted: Any) -> dict[tuple[str, str], Transition]:
        asked.append({*wanted})
        known = {("host", "standin:dev:0"): 1e-6, ("standin:dev:0", "host"): 2e-6, ("host", "other"): 9e-6, ("other", "host"): 9e-6}
        return {ends: Transition(fixed_s=seconds) for ends, seconds in known.items()}

    plans = PlanSearch(CHAIN, toolchains, pairs, (), SearchSettings())
    problem = plans.problem([])
    assert asked == [{("host", "standin:dev:0"), ("standin:dev:0", "host"), ("host", "other"), ("other", "host")}]
    assert problem.target_locations == {"standin:dev:0": "dev:0", "other": "dev:0"}
    assert {pair: cost.fixed / FEMTOSECONDS for pair, cost in problem.copies.items()} == {("host", "dev:0"): 1e-6, ("dev:0", "host"): 2e-6}
    assert not problem.transitions
    plans.learn_all_transitions()
    assert not plans.problem([]).transitions
