"""Fixing values of inputs: a constant in their place, what rests on it folded, another model's identity, and mistakes in one line."""

import numpy as np
import onnx
import pytest

from collage_core.errors import CollageError
from collage_core.model.onnx_model import load_model
from tests.helpers.models import model_of, rated_model, write

SCALED = "g (float[k] w, float[k] v) => (float[k] y) { [s] s = Mul(w, w) [y] y = Add(v, s) }"


def load(folder, text="", values=None, **options):
    return load_model(write(folder, model_of(text) if text else rated_model()), values=values, **options)


def test_a_fixed_rate_is_a_constant_and_what_rests_on_it_is_folded(tmp_path):
    free, fast, slow = (load(tmp_path, values=values) for values in ({}, {"sr": "16000"}, {"sr": 8000}))
    assert [node.op for node in free.graph.nodes] == ["Equal", "If"]
    assert [node.op for node in fast.graph.nodes] == ["Relu"]
    assert [node.op for node in slow.graph.nodes] == ["Neg", "Abs", "Exp", "Tanh"]
    assert ([tensor.name for tensor in fast.graph.inputs], fast.fixed) == (["x"], {"sr": 16000})
    x = np.array([[-1, 0, 1, 2]], np.float32)
    np.testing.assert_array_equal(fast.reference({"x": x})["y"], np.maximum(x, 0))


SHAPED = """g (float[batch,n] x) => (float[batch,m] y) {
    [shape] s = Shape(x)
    [width] w = Gather(s, one)
    [is_four] c = Equal(w, four)
    [pick] y = If(c) <
        then_branch = t () => (float[k,l] a) { [relu] a = Relu(x) },
        else_branch = e () => (float[o,p] b) { [neg] n = Neg(x) [abs] b = Abs(n) }
    >
}"""


@pytest.mark.parametrize(("width", "ops"), [(4, ["Relu"]), (5, ["Neg", "Abs"])])
def test_a_branch_that_the_shape_decides_takes_the_place_of_its_node(tmp_path, width, ops):
    path = write(tmp_path, model_of(SHAPED, {"one": np.array(1), "four": np.array(4)}))
    model = load_model(path, {"x": (2, width)})
    assert [node.op for node in model.graph.nodes] == ops
    assert [node.op for node in load_model(path, {"x": (2, width)}, fold=False).graph.nodes] == ["Shape", "Gather", "Equal", "If"]
    x = np.array([range(-2, width - 2)] * 2, np.float32)
    assert model.reference({"x": x})["y"].shape == (2, width)


CALLED = """<ir_version: 8, opset_import: ["": 17, "my": 1]>
g (float[1,4] x, bool c) => (float[1,4] y) {
    [pick] y = If(c) <
        then_branch = t () => (float[1,4] a) { a = my.twice(x) },
        else_branch = e () => (float[1,4] b) { b = my.twice(n) n = Neg(x) }
    >
}
<domain: "my", opset_import: ["": 17]> twice (a) => (b) { c = Relu(a) b = Add(c, c) }"""


def test_functions_are_inlined_in_bodies_too(tmp_path):
    model = load_model(write(tmp_path, onnx.parser.parse_model(CALLED.replace("b = my.twice(n) n = Neg(x)", "n = Neg(x) b = my.twice(n)"))))
    flow = model.controls[0]
    assert set(flow.bodies["then_branch"].captured) == {"x"}
    x = model.graph.inputs[:1]
    assert [[node.op for node in model.body(0, name, x).graph.nodes] for name in flow.bodies] == [["Relu", "Add"], ["Neg", "Relu", "Add"]]


def test_a_model_with_a_fixed_value_is_another_one(tmp_path):
    hashes = [load(tmp_path, values=values).hash for values in (None, {}, {"sr": "16000"}, {"sr": 16000}, {"sr": "8000"})]
    assert [hashes.index(one) for one in hashes] == [0, 0, 2, 2, 4]
    kept = load(tmp_path, values={"sr": 8000})
    assert load(tmp_path, values=kept.fixed).hash == kept.hash


