"""Models that cannot be run or planned, each odd in one way; all of them parse, so all of them are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
X = helper.make_tensor_value_info("x", FLOAT, ["N", 3, None])
Y = helper.make_tensor_value_info("y", FLOAT, None)
WEIGHT = numpy_helper.from_array(np.array([[0, 1, 2], [3, 0, np.nan], [1, 1, 1]], np.float32), "w")


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto] = (X,),
    outputs: Sequence[ValueInfoProto] = (Y,),
    weights: Sequence[TensorProto] = (),
    functions: Sequence[FunctionProto] = (),
    domains: Sequence[str] = (),
) -> ModelProto:
    graph = helper.make_graph(list(nodes), "odd", list(inputs), list(outputs), list(weights))
    opsets = [helper.make_opsetid("", 18), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, functions=list(functions), opset_imports=opsets, ir_version=9)


def custom_operator() -> ModelProto:
    magic = helper.make_node("Magic", ["x"], ["t"], "m", domain="acme", power=3)
    return model([magic, helper.make_node("Relu", ["t"], ["y"])])


def nested_branches() -> ModelProto:
    """An `If` in an `If`, both of which read ``x``, and the inner one a weight of the model."""
    out = helper.make_tensor_value_info("o", FLOAT, None)
    same = helper.make_graph([helper.make_node("Identity", ["x"], ["o"])], "same", [], [out])
    deep = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Relu", ["t"], ["o"])], "deep", [], [out])
    inner = helper.make_node("If", ["c"], ["o"], "inner", then_branch=deep, else_branch=same)
    outer = helper.make_node("If", ["c"], ["y"], "gate", then_branch=helper.make_graph([inner], "middle", [], [out]), else_branch=same)
    chosen = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    return model([outer], [helper.make_tensor_value_info("x", FLOAT, ["N", 3]), chosen], weights=[WEIGHT])


def nested_functions() -> ModelProto:
    """A function that calls another one, whose slope is an attribute of the call."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    leaky = helper.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.add(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    inner = helper.make_function("local", "Inner", ["a"], ["b"], [leaky], opsets, ["slope"])
    call = helper.make_node("Inner", ["a"], ["b"], domain="local", slope=0.5)
    outer = helper.make_function("local", "Outer", ["a"], ["b"], [call], opsets)
    return model([helper.make_node("Outer", ["x"], ["y"], domain="local")], functions=[inner, outer], domains=["local"])


def endless_function() -> ModelProto:
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    again = helper.make_function("local", "Again", ["a"], ["b"], [helper.make_node("Again", ["a"], ["b"], domain="local")], opsets)
    return model([helper.make_node("Again", ["x"], ["y"], domain="local")], functions=[again], domains=["local"])


def missing_weights() -> ModelProto:
    absent = TensorProto(name="w", data_type=FLOAT, dims=[3, 3], data_location=TensorProto.EXTERNAL)
    absent.external_data.add(key="location", value="absent.bin")
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], weights=[absent])


def damaged_weights() -> ModelProto:
    return model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], weights=[TensorProto(name="w", data_type=FLOAT, dims=[3, 3], raw_data=b"1")]
    )


def cycle() -> ModelProto:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["y"])]
    return model(nodes)


def equal_names() -> ModelProto:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "n"),
        helper.make_node("Neg", ["a"], ["a"], "n"),
        helper.make_node("Abs", ["a"], ["y"], "n"),
    ]
    return model(nodes)


def read_and_not_made() -> ModelProto:
    return model([helper.make_node("Add", ["x", "nothing"], ["y"])])


def no_outputs() -> ModelProto:
    return model([helper.make_node("Relu", ["x"], ["y"])], outputs=[])


def no_nodes() -> ModelProto:
    return model([], outputs=[X])


def no_types() -> ModelProto:
    return model([helper.make_node("Relu", ["x"], ["y"])], [ValueInfoProto(name="x")], [ValueInfoProto(name="y")])


def unknown_types() -> ModelProto:
    node = helper.make_node("Relu", ["x"], ["y"])
    node.attribute.add(name="nothing")
    node.attribute.add(name="type", type=AttributeProto.TYPE_PROTO).tp.CopyFrom(helper.make_map_type_proto(TensorProto.INT64, Y.type))
    return model([node], weights=[TensorProto(name="w", data_type=99, dims=[-1])])


def sequences() -> ModelProto:
    texts = helper.make_value_info("x", helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, [None, 3])))
    return model([helper.make_node("ConcatFromSequence", ["x"], ["y"], axis=0)], [texts])


def sparse_input() -> ModelProto:
    value = helper.make_value_info("x", helper.make_sparse_tensor_type_proto(FLOAT, [3, "M"]))
    return model([helper.make_node("Magic", ["x"], ["y"], domain="acme")], [value])


def future_opset() -> ModelProto:
    made = model([helper.make_node("Relu", ["x"], ["y"])])
    made.opset_import[0].version = onnx.defs.onnx_opset_version() + 1000
    return made


ODD: tuple[Callable[[], ModelProto], ...] = (
    *(custom_operator, nested_branches, nested_functions, endless_function, missing_weights, damaged_weights, cycle, equal_names),
    *(read_and_not_made, no_outputs, no_nodes, no_types, unknown_types, sequences, sparse_input, future_opset),
)
