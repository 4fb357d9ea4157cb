"""`ModelRewriting`: it knows who makes and who reads each tensor as the model was given, and puts in what is added under free names."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from collage_core.toolchains.onnx_models.model_rewriting import ModelRewriting


def rewriting() -> ModelRewriting:
    """Of two branches: y = relu(x) + 2, and a = abs(-relu(x))."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        helper.make_node("Add", ["r", "two"], ["y"], "add"),
        helper.make_node("Neg", ["r"], ["z"], "neg"),
        helper.make_node("Abs", ["z"], ["a"], "abs"),
    ]
    ends = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y", "a")}
    two = numpy_helper.from_array(np.array([2], np.float32), "two")
    return ModelRewriting(helper.make_model(helper.make_graph(nodes, "g", [ends["x"]], [ends["y"], ends["a"]], [two])))


def test_it_knows_who_makes_and_who_reads() -> None:
    model = rewriting()
    relu, add, neg, _ = model.nodes
    assert (model.maker("r"), model.maker("x"), model.readers("r")) == (relu, None, [add, neg])
    assert [model.has_one_reader(name) for name in ("r", "z", "y")] == [False, True, False]
    assert (model.scalar(add, 1), model.scalar(add, 0), model.scalar(add, 2)) == (np.float32(2), None, None)


def test_nodes_are_put_around_others_and_constants_get_names_that_are_free() -> None:
    model = rewriting()
    relu, add, neg, _ = model.nodes
    assert [model.add_constant("two", np.zeros(1)), model.add_constant("three", np.zeros(1))] == ["two_1", "three"]
    made = [helper.make_node("Abs", ["x"], [name], name) for name in ("first", "second")]
    model.put_nodes({id(relu): made[:1]}, {id(add): made[1:]}, {id(neg)})
    assert [node.name for node in model.graph.node] == ["first", "relu", "add", "second", "abs"]
