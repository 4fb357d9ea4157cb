"""The causes of a plan's additive error are told from given profiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.documents.plan import PlanPartition, PlanTransition
from collage_core.pipeline.inside.additive_error import (
    additive_error_s,
    additive_error_text,
    correction_s,
    costs_in_context,
    costs_inside,
    is_confirmed,
    is_large,
)
from collage_core.rewrite.plan import Plan, PlannedModel
from collage_core.rewrite.runtime.artifact import Profile
from tests.collage_core.pipeline.whole.test_choose_finalists import COSTS, planned


def plan(source: str = "measured") -> Plan:
    parts = [
        PlanPartition(id=name, target=target, nodes=(node,), names=(f"n{node}",), ops=("Relu",), cost_s=4e-3, source=source)
        for node, (name, target) in enumerate((("front", "ncnn"), ("tail", "openvino")))
    ]
    handed = PlanTransition(maker="front", reader="tail", tensor="t", bytes=4, cost_s=2e-3)
    return Plan(model=PlannedModel(name="m", hash=""), targets=(), total_s=10e-3, partitions=tuple(parts), transitions=(handed,))


def test_a_profile_of_another_moment_gives_the_same_shares_of_the_time_that_was_measured() -> None:
    assert Profile(1.25, {"front": 0.75}, 0.5).of(2.5) == Profile(2.5, {"front": 1.5}, 1.0)


@pytest.mark.parametrize(("measured_s", "wanted"), [(10.9e-3, False), (11.1e-3, True), (9.1e-3, False), (8.9e-3, True)])
def test_only_a_large_one_is_explained(measured_s: float, wanted: bool) -> None:
    assert is_large(plan(), measured_s) == wanted
    assert not is_large(plan("unknown"), measured_s)
    assert not is_large(plan("profile"), measured_s), "its parts were not measured, so nothing is known beyond their sum"


@pytest.mark.parametrize(
    ("measured_s", "interval_s", "profiled_s", "wanted"),
    [
        (12e-3, 1e-3, 10e-3, True),
        (12e-3, 3e-3, 10e-3, False),
        (12e-3, 3e-3, 11.5e-3, True),
        (8e-3, 3e-3, 8.5e-3, True),
        (8e-3, 3e-3, 11.5e-3, False),
    ],
)
def test_noise_is_not_explained_unless_the_profile_shows_the_same(
    measured_s: float, interval_s: float, profiled_s: float, wanted: bool
) -> None:
    assert is_confirmed(plan(), measured_s, interval_s, Profile(profiled_s, {}, 0.0)) == wanted


@pytest.mark.parametrize(
    ("measured_s", "front_s", "tail_s", "rest_s", "text"),
    [
        (
            13e-3, 4.1e-3, 6.8e-3, 2.1e-3,
            "timed end to end, the plan takes 30% longer than its parts: mostly the partition on openvino that begins with 'n1', "
            "which takes 6.8 ms inside the whole and 4 ms alone",
        ),
        (
            13e-3, 4.1e-3, 4.2e-3, 4.7e-3,
            "timed end to end, the plan takes 30% longer than its parts: mostly between its partitions (calls, and the time outside of "
            "kernels, take 4.7 ms, 2 ms were counted)",
        ),
        (
            8e-3, 2.1e-3, 3.9e-3, 2.0e-3,
            "timed end to end, the plan takes 20% less than its parts: mostly the partition on ncnn that begins with 'n0', "
            "which takes 2.1 ms inside the whole and 4 ms alone",
        ),
    ],
)  # fmt: skip
def test_what_differs_most_is_named(measured_s: float, front_s: float, tail_s: float, rest_s: float, text: str) -> None:
    assert additive_error_text(plan(), measured_s, Profile(measured_s, {"front": front_s, "tail": tail_s}, rest_s)) == text


def test_costs_are_corrected_to_those_inside_the_whole() -> None:
    found = planned({**COSTS, ("b", (2,)): 0.4})
    first = found.partitions[0]
    corrected = costs_inside(found, Profile(1.2, {first.id: 0.7, "another": 9.0}, 0.5))
    assert list(corrected) == [found.indices[0]], "nothing is known of the second one"
    assert corrected[found.indices[0]] == replace(
        first.cost, seconds=0.7, reason="inside the whole plan; alone it takes 600 ms", alone_s=0.6
    )
    assert not costs_inside(found, Profile(1.2, {}, 1.2))


def test_rivals_in_the_same_context_are_corrected_alike() -> None:
    """The plan has `b` behind `a`; what else of `b` would stand there takes as much longer, what stands elsewhere keeps its cost."""
    found = planned({**COSTS, ("b", (1, 2)): 0.72, ("b", (1,)): 0.9})
    assert [(item.target, tuple(item.inside)) for item in found.partitions] == [("a", (0, 1)), ("b", (2,))]
    inside = costs_inside(found, Profile(1.4, {found.partitions[0].id: 0.6, found.partitions[1].id: 0.8}, 0.0))
    beside = {
        (found.costed[index].target, tuple(found.costed[index].inside)): cost for index, cost in costs_in_context(found, inside).items()
    }
    assert {key: (cost.seconds, cost.alone_s) for key, cost in beside.items()} == {
        ("b", (1, 2)): (pytest.approx(1.44), 0.72),
        ("b", (1,)): (pytest.approx(1.8), 0.9),
    }
    assert beside["b", (1, 2)].reason == "as b takes behind a in the plan; alone it takes 720 ms"
    assert costs_in_context(found, {}) == {}


def test_the_additive_error_is_that_of_the_parts_as_they_were_measured_alone() -> None:
    """Costs that were corrected to what they are inside the whole add up to it, whatever they were alone."""
    found = planned({**COSTS, ("b", (2,)): 0.4})
    first = found.partitions[0]
    corrected = [replace(first, cost=replace(first.cost, seconds=0.7, alone_s=0.6)), *found.partitions[1:]]
    assert correction_s(corrected) == pytest.approx(0.1)
    assert correction_s(found.partitions) == 0
    assert additive_error_s(plan(), 13e-3, 3e-3) == pytest.approx(6e-3), "13 ms, and 10 ms of which 3 were added after the measurement"
    assert additive_error_s(plan("unknown"), 13e-3, 3e-3) is None
