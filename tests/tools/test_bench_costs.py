"""`make bench-costs`: the verdict on estimates from profiles."""

from __future__ import annotations

import pytest
from bench_costs import estimates_verdict, spread


def test_the_worst_of_95_in_100_is_told_beside_the_median() -> None:
    assert spread([share / 100 for share in range(100, 0, -1)]) == (0.505, 0.95)
    assert spread([]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([0.1] * 19 + [5.0], "PASS"),
        ([0.1] * 18 + [0.4, 5.0], "FAIL"),
        ([0.11] * 20, "FAIL"),
        ([], "FAIL"),
    ],
)
def test_estimates_are_near_where_one_in_twenty_misses_by_more(errors: list[float], said: str) -> None:
    assert estimates_verdict(errors).startswith(f"{said}  profiles: estimates of {len(errors)} candidates miss their trials by ")
