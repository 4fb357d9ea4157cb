"""Kinds of operators: the rule on shapes, the groups, and that the table names operators that exist."""

import onnx.defs
import pytest

from collage_core.graph.dataflow_graph import OpPatternKind, TensorType
from collage_core.model.types.kinds import _KINDS, kind_of

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


def test_the_table_says_something_of_every_operator_that_onnx_has():
    """A new one is opaque until somebody has thought about it: this test asks to."""
    named = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == "" and not schema.deprecated}
    assert sorted(named - set(_KINDS)) == []


def test_no_operator_is_in_two_groups():
    import collage_core.model.types.kinds as kinds

    groups = [kinds._ELEMENT_WISE, kinds._BROADCAST, kinds._INJECTIVE, kinds._REDUCE, kinds._OUT_FUSABLE, kinds._OPAQUE]
    listed = [op for group in groups for op in group.split()]
    assert sorted(op for op in set(listed) if listed.count(op) > 1) == []


def test_letters_are_in_the_order_of_the_kinds_and_read_back():
    assert "".join(kind.letter for kind in sorted(OpPatternKind)) == "EBIRAO"
    assert all(OpPatternKind.from_letter(kind.letter) is kind for kind in OpPatternKind)
    with pytest.raises(KeyError):
        OpPatternKind.from_letter("X")
