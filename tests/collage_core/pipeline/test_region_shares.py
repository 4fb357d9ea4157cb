"""The time for measuring and tuning is shared out to regions by their nodes and operations, all of it and no more, and said.

What a run leaves goes to those after it.
"""

from __future__ import annotations

import pytest

from collage_core.base.module_regions import RegionSummary
from collage_core.documents.run import RunBudget
from collage_core.options import Options
from collage_core.pipeline.region_shares import RegionShares, shares


def summary(name: str, nodes: int, operations: float) -> RegionSummary:
    return RegionSummary(name, 0, nodes, operations)


REGIONS = [summary("main.1", 30, 900.0), summary("main.0", 10, 0.0), summary("scaled.0", 10, 100.0)]


def test_half_goes_by_nodes_and_half_by_operations():
    assert shares(REGIONS) == pytest.approx([(0.6 + 0.9) / 2, (0.2 + 0.0) / 2, (0.2 + 0.1) / 2])


def test_where_no_operations_are_known_each_region_has_an_equal_part_for_them():
    assert shares([summary("a.0", 3, 0.0), summary("b.0", 1, 0.0)]) == pytest.approx([(0.75 + 0.5) / 2, (0.25 + 0.5) / 2])


def budget(tuned_s: float) -> RunBudget:
    return RunBudget(limit_s=None, spent_s=tuned_s, tuned_s=tuned_s, undecided=(), rivals=())


def limits(given: RegionShares, names: list[str]) -> list[tuple[float | None, float | None]]:
    return [(given.options_of(name).budget_s, given.options_of(name).tune_s) for name in names]


NAMES = [region.name for region in REGIONS]


def test_all_of_the_time_is_shared_out_and_no_more():
    found = limits(RegionShares(Options(("tvm",), budget_s=60, tune_s=20), REGIONS), NAMES)
    assert sum(budget_s or 0 for budget_s, _ in found) == pytest.approx(60)
    assert [tune_s for _, tune_s in found] == pytest.approx([15, 2, 3])


def test_a_limit_that_the_user_does_not_say_stays_open():
    given = RegionShares(Options(("tvm",), tune_s=20), REGIONS)
    assert {budget_s for budget_s, _ in limits(given, NAMES)} == {None}
    given.ended("main.1", 7.0, budget(5.0))
    assert limits(given, NAMES[1:]) == [(None, pytest.approx(6.0)), (None, pytest.approx(9.0))]


def test_what_a_run_leaves_goes_to_those_after_it():
    """The first has 45 s and 15 s, and needs 5 s and 10 s: of its parts 40 s and 5 s are left."""
    given = RegionShares(Options(("tvm",), budget_s=60, tune_s=20), REGIONS)
    given.ended("main.1", 15.0, budget(10.0))
    assert limits(given, NAMES[1:]) == [(pytest.approx(22.0), pytest.approx(4.0)), (pytest.approx(33.0), pytest.approx(6.0))]
    given.ended("main.0", 22.0, budget(0.0))
    assert limits(given, NAMES[2:]) == [(pytest.approx(33.0), pytest.approx(10.0))]


def test_a_run_that_takes_longer_than_its_part_takes_nothing_from_those_after_it():
    given = RegionShares(Options(("tvm",), budget_s=60, tune_s=20), REGIONS)
    given.ended("main.1", 100.0, budget(30.0))
    assert limits(given, NAMES[1:]) == [(pytest.approx(6.0), pytest.approx(2.0)), (pytest.approx(9.0), pytest.approx(3.0))]


def test_a_run_of_other_costs_spends_nothing():
    given = RegionShares(Options(("tvm",), budget_s=60), REGIONS)
    given.ended("main.1", 5.0, None)
    assert [budget_s for budget_s, _ in limits(given, NAMES[1:])] == pytest.approx([24.0, 36.0])


def test_the_text_says_the_part_of_a_region():
    given = RegionShares(Options(("tvm",), budget_s=60, tune_s=20), REGIONS)
    given.ended("main.1", 60.0, budget(15.0))
    assert given.progress_text("main.0") == "region main.0, 2 of 3: 6 s of 60 s for its run, 2 s of 20 s for tuning"
    plain = RegionShares(Options(("tvm",)), REGIONS)
    assert plain.progress_text("scaled.0") == "region scaled.0, 1 of 3"