def test_without_folding_the_constant_is_read_by_the_nodes_of_the_file(tmp_path):
    model = load(tmp_path, values={"sr": "16000"}, fold=False)
    assert [node.op for node in model.graph.nodes] == ["Equal", "If"]
    assert "sr" in model.graph.constants


def test_the_length_of_a_vector_follows_from_its_value(tmp_path):
    model = load(tmp_path, SCALED, {"w": "0.5, 1,2"})
    assert [(tensor.name, tensor.type.shape) for tensor in model.graph.inputs] == [("v", (3,))]
    assert [node.op for node in model.graph.nodes] == ["Add"]
    assert model.fixed == {"w": [0.5, 1.0, 2.0]}


@pytest.mark.parametrize(
    ("type", "value", "kept"),
    [
        ("bool", "true", True),
        ("bool", False, False),
        ("uint8", "255", 255),
        ("int64", "-9223372036854775808", -(2**63)),
        ("int64[1,2]", [1, 2], [1, 2]),
        ("float16", "65504", 65504.0),
        ("bfloat16", "2", 2.0),
        ("float", np.float32(0.5), 0.5),
        ("double[2]", np.array([0.1, 3]), [0.1, 3.0]),
    ],
)
def test_every_type_keeps_its_value(tmp_path, type, value, kept):
    text = f"g (float[2] x, {type} s) => (float[2] y) {{ c = Cast<to = 1>(s) y = Add(x, c) }}"
    fixed = load(tmp_path, text, {"s": value}).fixed["s"]
    assert repr(fixed) == repr(kept)


@pytest.mark.parametrize(
    ("type", "value", "message", "hint"),
    [
        ("int16", "16k", "the value '16k' of input 's' is no int16", "give a whole number from -32768 to 32767"),
        ("int64", 1.5, "the value 1.5 of input 's' is no int64", ""),
        ("int64", True, "the value True of input 's' is no int64", ""),
        ("int64", str(2**63), "the value '9223372036854775808' of input 's' is no int64", ""),
        ("uint8", "-1", "the value '-1' of input 's' is no uint8", "give a whole number from 0 to 255"),
        ("bool", "2", "the value '2' of input 's' is no bool", "give true or false"),
        ("float", "nan", "the value 'nan' of input 's' is no float32", "give a finite number, such as 0.5"),
        ("float16", "1e5", "the value '1e5' of input 's' is out of the range of float16", "give a finite number, such as 0.5"),
        ("float", {"a": 1}, "the value {'a': 1} of input 's' is no float32", ""),
        ("int64[2]", "1,2,3", "the value '1,2,3' of input 's' has 3 elements, its shape [2] wants 2", "give 2, with commas between"),
        ("int64", "", "the value '' of input 's' is no int64", ""),
        ("float[4,5]", "1", "the input 's' has 20 elements, the value of at most 16 can be fixed", "leave it an input"),
        ("string", "a", "the input 's' is of type string: its value cannot be fixed", "fix numbers and flags"),
    ],
)
def test_mistakes(tmp_path, type, value, message, hint):
    text = f"g (float[2] x, {type} s) => (float[2] y) {{ y = Relu(x) }}"
    with pytest.raises(CollageError) as error:
        load(tmp_path, text, {"s": value})
    assert (error.value.message, error.value.code) == (message, "value")
    assert not hint or error.value.hint == hint


def test_an_unknown_input_names_those_that_there_are(tmp_path):
    with pytest.raises(CollageError, match="the model has no input 'rate'") as error:
        load(tmp_path, values={"rate": "1"})
    assert error.value.hint == "its inputs are x [1, 4], sr []"


def test_an_array_for_a_fixed_input_is_a_mistake(tmp_path):
    model = load(tmp_path, values={"sr": "16000"})
    with pytest.raises(CollageError, match="the input 'sr' is fixed to 16000"):
        model.check_inputs({"x": np.zeros((1, 4), np.float32), "sr": np.array(16000)})
