"""Seeded inputs, the user's own inputs, and the measure of right and wrong."""

import math

import ml_dtypes
import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import default_accuracy, largest_error, output_errors, relative_error, worst_element
from tests.helpers.models import loaded, model_of, weights, write


def test_floats_are_standard_normal_and_seeded(tmp_path):
    model = loaded(tmp_path, "g (float[64,64] x) => (float[64,64] y) { y = Relu(x) }")
    one, again, other = model.seeded_inputs(0)["x"], model.seeded_inputs(0)["x"], model.seeded_inputs(1)["x"]
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert (one.dtype, one.shape) == (np.float32, (64, 64))
    assert abs(one.mean()) < 0.05
    assert abs(one.std() - 1) < 0.05
    assert model.inputs_note == ""


def test_inputs_of_equal_type_differ(tmp_path):
    inputs = loaded(tmp_path, "g (float[4] a, float[4] b) => (float[4] y) { y = Add(a, b) }").seeded_inputs()
    assert not np.array_equal(inputs["a"], inputs["b"])


@pytest.mark.parametrize(("rows", "most"), [(50, 9), (2, 1), (1, 0)])
def test_integers_are_such_that_the_model_accepts_them(tmp_path, rows, most):
    model = loaded(tmp_path, "g (int64[N,32] i) => (float[N,32,4] y) { y = Gather(w, i) }", {"w": weights(rows, 4)})
    drawn = model.seeded_inputs()["i"]
    assert (drawn.dtype, drawn.min(), drawn.max()) == (np.int64, 0, most)


def test_a_count_that_may_not_be_zero(tmp_path):
    text = "g (float[1,6] x, int64[1] k) => (float[1,n] y) { [top] y, i = TopK(x, m) [max] m = Max(k, one) [sub] s = Sub(k, one) }"
    model = loaded(tmp_path, text, {"one": np.array([1])})
    assert model.seeded_inputs()["k"] < 6


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("g (float[2,6] x, int64[3] s) => (float y) { y = Reshape(x, s) }", "s", [-1, 1, 1]),
        ("g (float[2,6] x, int64[2] s) => (float y) { y = Expand(x, s) }", "s", [2, 6]),
        ("g (float[2,6] x, int32[1] k) => (float y, int64 i) { l = Cast<to=7>(k) y, i = TopK(x, l) }", "k", [3]),
        ("g (float[2,1,6] x, int64[1] a) => (float y) { y = Squeeze(x, a) }", "a", [1]),
        ("g (float[2,6] x, int64[1] a) => (float y) { y = ReduceSum(x, a) }", "a", [0]),
        ("g (float[2,6] x, int64[2] a, int64[2] b) => (float y) { y = Slice(x, a, b) }", "b", [2**31 - 1] * 2),
        ("g (float[1,1,4,6] x, int64[4] n) => (float y) { y = Resize(x, , , n) }", "n", [2, 2, 8, 12]),
        ("g (float[1,1,4,6] x, float[4] n) => (float y) { y = Resize(x, , n) }", "n", [2, 2, 2, 2]),
        ("g (float[7,6] x, int64[3] n) => (float y, float z, float w) { y, z, w = Split(x, n) }", "n", [2, 2, 3]),
        ("g (float[3,6] x, int64[2,2] n) => (float[2] y) { y = GatherND(x, n) }", "n", [[0, 0], [0, 1]]),
        ("g (int64[4] x, int64[4] n) => (int64[4] y) { y = Div(x, n) }", "n", [1, 2, 3, 4]),
    ],
)
def test_an_input_that_is_a_setting_has_a_value_that_makes_sense(tmp_path, text, name, expected):
    model = loaded(tmp_path, text, opset=18)
    drawn = model.seeded_inputs()
    assert drawn[name].tolist() == expected
    assert set(model.reference(drawn)) == set(model.graph.outputs)


def test_indices_of_a_long_axis_differ_from_seed_to_seed(tmp_path):
    model = loaded(tmp_path, "g (int64[1,32] i) => (float[1,32,4] y) { y = Gather(w, i) }", {"w": weights(50, 4)})
    assert not np.array_equal(model.seeded_inputs(0)["i"], model.seeded_inputs(1)["i"])


