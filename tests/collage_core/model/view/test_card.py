"""The card of a model: what its file says of the whole."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

from collage_core.documents.model_view import ViewedTensor
from collage_core.model.view.card import model_card, tensor_bytes
from tests.helpers import viewed_models as odd


def test_a_card_says_what_the_file_says() -> None:
    model = odd.nested_branches()
    model.producer_name, model.producer_version, model.doc_string = "trainer", "2.1", " Finds things. "
    model.metadata_props.add(key="author", value="somebody")
    card = model_card(model, "finder")
    assert (card.name, card.producer, card.producer_version, card.doc) == ("finder", "trainer", "2.1", "Finds things.")
    assert (card.ir_version, card.opsets, card.metadata) == (9, {"ai.onnx": 18}, {"author": "somebody"})
    assert (card.nodes, card.inner_nodes) == (1, 5)
    assert card.operators == {"If": 2, "Identity": 2, "MatMul": 1, "Relu": 1}
    assert (card.parameters, card.parameter_bytes) == (9, 36)
    assert card.inputs[0] == ViewedTensor("x", "float32", ["N", "3"])
    assert card.outputs == [ViewedTensor("y", "float32", None)]


def test_a_card_names_functions_and_files_of_weights() -> None:
    assert model_card(odd.nested_functions(), "m").functions == ["local.Inner", "local.Outer"]
    assert model_card(odd.missing_weights(), "m").external == ["absent.bin"]


@pytest.mark.parametrize(
    ("kind", "count", "expected"), [(TensorProto.INT4, 6, 3), (TensorProto.FLOAT16, 6, 12), (TensorProto.BFLOAT16, 4, 8)]
)
def test_small_types_take_less_than_a_byte(kind: int, count: int, expected: int) -> None:
    assert tensor_bytes(helper.make_tensor("w", kind, [count], [0] * count)) == expected
