"""A type has the name that ONNX Runtime writes, and the name gives the type back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, TypeProto, helper, numpy_helper

from collage_core.model.types.dtypes import element_of, element_shape, packed, type_name, type_proto, unpacked

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, "n"])
SEQUENCE = helper.make_sequence_type_proto(FLOATS)


@pytest.mark.parametrize(
    ("kind", "name", "element"),
    [
        (FLOATS, "float32", ""),
        (SEQUENCE, "seq(tensor(float))", "float32"),
        (helper.make_optional_type_proto(SEQUENCE), "optional(seq(tensor(float)))", "float32"),
        (helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.STRING, None)), "seq(tensor(string))", "string"),
        (helper.make_map_type_proto(TensorProto.INT64, FLOATS), "map(int64,tensor(float))", ""),
    ],
)
def test_a_type_has_a_name_and_the_name_a_type(kind: TypeProto, name: str, element: str) -> None:
    assert type_name(kind) == name
    assert type_name(type_proto(name, None)) == name
    if "(" in name:
        assert element_of(name) == element


def test_the_shape_of_an_element() -> None:
    assert element_shape(helper.make_optional_type_proto(SEQUENCE)) == (2, 1)


def test_a_tensor_keeps_its_shape_in_its_type() -> None:
    kind = type_proto("int4", [2, None])
    assert onnx.helper.printable_type(kind) == "INT4, 2x?"


@pytest.mark.parametrize(("name", "bits"), [("int4", 4), ("uint4", 4), ("int2", 2), ("uint2", 2), ("float4_e2m1fn", 4)])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 8])
def test_elements_are_packed_as_onnx_does_and_come_back(name: str, bits: int, count: int) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    drawn = np.random.default_rng(count).integers(0, 1 << bits, count)
    values = drawn.astype(np.uint8).view(dtype)
    inside = packed(values, bits)
    assert inside.tobytes() == numpy_helper.from_array(values).raw_data
    back = unpacked(inside, bits, (count, 1), dtype)
    assert (back.dtype, back.shape) == (dtype, (count, 1))
    np.testing.assert_array_equal(back.reshape(-1), values)
