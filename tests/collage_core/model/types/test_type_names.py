"""A type has the name that ONNX Runtime writes, and the name gives the type back."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, TypeProto, helper

from collage_core.model.types.type_names import element_of, element_shape, type_name, type_proto

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
