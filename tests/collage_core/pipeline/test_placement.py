"""The copies, memory and bound of parallel running of a plan, as documents have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.pipeline.placement import placement
from collage_core.search.memory import plan_memory
from collage_core.search.plan_properties import plan_copies, plan_total
from collage_core.search.problem import FEMTOSECONDS
from tests.helpers.located_problems import LOCATIONS, located_problem
from tests.helpers.problems import every_plan


@pytest.mark.parametrize("seed", range(30))
def test_the_records_are_those_of_the_search(seed: int) -> None:
    problem = replace(located_problem(seed), locations=dict.fromkeys(LOCATIONS, 1000))
    for plan in list(every_plan(problem))[:20]:
        placed, memory = placement(problem, plan), plan_memory(problem, plan)
        assert len(placed["copies"] or ()) == len(plan_copies(problem, plan))
        assert {held.location: (held.weights, held.peak) for held in placed["memory"]} == {
            location: (held.weights, held.peak) for location, held in memory.items()
        }
        assert all(held.limit == 1000 and held.node == problem.names[held.at_node] for held in placed["memory"])
        assert placed["parallel"].total_s == plan_total(problem, plan) / FEMTOSECONDS


def test_a_plan_at_the_host_alone_has_no_list_of_copies() -> None:
    problem = replace(located_problem(1), target_locations={}, copies={}, locations={})
    placed = placement(problem, next(iter(every_plan(problem))))
    assert placed["copies"] is None
    assert [held.location for held in placed["memory"]] == ["host"]
    assert placed["parallel"].text == "running partitions at the same time can gain nothing here"
