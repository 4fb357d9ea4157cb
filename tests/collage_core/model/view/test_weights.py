"""The values of a weight, and what they are like."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from collage_core.errors import CollageError
from collage_core.model.view.weights import BINS, values_of_tensor, weight_of, weight_values
from tests.helpers import viewed_models as odd


def test_the_values_of_a_weight_are_told_as_numbers() -> None:
    tensor = weight_of(odd.nested_branches(), "w", Path("m.onnx"))
    assert tensor is not None
    told = weight_values("w", "float32", values_of_tensor(tensor), 36)
    assert (told.shape, told.size, told.values) == ([3, 3], 9, [0.0, 1.0, 2.0, 3.0, 0.0, "nan", 1.0, 1.0, 1.0])
    assert (told.minimum, told.maximum, told.mean, told.not_finite) == (0.0, 3.0, 1.125, 1)
    assert told.deviation == pytest.approx(np.std([0, 1, 2, 3, 0, 1, 1, 1]))
    assert told.zeros == pytest.approx(2 / 9)
    assert told.histogram is not None
    assert (len(told.histogram.counts), sum(told.histogram.counts)) == (BINS, 8)


def test_a_page_of_values_begins_where_it_is_asked_for() -> None:
    array = np.arange(1000).reshape(10, 100)
    assert weight_values("w", "int64", array, 8000, 995, 100).values == [995, 996, 997, 998, 999]
    assert weight_values("w", "int64", array, 8000, 2000, 100).values == []


def test_integers_that_a_double_would_round_are_text() -> None:
    assert weight_values("w", "int64", np.array([2**60 + 1]), 8).values == [str(2**60 + 1)]


@pytest.mark.parametrize("array", [np.zeros((0, 3), np.float32), np.array([b"a", b"b"], object)])
def test_no_numbers_have_no_mean(array: np.ndarray) -> None:
    told = weight_values("w", "", array, 0)
    assert (told.minimum, told.zeros, told.histogram) == (None, None, None)


def test_a_constant_in_a_body_is_found_by_its_output() -> None:
    constant = helper.make_node("Constant", [], ["k"], value_float=2.5)
    body = helper.make_graph([constant], "b", [], [helper.make_tensor_value_info("k", TensorProto.FLOAT, [])])
    model = odd.model([helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)])
    tensor = weight_of(model, "k", Path("m.onnx"))
    assert tensor is not None
    assert values_of_tensor(tensor) == 2.5
    assert weight_of(model, "other", Path("m.onnx")) is None


def test_a_weight_in_a_file_is_read_alone_and_one_that_is_missing_says_so(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    save(odd.missing_weights(), path)
    with pytest.raises(CollageError, match=r"the data of 'w' is in '.*absent.bin', which is not there"):
        weight_of(odd.missing_weights(), "w", path)
    (tmp_path / "absent.bin").write_bytes(np.arange(9, dtype=np.float32).tobytes())
    tensor = weight_of(odd.missing_weights(), "w", path)
    assert tensor is not None
    assert values_of_tensor(tensor).tolist()[2] == [6, 7, 8]


def test_data_that_does_not_fit_its_shape_is_an_error() -> None:
    tensor = weight_of(odd.damaged_weights(), "w", Path("m.onnx"))
    assert tensor is not None
    with pytest.raises(CollageError, match=r"the data of 'w' does not fit its type float32 \[3, 3\]"):
        values_of_tensor(tensor)
