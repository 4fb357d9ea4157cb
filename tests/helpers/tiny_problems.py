"""Helpers for the tests of the searchers: small problems of every kind, and the value of a plan by the definitions.

Beyond `problems` they have nodes that the host takes, constraints of every kind, and costs as measured; HiGHS can be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import count, product
from typing import Any

import scipy.optimize
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.constraints.constraints import Constraint, allowed_indices, parse_constraints
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import HOST_NAME, FlowTensor, SearchCandidate, SearchProblem, Transition

from .problems import TARGETS, every_plan, problems

Worth = tuple[int, int, int, int]
"""Nodes of unknown cost, femtoseconds, priorities of the unknown, partitions."""


@st.composite
def tiny_problems(draw: st.DrawFn, most_nodes: int = 6, unknown: bool | None = None, dear: bool = False) -> SearchProblem:
    """Draw from `problems`, with nodes that the host may take, and sometimes a cost for every transition and more exclusions.

    Args:
        unknown: Whether some costs are unknown; drawn where None.
        dear: Costs are femtoseconds as a measurement has them, with nothing that divides them all.
    """
    problem = draw(problems(most_nodes, draw(st.booleans()) if unknown is None else unknown))
    hosted = draw(st.sets(st.integers(0, problem.nodes - 1), max_size=2))
    more = tuple(SearchCandidate(IndexSet((node,)), HOST_NAME, None, f"host{node}") for node in sorted(hosted))
    exclusive = problem.exclusive if draw(st.booleans()) else draw(st.sampled_from([(), (("a", "b"), ("b", "c")), (("c", "a"),)]))
    candidates, transitions = problem.candidates, problem.transitions
    if draw(st.booleans()):
        ends = list(product((*TARGETS, HOST_NAME), (*TARGETS, HOST_NAME)))
        costs = draw(st.lists(st.integers(0, 4), min_size=len(ends), max_size=len(ends)))
        transitions = {pair: Transition(cost, cost % 2) for pair, cost in zip(ends, costs, strict=True)}
    if dear:
        wide = st.integers(10**8, 10**12)
        candidates = tuple(c if c.cost is None else replace(c, cost=c.cost * 10**11 + draw(wide)) for c in candidates)
    return replace(problem, candidates=(*candidates, *more), transitions=transitions, exclusive=exclusive)


@st.composite
def constrained_problems(draw: st.DrawFn, most_nodes: int = 6) -> tuple[SearchProblem, list[Constraint]]:
    """Draw a problem with up to three constraints of any kind."""
    problem = draw(tiny_problems(most_nodes))
    node = st.integers(0, problem.nodes - 1)
    target = st.sampled_from([name for name in TARGETS if any(c.target == name for c in problem.candidates)])
    some = st.lists(node, min_size=1, max_size=3, unique=True)
    kinds: list[st.SearchStrategy[dict[str, Any]]] = [
        st.builds(lambda n, t: {"kind": "pin", "node": n, "target": t}, node, target),
        st.builds(lambda n, t: {"kind": "veto", "node": n, "target": t}, node, target),
        st.builds(lambda ns: {"kind": "pin", "nodes": ns, "together": True}, some),
        st.builds(lambda ns: {"kind": "pin", "nodes": ns, "exact": True}, some),
        st.builds(lambda c: {"kind": "veto", "candidate": c}, st.integers(0, len(problem.candidates) - 1)),
    ]
    if problem.nodes > 1:
        kinds.append(st.builds(lambda ends: {"kind": "cut", "between": ends}, st.lists(node, min_size=2, max_size=2, unique=True)))
    return problem, parse_constraints(draw(st.lists(st.one_of(kinds), max_size=3)), problem)


def worth(problem: SearchProblem, plan: Sequence[int]) -> Worth:
    """Return the key by which plans are compared, without the order of equal plans; the least is best."""
    chosen = [problem.candidates[index] for index in plan]
    unknown = [c for c in chosen if c.cost is None and c.target != HOST_NAME]
    return (
        sum(len(c.inside) for c in unknown),
        plan_total(problem, plan),
        sum(len(c.inside) * problem.priority(c.target) for c in unknown),
        len(plan),
    )


def allowed_plans(problem: SearchProblem, constraints: Sequence[Constraint] = ()) -> list[tuple[int, ...]]:
    """Return every well-formed plan that holds the constraints."""
    return list(every_plan(problem, allowed_indices(problem, constraints)))


def can_run(problem: SearchProblem, units: Sequence[IndexSet]) -> bool:
    """Return whether partitions of the nodes `units` can run one after another, as the standard library's topological sort says."""
    owner = {node: number for number, inside in enumerate(units) for node in inside}
    waits_for: dict[int, set[int]] = {number: set() for number in range(len(units))}
    for tensor in problem.tensors:
        if tensor.maker != HOST:
            for node in tensor.readers:
                if owner[node] != owner[tensor.maker]:
                    waits_for[owner[node]].add(owner[tensor.maker])
    try:
        TopologicalSorter(waits_for).prepare()
    except CycleError:
        return False
    return True


def assert_well_formed(problem: SearchProblem, usable: Sequence[int], plan: Sequence[int]) -> None:
    """Assert that usable candidates hold each node once, without a cycle and without targets that exclude each other."""
    assert set(plan) <= set(usable)
    chosen = [problem.candidates[index] for index in plan]
    assert sorted(node for c in chosen for node in c.inside) == list(range(problem.nodes))
    assert can_run(problem, [c.inside for c in chosen])
    used = {c.target for c in chosen}
    assert not any(set(pair) <= used for pair in problem.exclusive)


def small(
    edges: Sequence[tuple[int, tuple[int, ...], int]], sets: Sequence[tuple[tuple[int, ...], str, int | None]], **more: Any
) -> SearchProblem:
    """Return a problem of tensors (maker, readers, bytes), outputs when nobody reads them, and candidates (nodes, target, cost)."""
    tensors = [FlowTensor(f"t{index}", maker, readers, not readers, size) for index, (maker, readers, size) in enumerate(edges)]
    candidates = [SearchCandidate(IndexSet(nodes), target, cost, str(index)) for index, (nodes, target, cost) in enumerate(sets)]
    nodes = 1 + max(node for nodes, _, _ in sets for node in nodes)
    return SearchProblem(nodes, tuple(tensors), tuple(candidates), **{"priorities": TARGETS, **more})


CROSSED = small(
    [(0, (1,), 1), (1, (), 1), (2, (3,), 1), (3, (), 1)],
    [*(((node,), "a", 10) for node in range(4)), ((0, 3), "a", 1), ((1, 2), "b", 1)],
)
"""0→1 and 2→3: {0, 3} and {1, 2} would cost 2, and each needs the other's result first. The best plans cost 21."""


def interrupted(leaves_plan: Callable[[], bool], after: int = 0) -> Callable[..., Any]:
    """SciPy's `milp` as it is when its time is over: some solution where `leaves_plan`, else none; and no bound to speak of.

    Args:
        after: How many calls come to their end before.
    """
    real, calls = scipy.optimize.milp, count()

    def cut_short(c: Any, **given: Any) -> Any:
        if next(calls) < after:
            return real(c, **given)
        answer = real(c * 0, **given)
        if answer.status == 0:
            answer.status, answer.mip_dual_bound = 1, None
            if not leaves_plan():
                answer.x = None
        return answer

    return cut_short
