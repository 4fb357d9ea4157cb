"""Values that are no tensors become arrays of a file, and come back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.graph.value_arrays import as_arrays, as_text, as_values

ONE, TWO = np.zeros(2, np.float32), np.ones((3, 1), np.float32)


@pytest.mark.parametrize(
    ("value", "dtype", "names"),
    [
        ([ONE, TWO], "seq(tensor(float))", ["s[0]", "s[1]"]),
        ([], "seq(tensor(float))", ["s[]"]),
        ([ONE], "optional(seq(tensor(float)))", ["s[0]"]),
        ({3: 0.5, 1: 2.0}, "map(int64,tensor(float))", ["s.keys", "s.values"]),
        (None, "optional(tensor(float))", []),
        (ONE, "optional(tensor(float))", ["s"]),
    ],
)
def test_a_value_becomes_arrays_and_comes_back(value: Any, dtype: str, names: list[str]) -> None:
    arrays = as_arrays("s", value)
    assert list(arrays) == names
    back = as_values(arrays | {"x": TWO}, [Tensor("s", TensorType((), dtype)), Tensor("x", TensorType((3, 1), "float32"))])
    assert list(back) in (["x", "s"], ["s", "x"])
    assert str(back["s"]) == str(value)


def test_text_and_types_that_numpy_lacks_need_no_pickles() -> None:
    arrays = as_arrays("t", np.array(["a", "é"], object)) | as_arrays("i", np.ones(3, ml_dtypes.int4))
    assert [(name, array.dtype.str) for name, array in arrays.items()] == [("t", "<U1"), ("i", "|V1")]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (np.array(["a", "é"]), ["a", "é"]),
        (np.array(["é".encode(), b"b"]), ["é", "b"]),
        (np.array([b"\xff"]), [b"\xff"]),
        (np.ones(1), [1.0]),
    ],
)
def test_text_and_bytes_of_text_become_objects(given: np.ndarray, text: list[object]) -> None:
    assert as_text(given).tolist() == text
    assert (as_text(given).dtype == object) is isinstance(text[0], str)


def test_a_sequence_without_arrays_is_missing() -> None:
    assert as_values({"x": ONE}, [Tensor("s", TensorType((), "seq(tensor(float))"))]) == {"x": ONE}