def test_shapes_and_sizes_follow_the_users_inputs(tmp_path):
    text = "g (float[N,W] x, int64[1] k) => (float y, int64 i) { [relu] r = Relu(x) [top] y, i = TopK(r, k) }"
    path = write(tmp_path, model_of(text))
    model = load_model(path, inputs={"x": weights(3, 9), "k": np.array([7])})
    assert {tensor.name: tensor.type.shape for tensor in model.graph.inputs} == {"x": (3, 9), "k": (1,)}
    assert model.graph.types["y"].shape == (3, 7)
    with pytest.raises(CollageError, match=r"the input 'k' is missing"):
        load_model(path, inputs={"x": weights(3, 9)})
    with pytest.raises(CollageError, match=r"dimension 1"):
        load_model(path)


def test_empty_inputs_of_the_user_are_inputs(tmp_path):
    path = write(tmp_path, model_of("g (float[N,4] x) => (float[N,4] y) { [relu] y = Relu(x) }"))
    model = load_model(path, inputs={"x": weights(0, 4)})
    assert model.graph.types["y"].shape == (0, 4)
    assert model.reference({"x": weights(0, 4)})["y"].shape == (0, 4)


def test_a_scalar_of_a_type_that_numpy_lacks_stays_one(tmp_path):
    model = loaded(tmp_path, "g (bfloat16 x) => (float y) { [cast] y = Cast<to=1>(x) }", fold=False)
    assert model.reference({"x": np.array(2, ml_dtypes.bfloat16)})["y"].shape == ()


def test_types_that_an_npz_does_not_know_are_read_by_their_bytes(tmp_path):
    model = loaded(tmp_path, "g (bfloat16[4] x) => (float[4] y) { [cast] y = Cast<to=1>(x) }", fold=False)
    given = np.arange(4).astype(ml_dtypes.bfloat16)
    assert model.check_inputs({"x": given.view("V2")})["x"].tolist() == given.tolist()


def test_booleans(tmp_path):
    drawn = loaded(tmp_path, "g (bool[64] x) => (bool[64] y) { y = Not(x) }").seeded_inputs()["x"]
    assert 16 < drawn.sum() < 48


def test_other_scales_are_tried_when_the_outputs_are_dead(tmp_path):
    # Below 8 every output is 0; only the tenfold inputs get there.
    model = loaded(tmp_path, "g (float[8,8] x) => (float[8,8] y) { [sub] a = Sub(x, eight) [relu] y = Relu(a) }", {"eight": np.float32(8)})
    assert model.reference(model.seeded_inputs())["y"].max() > 0
    assert model.inputs_note == ""


def test_inputs_that_change_nothing_are_said(tmp_path):
    model = loaded(
        tmp_path, "g (float[8,8] x) => (float[8,8] y) { [zero] a = Mul(x, z) [add] y = Add(a, z) }", {"z": np.float32(0)}, fold=False
    )
    assert set(model.seeded_inputs()) == {"x"}
    assert model.inputs_note == "no inputs that were tried change the outputs: comparing with the reference proves little"


def test_inputs_that_change_little_are_said(tmp_path):
    text = "g (float[8,8] x) => (float[8,8] y) { [tanh] a = Tanh(x) [add] y = Add(a, much) }"
    model = loaded(tmp_path, text, {"much": np.float32(1000)})
    assert model.inputs_note.startswith("inputs change the outputs by a relative ")


def test_inputs_that_no_memory_holds(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 2**22, "SC_PAGE_SIZE": 4096}.__getitem__)
    model = loaded(tmp_path, "g (float[2] s, float[4,1099511627776] x) => (float[4,1099511627776] y) { y = Relu(x) }")
    with pytest.raises(CollageError) as caught:
        model.seeded_inputs()
    assert caught.value.message == "the inputs take 1.64e+04 GiB, more than the 16 GiB of this machine's memory"
    assert caught.value.hint == "the largest is x float32[4, 1099511627776]: say or export a smaller shape"


def test_the_users_inputs_are_checked(tmp_path):
    model = loaded(tmp_path, "g (float[N,4] x, int64[2] i) => (float[N,4] y, int64[2] j) { y = Relu(x) j = Neg(i) }")
    good = {"i": np.array([1, 2]), "x": np.ones((1, 4), np.float32, order="F")}
    checked = model.check_inputs(good)
    assert list(checked) == ["x", "i"]
    assert checked["x"].flags.c_contiguous
    for wrong, message in (
        ({"x": good["x"]}, "the input 'i' is missing"),
        ({**good, "z": good["x"]}, "the model has no input 'z'"),
        ({**good, "x": np.ones((2, 4), np.float32)}, "the input 'x' has shape [2, 4], not [1, 4]"),
        ({**good, "x": np.ones((1, 4))}, "the input 'x' has dtype 'float64', not 'float32'"),
    ):
        with pytest.raises(CollageError) as caught:
            model.check_inputs(wrong)
        assert caught.value.message == message
        assert caught.value.hint == "the model's inputs are x float32[1, 4], i int64[2]"


