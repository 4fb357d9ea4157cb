"""The definitions of a model's operators: ONNX's, ONNX Runtime's, the model's own."""

from __future__ import annotations

from onnx import helper

from collage_core.documents.model_view import OperatorDefinition
from collage_core.model.view.operators import operator_definitions
from tests.helpers import viewed_models as odd


def definitions(*nodes: object, domains: tuple[str, ...] = ()) -> dict[str, OperatorDefinition]:
    return {one.op: one for one in operator_definitions(odd.model(nodes, domains=domains))}


def test_an_operator_of_onnx_has_its_description_types_and_defaults() -> None:
    leaky = definitions(helper.make_node("LeakyRelu", ["x"], ["y"]))["LeakyRelu"]
    assert (leaky.since, leaky.support) == (16, "stable")
    assert leaky.doc.startswith("LeakyRelu takes input data")
    [alpha] = leaky.attributes
    assert (alpha.name, alpha.type, alpha.required, alpha.default) == ("alpha", "float", False, "0.01")
    assert alpha.doc
    [value] = leaky.inputs
    assert (value.name, value.option, value.types) == ("X", "single", ["bfloat16", "double", "float", "float16"])


def test_the_definition_is_that_of_the_opset_that_the_model_imports() -> None:
    model = odd.model([helper.make_node("Relu", ["x"], ["y"])])
    model.opset_import[0].version = 12
    assert [one.since for one in operator_definitions(model)] == [6]


def test_an_operator_of_onnx_runtime_has_a_definition_too() -> None:
    fused = definitions(helper.make_node("FusedConv", ["x", "w"], ["y"], domain="com.microsoft"), domains=("com.microsoft",))
    assert {one.name: one.default for one in fused["com.microsoft.FusedConv"].attributes}["auto_pad"] == "NOTSET"


def test_a_local_function_is_defined_by_the_model() -> None:
    known = {one.op: one for one in operator_definitions(odd.nested_functions())}
    inner = known["local.Inner"]
    assert (inner.support, [one.name for one in inner.inputs], [one.name for one in inner.attributes]) == (
        "local function",
        ["a"],
        ["slope"],
    )


def test_an_operator_that_nobody_knows_has_none() -> None:
    assert [one.op for one in operator_definitions(odd.custom_operator())] == ["Relu"]
