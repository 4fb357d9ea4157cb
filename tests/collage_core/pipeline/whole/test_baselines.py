"""The plans of the baselines, on given costs: the whole model as one, what a target must leave elsewhere, and greedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from collage_core.cost.cost import Cost
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.search_and_merge import Planned, SearchSettings, make_problem
from collage_core.pipeline.record.record import CostedCandidate, search_candidates
from collage_core.pipeline.whole.baselines import UNKNOWN_S, BaselinePlan, baseline, baseline_rows, find_baselines
from collage_core.pipeline.whole.why_not_alone import why_not_alone, why_not_partitioned
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.partitionings import ALL_SHAPES, GREEDY, Partitioning, partitioning_name, with_rest
from collage_core.rules.spec import HOST_TARGET
from tests.collage_core.pipeline.loop.test_certainty import Plain
from tests.collage_core.pipeline.whole.test_choose_finalists import CHAIN as THREE
from tests.collage_core.pipeline.whole.test_choose_finalists import planned
from tests.helpers.graphs import graph

CHAIN = graph(["conv: Conv <- x", "relu: Relu <- conv", "top: TopK <- relu", "name: Identity <- top"])
INVALID = Cost.invalid("numerics", "it errs by 0.2")
HOST = {(HOST_TARGET, (3,)): 0.0}

Costs = Mapping[tuple[str, tuple[int, ...]], float | Cost]


def plan(name: str, costs: Costs, partitionings: Sequence[Partitioning] = ()) -> list[tuple[str, tuple[int, ...]]] | None:
    """The partitions of the baseline `name`."""
    listed = costed(costs)
    problem = make_problem(CHAIN, listed, {}, {"a": Plain(), "b": Plain()})  # type: ignore[dict-item]
    found = baseline(name, problem, listed, SearchSettings(), partitionings)
    return None if found is None else sorted((problem.candidates[i].target, tuple(problem.candidates[i].inside)) for i in found.chosen)


def costed(costs: Costs) -> list[CostedCandidate]:
    return [
        CostedCandidate(
            CandidatePartition(CHAIN, target, IndexSet(nodes), "test"), cost if isinstance(cost, Cost) else Cost(cost, "measured")
        )
        for (target, nodes), cost in {**costs, **HOST}.items()
    ]


def test_a_target_alone_is_the_model_as_one_although_its_parts_are_faster() -> None:
    costs = {("a", (0, 1, 2, 3)): 3.0, ("a", (0, 1)): 1.0, ("a", (2, 3)): 1.0, ("b", (0, 1, 2)): 4.0}
    assert plan("a", costs) == [("a", (0, 1, 2, 3))]
    assert plan("b", costs) == [("b", (0, 1, 2)), (HOST_TARGET, (3,))], "what only renames stays with the host"


def test_what_a_target_must_leave_goes_elsewhere_and_nothing_more() -> None:
    costs = {("a", (0, 1)): 3.0, ("b", (2,)): 1.0, ("b", (1, 2)): 0.5, ("b", (0, 1, 2)): 2.0, ("a", (0,)): 2.0, ("a", (1,)): 0.5}
    assert plan("a", costs) is None
    assert plan(with_rest("a"), costs) == [("a", (0,)), ("a", (1,)), ("b", (2,)), (HOST_TARGET, (3,))]
    assert plan(with_rest("a"), {("a", (0, 1)): 3.0}) is None, "nobody takes the rest"
    assert plan(with_rest("c"), costs) is None, "what is left to others would be everything"


def test_a_baseline_is_a_plan_of_known_costs_and_one_of_unknown_ones_is_not_looked_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []
    within, unknown = SearchSettings.within, Cost.unknown("the budget was over")

    def limited(settings: SearchSettings, limit_s: float | None) -> SearchSettings:
        limits.append(limit_s)
        return within(settings, limit_s)

    monkeypatch.setattr(SearchSettings, "within", limited)
    costs: dict[tuple[str, tuple[int, ...]], float | Cost] = {("a", (0,)): 2.0, ("a", (1,)): 2.0, ("b", (2,)): 1.0, ("a", (0, 1)): unknown}
    known = [("a", (0,)), ("a", (1,)), ("b", (2,)), (HOST_TARGET, (3,))]
    assert plan(with_rest("a"), costs) == known
    assert limits == []
    assert plan(with_rest("a"), {**costs, ("b", (2,)): unknown}) == known, "as few unknown ones as can be"
    assert limits == [UNKNOWN_S]


def test_one_that_fails_as_a_whole_is_not_alone_and_its_parts_are_said_to_be_parts() -> None:
    costs = {("a", (0, 1, 2, 3)): INVALID, ("a", (0, 1)): 1.0, ("a", (2, 3)): 1.0}
    assert plan("a", costs) is None
    assert plan(with_rest("a"), costs) == [("a", (0, 1)), ("a", (2, 3))]
    assert why_not_alone(CHAIN, "a", costed(costs), ()) == "a takes every node, but not the whole model at once: it errs by 0.2"


def test_where_the_rules_offer_nothing_of_that_size_a_target_alone_is_its_best_plan() -> None:
    costs = {("a", (0, 1)): 1.0, ("a", (2, 3)): 1.0, ("a", (2,)): 0.1}
    assert plan("a", costs) == [("a", (0, 1)), ("a", (2,)), (HOST_TARGET, (3,))]


def test_greedy_takes_the_largest_first() -> None:
    assert plan(GREEDY, {("a", (0, 1, 2, 3)): 9.0, ("b", (0, 1, 2)): 1.0, ("b", (3,)): 1.0}) == [("a", (0, 1, 2, 3))]


def test_parts_that_overlap_make_up_no_model() -> None:
    overlapping = {("a", (0, 1)): 1.0, ("a", (1, 2)): 1.0}
    assert [plan(name, overlapping) for name in ("a", with_rest("a"), GREEDY)] == [None, None, None]


def test_a_partitioning_is_the_plan_of_exactly_its_groups_and_the_rest_goes_where_it_says() -> None:
    partitioning = Partitioning("FuseOps", "a", (IndexSet((0, 1)),), rest=("a",))
    costs = {("a", (0, 1)): 3.0, ("a", (0,)): 1.0, ("a", (1,)): 1.0, ("a", (2,)): 2.0, ("b", (2,)): 1.0, ("b", (0, 1, 2)): 0.5}
    assert plan(partitioning.name, costs, [partitioning]) == [("a", (0, 1)), ("a", (2,)), (HOST_TARGET, (3,))]
    del costs["a", (2,)]
    assert plan(partitioning.name, costs, [partitioning]) == [("a", (0, 1)), ("b", (2,)), (HOST_TARGET, (3,))], (
        "any target, where that cannot"
    )


def test_a_partitioning_without_all_of_its_groups_has_no_plan_and_says_why() -> None:
    partitioning = Partitioning("FuseOps", "a", (IndexSet((0, 1)), IndexSet((2,))))
    costs = {("a", (0, 1)): 3.0, ("a", (2,)): INVALID, ("b", (2,)): 1.0}
    assert plan(partitioning.name, costs, [partitioning]) is None
    assert why_not_partitioned(partitioning, costed(costs)) == "1 of its 2 groups are not usable: it errs by 0.2"
    alone = Partitioning("FuseOps", "a", (IndexSet((0, 1)),))
    assert why_not_partitioned(alone, costed({("a", (0, 1)): 3.0})) == "no target takes the nodes beside its groups"


def candidates(*partitionings: Partitioning) -> Any:
    """The candidates of a run on the targets `a`, `b` and `c`, of which the last takes nothing."""
    options, log = SimpleNamespace(targets=("a", "b", "c")), SimpleNamespace(sample=[])
    return SimpleNamespace(options=options, graph=THREE, log=log, partitionings=partitionings)


def test_each_target_alone_comes_first_and_greedy_last_in_the_document() -> None:
    of_groups = partitioning_name("b", "groups")
    groups = Partitioning("groups", "b", (IndexSet([0]), IndexSet([2])), ("a",))
    plan = planned({("a", (0, 1)): 0.6, ("a", (2,)): 0.5, ("b", (0,)): 0.3, ("b", (2,)): 0.4, ("a", (1,)): 0.2})
    listed = find_baselines(candidates(groups), plan, SearchSettings(), is_cut_off=False)
    rows = baseline_rows([*listed, BaselinePlan(ALL_SHAPES, (0,), 2.0)], plan.problem)
    assert [row.name for row in rows] == ["a", "b", "c", with_rest("b"), of_groups, GREEDY, ALL_SHAPES]
    by_name = {row.name: row for row in rows}
    assert (by_name["a"].total_s, by_name["b"].total_s, by_name[with_rest("b")].total_s) == (1.1, None, 0.9)
    assert by_name["b"].reason == "b cannot take 1 of 3 nodes (Relu): no rule of it takes Relu ('relu')"
    assert [(part.target, part.nodes) for part in by_name[of_groups].partitions or ()] == [("b", (0,)), ("a", (1,)), ("b", (2,))]
    assert by_name["a"].partitions is None
    assert {row.measured_s for row in rows} == {None}


COSTS = [((0, 1), Cost.unknown("not measured")), ((2,), Cost(0.5, "measured"))]


def test_greedy_has_no_total_where_a_cost_of_it_is_not_known() -> None:
    """Nobody measured the candidate that alone takes the first two nodes."""
    known = planned({("a", (0, 1, 2)): 1.0})
    parts = [CostedCandidate(CandidatePartition(THREE, "a", IndexSet(nodes), "test"), cost) for nodes, cost in COSTS]
    problem = known.problem.with_candidates(search_candidates(parts))
    (row,) = baseline_rows(
        find_baselines(candidates(), Planned(known.first, known.final, problem, parts), SearchSettings(), is_cut_off=True), problem
    )[-1:]
    assert (row.total_s, row.measured_s, row.reason) == (None, None, "some of its costs are not known")


def test_a_plan_of_unknown_costs_is_not_compared_where_time_was_too_short_to_measure_them() -> None:
    known = planned({("a", (0, 1, 2)): 1.0})
    unknown = CostedCandidate(CandidatePartition(THREE, "b", IndexSet([0, 1, 2]), "test"), Cost.unknown("not measured"))
    costed = [*known.costed, unknown]
    plan = Planned(known.first, known.final, known.problem.with_candidates(search_candidates(costed)), costed)
    for is_cut_off in (False, True):
        listed = {one.name: one for one in find_baselines(candidates(), plan, SearchSettings(), is_cut_off=is_cut_off)}
        assert (listed["a"].is_compared, listed["a"].reason) == (True, "")
        assert (listed["b"].total_s, listed["b"].reason) == (None, "some of its costs are not known")
        assert listed["b"].is_compared is not is_cut_off
        assert (listed["c"].chosen, listed["c"].is_compared) == (None, False)
