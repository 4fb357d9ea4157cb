"""The names of operators' inputs: ONNX's own, at the opset of the model."""

import onnx.defs
import pytest

from collage_core.model.formal_inputs import FormalInputs, formal_inputs
from collage_core.model.nodes import opset_versions
from tests.helpers.models import model_of


def names(op, **versions):
    return formal_inputs([op], {"": versions.pop("onnx", 17), **versions})[op]


def test_the_names_are_those_of_the_models_own_opset():
    assert names("BatchNormalization", onnx=9) == FormalInputs(("X", "scale", "B", "mean", "var"), None)
    assert names("BatchNormalization", onnx=17) == FormalInputs(("X", "scale", "B", "input_mean", "input_var"), None)
    assert names("Slice", onnx=9).names == ("data",)
    assert names("Slice", onnx=10).names == ("data", "starts", "ends", "axes", "steps")


def test_an_opset_that_the_model_does_not_name_is_the_newest():
    assert formal_inputs(["Conv", "com.microsoft.FusedConv"], {}) == {
        "Conv": FormalInputs(("X", "W", "B"), None),
        "com.microsoft.FusedConv": FormalInputs(("X", "W", "B", "Z"), None),
    }


def test_the_last_name_of_a_variadic_operator_is_that_of_all_further_inputs():
    assert names("Concat") == FormalInputs((), "inputs")
    assert names("com.microsoft.QLinearConcat") == FormalInputs(("Y_scale", "Y_zero_point"), "inputs")


@pytest.mark.parametrize(("op", "own"), [("If", ("cond",)), ("Loop", ("M", "cond")), ("Scan", ())])
def test_what_inner_graphs_read_has_no_name(op, own):
    assert names(op) == FormalInputs(own, None)


def test_operators_without_a_definition_are_left_out():
    assert formal_inputs(["Nope", "my.domain.Conv", "com.microsoft.Nope", "SimplifiedLayerNormalization"], {"": 17}) == {
        "SimplifiedLayerNormalization": FormalInputs(("X", "scale"), None)
    }


def test_every_operator_of_onnx_has_the_names_of_its_schema():
    """One name for each input that a schema has, whatever the opset."""
    for schema in onnx.defs.get_all_schemas_with_history():
        op = f"{schema.domain}.{schema.name}".lstrip(".")
        found = formal_inputs([op], {schema.domain: schema.since_version})[op]
        given = [one.name for one in schema.inputs]
        assert [*found.names, *([found.rest] if found.rest else [])] == given[: len(found.names) + bool(found.rest)]
        assert len(given) - len(found.names) in (0, 1)


def test_versions_are_those_that_the_model_imports():
    model = model_of("g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }")
    del model.opset_import[:]
    model.opset_import.add(domain="ai.onnx", version=12)
    model.opset_import.add(domain="com.microsoft", version=1)
    assert opset_versions(model) == {"": 12, "com.microsoft": 1}
