"""The baselines of a run, from given costs: which there are, which are compared with the plan, and their rows in the document."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from collage_core.cost.cost import Cost
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.search_and_merge import Planned, SearchSettings
from collage_core.pipeline.record.record import CostedCandidate, search_candidates
from collage_core.pipeline.whole.run_baselines import BaselinePlan, baseline_rows, find_baselines
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.partitionings import ALL_SHAPES, GREEDY, Partitioning, partitioning_name, with_rest
from tests.collage_core.pipeline.whole.test_choose_finalists import CHAIN, planned


def candidates(*partitionings: Partitioning) -> Any:
    """The candidates of a run on the targets `a`, `b` and `c`, of which the last takes nothing."""
    options, log = SimpleNamespace(targets=("a", "b", "c")), SimpleNamespace(sample=[])
    return SimpleNamespace(options=options, graph=CHAIN, log=log, partitionings=partitionings)


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
    parts = [CostedCandidate(CandidatePartition(CHAIN, "a", IndexSet(nodes), "test"), cost) for nodes, cost in COSTS]
    problem = known.problem.with_candidates(search_candidates(parts))
    (row,) = baseline_rows(
        find_baselines(candidates(), Planned(known.first, known.final, problem, parts), SearchSettings(), is_cut_off=True), problem
    )[-1:]
    assert (row.total_s, row.measured_s, row.reason) == (None, None, "some of its costs are not known")


def test_a_plan_of_unknown_costs_is_not_compared_where_time_was_too_short_to_measure_them() -> None:
    known = planned({("a", (0, 1, 2)): 1.0})
    unknown = CostedCandidate(CandidatePartition(CHAIN, "b", IndexSet([0, 1, 2]), "test"), Cost.unknown("not measured"))
    costed = [*known.costed, unknown]
    plan = Planned(known.first, known.final, known.problem.with_candidates(search_candidates(costed)), costed)
    for is_cut_off in (False, True):
        listed = {one.name: one for one in find_baselines(candidates(), plan, SearchSettings(), is_cut_off=is_cut_off)}
        assert (listed["a"].is_compared, listed["a"].reason) == (True, "")
        assert (listed["b"].total_s, listed["b"].reason) == (None, "some of its costs are not known")
        assert listed["b"].is_compared is not is_cut_off
        assert (listed["c"].chosen, listed["c"].is_compared) == (None, False)
