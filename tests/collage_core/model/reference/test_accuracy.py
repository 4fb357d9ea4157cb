"""The error of computed tensors under both value policies; how floats, integers and texts compare is in test_inputs.py."""

from __future__ import annotations

import math

import numpy as np
import pytest

from collage_core.graph.value_policy import ANY, FINITE, VALUE_POLICIES
from collage_core.model.reference.accuracy import largest_error, output_errors, relative_error, without_finite, worst_element

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("got", "want", "finite", "any_value"),
    [
        ([5.0, 1.0], [NAN, 1.0], 0, INF),
        ([NAN, 1.0], [INF, 1.0], 0, INF),
        ([INF, 1.5], [-INF, 1.0], 0.5, INF),
        ([NAN, 1.0], [1.0, 1.0], INF, INF),
        ([INF, 1.0], [1.0, 1.0], INF, INF),
        ([NAN, 1.0], [NAN, 1.0], 0, 0),
        ([NAN, INF], [NAN, -INF], INF, INF),
        ([NAN, INF], [NAN, INF], 0, 0),
    ],
)
def test_what_is_finite_in_the_reference_counts_and_by_the_stricter_policy_all(
    got: list[float], want: list[float], finite: float, any_value: float
) -> None:
    arrays = np.array(got, np.float32), np.array(want, np.float32)
    assert [relative_error(*arrays, policy) for policy in (FINITE, ANY)] == [finite, any_value]
    assert relative_error(*arrays) == any_value, "strict unless told"
    assert relative_error([arrays[0]], [arrays[1]], FINITE) == finite
    assert largest_error({"y": arrays[0]}, {"y": arrays[1]}, FINITE) == output_errors({"y": arrays[0]}, {"y": arrays[1]}, {}, FINITE)["y"]


def test_integers_are_compared_whatever_the_policy_is() -> None:
    assert [relative_error(np.array([1, 2]), np.array([1, 3]), policy) for policy in VALUE_POLICIES] == [0.5, 0.5]


def test_the_worst_element_is_one_that_the_policy_compares() -> None:
    got, want = np.array([3.0, 1.0, 2.5]), np.array([NAN, 1.0, 2.0])
    assert (worst_element(got, want, FINITE), worst_element(got, want, ANY)) == ("[2] is 2.5, not 2", "[0] is 3, not nan")


def test_outputs_without_a_finite_value_are_named() -> None:
    arrays = {"nan": np.full(2, NAN), "some": np.array([NAN, 1.0]), "ids": np.array([1, 2]), "none": np.zeros((0, 2)), "inf": np.array(INF)}
    assert without_finite(arrays) == ["nan", "inf"]
