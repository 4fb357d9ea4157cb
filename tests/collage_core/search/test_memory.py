"""Memory at each location: by hand, against a plan that is run step by step, and weights that partitions share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.graph.dataflow_graph import HOST
from collage_core.search.memory import LocationMemory, Shortfall, plan_memory, shortfall
from collage_core.search.plan_properties import execution_order, owners, peak_bytes, plan_copies
from collage_core.search.problem import HOST_NAME, SearchProblem, Transition
from tests.helpers.located_problems import located_problem
from tests.helpers.problems import every_plan
from tests.helpers.tiny_problems import small

LINK = {("host", "g"): Transition(1), ("g", "host"): Transition(1)}


def stepped(problem: SearchProblem, chosen: tuple[int, ...]) -> dict[str, int]:
    """Return location → the most bytes of tensors at once, from the moments at which each is needed, walked through one by one."""
    order, owner = execution_order(problem, chosen), owners(problem, chosen)
    step = {node: order.index(index) for node, index in owner.items()}
    last = len(order) - 1
    needed: dict[tuple[int, str], set[int]] = {}
    copies = plan_copies(problem, chosen)
    for index, tensor in enumerate(problem.tensors):
        home = HOST_NAME if tensor.maker == HOST else problem.location(problem.candidates[owner[tensor.maker]].target)
        made = 0 if tensor.maker == HOST else step[tensor.maker]
        outside = [node for node in tensor.readers if tensor.maker == HOST or owner[node] != owner[tensor.maker]]
        if tensor.maker != HOST and not outside and not tensor.is_output:
            continue
        needed[index, home] = {made}
        for node in outside:
            needed.setdefault((index, problem.location(problem.candidates[owner[node]].target)), set()).add(step[node])
        if tensor.is_output:
            needed.setdefault((index, HOST_NAME), set()).update((made, last))
    for copy in reversed(copies):
        needed.setdefault((copy.tensor, copy.source), set()).add(min(needed[copy.tensor, copy.destination]))
    peaks: dict[str, int] = {}
    for now in range(last + 1):
        live: dict[str, int] = {}
        for (tensor, location), steps in needed.items():
            if min(steps) <= now <= max(steps):
                live[location] = live.get(location, 0) + problem.tensors[tensor].bytes
        for location, size in live.items():
            peaks[location] = max(peaks.get(location, 0), size)
    return peaks


@pytest.mark.parametrize("seed", range(40))
def test_the_peak_is_that_of_a_walk_through_the_plan(seed: int) -> None:
    problem = located_problem(seed)
    for plan in list(every_plan(problem))[:20]:
        peaks = stepped(problem, plan)
        for location, held in plan_memory(problem, plan).items():
            assert held.peak - held.weights == peaks.get(location, 0)


@pytest.mark.parametrize("seed", range(20))
def test_at_one_location_the_peak_is_that_of_the_plan(seed: int) -> None:
    problem = replace(located_problem(seed), target_locations={}, copies={}, locations={})
    for plan in list(every_plan(problem))[:20]:
        held = plan_memory(problem, plan)
        assert held.keys() == {HOST_NAME}
        assert held[HOST_NAME].peak - held[HOST_NAME].weights == peak_bytes(problem, plan)


def weighted() -> SearchProblem:
    """Return a chain of three nodes at g, of which the first two share an initializer."""
    edges = [(-1, (0,), 4), (0, (1,), 16), (1, (2,), 8), (2, (), 2)]
    problem = small(edges, [((node,), "b", 1) for node in range(3)], target_locations={"b": "g"}, copies=LINK, names=("x", "y", "z"))
    weights = ((("w", 100),), (("w", 100), ("v", 10)), ())
    return problem.with_candidates([replace(c, weight_bytes=own) for c, own in zip(problem.candidates, weights, strict=True)])


def test_shared_weights_count_once_and_the_node_of_the_peak_is_named() -> None:
    assert plan_memory(weighted(), (0, 1, 2)) == {"host": LocationMemory(0, 4, 0), "g": LocationMemory(110, 134, 1)}


def test_the_shortfall_is_where_it_is_largest() -> None:
    assert shortfall(replace(weighted(), locations={"g": 134}), (0, 1, 2)) is None
    assert shortfall(replace(weighted(), locations={"g": 100, "host": 3}), (0, 1, 2)) == Shortfall("g", 34, 1)
    assert shortfall(weighted(), (0, 1, 2)) is None
