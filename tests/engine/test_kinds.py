"""Kinds of operators: the rule on shapes, the groups, and that the table names operators that exist."""

import onnx.defs
import pytest

from collage_core.graph import TensorType
from collage_core.model.kinds import _KINDS, kind_of

FULL = TensorType((1, 8, 4, 4), "float32")
BIAS = TensorType((8, 1, 1), "float32")
SCALAR = TensorType((), "float32")
ROW, COLUMN, SQUARE = (TensorType(shape, "float32") for shape in ((1, 4), (4, 1), (4, 4)))


@pytest.mark.parametrize(
    ("op", "inputs", "output", "letter"),
    [
        ("Relu", [FULL], FULL, "E"),
        ("Add", [FULL, FULL], FULL, "E"),
        ("Add", [FULL, BIAS], FULL, "E"),
        ("Mul", [SCALAR, FULL], FULL, "E"),
        ("Clip", [FULL, None, SCALAR], FULL, "E"),
        ("Add", [ROW, COLUMN], SQUARE, "B"),
        ("Expand", [ROW, TensorType((2,), "int64")], SQUARE, "B"),
        ("Reshape", [FULL, TensorType((2,), "int64")], SQUARE, "I"),
        ("ReduceSum", [FULL, TensorType((1,), "int64")], ROW, "R"),
        ("ReduceMean", [FULL], ROW, "A"),
        ("Conv", [FULL, FULL, BIAS], FULL, "A"),
        ("com.microsoft.FusedConv", [FULL, FULL], FULL, "A"),
        ("Gather", [FULL, SCALAR], FULL, "O"),
        ("LSTM", [FULL], FULL, "O"),
        ("my.domain.Relu", [FULL], FULL, "O"),
    ],
)
def test_kind_follows_the_operator_and_the_shapes(op, inputs, output, letter):
    assert kind_of(op, inputs, [output], has_inner_graph=False).letter == letter


def test_nodes_with_inner_graphs_are_opaque():
    assert kind_of("If", [SCALAR], [FULL], has_inner_graph=True).letter == "O"


def test_the_table_names_operators_that_exist():
    # ONNX Runtime keeps this one of its own in ONNX's domain.
    own = {"SimplifiedLayerNormalization"}
    unknown = [op for op in _KINDS if not op.startswith("com.microsoft.") and op not in own and not onnx.defs.has(op)]
    assert unknown == []
