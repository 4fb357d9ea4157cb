"""The bound of running partitions at the same time: by hand, and against every schedule's lower bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.search.parallel_bound import parallel_bound
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import FEMTOSECONDS, SearchProblem, Transition
from tests.helpers.located_problems import located_problem
from tests.helpers.problems import every_plan
from tests.helpers.tiny_problems import small

S = FEMTOSECONDS


def diamond(**more: object) -> SearchProblem:
    """Return a node that two others read, one for 4 s and one for 3 s, and a last one that reads both."""
    edges = [(-1, (0,), 0), (0, (1, 2), 0), (1, (3,), 0), (2, (3,), 0), (3, (), 0)]
    costs = (("a", 1), ("a", 4), ("b", 3), ("a", 1))
    return small(edges, [((node,), target, cost * S) for node, (target, cost) in enumerate(costs)], **more)


def test_at_one_location_nothing_is_gained() -> None:
    bound = parallel_bound(diamond(), (0, 1, 2, 3))
    assert (bound.critical_path, bound.work, bound.least, bound.gain_at_most) == (6 * S, {"host": 9 * S}, 9 * S, 0.0)


def test_two_devices_gain_what_the_longest_chain_leaves() -> None:
    copies = {("host", "g"): Transition(0.5 * S), ("g", "host"): Transition(0.25 * S)}
    bound = parallel_bound(diamond(target_locations={"b": "g"}, copies=copies), (0, 1, 2, 3))
    assert bound.work == {"host": 6 * S, "g": 3 * S, "host->g": S // 2, "g->host": S // 4}
    assert (bound.total, bound.critical_path, bound.least) == (9.75 * S, 6 * S, 6 * S)
    assert bound.gain_at_most == pytest.approx(1 - 6 / 9.75)


def test_forms_of_one_memory_are_one_resource() -> None:
    copies = {("host", "host/blocked"): Transition(), ("host/blocked", "host"): Transition()}
    bound = parallel_bound(diamond(target_locations={"b": "host/blocked"}, copies=copies), (0, 1, 2, 3))
    assert bound.work["host"] == 9 * S
    assert bound.gain_at_most == 0


def test_transitions_are_work_of_the_reader() -> None:
    transitions = {("a", "b"): Transition(2 * S), ("b", "a"): Transition(5 * S), ("a", "host"): Transition(7 * S)}
    bound = parallel_bound(diamond(transitions=transitions), (0, 1, 2, 3))
    assert bound.critical_path == 1 * S + 5 * S + 6 * S + 7 * S
    assert bound.total == bound.work["host"] == bound.least == (9 + 2 + 5 + 7) * S


@pytest.mark.parametrize("seed", range(30))
def test_the_work_of_all_resources_is_the_total_and_the_bound_no_more(seed: int) -> None:
    problem = located_problem(seed)
    for plan in list(every_plan(problem))[:20]:
        bound = parallel_bound(problem, plan)
        assert sum(bound.work.values()) == bound.total == plan_total(problem, plan)
        assert bound.critical_path <= bound.total
        assert 0 <= bound.gain_at_most <= 1
        alone = replace(problem, target_locations={}, copies={})
        assert parallel_bound(alone, plan).gain_at_most == 0
