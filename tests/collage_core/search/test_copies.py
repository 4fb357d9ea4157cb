"""Copies: the least sum that reaches several locations, against the enumeration of all sets of copies; and which copies these are."""

from __future__ import annotations

from itertools import chain, combinations
from random import Random

import pytest

from collage_core.search.copies import Arc, copy_costs_of, most_copied
from collage_core.search.plan_properties import plan_copies, plan_total
from collage_core.search.problem import SearchProblem, Transition
from tests.helpers.located_problems import located_problem
from tests.helpers.tiny_problems import small

LINK = {("host", "g"): Transition(10, 1), ("g", "host"): Transition(20, 1)}


def reached_from(maker: int, arcs: tuple[Arc, ...]) -> set[int]:
    reached = {maker}
    while more := {b for a, b in arcs if a in reached and b not in reached}:
        reached |= more
    return reached


def on_devices(**more: object) -> SearchProblem:
    """Return a chain of two nodes where a is at the host and b at g."""
    sets: list[tuple[tuple[int, ...], str, int | None]] = [((node,), target, 1) for node in range(2) for target in "ab"]
    return small([(-1, (0,), 4), (0, (1,), 4), (1, (), 4)], sets, target_locations={"b": "g"}, copies=LINK, **more)


@pytest.mark.parametrize("seed", range(40))
def test_the_least_copies_are_those_of_all_sets_of_copies(seed: int) -> None:
    costs, draw = copy_costs_of(located_problem(seed)), Random(seed)
    size = draw.randint(0, 5)
    direct = costs.direct(size)
    maker, ends = draw.randrange(len(costs.names)), draw.randrange(1 << len(costs.names))
    wanted = {location for location in range(len(costs.names)) if ends >> location & 1}
    sets = chain.from_iterable(combinations(direct, count) for count in range(len(costs.names)))
    least = min(sum(direct[arc] for arc in some) for some in sets if wanted <= reached_from(maker, some))
    assert costs.least(size, maker, ends) == least
    arcs = costs.arcs(size, maker, ends)
    assert sum(direct[arc] for arc in arcs) == least
    assert wanted <= reached_from(maker, tuple(arcs))
    assert len({b for _, b in arcs}) == len(arcs)


def test_a_copy_serves_every_reader_at_its_location() -> None:
    sets: list[tuple[tuple[int, ...], str, int | None]] = [((0,), "a", 1), ((1,), "b", 1), ((2,), "b", 1), ((3,), "a", 1)]
    edges = [(-1, (0,), 4), (0, (1, 2, 3), 4), (1, (3,), 0), (2, (3,), 0), (3, (), 4)]
    problem = small(edges, sets, target_locations={"b": "g"}, copies=LINK)
    copies = plan_copies(problem, (0, 1, 2, 3))
    assert [(copy.tensor, copy.source, copy.destination, copy.cost) for copy in copies] == [
        (1, "host", "g", 14),
        (2, "g", "host", 20),
        (3, "g", "host", 20),
    ]
    assert plan_total(problem, (0, 1, 2, 3)) == 4 + 14 + 20 + 20


def test_inputs_are_made_and_outputs_are_read_at_the_host() -> None:
    problem = on_devices()
    assert [(copy.tensor, copy.source, copy.destination) for copy in plan_copies(problem, (1, 3))] == [(0, "host", "g"), (2, "g", "host")]
    assert plan_copies(problem, (0, 2)) == []


def test_no_plan_pays_more_for_copies_than_all_of_them() -> None:
    assert most_copied(on_devices()) == 3 * (14 + 24)
    assert most_copied(small([(0, (), 4)], [((0,), "a", 1)], copies=LINK)) == 0
