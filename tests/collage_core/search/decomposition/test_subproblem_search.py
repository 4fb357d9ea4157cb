"""A search by subproblems gives the plan that a search of the whole gives, and solves equal subproblems once."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.alternatives import forced_candidate, regret
from collage_core.search.alternatives.forced_candidate import ForcedCandidateSearch
from collage_core.search.alternatives.regret import Regrets
from collage_core.search.constraints.constraints import allowed_indices
from collage_core.search.decomposition import exact, separators
from collage_core.search.decomposition.exact import astar, dijkstra
from collage_core.search.decomposition.separators import find_separators
from collage_core.search.decomposition.subproblem_search import SubproblemSearch, TooDear
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem, Transition
from collage_core.search.searcher import SearchRun
from collage_core.search.searchers import best_first
from tests.helpers.examples import examples

TARGETS = ("a", "b", "c")


@st.composite
def long_problems(draw: st.DrawFn) -> SearchProblem:
    """Blocks of nodes in a row: sets inside a block, runs over whole blocks, tensors that are read blocks later."""
    blocks = draw(st.lists(st.integers(1, 3), min_size=2, max_size=5))
    borders = [sum(blocks[:count]) for count in range(len(blocks) + 1)]
    nodes = borders[-1]
    tensors = [FlowTensor("x", HOST, tuple(sorted({0, draw(st.integers(0, nodes - 1))})), False, 2)]
    for node in range(nodes):
        readers = tuple(sorted(draw(st.sets(st.integers(node + 1, nodes - 1), max_size=3)))) if node + 1 < nodes else ()
        tensors.append(FlowTensor(f"t{node}", node, readers, not readers or draw(st.booleans()), draw(st.integers(0, 2))))
    cost = st.one_of(st.integers(0, 5), st.none()) if draw(st.booleans()) else st.integers(0, 5)
    made: dict[tuple[int, int, str], int | None] = {}
    for node in range(nodes):
        for target in draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=2, unique=True)):
            made[node, 1, target] = draw(cost)
    for begin, end in pairwise(borders):
        if end - begin > 1:
            made[begin, draw(st.sampled_from((3, 5, 7) if end - begin == 3 else (3,))), draw(st.sampled_from(TARGETS))] = draw(cost)
    for _ in range(draw(st.integers(0, 3))):
        begin, end = sorted(draw(st.lists(st.sampled_from(borders), min_size=2, max_size=2, unique=True)))
        made[begin, (1 << end - begin) - 1, draw(st.sampled_from(TARGETS))] = draw(cost)
    candidates = [SearchCandidate(IndexSet.window(base, rel), target, known, "") for (base, rel, target), known in made.items()]
    ends = (*TARGETS, "host")
    costs = st.tuples(st.integers(0, 3), st.integers(0, 2))
    pairs = draw(st.dictionaries(st.tuples(st.sampled_from(ends), st.sampled_from(ends)), costs, max_size=8))
    transitions = {pair: Transition(*cost) for pair, cost in pairs.items()}
    return SearchProblem(nodes, tuple(tensors), tuple(candidates), transitions, (), TARGETS)


@examples(400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(long_problems(), st.integers(1, 3), st.sampled_from(((4, 10_000), (0, 10_000), (0, 2))))
def test_parts_give_the_plan_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, problem: SearchProblem, least: int, dear: tuple[int, int]
) -> None:
    """The plan is the same where parts are dear and the whole is tried, to its end or in vain."""
    monkeypatch.setattr(separators, "LEAST_NODES", least)
    monkeypatch.setattr(best_first, "REPORT_EVERY", 1)
    monkeypatch.setattr(exact, "DEAR", dear[0])
    monkeypatch.setattr(exact, "STATES_OF_A_TRY", dear[1])
    usable = allowed_indices(problem, ())
    decomposed, whole = astar(problem, usable), dijkstra(problem, usable)
    assert (decomposed.chosen, decomposed.total, decomposed.optimal) == (whole.chosen, whole.total, True)


def repeated(blocks: int) -> SearchProblem:
    """Equal blocks of two chains that join: three sets each, on two targets."""
    nodes, tensors, candidates = 4 * blocks, [FlowTensor("x", HOST, (0,), False, 1)], []
    for begin in range(0, nodes, 4):
        last = begin + 3 == nodes - 1
        tensors.append(FlowTensor("", begin, (begin + 1, begin + 2), False, 1))
        tensors += [FlowTensor("", begin + 1, (begin + 3,), False, 1), FlowTensor("", begin + 2, (begin + 3,), False, 1)]
        tensors.append(FlowTensor("", begin + 3, () if last else (begin + 4,), last, 1))
        for target, cost in (("a", 3), ("b", 4)):
            candidates += [SearchCandidate(IndexSet.window(begin + offset, 1), target, cost, "") for offset in range(4)]
            candidates.append(SearchCandidate(IndexSet((begin + 1, begin + 3)), target, 9 - cost, ""))
    return SearchProblem(nodes, tuple(tensors), tuple(candidates), {("a", "b"): Transition(1), ("b", "a"): Transition(2)})


def test_equal_parts_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separators, "LEAST_NODES", 4)
    problem = repeated(12)
    usable = allowed_indices(problem, ())
    found = find_separators(problem, usable)
    assert found.positions == list(range(0, 49, 4))
    search = SubproblemSearch(problem, usable, found, SearchRun())
    assert search.solve() == dijkstra(problem, usable).chosen
    assert search.tally.subproblems == 3, "the first, which the host enters; the last, which the host leaves; all between"


def test_the_whole_is_tried_where_parts_are_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separators, "LEAST_NODES", 4)
    problem = repeated(12)
    usable = allowed_indices(problem, ())
    by_parts = astar(problem, usable)
    monkeypatch.setattr(exact, "DEAR", 0)
    tried = astar(problem, usable)
    assert (tried.chosen, tried.total, tried.optimal) == (by_parts.chosen, by_parts.total, True)
    assert tried.states != by_parts.states


def test_parts_that_are_dear_are_given_up_and_taken_up_again() -> None:
    problem = repeated(12)
    usable = allowed_indices(problem, ())
    search = SubproblemSearch(problem, usable, find_separators(problem, usable), SearchRun())
    with pytest.raises(TooDear):
        search.solve(2 * 11)
    assert search.tally.weighed > 2 * 11
    assert search.solve() == dijkstra(problem, usable).chosen


def test_a_stopped_search_makes_no_further_cover() -> None:
    problem = repeated(12)
    usable = allowed_indices(problem, ())
    asked: list[int] = []

    def stop_at_the_third() -> bool:
        asked.append(1)
        return len(asked) >= 3

    search = SubproblemSearch(problem, usable, find_separators(problem, usable), SearchRun(should_stop=stop_at_the_third))
    assert search.solve() is None
    assert search.tally.stopped
    assert len(asked) == 3


def test_separators_are_where_nothing_is_held_or_read_across() -> None:
    tensors = (FlowTensor("t0", 0, (1, 3), False, 1), FlowTensor("t1", 1, (2,), False, 1), FlowTensor("t2", 2, (3,), False, 1))
    sets = ((0,), (1,), (2,), (3,), (0, 2), (0, 1, 2, 3))
    candidates = tuple(SearchCandidate(IndexSet(nodes), "a", 1, "") for nodes in sets)
    problem = SearchProblem(4, (*tensors, FlowTensor("t3", 3, (), True, 1)), candidates)
    everything = find_separators(problem, range(6)).positions
    assert everything == [0, 4], "separators nearer than LEAST_NODES are left out"


@pytest.mark.parametrize(
    ("sets", "positions"),
    [
        (((0,), (1,), (2,), (3,)), [0, 1, 2, 3, 4]),
        (((0,), (1,), (2,), (3,), (0, 2)), [0, 3, 4]),
        (((0, 1), (2, 3), (0, 1, 2, 3)), [0, 1, 2, 3, 4]),
        (((0, 2), (1,), (3,), (2, 3)), [0, 4]),
        (((0, 2), (1,), (3,), (0, 1, 2, 3)), [0, 3, 4]),
    ],
)
def test_where_separators_are(monkeypatch: pytest.MonkeyPatch, sets: tuple[tuple[int, ...], ...], positions: list[int]) -> None:
    monkeypatch.setattr(separators, "LEAST_NODES", 1)
    tensors = tuple(FlowTensor("", node, (node + 1,) if node < 3 else (), node == 3, 1) for node in range(4))
    problem = SearchProblem(4, tensors, tuple(SearchCandidate(IndexSet(nodes), "a", 1, "") for nodes in sets))
    assert find_separators(problem, range(len(sets))).positions == positions


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(long_problems(), st.integers(1, 3), st.sampled_from((1, 8, forced_candidate.METHOD_STATES)))
def test_the_best_plan_with_a_candidate(monkeypatch: pytest.MonkeyPatch, problem: SearchProblem, least: int, most_states: int) -> None:
    """The answer is the same where solving the subproblems takes too many states, and the whole is searched."""
    monkeypatch.setattr(separators, "LEAST_NODES", least)
    monkeypatch.setattr(best_first, "REPORT_EVERY", 1)
    monkeypatch.setattr(forced_candidate, "METHOD_STATES", most_states)
    usable = allowed_indices(problem, ())
    best_with = ForcedCandidateSearch(problem, usable)
    for index in usable:
        inside = problem.candidates[index].inside
        fitting = [other for other in usable if other == index or problem.candidates[other].inside.isdisjoint(inside)]
        whole, asked = dijkstra(problem, fitting), best_with.plan_with(index)
        assert asked.total == whole.total
        assert asked.is_feasible == whole.is_feasible
        assert not asked.is_feasible or index in asked.chosen


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(long_problems(), st.integers(1, 3), st.sampled_from((1, 4, 64)), st.randoms(use_true_random=False))
def test_the_regret_of_a_candidate_is_the_same_whatever_else_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, problem: SearchProblem, least: int, ranked: int, random: Random
) -> None:
    monkeypatch.setattr(separators, "LEAST_NODES", least)
    monkeypatch.setattr(best_first, "REPORT_EVERY", 1)
    monkeypatch.setattr(regret, "RANKED_STATES", ranked)
    monkeypatch.setattr(regret, "LEAST_STATES", 0)
    best = dijkstra(problem, allowed_indices(problem, ()))
    if not best.is_feasible:
        return
    made = lambda: Regrets(problem, (), best.chosen, best.total, best.total)  # noqa: E731
    asked = [[index for index, one in enumerate(problem.candidates) if node in one.inside] for node in range(problem.nodes)]
    by_node = [made().alone(indices) for indices in asked]
    later, order = made(), list(range(len(problem.candidates)))
    random.shuffle(order)
    by_itself = {index: later.alone([index])[0] for index in order}
    assert all(
        by_itself[index] == answer for row, answers in zip(asked, by_node, strict=True) for index, answer in zip(row, answers, strict=True)
    )
    if any(candidate.is_unknown for candidate in problem.candidates):
        return  # there a plan of fewer unknown costs comes first, whatever its total
    exact = made().of(range(len(problem.candidates)))
    for index, answer in by_itself.items():
        whole = exact[index]
        assert answer is None or whole is None or answer.low <= whole.low
        assert answer is None or not answer.is_exact or answer == whole
        assert answer is not None or whole is None


def test_the_candidates_of_one_node_take_few_states_together() -> None:
    """A thousand candidates in a chain of three nodes: each search is limited by how near to the best plan it may lead."""
    sets = [IndexSet(nodes) for nodes in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2))]
    candidates = tuple(SearchCandidate(inside, f"t{cost}", 100 + cost, "") for cost in range(170) for inside in sets)
    problem = SearchProblem(3, tuple(FlowTensor("", node, (node + 1,) if node < 2 else (), node == 2, 1) for node in range(3)), candidates)
    best = dijkstra(problem, allowed_indices(problem, ()))
    ranks = Regrets(problem, (), best.chosen, best.total, best.total)._ranks
    assert max(ranks.values()) > 500
    at_the_middle = [rank for index, rank in ranks.items() if 1 in candidates[index].inside]
    assert sum(min(regret.MOST_STATES_ALONE, regret.RANKED_STATES // rank) for rank in at_the_middle) < 8 * regret.RANKED_STATES
