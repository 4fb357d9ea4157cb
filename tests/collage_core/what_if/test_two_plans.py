"""Two plans that a page shows, compared by the rule for all: measured with measured times, else predicted with predicted ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.documents.statements import PlanTime
from collage_core.documents.two_plans import CompareRequest, ShownPart, ShownPlan
from collage_core.what_if.two_plans import two_plans


def part(target: str, *nodes: int, cost_s: float | None = 1e-3, interval_s: float | None = 1e-5) -> ShownPart:
    source = "unknown" if cost_s is None else "measured"
    return ShownPart(id=f"{target}{nodes}", target=target, nodes=list(nodes), cost_s=cost_s, interval_s=interval_s, source=source)


def shown(*parts: ShownPart, time: PlanTime, run: str = "", is_plan: bool = False) -> ShownPlan:
    return ShownPlan(parts=list(parts), transitions_s=1e-4, time=time, run=run, is_plan=is_plan)


MIX = shown(part("a", 0), part("b", 1), time=PlanTime(predicted_s=2.1e-3, measured_s=2e-3, interval_s=1e-5), run="r", is_plan=True)
ALONE = shown(part("a", 0, 1, cost_s=3e-3), time=PlanTime(predicted_s=3.1e-3, measured_s=4e-3, interval_s=5e-4), run="r")


def test_both_times_and_the_regions_are_compared() -> None:
    found = two_plans(CompareRequest(MIX, ALONE))
    assert found.measured is not None
    assert (found.text, found.is_faster) == ("-2 ms measured", True)
    assert (found.measured.first_s, found.measured.second_s, found.predicted.change) == (2e-3, 4e-3, "-1 ms predicted")
    assert [(one.kind, one.nodes, one.first, one.second, one.cost.change) for one in found.regions] == [
        ("moved", [0, 1], ["a(0,)", "b(1,)"], ["a(0, 1)"], "-1 ms")
    ]
    assert (found.moved, found.transitions.change) == ([1], "+0 µs")


def test_a_plan_that_was_not_timed_is_compared_by_its_costs() -> None:
    found = two_plans(CompareRequest(replace(MIX, time=PlanTime(predicted_s=2.1e-3)), ALONE))
    assert (found.text, found.is_faster, found.measured) == ("-1 ms predicted", True, None)


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_difference_within_the_interval_of_the_other_plan_is_not_decided(is_turned: bool) -> None:
    near = replace(ALONE, time=replace(ALONE.time, measured_s=2.2e-3))
    found = two_plans(CompareRequest(near, MIX) if is_turned else CompareRequest(MIX, near))
    assert found.text == f"{'+' if is_turned else '-'}200 µs measured, which is not decided"
    assert found.is_faster is None


def test_a_cost_that_is_not_known_is_no_number() -> None:
    unknown = shown(part("a", 0, 1, cost_s=None), time=PlanTime(predicted_s=None, unknown=1))
    found = two_plans(CompareRequest(replace(MIX, time=PlanTime(predicted_s=2.1e-3)), unknown))
    assert (found.text, found.is_faster) == ("not known: 1 cost is not known", None)
    assert (found.predicted.second_s, found.regions[0].cost.change, found.regions[0].is_change) == (None, "not known", True)