def test_inputs_on_which_the_model_fails(tmp_path):
    model = loaded(tmp_path, "g (int64[N] i) => (float[N,4] y) { [take] y = Gather(w, i) }", {"w": weights(3, 4)})
    for run in (model.reference, lambda inputs: model.activations(inputs, ["y"])):
        with pytest.raises(CollageError, match=r"^ONNX Runtime could not run the model: .*Gather node"):
            run({"i": np.array([7])})


@pytest.mark.parametrize(
    ("got", "want", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([0.1, 0.0], [0.0, 0.0], 0.1),
        ([np.nan, 1.0], [np.nan, 1.0], 0),
        ([np.inf, 1.0], [np.inf, 1.0], 0),
        ([-np.inf, 1.0], [np.inf, 1.0], math.inf),
        ([np.nan, 1.0], [1.0, 1.0], math.inf),
        ([1.0, 1.0], [np.nan, 1.0], math.inf),
        ([np.nan, 1.5], [np.nan, 1.0], 0.5),
        ([np.nan], [np.nan], 0),
        ([1e308], [-1e308], 2),
    ],
)
def test_the_error_of_floats(got, want, error):
    assert relative_error(np.array(got), np.array(want)) == pytest.approx(error)


def test_the_error_of_everything_else():
    assert relative_error(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 5])) == 0.25
    assert relative_error(np.array([True, False]), np.array([True, True])) == 0.5
    assert relative_error(np.array(["a", "b"], object), np.array(["a", "c"], object)) == 0.5
    assert relative_error(np.zeros((0, 3)), np.zeros((0, 3))) == 0
    assert relative_error(np.zeros((1, 3)), np.zeros((3, 1))) == math.inf
    assert relative_error(np.zeros(3, np.float32), np.zeros(3)) == math.inf
    assert relative_error(np.array([2j]), np.array([1j])) == 1
    small = np.array([1, 2], ml_dtypes.bfloat16)
    assert relative_error(small, small * 2) == 0.5


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        (np.array([[1.0, 5.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [3.5, 4.0]]), "[0, 1] is 5, not 2"),
        (np.array([1.0, np.nan, 9.0]), np.array([1.0, 2.0, 3.0]), "[1] is nan, not 2"),
        (np.array([np.nan, np.inf, 2.0]), np.array([np.nan, np.inf, 3.0]), "[2] is 2, not 3"),
        (np.array([np.inf]), np.array([-np.inf]), "[0] is inf, not -inf"),
        (np.array([1, 2, 7]), np.array([1, 2, 3]), "[2] is 7, not 3"),
        (np.array(["a", "b"]), np.array(["a", "c"]), "[1] is b, not c"),
        (np.array([True]), np.array([False]), "[0] is True, not False"),
        (np.array(2.5, np.float32), np.array(1.5, np.float32), "[] is 2.5, not 1.5"),
        (np.array([1 + 2j]), np.array([1j]), "[0] is 1+2j, not 0+1j"),
        (np.array([1, 2], ml_dtypes.bfloat16), np.array([1, 4], ml_dtypes.bfloat16), "[1] is 2, not 4"),
        (np.zeros(3, np.float32), np.zeros((3, 1)), "it is float32[3], not float64[3, 1]"),
        (np.zeros((0, 3)), np.zeros((0, 3)), ""),
    ],
)
def test_the_worst_element_is_named(got: np.ndarray, want: np.ndarray, said: str):
    assert worst_element(got, want) == said


def test_the_largest_error_counts_and_missing_outputs_are_wrong():
    want = {"a": np.ones(2), "b": np.ones(2)}
    got = {"a": np.ones(2), "b": np.full(2, 1.5), "c": np.ones(2)}
    assert output_errors(got, want) == {"a": 0, "b": 0.5}
    assert largest_error(got, want) == 0.5
    assert largest_error({"a": np.ones(2)}, want) == math.inf


def test_the_default_accuracy(tmp_path):
    plain = loaded(tmp_path, "g (float[4] x) => (float[4] y) { y = Relu(x) }")
    quantised = loaded(tmp_path, "g (float[4] x) => (uint8[4] y) { y, s, z = DynamicQuantizeLinear(x) }")
    assert (default_accuracy(plain), default_accuracy(quantised)) == (1e-3, 2e-2)
