"""Confidence intervals of percentiles: they hold the percentile as often as they say, and few samples do not bound it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.cost.measuring.intervals import confidence_interval, half_interval


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=60), st.floats(1, 99))
def test_percentile_lies_in_its_interval(samples: list[float], percentile: float) -> None:
    low, high = confidence_interval(samples, percentile)
    assert low <= np.percentile(samples, percentile, method="inverted_cdf") <= high


@pytest.mark.parametrize(("percentile", "truth"), [(50, np.log(2)), (90, np.log(10))])
def test_interval_of_a_percentile_holds_it_as_often_as_it_says(percentile: float, truth: float) -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        low, high = confidence_interval(list(rng.exponential(size=61)), percentile)
        inside += low <= truth <= high
    assert inside >= 0.93 * 400


def test_too_few_samples_do_not_bound_a_percentile() -> None:
    assert confidence_interval([1.0, 2.0]) == (-np.inf, np.inf)
    assert confidence_interval([1.0, 2.0, 3.0, 4.0, 5.0]) == (1.0, 5.0)
    assert confidence_interval([1.0, 2.0, 3.0, 4.0, 5.0], 90)[1] == np.inf
    assert confidence_interval([1.0, 2.0, 3.0, 4.0, 5.0], 10)[0] == -np.inf


def test_half_an_interval_is_the_wider_half_and_ends_with_the_samples() -> None:
    assert half_interval([1.0, 2.0, 4.0], 50, 2.0) == 2.0
    assert half_interval([1.0, 2.0, 4.0], 50, 4.0) == 3.0
