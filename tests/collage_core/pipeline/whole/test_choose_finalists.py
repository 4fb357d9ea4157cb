"""Which plans are timed end to end, from given costs: the plan, the baselines and its rivals, each once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.cost.cost import Cost
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.search_and_merge import Planned, SearchSettings, make_problem, searched
from collage_core.pipeline.record.record import CostedCandidate
from collage_core.pipeline.whole.baselines import baseline
from collage_core.pipeline.whole.choose_finalists import BEFORE, ON_MEASURED, another_plan, best_known, carried_over, finalists
from collage_core.pipeline.whole.finalists import Finalist
from collage_core.rewrite.plan import Plan, PlannedModel
from collage_core.rules.candidate import CandidatePartition
from collage_core.search.constraints.constraints import Constraint, parse_constraints
from collage_core.search.objectives import parse_objective
from collage_core.search.problem import femtoseconds
from tests.collage_core.pipeline.loop.test_certainty import Plain
from tests.helpers.graphs import graph

CHAIN = graph(["conv: Conv <- x", "relu: Relu <- conv", "pool: MaxPool <- relu"])
COSTS = {
    ("a", (0, 1)): 0.60,
    ("b", (2,)): 0.40,
    ("a", (2,)): 0.50,
    ("b", (0, 1, 2)): 1.30,
    ("b", (0,)): 0.30,
    ("a", (1, 2)): 0.73,
}


def planned(costs: Mapping[tuple[str, tuple[int, ...]], float] = COSTS, bound: float | None = None) -> Planned:
    costed = [
        CostedCandidate(CandidatePartition(CHAIN, target, IndexSet(nodes), "test"), Cost(seconds, "measured"))
        for (target, nodes), seconds in costs.items()
    ]
    if bound is not None:
        costed[-1].cost = Cost.bound(bound)
    problem = make_problem(CHAIN, costed, {}, {"a": Plain(), "b": Plain()})  # type: ignore[dict-item]
    result = searched(problem, (), SearchSettings(), lambda event: None)
    return Planned(result, result, problem, costed)


def plan_of(one: Planned) -> Plan:
    return Plan(model=PlannedModel(name="m", hash=""), targets=(), total_s=one.final.total / 1e15, partitions=())


def made(
    searched: Planned,
    now: Planned | None = None,
    constraints: tuple[Constraint, ...] = (),
    objective: str = "time",
    refused: Mapping[tuple[int, ...], str] | None = None,
    key_of: Callable[[CandidatePartition], Hashable] = lambda one: one.target,
) -> list[Finalist]:
    settings = SearchSettings(objective=parse_objective(objective))
    baselines = {}
    for name in ("a", "b"):
        result = baseline(name, searched.problem, searched.costed, settings)
        assert result is not None
        baselines[name] = result.chosen
    return finalists(searched, now or searched, baselines, plan_of, constraints, settings, refused or {}, key_of)


def named(listed: list[Finalist]) -> list[tuple[list[str], bool]]:
    return [(list(one.names), one.may_ship) for one in listed]


def test_the_plan_the_baselines_and_what_is_near_it() -> None:
    listed = made(planned())
    assert named(listed) == [(["search"], True), (["a"], True), (["b"], True), (["rival 1"], True)]
    assert [one.total_s for one in listed] == [pytest.approx(total) for total in (1.0, 1.1, 1.3, 1.03)]
    assert [one.rank[1] for one in listed] == [1, 0, 3, 1]


def test_a_baseline_that_is_the_plan_is_no_finalist_of_its_own() -> None:
    listed = made(planned({**COSTS, ("b", (0, 1, 2)): 0.9}))
    assert named(listed)[:2] == [(["search", "b"], True), (["a"], True)]


def test_plans_of_the_same_computations_are_one() -> None:
    """A target with a layout may run every part of a plan as the one without it does."""
    searched = planned()
    assert named(made(searched, key_of=lambda one: "alike")) == [(["search", "a"], True), (["b"], True), (["rival 1"], True)]
    pin = tuple(parse_constraints([{"kind": "pin", "node": 2, "target": "b"}], searched.problem))
    apart = made(searched, constraints=pin, key_of=lambda one: "alike")
    assert named(apart) == [(["search"], True), (["a"], False), (["b"], True)], "one that may not be the plan is measured by itself"


def test_a_rival_rests_on_measured_costs_alone() -> None:
    assert [list(one.names) for one in made(planned(bound=0.73))] == [["search"], ["a"], ["b"]]


def test_the_best_plan_of_measured_costs_is_timed_beside_one_on_estimates() -> None:
    """Whole times decide between the two, and between plans on estimates that are near."""
    searched = planned()
    for item in searched.costed:
        if item.inside == IndexSet((0, 1)):
            item.cost = Cost.from_profile(0.60, 0.02)
    stopped = replace(searched, final=replace(searched.final, optimal=False, stopped=True))
    listed = made(stopped)
    assert named(listed) == [(["search"], True), (["a"], True), (["b"], True), ([ON_MEASURED], True)]
    chosen = [searched.problem.candidates[index] for index in listed[-1].chosen]
    assert [(one.target, tuple(one.inside)) for one in chosen] == [("b", (0,)), ("a", (1, 2))]
    assert listed[0].total_s == pytest.approx(1.0), "an estimate is a prediction"
    unsure = planned()
    for item in unsure.costed:
        if item.inside in (IndexSet((0, 1)), IndexSet((1, 2))):
            item.cost = Cost.from_profile(item.cost.seconds or 0.0, 0.02)
    assert named(made(unsure))[-1] == (["rival 1"], True), "it rests on an estimate as well"


def test_what_does_not_hold_the_constraints_may_not_become_the_plan() -> None:
    searched = planned()
    pin = parse_constraints([{"kind": "pin", "node": 2, "target": "b"}], searched.problem)
    assert named(made(searched, constraints=tuple(pin))) == [(["search"], True), (["a"], False), (["b"], True)]
    assert named(made(searched, objective="partitions")) == [(["search"], False), (["a"], False), (["b"], False)]


def test_where_the_search_plan_is_out_a_baseline_is_the_first() -> None:
    searched = planned()
    b = baseline("b", searched.problem, searched.costed, SearchSettings())
    assert b is not None
    now = another_plan(searched, b.chosen)
    assert (now.final.total, now.final.optimal, now.final.lower_bound) == (femtoseconds(1.3), False, searched.final.total)
    listed = made(searched, now, refused={searched.final.chosen: "it errs"})
    assert [(list(one.names), one.reason) for one in listed][:3] == [(["b"], ""), (["search"], "it errs"), (["a"], "")]


def test_a_plan_that_was_cut_off_has_no_rivals() -> None:
    searched = planned()
    searched.final = replace(searched.final, stopped=True)
    assert [list(one.names) for one in made(searched)] == [["search"], ["a"], ["b"]]


def test_over_corrected_costs_the_same_plans_are_finalists_and_the_newest_plan_too(tmp_path: Path) -> None:
    before = planned()
    listed = made(before)
    listed[1].folder, listed[2].reason = tmp_path, "it crashed"
    kept = carried_over(listed, before.problem, planned({**COSTS, ("b", (2,)): 0.41}), plan_of)
    assert named(kept) == named(listed), "the same plan is the best one still"
    assert [one.total_s for one in kept] == [pytest.approx(total) for total in (1.01, 1.1, 1.3, 1.03)]
    assert (kept[1].folder, kept[2].reason) == (tmp_path, "it crashed")
    rival = carried_over(listed, before.problem, planned({**COSTS, ("b", (2,)): 0.9}), plan_of)
    assert named(rival) == [([BEFORE], True), (["a"], True), (["b"], True), (["search", "rival 1"], True)]
    more = planned({("b", (1, 2)): 0.2, **COSTS})
    changed = carried_over(listed, before.problem, more, plan_of)
    assert named(changed) == [([BEFORE], True), (["a"], True), (["b"], True), (["rival 1"], True), (["search"], True)]
    assert changed[-1].chosen == more.final.chosen
    assert [one.total_s for one in changed] == [pytest.approx(total) for total in (1.0, 1.1, 1.3, 1.03, 0.5)]


def test_a_baseline_of_less_cost_is_the_plan_of_a_search_that_was_stopped() -> None:
    best = planned()
    whole = next(index for index, item in enumerate(best.problem.candidates) if len(item.inside) == 3)
    stopped = another_plan(best, (whole,))
    taken = best_known(stopped, [best.final.chosen], ())
    assert (taken.final.chosen, taken.final.total, taken.final.optimal) == (best.final.chosen, best.final.total, False)
    assert best_known(best, [(whole,)], ()) is best, "what costs more is not taken"
    veto = parse_constraints([{"kind": "veto", "node": "pool", "target": "b"}], best.problem)
    only = another_plan(best, baseline("a", best.problem, best.costed, SearchSettings()).chosen)  # type: ignore[union-attr]
    assert best_known(only, [best.final.chosen], veto) is only, "it does not hold the constraints"
    guessed = planned(bound=0.1)
    dear = next(index for index, item in enumerate(guessed.problem.candidates) if len(item.inside) == 3)
    stopped_there = another_plan(guessed, (dear,))
    assert best_known(stopped_there, [guessed.final.chosen], ()) is stopped_there, "it rests on a bound"
    limited = replace(stopped, problem=replace(best.problem, error_budget=1))
    assert best_known(limited, [best.final.chosen], ()) is limited
