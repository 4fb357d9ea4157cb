"""The graph as plain data: from a node to its number and its name, and back."""

from __future__ import annotations

import pytest
from hypothesis import given

from collage_core.graph.dataflow_graph import HOST, DataflowGraph, TensorType
from collage_core.model.types.dtypes import BITS
from tests.helpers.graphs import MINI_MNIST, graphs


@given(on=graphs())
def test_node_number_and_name_lead_to_one_another(on: DataflowGraph) -> None:
    assert len(on.index_by_name) == len(on) == len(on.nodes)
    for number, node in enumerate(on.nodes):
        assert on.nodes[node.index] is node
        assert node.index == on.index_by_name[node.name] == number
        assert all(on.producer[tensor.name] == number for tensor in node.outputs)


def test_a_tensor_leads_to_the_node_that_makes_it_and_to_those_that_read_it() -> None:
    assert MINI_MNIST.producer["x"] == HOST
    assert MINI_MNIST.nodes[MINI_MNIST.producer["relu"]].name == "relu"
    assert [MINI_MNIST.nodes[reader].name for reader in MINI_MNIST.readers["relu"]] == ["pool"]
    assert MINI_MNIST.readers["bias"] == ()


def test_a_data_dependent_dimension_is_kept_as_data_and_written_only_where_there_is_one() -> None:
    boxes, fixed = TensorType((15, 3), "int64", (0,)), TensorType((15, 3), "int64")
    assert str(boxes) == "int64[?, 3]"
    assert boxes != fixed
    assert boxes.bytes == fixed.bytes == 360
    assert fixed.to_json() == {"shape": [15, 3], "dtype": "int64"}
    for kind in (boxes, fixed):
        assert TensorType.from_json(kind.to_json()) == kind


@pytest.mark.parametrize(
    ("dtype", "size", "opaque"), [("float64", 8, False), ("float6e2m3", 1, True), ("int4", 1, True), ("int64", 8, False)]
)
def test_a_double_is_plain_memory_though_its_name_begins_like_that_of_a_packed_type(dtype: str, size: int, opaque: bool) -> None:
    kind = TensorType((3, 5), dtype)
    assert (kind.bytes, kind.is_opaque, kind.has_buffer) == (15 * size, opaque, not opaque)


def test_packed_types_are_those_of_onnx() -> None:
    assert {name for name in BITS if TensorType((2,), name).is_opaque} == set(BITS)
