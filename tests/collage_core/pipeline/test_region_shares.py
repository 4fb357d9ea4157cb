"""The time for measuring and tuning is shared out to regions by their nodes and operations, all of it and no more, and said."""

from __future__ import annotations

import pytest

from collage_core.base.module_regions import RegionSummary
from collage_core.options import Options
from collage_core.pipeline.region_shares import options_by_region, progress_text, shares


def summary(name: str, nodes: int, operations: float) -> RegionSummary:
    return RegionSummary(name, 0, nodes, operations)


REGIONS = [summary("main.1", 30, 900.0), summary("main.0", 10, 0.0), summary("scaled.0", 10, 100.0)]


def test_half_goes_by_nodes_and_half_by_operations():
    assert shares(REGIONS) == pytest.approx([(0.6 + 0.9) / 2, (0.2 + 0.0) / 2, (0.2 + 0.1) / 2])


def test_where_no_operations_are_known_each_region_has_an_equal_part_for_them():
    assert shares([summary("a.0", 3, 0.0), summary("b.0", 1, 0.0)]) == pytest.approx([(0.75 + 0.5) / 2, (0.25 + 0.5) / 2])


def test_all_of_the_time_is_shared_out_and_no_more():
    given = options_by_region(Options(("tvm",), budget_s=60, tune_s=20), REGIONS)
    assert list(given) == ["main.1", "main.0", "scaled.0"]
    assert sum(one.budget_s or 0 for one in given.values()) == pytest.approx(60)
    assert [one.tune_s for one in given.values()] == pytest.approx([15, 2, 3])


def test_a_limit_that_the_user_does_not_say_stays_open():
    given = options_by_region(Options(("tvm",), tune_s=20), REGIONS)
    assert {one.budget_s for one in given.values()} == {None}


def test_the_text_says_the_part_of_a_region():
    options = Options(("tvm",), budget_s=60, tune_s=20)
    given = options_by_region(options, REGIONS)
    assert progress_text("main.0", given, options) == "region main.0, 2 of 3: 6 s of 60 s for measuring, 2 s of 20 s for tuning"
    plain = Options(("tvm",))
    assert progress_text("scaled.0", options_by_region(plain, REGIONS), plain) == "region scaled.0, 3 of 3"
