"""Copies in the exact searchers: 500 random problems of two to four locations against the enumeration of every plan, and large ones."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.alternatives.forced_candidate import ForcedCandidateSearch
from collage_core.search.alternatives.k_best import k_best
from collage_core.search.alternatives.regret import regret_intervals
from collage_core.search.copies import HOST_LOCATION, copy_costs_of
from collage_core.search.decomposition import exact
from collage_core.search.decomposition.exact import astar, dijkstra
from collage_core.search.objective_search import solve_for
from collage_core.search.objectives import measures, parse_objective
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem, Transition
from collage_core.search.searcher import QUIET, SearchRun
from collage_core.search.searchers.best_first import BestFirstSearch, search_whole
from collage_core.search.searchers.milp import milp
from collage_core.search.solve import SEARCHERS
from collage_core.search.weights import CopyWeights
from tests.helpers.located_problems import located_problem
from tests.helpers.problems import every_plan, order_of
from tests.helpers.tiny_problems import small

PROBLEMS = 500


def ordered_plans(problem: SearchProblem) -> list[tuple[int, ...]]:
    return sorted(every_plan(problem), key=lambda plan: order_of(problem, plan))


def every(problem: SearchProblem) -> range:
    return range(len(problem.candidates))


@pytest.mark.parametrize("first", range(0, PROBLEMS, 100))
def test_the_plan_is_that_of_enumeration(first: int) -> None:
    for seed in range(first, first + 100):
        problem = located_problem(seed, most_nodes=5)
        best = next(iter(ordered_plans(problem)), ())
        found = astar(problem, every(problem))
        assert (found.chosen, found.total) == (best, plan_total(problem, best) if best else 0), seed


@pytest.mark.slow
def test_the_plan_of_many_larger_problems_is_that_of_enumeration() -> None:
    for seed in range(5000):
        problem = located_problem(seed, most_nodes=7)
        best = next(iter(ordered_plans(problem)), ())
        assert astar(problem, every(problem)).chosen == dijkstra(problem, every(problem)).chosen == best, seed


@pytest.mark.parametrize("seed", range(25))
def test_all_that_rests_on_the_search_is_that_of_enumeration(seed: int) -> None:
    problem = located_problem(seed, most_nodes=4)
    plans = ordered_plans(problem)
    if not plans:
        pytest.skip("a random problem without a plan says nothing here")
    least = plan_total(problem, plans[0])
    assert milp(problem, every(problem)).total == least
    assert dijkstra(problem, every(problem)).chosen == plans[0]
    assert [plan.chosen for plan in k_best(problem, every(problem), 8)] == plans[:8]
    for index, regret in enumerate(regret_intervals(problem, (), astar(problem, every(problem)))):
        totals = [plan_total(problem, plan) for plan in plans if index in plan]
        assert (regret is None) == (not totals)
        assert regret is None or regret.low == regret.high == min(totals) - least
    for name in ("op_dp", "greedy", "random"):
        found = SEARCHERS[name](problem, every(problem), SearchRun())
        assert not found.chosen or found.total == plan_total(problem, found.chosen) >= least
    objective = parse_objective("bytes,time")
    best = min(objective.value(measures(problem, plan)) for plan in plans)
    for name in ("astar", "milp"):
        assert objective.value(measures(problem, solve_for(problem, objective, search=name).chosen)) == best


def chain_of_blocks(seed: int) -> SearchProblem:
    """Return a problem of 32 nodes in blocks of four, each with a tensor of two readers; it can be decomposed."""
    draw, nodes = Random(seed), 32
    tensors = [FlowTensor("x", HOST, (0,), False, 3)]
    for node in range(nodes):
        readers = [reader for reader in ((node + 1, node + 3) if node % 4 == 0 else (node + 1,)) if reader < nodes]
        tensors.append(FlowTensor(f"t{node}", node, tuple(readers), not readers, draw.randint(1, 3)))
    sets = [(frozenset({node}), target, draw.randint(2, 9)) for node in range(nodes) for target in "abc"]
    sets += [(frozenset(range(node, node + 4)), draw.choice("abc"), draw.randint(8, 20)) for node in range(0, nodes, 4)]
    sets.append((frozenset(range(nodes)), "a", draw.randint(60, 120)))
    candidates = [SearchCandidate(IndexSet(nodes), target, cost, str(index)) for index, (nodes, target, cost) in enumerate(sets)]
    return replace(located_problem(seed), nodes=nodes, tensors=tuple(tensors), candidates=tuple(candidates), names=(), ops=())


@pytest.mark.parametrize("seed", range(6))
def test_a_decomposed_problem_has_the_plan_of_the_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = chain_of_blocks(seed)
    whole = search_whole("astar", problem, every(problem), QUIET, is_guided=True)
    with monkeypatch.context() as patch:
        patch.delattr(exact, "search_whole")
        found = astar(problem, every(problem))
    assert (found.chosen, found.total) == (whole.chosen, plan_total(problem, whole.chosen))
    forced = ForcedCandidateSearch(problem, every(problem))
    for index in range(0, len(problem.candidates), 17):
        inside = problem.candidates[index].inside
        fitting = [other for other in every(problem) if other == index or problem.candidates[other].inside.isdisjoint(inside)]
        assert forced.plan_with(index).total == search_whole("astar", problem, fitting, QUIET, is_guided=True).total


def test_dominated_states_are_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [located_problem(seed) for seed in range(100)]
    moves = [dijkstra(problem, every(problem)).moves for problem in problems]
    monkeypatch.setattr(BestFirstSearch, "_is_dominated", lambda self, state: False)
    without = [dijkstra(problem, every(problem)).moves for problem in problems]
    assert all(some <= more for some, more in zip(moves, without, strict=True))
    assert sum(moves) < sum(without)


def test_more_locations_at_the_same_cost_may_cost_more_later() -> None:
    """b is reached over either hub, c over the one and d over the other: after b and c no copy is where d would be free."""
    free, dear = Transition(), Transition(10)
    hubs = {("host", "hub1"): dear, ("host", "hub2"): dear}
    hubs |= {("hub1", "b"): free, ("hub2", "b"): free, ("hub1", "c"): free, ("hub2", "d"): free}
    sets: list[tuple[tuple[int, ...], str, int | None]] = [((node,), name, 1) for node, name in enumerate("abcd")]
    back = {(name, "host"): free for name in "bcd"}
    homes = {name: name for name in "bcd"}
    problem = small([(0, (1, 2, 3), 1), (1, (), 1), (2, (), 1), (3, (), 1)], sets, target_locations=homes, copies={**hubs, **back})
    copies, costs = CopyWeights(problem, list("abcd"), 0), copy_costs_of(problem)
    b, c, d = (1 << costs.names.index(name) for name in "bcd")
    assert copies.least(0, HOST_LOCATION, b) == copies.least(0, HOST_LOCATION, b | c) == copies.least(0, HOST_LOCATION, b | d) == 10
    assert copies.least(0, HOST_LOCATION, b | c | d) == 20
    assert copies.most_more(0, HOST_LOCATION, b | c, b, 1) == 10
    assert copies.most_more(0, HOST_LOCATION, b | c, b, 0) == 0


def test_shares_are_no_more_than_the_copies_and_a_move_never_weighs_less_than_they() -> None:
    for seed in range(100):
        problem = located_problem(seed)
        copies, count = CopyWeights(problem, list(problem.target_locations), 0), len(copy_costs_of(problem).names)
        for index, tensor in enumerate(problem.tensors):
            readings = len(tensor.readers) + tensor.is_output
            for maker in range(count):
                assert not readings or copies.charged(index, maker, 0, readings) >= 0
                for reached in range(1 << count):
                    for location in range(count):
                        for later in range(readings):
                            before = copies.charged(index, maker, reached, later + 1)
                            after = copies.charged(index, maker, reached | 1 << location, later)
                            if location in copies.locations or location == maker:
                                assert after - before >= copies.share(index, maker, location)
