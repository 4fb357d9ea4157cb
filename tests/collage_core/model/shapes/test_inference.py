"""The graph of an ONNX model by inference alone has its nodes, types and constants, and a shape that nobody knows is named."""

from __future__ import annotations

import pytest
from onnx import ModelProto, helper

from collage_core.errors import CollageError
from collage_core.model.shapes.inference import proto_graph
from collage_core.toolchains.conformance.small_models import node, normal, sub_model, tensor


def model_of(nodes: list, opset: int = 18) -> ModelProto:
    return ModelProto.FromString(sub_model(nodes, [tensor("x", (3, 8))], [tensor("y", (3, 5))], {"w": normal(8, 5)}, opset=opset).onnx)


def test_a_graph_has_nodes_types_and_constants():
    graph = proto_graph(model_of([node("MatMul", "x w", "a"), node("Relu", "a", "y")]))
    assert [(one.op, one.outputs[0].type.shape) for one in graph.nodes] == [("MatMul", (3, 5)), ("Relu", (3, 5))]
    assert graph.constants["w"].type.shape == (8, 5)
    assert (graph.inputs, graph.outputs) == ((tensor("x", (3, 8)),), ("y",))


def test_a_shape_that_is_not_known_is_named():
    strange = helper.make_node("Frobnicate", ["x"], ["a"], name="f", domain="org.example")
    model = model_of([strange, node("Relu", "a", "y")])
    model.opset_import.append(helper.make_opsetid("org.example", 1))
    with pytest.raises(CollageError, match=r"the shape of 'a', which org\.example\.Frobnicate makes, is not known"):
        proto_graph(model)
    known = proto_graph(model, [tensor("a", (3, 5)), tensor("y", (3, 5))])
    assert known.nodes[0].outputs[0].type.shape == (3, 5)
