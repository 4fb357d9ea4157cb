"""Tensors from JSON and from bytes, and back; whatever does not fit is refused in clear words."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.serving.refusal import Refusal
from collage_core.serving.tensors import DATATYPES, array_of, bytes_of, json_of

PLAIN = [name for name in DATATYPES if name not in ("string", "bfloat16")]


def values(dtype: str) -> np.ndarray:
    made = np.array([[0, 1, 2], [3, 4, 5]]) if dtype != "bool" else np.array([[0, 1, 1], [1, 0, 0]])
    return made.astype(dtype)


def tensor(array: np.ndarray, datatype: str, **more: Any) -> dict[str, Any]:
    return {"name": "x", "datatype": datatype, "shape": list(array.shape), **more}


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("is_nested", [True, False])
def test_lists_nested_or_flat_become_arrays_and_lists_again(dtype: str, is_nested: bool):
    array = values(dtype)
    data = array.tolist() if is_nested else array.reshape(-1).tolist()
    got = array_of("x", tensor(array, DATATYPES[dtype], data=data), None)
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)
    assert json_of("x", got, DATATYPES[dtype]) == array.reshape(-1).tolist()


@pytest.mark.parametrize("dtype", [*PLAIN, "bfloat16"])
def test_bytes_become_arrays_and_bytes_again(dtype: str):
    array = values("float32").astype(ml_dtypes.bfloat16) if dtype == "bfloat16" else values(dtype)
    got = array_of("x", tensor(array, DATATYPES[dtype]), bytes_of(array, DATATYPES[dtype]))
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)
    assert got.flags.writeable


@given(st.lists(st.text()))
def test_texts_become_arrays_and_texts_again(texts: list[str]):
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    array = np.array([*texts, None], object)[:-1]
    for got in (
        array_of("x", tensor(array, "BYTES", data=texts), None),
        array_of("x", tensor(array, "BYTES"), bytes_of(array, "BYTES")),
    ):
        assert got.tolist() == texts
    assert json_of("x", array, "BYTES") == texts


def test_a_scalar_has_one_element():
    assert array_of("x", {"datatype": "FP32", "shape": [], "data": [2]}, None).shape == ()


WRONG: list[tuple[dict[str, Any], bytes | None, str]] = [
    ({"datatype": "FP8", "shape": [1], "data": [1]}, None, "the datatype 'FP8'"),
    ({"datatype": ["FP32"], "shape": [1], "data": [1]}, None, "the datatype ['FP32']"),
    ({"shape": [1], "data": [1]}, None, "the datatype None"),
    ({"datatype": "FP32", "data": [1]}, None, "the shape None"),
    ({"datatype": "FP32", "shape": [-1], "data": [1]}, None, "the shape [-1]"),
    ({"datatype": "FP32", "shape": [1.0], "data": [1]}, None, "the shape [1.0]"),
    ({"datatype": "FP32", "shape": [True], "data": [1]}, None, "the shape [True]"),
    ({"datatype": "FP32", "shape": [1] * 40, "data": [1]}, None, "the shape [1, 1"),
    ({"datatype": "FP32", "shape": [1 << 60], "data": [1]}, None, "the shape [1152921504606846976], which no array can have"),
    ({"datatype": "FP32", "shape": [2], "data": [1]}, None, "has 1 elements, and its shape [2] has 2"),
    ({"datatype": "FP32", "shape": [1 << 30, 1 << 30], "data": [1]}, None, "which no array can have: its sizes are too large together"),
    ({"datatype": "FP32", "shape": [2]}, None, "has no list as its data, but None"),
    ({"datatype": "FP32", "shape": [2], "data": {"a": 1}}, None, "has no list as its data, but {'a': 1}"),
    ({"datatype": "FP32", "shape": [2], "data": [[1], [2, 3]]}, None, "its lists differ in length"),
    ({"datatype": "FP32", "shape": [2], "data": ["1", "2"]}, None, "is not of the datatype FP32"),
    ({"datatype": "FP32", "shape": [2], "data": [1, None]}, None, "is not of the datatype FP32"),
    ({"datatype": "FP32", "shape": [1], "data": [{"a": 1}]}, None, "is not of the datatype FP32"),
    ({"datatype": "BOOL", "shape": [1], "data": [1]}, None, "is not of the datatype BOOL"),
    ({"datatype": "INT64", "shape": [1], "data": [1.5]}, None, "is not of the datatype INT64"),
    ({"datatype": "INT64", "shape": [1], "data": [10**30]}, None, "is not of the datatype INT64"),
    ({"datatype": "INT8", "shape": [2], "data": [0, 128]}, None, "has the number 128, which is no INT8"),
    ({"datatype": "UINT8", "shape": [2], "data": [-1, 5]}, None, "has the number -1, which is no UINT8"),
    ({"datatype": "BF16", "shape": [1], "data": [1]}, None, "send it as a binary tensor"),
    ({"datatype": "BYTES", "shape": [1], "data": "a"}, None, "has no list as its data"),
    ({"datatype": "BYTES", "shape": [1], "data": [3]}, None, "has 3 among its data; BYTES are texts"),
    ({"datatype": "FP32", "shape": [1]}, b"abc", "has 3 bytes, which is no whole number of FP32"),
    ({"datatype": "FP32", "shape": [2]}, b"abcd", "has 1 elements, and its shape [2] has 2"),
    ({"datatype": "BOOL", "shape": [1]}, b"\x02", "bytes other than 0 and 1"),
    ({"datatype": "BYTES", "shape": [1]}, b"\x05\0\0\0ab", "is cut off"),
    ({"datatype": "BYTES", "shape": [1]}, b"\x05\0", "is cut off"),
    ({"datatype": "BYTES", "shape": [1]}, b"\x01\0\0\0\xff", "a text that is not UTF-8"),
]


@pytest.mark.parametrize(("said", "binary", "message"), WRONG)
def test_what_does_not_fit_is_refused(said: dict[str, Any], binary: bytes | None, message: str):
    with pytest.raises(Refusal) as caught:
        array_of("x", said, binary)
    assert caught.value.status == 400
    assert message in caught.value.message
    assert "'x'" in caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_json_has_no_number_for_is_refused_and_can_be_had_as_bytes(value: float):
    array = np.array([1, value], np.float32)
    with pytest.raises(Refusal) as caught:
        json_of("y", array, "FP32")
    assert caught.value.status == 406
    assert "'binary_data': true" in caught.value.message
    np.testing.assert_array_equal(np.frombuffer(bytes_of(array, "FP32"), np.float32), array)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)


@given(JSON)
def test_any_data_is_an_array_or_refused(data: object):
    for datatype in ("FP32", "INT8", "BOOL", "BYTES"):
        try:
            array = array_of("x", {"datatype": datatype, "shape": [1], "data": data}, None)
        except Refusal:
            continue
        assert array.shape == (1,)
