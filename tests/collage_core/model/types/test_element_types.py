"""Element types that follow from signatures alone, without inference."""

from __future__ import annotations

from onnx import GraphProto, TensorProto, ValueInfoProto, helper

from collage_core.model.types.element_types import ElementTypes

VERSIONS = {"": 20, "com.microsoft": 1}
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT


def graph_of(*nodes: object, inputs: dict[str, int] | None = None) -> GraphProto:
    given = {"x": FLOAT, "ids": INT64, "flag": TensorProto.BOOL, **(inputs or {})}
    values = [helper.make_tensor_value_info(name, number, None) for name, number in given.items()]
    weights = [helper.make_tensor("w", FLOAT, [2], [1.0, 2.0]), helper.make_tensor("sizes", INT64, [2], [1, 2])]
    return helper.make_graph(list(nodes), "typed", values, [ValueInfoProto(name="y")], weights)


def types(*nodes: object) -> ElementTypes:
    return ElementTypes(graph_of(*nodes), VERSIONS)


def test_a_type_follows_the_operators_that_keep_it():
    node = helper.make_node
    known = types(
        node("Gather", ["w", "ids"], ["rows"]),
        node("Add", ["rows", "x"], ["sum"]),
        node("Where", ["flag", "ids", "sizes"], ["chosen"]),
        node("Transpose", ["chosen"], ["moved"]),
        node("Split", ["moved"], ["one", "other"], num_outputs=2),
        node("Max", ["x", "w", "rows"], ["most"]),
    )
    found = {name: known.of(name) for name in ("x", "sizes", "rows", "sum", "moved", "other", "most")}
    assert found == {"x": FLOAT, "sizes": INT64, "rows": FLOAT, "sum": FLOAT, "moved": INT64, "other": INT64, "most": FLOAT}


def test_a_type_that_an_operator_makes_is_its_own():
    node = helper.make_node
    zeros = helper.make_tensor("", INT64, [1], [0])
    known = types(
        node("Shape", ["x"], ["shape"]),
        node("TopK", ["x", "sizes"], ["best", "places"]),
        node("Equal", ["ids", "sizes"], ["same"]),
        node("Cast", ["x"], ["whole"], to=INT64),
        node("CastLike", ["x", "ids"], ["like"]),
        node("ConstantOfShape", ["shape"], ["floats"]),
        node("ConstantOfShape", ["shape"], ["integers"], value=zeros),
        node("Constant", [], ["constant"], value=zeros),
        node("Constant", [], ["number"], value_int=3),
    )
    found = {name: known.of(name) for name in ("shape", "best", "places", "same", "whole", "like", "floats", "integers", "constant")}
    wanted = [INT64, FLOAT, INT64, TensorProto.BOOL, INT64, INT64, FLOAT, INT64, INT64]
    assert list(found.values()) == wanted
    assert known.of("number") == INT64


def test_bodies_know_what_is_around_them():
    inner = helper.make_graph([helper.make_node("Neg", ["ids"], ["n"])], "then", [], [ValueInfoProto(name="n")])
    outer = types(helper.make_node("If", ["flag"], ["c"], then_branch=inner, else_branch=inner), helper.make_node("Abs", ["c"], ["y"]))
    assert outer.of("y") == INT64
    assert ElementTypes(inner, VERSIONS, outer).of("n") == INT64


def test_states_of_a_loop_come_behind_its_condition():
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["again"]),
            helper.make_node("Neg", ["x"], ["state"]),
            helper.make_node("Abs", ["ids"], ["scan"]),
        ],
        "body",
        [helper.make_tensor_value_info("turn", INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
        [ValueInfoProto(name=name) for name in ("again", "state", "scan")],
    )
    known = types(helper.make_node("Loop", ["sizes", "flag", "x"], ["last", "all"], body=body))
    assert (known.of("last"), known.of("all")) == (FLOAT, INT64)


def test_of_others_nothing_is_known():
    known = types(
        helper.make_node("Own", ["ids"], ["made"], domain="com.microsoft"),
        helper.make_node("Neg", ["made"], ["y"]),
        helper.make_node("Neg", ["round"], ["trip"]),
        helper.make_node("Neg", ["trip"], ["round"]),
    )
    assert [known.of(name) for name in ("y", "nowhere", "round")] == [None, None, None]


def test_a_long_chain_is_followed():
    nodes = [helper.make_node("Neg", [f"t{step}" if step else "ids"], [f"t{step + 1}"]) for step in range(5000)]
    assert types(*nodes).of("t5000") == INT64
