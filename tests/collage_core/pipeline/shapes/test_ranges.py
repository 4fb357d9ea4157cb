"""Which plan serves which shape, by hand: totals in, plans, losses and crossovers out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.pipeline.shapes.ranges import CHANGE, MOST_STEPS, assign, bisect, is_worth, losses, weighted_total

EVEN = [0.25] * 4


def test_each_shape_gets_the_plan_that_is_best_there() -> None:
    totals = [[1.0, 2.0, 8.0, 16.0], [4.0, 4.0, 4.0, 4.0]]
    assert assign(totals, EVEN) == [0, 0, 1, 1]
    assert weighted_total(totals, EVEN, [0, 0, 1, 1]) == pytest.approx(2.75)


def test_plans_that_are_as_good_do_not_alternate() -> None:
    totals = [[1.0, 1.0, 1.0, 1.0], [1.001, 0.999, 1.001, 0.999]]
    assert assign(totals, EVEN) == [0, 0, 0, 0]


def test_a_plan_that_cannot_be_at_a_shape_is_not_there() -> None:
    totals = [[1.0, None], [None, 3.0], [2.0, 2.9]]
    assert assign(totals, [0.5, 0.5]) == [0, 2]
    assert weighted_total(totals, [0.5, 0.5], [0, 0]) is None
    assert assign([[1.0, None]], [0.5, 0.5]) is None


@given(st.lists(st.lists(st.floats(0.1, 10), min_size=4, max_size=4), min_size=1, max_size=4))
def test_it_is_never_worse_than_one_plan_and_near_the_best_of_each(totals: list[list[float]]) -> None:
    chosen = assign(totals, EVEN)
    assert chosen is not None
    found = weighted_total(totals, EVEN, chosen)
    assert found is not None
    ones = [weighted_total(totals, EVEN, [plan] * 4) or 0.0 for plan in range(len(totals))]
    least = sum(0.25 * min(row[shape] for row in totals) for shape in range(4))
    assert found <= min(ones) * (1 + 1e-9)
    assert found <= least * (1 + 3 * CHANGE) + 1e-9


def test_more_plans_must_be_worth_it() -> None:
    assert is_worth(1.0, 1.1)
    assert not is_worth(1.0, 1.01)
    assert is_worth(1.0, None)
    assert not is_worth(None, 1.0)


def test_fixing_one_shape_loses_at_the_others() -> None:
    assert losses([[1.0, 9.0], [2.0, None]], [1.0, 4.0]) == [[0.0, 5.0], [1.0, None]]


@pytest.mark.parametrize("crossing", range(17, 64))
def test_the_crossover_lies_between_what_was_tried(crossing: int) -> None:
    found = bisect(2, "seq", (16, 64), lambda size: (float(size), float(crossing)))
    assert found.below <= crossing <= found.above
    assert found.above - found.below <= -(-48 // 2**MOST_STEPS) + 1
    assert len(found.tried) <= MOST_STEPS
    assert (found.shape, found.dimension) == (2, "seq")


def test_neighbouring_sizes_have_nothing_between_them() -> None:
    assert bisect(0, "n", (3, 4), lambda size: (1 / 0, 0.0)).tried == {}


def test_a_size_at_which_no_plan_can_be_ends_the_bisection() -> None:
    found = bisect(0, "n", (1, 99), lambda size: (None, None))
    assert (found.below, found.above, len(found.tried)) == (1, 99, 1)
