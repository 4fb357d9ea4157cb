"""Sets of rows: boxes may come and go near a threshold and change their order where none is defined; really wrong boxes are errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.model.reference.accuracy import output_errors
from collage_core.model.row_sets import RowSet, row_errors
from tests.helpers.examples import examples

FREE, ORDERED = RowSet(0, is_ordered=False), RowSet(0, is_ordered=True)
DETECTOR = {"boxes": FREE, "scores": FREE, "labels": FREE}


def detections(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    boxes, scores = random.uniform(0, 320, (count, 4)).astype(np.float32), random.uniform(0.3, 1, count).astype(np.float32)
    return {"boxes": boxes, "scores": scores, "labels": random.integers(0, 80, count)}


def picked(values: dict[str, np.ndarray], rows: Any) -> dict[str, np.ndarray]:
    return {name: array[rows] for name, array in values.items()}


def test_boxes_near_a_threshold_count_by_their_share() -> None:
    want = detections(200)
    got = picked(want, np.delete(np.arange(200), [7, 90, 191]))
    assert output_errors(got, want)["boxes"] == math.inf
    assert output_errors(got, want, DETECTOR) == dict.fromkeys(want, 3 / 200)
    more = {name: np.concatenate([array, detections(4, 1)[name]]) for name, array in want.items()}
    assert output_errors(more, want, DETECTOR) == dict.fromkeys(want, 4 / 204)
    moved = picked({**want, "boxes": want["boxes"] + np.float32(0.5)}, slice(1, None))
    assert output_errors(moved, want, DETECTOR)["boxes"] == pytest.approx(0.005, rel=0.01)


def test_the_order_counts_only_where_it_is_defined() -> None:
    want = detections(50)
    order = np.random.default_rng(1).permutation(50)
    assert set(output_errors(picked(want, order), want, DETECTOR).values()) == {0.0}
    assert row_errors(picked(want, order), want, dict.fromkeys(want, ORDERED))["scores"] > 0.5
    two = np.r_[np.arange(20), 21, 20, np.arange(22, 50)]
    assert row_errors(picked(want, two), want, dict.fromkeys(want, ORDERED))["scores"] == 1 / 50
    equal = {"index": np.array([3, 3, 5, 5, 5])}
    assert row_errors(equal, equal, {"index": ORDERED}) == {"index": 0.0}


def test_the_columns_of_a_row_belong_together() -> None:
    """Boxes in another order than their scores are wrong, although each column has the right values."""
    want = detections(50)
    got = {**want, "boxes": want["boxes"][::-1].copy()}
    errors = output_errors(got, want, DETECTOR)
    assert errors["boxes"] > 0.5
    assert errors["scores"] == errors["labels"] == 0


@pytest.mark.parametrize("wrong", ["shifted", "other labels", "swapped corners", "fewer", "none"])
def test_boxes_that_are_wrong_are_errors(wrong: str) -> None:
    want = detections(300)
    got = {
        "shifted": {**want, "boxes": want["boxes"] + np.float32(60)},
        "other labels": {**want, "labels": want["labels"] + 1},
        "swapped corners": {**want, "boxes": want["boxes"][:, [2, 3, 0, 1]]},
        "fewer": picked(want, slice(0, 150)),
        "none": picked(want, slice(0, 0)),
    }[wrong]
    assert max(output_errors(got, want, DETECTOR).values()) > 0.15


def test_rounding_that_the_model_itself_knows_is_no_error() -> None:
    want = detections(100)
    got = picked(want, slice(10, None))
    assert row_errors(got, want, dict.fromkeys(want, RowSet(0, False, 0.08)))["boxes"] == pytest.approx(0.02)
    assert row_errors(got, want, dict.fromkeys(want, RowSet(0, False, 0.1)))["boxes"] == 0.0


def test_what_is_no_set_of_rows_is_compared_as_before() -> None:
    want = detections(10)
    other_type = {**picked(want, slice(1, None)), "boxes": want["boxes"][1:].astype(np.float64)}
    assert output_errors(other_type, want, DETECTOR)["boxes"] == math.inf
    narrow = {**picked(want, slice(1, None)), "boxes": want["boxes"][1:, :3]}
    assert output_errors(narrow, want, DETECTOR)["boxes"] == math.inf
    ragged = {**want, "scores": want["scores"][1:]}
    assert output_errors(ragged, want, DETECTOR) == {"boxes": 0.0, "scores": math.inf, "labels": 0.0}
    assert output_errors({"boxes": want["boxes"]}, want, DETECTOR)["scores"] == math.inf


def test_nan_and_infinity_are_in_the_same_rows() -> None:
    want = {"x": np.array([[1.0, np.nan], [2.0, np.inf], [3.0, -np.inf]])}
    assert row_errors({"x": want["x"][[2, 0, 1]]}, want, {"x": FREE}) == {"x": 0.0}
    assert row_errors({"x": np.array([[1.0, np.nan], [2.0, -np.inf], [3.0, -np.inf]])}, want, {"x": FREE})["x"] == pytest.approx(1 / 3)


def test_rows_lie_along_any_dimension_and_may_be_none() -> None:
    want = {"index": np.array([[0, 0, 1], [2, 5, 1]])}
    assert row_errors({"index": want["index"][:, 1:]}, want, {"index": RowSet(1, True)}) == {"index": 1 / 3}
    none = {"index": np.zeros((2, 0), np.int64)}
    assert row_errors(none, none, {"index": RowSet(1, True)}) == {"index": 0.0}
    assert row_errors(none, want, {"index": RowSet(1, True)}) == {"index": 1.0}


@given(st.lists(st.integers(0, 4), max_size=8), st.lists(st.integers(0, 4), max_size=8), st.booleans())
@examples(200)
def test_integers_against_every_way_to_match_them(made: list[int], wanted: list[int], is_ordered: bool) -> None:
    got, want = {"x": np.array(made, np.int64)}, {"x": np.array(wanted, np.int64)}
    count = max(len(made), len(wanted))
    matched = longest(made, wanted) if is_ordered else sum(min(made.count(value), wanted.count(value)) for value in range(5))
    share = 0.0 if count == 0 else 1 - matched / count
    error = row_errors(got, want, {"x": RowSet(0, is_ordered)})["x"]
    assert error >= share - 1e-12, "never understated"
    assert is_ordered or error == pytest.approx(share)
    assert error == 0 or made != wanted


def longest(one: list[int], other: list[int]) -> int:
    """Return the length of the longest common subsequence."""
    known = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for row, value in enumerate(one):
        for column, wanted in enumerate(other):
            known[row + 1][column + 1] = known[row][column] + 1 if value == wanted else max(known[row][column + 1], known[row + 1][column])
    return known[-1][-1]
