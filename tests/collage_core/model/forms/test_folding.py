"""Folding: what is left, what it is called, and what became of every node of the user's."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from collage_core.graph.index_set import IndexSet
from collage_core.model.body_runs import count_body_runs
from collage_core.model.forms import folding
from collage_core.model.forms.folding import drop_zero_states
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import largest_error, relative_error
from collage_core.toolchains.conformance.small_models import normal
from collage_core.toolchains.ncnn.ncnn_operators import refusal
from collage_core.toolchains.registry import get
from tests.helpers.models import loaded, model_of, weights, write

NORM = {name: np.abs(weights(4, seed=seed)) + 0.5 for seed, name in enumerate(("scale", "shift", "mean", "var"))}


def names(model: OnnxModel) -> list[str]:
    return [node.name for node in model.graph.nodes]


def gone(model: OnnxModel) -> dict[str, str | None]:
    return {node.name: node.into for node in model.folded}


def is_right(model: OnnxModel) -> bool:
    inputs = model.seeded_inputs()
    return largest_error(model.activations(inputs, model.graph.outputs), model.reference(inputs)) < 1e-5


def test_a_fusion_is_named_for_its_last_node_and_lists_the_others(tmp_path):
    text = """g (float[N,3,8,8] x) => (float[N,4,8,8] y) { [conv] a = Conv<pads = [1,1,1,1]>(x, w)
        [norm] b = BatchNormalization(a, scale, shift, mean, var) [relu] y = Relu(b) }"""
    model = loaded(tmp_path, text, {"w": weights(4, 3, 3, 3), **NORM})
    assert names(model) == ["norm", "relu"]
    assert model.graph.nodes[0].op == "Conv"
    assert model.graph.nodes[0].absorbed == ("conv",)
    assert gone(model) == {"conv": "norm"}
    assert is_right(model)


def test_a_longer_fusion_lists_all_others_in_order(tmp_path):
    text = """g (float[1,3,8,8] x) => (float[1,4,8,8] y) { [pad] p = Pad(x, pads) [conv] a = Conv(p, w) [scale] s = Mul(a, factor)
        [shift] t = Add(s, offset) [relu] y = Relu(t) }"""
    constants = {
        "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
        "w": weights(4, 3, 3, 3),
        "factor": weights(4, 1, 1),
        "offset": weights(4, 1, 1),
    }
    model = loaded(tmp_path, text, constants)
    assert names(model) == ["shift", "relu"]
    assert model.graph.nodes[0].absorbed == ("pad", "conv", "scale")
    assert is_right(model)


def test_constants_and_shape_arithmetic_are_gone(tmp_path):
    text = """g (float[N,2,3] x) => (float[N,6] y) { [shape] s = Shape(x) [zero] z = Constant<value = int64 {0}>()
        [gather] n = Gather(s, z) [lift] l = Unsqueeze(n, axes) [join] j = Concat<axis = 0>(l, rest) [reshape] y = Reshape(x, j) }"""
    model = loaded(tmp_path, text, {"axes": np.array([0]), "rest": np.array([-1])})
    assert names(model) == ["reshape"]
    assert gone(model) == {"zero": None, "shape": None, "gather": None, "lift": None, "join": None}
    assert model.graph.constants[model.graph.nodes[0].inputs[1]].value == (1, -1)
    assert model.graph.nodes[0].absorbed == ()


def test_identities_are_dropped_and_rename_nothing(tmp_path):
    text = """g (float[1,4] x) => (float[1,4] y) { [first] a = Identity(x) [relu] b = Relu(a) [mid] c = Identity(b)
        [drop] d = Dropout(c) [tanh] e = Tanh(d) [last] y = Identity(e) }"""
    model = loaded(tmp_path, text)
    assert names(model) == ["relu", "tanh"]
    assert gone(model) == {"first": None, "mid": None, "drop": None, "last": None}
    assert all(node.absorbed == () for node in model.graph.nodes)
    assert is_right(model)


def test_an_identity_that_only_names_an_output_is_left_to_the_host(tmp_path):
    text = """g (float[1,4] x) => (float[1,4] y, float[1,4] z) { [relu] a = Relu(x) [out] y = Identity(a) [tanh] z = Tanh(a) }"""
    model = loaded(tmp_path, text)
    assert [(node.name, node.is_host, node.absorbed) for node in model.graph.nodes] == [
        ("relu", False, ()),
        ("out", True, ()),
        ("tanh", False, ()),
    ]
    assert model.folded == ()
    assert is_right(model)


def test_a_node_stays_one_where_an_identity_names_only_one_of_its_outputs(tmp_path):
    text = """g (float[1,4] x) => (float[1,2] y, float[1,2] z) { [split] a, b = Split<axis = 1, num_outputs = 2>(x) [out] y = Identity(a)
        [relu] z = Relu(b) }"""
    model = loaded(tmp_path, text, opset=18)
    assert names(model) == ["split", "relu"]
    assert gone(model) == {"out": None}
    assert is_right(model)


def test_twins_become_one(tmp_path):
    text = """g (float[1,4] x) => (float[1,4] y) { [one] a = Relu(x) [two] b = Relu(x) [ta] c = Tanh(a) [exp] d = Exp(b)
        [add] y = Add(c, d) }"""
    model = loaded(tmp_path, text)
    assert len(model.graph) == 4
    left = ({"one", "two"} & set(names(model))).pop()
    assert gone(model) == {"two" if left == "one" else "one": left}
    assert is_right(model)


def test_nothing_that_the_runtime_does_for_itself_is_left(tmp_path):
    # Left alone, ONNX Runtime pushes the transposes through, and makes the product and the sum a Gemm between reshapes.
    text = """g (float[1,4,6,8] x) => (float[1,6,4,5] y) { [t1] a = Transpose<perm = [0,2,1,3]>(x) [relu] b = Relu(a)
        [t2] c = Transpose<perm = [0,2,1,3]>(b) [exp] d = Exp(c) [t3] e = Transpose<perm = [0,2,1,3]>(d)
        [dense] f = MatMul(e, w) [bias] y = Add(f, v) }"""
    model = loaded(tmp_path, text, {"w": weights(8, 5), "v": weights(5)})
    assert names(model) == ["t1", "relu", "t2", "exp", "t3", "dense", "bias"]
    assert model.folded == ()


def test_an_operator_without_a_kernel_stays_whole(tmp_path):
    model = loaded(tmp_path, "g (float[1,4] x) => (float[1,4] y) { [relu] a = Relu(x) [swish] b = HardSwish(a) [tanh] y = Tanh(b) }")
    assert [node.op for node in model.graph.nodes] == ["Relu", "HardSwish", "Tanh"]


def test_half_precision_stays_half_precision(tmp_path):
    def half(*shape: int) -> np.ndarray:
        return (weights(*shape) / 4).astype(np.float16)

    text = """g (float16[N,3,8,8] x) => (float16[N,4,8,8] y) { [conv] c = Conv<pads = [1,1,1,1]>(x, w)
        [norm] n = BatchNormalization(c, half, half, half, ones) [relu] r = Relu(n) [up] f = Cast<to = 1>(r) [soft] s = Softmax(f)
        [down] d = Cast<to = 10>(s) [id] i = Identity(d) [mul] y = Mul(i, r) }"""
    model = loaded(tmp_path, text, {"w": half(4, 3, 3, 3), "half": half(4), "ones": np.ones(4, np.float16)})
    assert [(node.name, node.op, node.outputs[0].type.dtype) for node in model.graph.nodes] == [
        ("norm", "Conv", "float16"),
        ("relu", "Relu", "float16"),
        ("up", "Cast", "float32"),
        ("soft", "Softmax", "float32"),
        ("down", "Cast", "float16"),
        ("mul", "Mul", "float16"),
    ]
    assert gone(model) == {"conv": "norm", "id": None}
    inputs = model.seeded_inputs()
    assert largest_error(model.activations(inputs, ["y"]), model.reference(inputs)) < 2e-3


def test_half_precision_in_branches_stays_as_it_is(tmp_path):
    text = """g (float16[4,8] x, bool c) => (float16[4,8] y) {
        [if] r = If(c) <
            then_branch = t () => (float16[4,8] a) { [dense] m = MatMul(x, w) [relu] a = Relu(m) },
            else_branch = e () => (float16[4,8] b) { [bend] b = Sigmoid(x) }
        >
        [last] y = Tanh(r) }"""
    model = loaded(tmp_path, text, {"w": (weights(8, 8) / 4).astype(np.float16)})
    inputs = {**model.seeded_inputs(), "c": np.array(True)}
    (node,) = count_body_runs(model, inputs).values()
    assert node.reason == ""
    assert [one.name for one in node.bodies["then_branch"].model.graph.nodes] == ["dense", "relu"]
    assert largest_error(model.activations(inputs, ["y"]), model.reference(inputs)) < 2e-3


def test_a_model_that_onnx_runtime_gave_its_own_casts(tmp_path):
    """Somebody saved it optimised: folding computes the cast of the weight, and the product in half precision reads the weight itself."""
    text = """g (float16[4,8] x) => (float16[4,8] y) {
        InsertedPrecisionFreeCast_w = Cast<to = 1>(w) InsertedPrecisionFreeCast_x = Cast<to = 1>(x)
        [dense] InsertedPrecisionFreeCast_y = MatMul(InsertedPrecisionFreeCast_x, InsertedPrecisionFreeCast_w)
        y = Cast<to = 10>(InsertedPrecisionFreeCast_y) }"""
    model = loaded(tmp_path, text, {"w": (weights(8, 8) / 4).astype(np.float16)})
    inputs = model.seeded_inputs()
    assert largest_error(model.activations(inputs, ["y"]), model.reference(inputs)) < 2e-3


QDQ = """g (float[1,3,8,8] x) => (float[1,4,8,8] y, float[1,3,8,8] z) { [q] a = QuantizeLinear(x, s, p) [deq] b = DequantizeLinear(a, s, p)
    [weight] v = DequantizeLinear<axis = 0>(w, t, u) [conv] y = Conv<pads = [1,1,1,1]>(b, v) [relu] z = Relu(b) }"""


def test_quantised_weights_and_their_nodes_stay(tmp_path):
    constants = {
        "s": np.float32(0.1),
        "p": np.uint8(3),
        "w": np.arange(-54, 54, dtype=np.int8).reshape(4, 3, 3, 3),
        "t": np.full(4, 0.1, np.float32),
        "u": np.zeros(4, np.int8),
    }
    model = loaded(tmp_path, QDQ, constants)
    assert names(model) == ["q", "deq", "weight", "conv", "relu"]
    assert model.folded == ()
    assert model.is_quantised


def test_a_condition_that_is_constant_leaves_one_branch(tmp_path):
    text = """g (float[1,4] x) => (float[1,4] y) { [flag] f = Constant<value = bool {1}>() [if] a = If(f) <
        then_branch = t () => (float[1,4] p) { [inner] q = Exp(x) [last] p = Neg(q) }, else_branch = e () => (float[1,4] r) { r = Relu(x) }>
        [tanh] y = Tanh(a) }"""
    model = loaded(tmp_path, text)
    assert [node.op for node in model.graph.nodes] == ["Exp", "Neg", "Tanh"]
    assert len(set(names(model))) == 3
    assert is_right(model)


def test_constants_that_are_computed_from_constants_count_as_folded(tmp_path):
    text = "g (float[1,4] x) => (float[1,4] y) { [exp] e = Exp(w) [neg] n = Neg(e) [mul] y = Mul(x, n) }"
    model = loaded(tmp_path, text, {"w": weights(4)})
    assert gone(model) == {"exp": None, "neg": None}
    assert np.allclose(model.constant("n"), -np.exp(weights(4)))


@pytest.mark.parametrize("fold", [True, False])
def test_where_everything_would_fold_away_all_stays(tmp_path, fold):
    proto = model_of("g (float[1,4] x) => (int64[1] y) { [shape] s = Shape(x) [gather] y = Gather(s, one) }", {"one": np.array([1])})
    model = load_model(write(tmp_path, proto), fold=fold)
    assert names(model) == ["shape", "gather"]
    assert model.reference(model.seeded_inputs())["y"].tolist() == [4]


def test_without_folding_the_nodes_are_those_of_the_file(tmp_path):
    text = """g (float[1,4] x) => (float[1,4] y) { [c] k = Constant<value_floats = [1.0, 2.0, 3.0, 4.0]>() [i] w = Identity(k)
        [id] a = Identity(x) [mul] b = Mul(a, w) [exp] e = Exp(k) [add] y = Add(b, e) }"""
    model = loaded(tmp_path, text, fold=False)
    assert names(model) == ["id", "mul", "exp", "add"]
    assert gone(model) == {"c": None, "i": None}
    assert [node.is_host for node in model.graph.nodes] == [True, False, False, False]
    assert model.constant("w").tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ({"value_float": 2.0}, np.float32(2)),
        ({"value_int": 2}, np.int64(2)),
        ({"value_ints": [1, 2]}, np.array([1, 2])),
        ({"value": onnx.numpy_helper.from_array(np.array([True, False]))}, np.array([True, False])),
    ],
)
def test_every_form_of_constant(tmp_path, attribute, value):
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }")
    proto.graph.node.append(helper.make_node("Constant", [], ["k"], **attribute))
    proto.graph.output.append(helper.make_tensor_value_info("k", helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    model = load_model(write(tmp_path, proto), fold=False)
    assert np.array_equal(model.constant("k"), value)
    assert model.reference(model.seeded_inputs())["k"].tolist() == value.tolist()


@pytest.mark.parametrize("fold", [True, False])
def test_a_constant_that_is_no_plain_memory_is_made_by_a_node_where_it_is_an_output(tmp_path, fold):
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }")
    proto.graph.node.append(helper.make_node("Constant", [], ["k"], value_strings=[b"a", b"b"]))
    proto.graph.output.append(helper.make_tensor_value_info("k", onnx.TensorProto.STRING, [2]))
    model = load_model(write(tmp_path, proto), fold=fold)
    assert [(node.op, str(node.outputs[0].type)) for node in model.graph.nodes] == [("Constant", "string[2]"), ("Relu", "float32[1, 4]")]
    assert model.reference(model.seeded_inputs())["k"].tolist() == ["a", "b"]


def test_folding_twice_gives_the_same(tmp_path):
    text = """g (float[1,3,8,8] x) => (float[1,4,8,8] y) { a = Conv<pads = [1,1,1,1]>(x, w)
        b = BatchNormalization(a, scale, shift, mean, var) c = Relu(b) d = Relu(b) e = Mul(c, d) y = Identity(e) }"""
    one, other = (loaded(tmp_path, text, {"w": weights(4, 3, 3, 3), **NORM}) for _ in range(2))
    assert one.graph == other.graph
    assert one.folded == other.folded
    assert one.hash == other.hash


def test_element_types_of_small_weights_survive(tmp_path):
    proto = model_of(
        "g (float[1,4] x) => (float[1,4] y) { [deq] w = DequantizeLinear(q, s) [mul] y = Mul(x, w) }", {"s": np.float32(0.5)}, opset=21
    )
    proto.graph.initializer.append(helper.make_tensor("q", TensorProto.INT4, [4], [1, -2, 3, 7]))
    model = load_model(write(tmp_path, proto))
    assert is_right(model)


def test_no_file_is_left_wherever_folding_is_killed(tmp_path, monkeypatch):
    path = write(tmp_path, model_of("g (float[4] x) => (float[4] y) { a = Add(w, w) y = Mul(x, a) }", {"w": weights(4)}))
    before, seen = sorted(tmp_path.iterdir()), []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    session = folding.OrtSession

    def watched(*args, **given):
        made = session(*args, **given)
        seen.append(sorted(tmp_path.iterdir()))
        return made

    monkeypatch.setattr(folding, "OrtSession", watched)
    assert [node.op for node in load_model(path).graph.nodes] == ["Mul"]
    assert set(map(tuple, seen)) == {tuple(before)}


STEPS, DEPTH, HIDDEN = 5, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def exported(op: str, batch: int = 1, state: np.ndarray | None = None, **attributes: object) -> ModelProto:
    """Return a layer as torch exports it: its zeros are expanded to a shape that is gathered from that of the input.

    Args:
        state: In place of these zeros.
    """
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    constants = {
        "w": normal(directions, GATES[op] * HIDDEN, DEPTH),
        "r": normal(directions, GATES[op] * HIDDEN, HIDDEN, scale=0.3),
        "b": normal(directions, 2 * GATES[op] * HIDDEN),
        "batch_axis": np.array(1),
        "axis": np.array([0]),
        "before": np.array([directions]),
        "behind": np.array([HIDDEN]),
    }
    if state is None:
        nodes = [
            helper.make_node("Shape", ["x"], ["shape"], "shape"),
            helper.make_node("Gather", ["shape", "batch_axis"], ["batch"], "batch"),
            helper.make_node("Unsqueeze", ["batch", "axis"], ["batch_size"], "unsqueeze"),
            helper.make_node("Concat", ["before", "batch_size", "behind"], ["state_shape"], "concat", axis=0),
            helper.make_node("ConstantOfShape", ["state_shape"], ["state"], "zeros"),
        ]
    else:
        nodes, constants["state"] = [], state
    inputs = ["x", "w", "r", "b", "", "state", *(["state"] if op == "LSTM" else [])]
    nodes.append(helper.make_node(op, inputs, ["y"], "layer", hidden_size=HIDDEN, **attributes))
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [STEPS, batch, DEPTH])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [STEPS, directions, batch, HIDDEN])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def layer_loaded(folder: Path, proto: ModelProto, *, fold: bool = True) -> OnnxModel:
    onnx.save(proto, folder / "layer.onnx")
    return load_model(folder / "layer.onnx", fold=fold)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(("op", "more"), [("LSTM", {}), ("GRU", {"linear_before_reset": 1}), ("RNN", {})])
def test_zeros_that_follow_from_the_shape_are_left_out(tmp_path: Path, op: str, more: dict[str, int], direction: str):
    model = layer_loaded(tmp_path, exported(op, direction=direction, **more))
    (node,) = model.graph.nodes
    assert (node.op, list(node.inputs)) == (op, ["x", "w", "r", "b"])
    assert set(model.graph.constants) == {"w", "r", "b"}
    assert op == "RNN" or refusal(model.graph, node) == ""

    given = {"x": normal(STEPS, 1, DEPTH, seed=3)}
    assert relative_error(model.activations(given, ["y"])["y"], model.reference(given)["y"]) == 0.0


def test_ncnn_computes_the_layer(tmp_path: Path):
    ncnn = get("ncnn")
    if not ncnn.availability().usable:
        pytest.skip(ncnn.availability().reason)
    model = layer_loaded(tmp_path, exported("LSTM"))
    cut, x = model.cut(IndexSet([0])), normal(STEPS, 1, DEPTH, seed=3)
    made = np.zeros((STEPS, 1, 1, HIDDEN), np.float32)
    kernel = ncnn.load(ncnn.build(cut, 1), cut.inputs, cut.outputs, 1)
    kernel.bind([x], [made])
    kernel.run()
    assert relative_error(made, model.reference({"x": x})["y"]) < 1e-5


@pytest.mark.parametrize(
    ("state", "left"),
    [
        (np.zeros((1, 1, HIDDEN), np.float32), []),
        (np.full((1, 1, HIDDEN), 1e-30, np.float32), ["", "state", "state"]),
        (np.full((1, 1, HIDDEN), np.nan, np.float32), ["", "state", "state"]),
    ],
    ids=["zeros", "tiny", "NaN"],
)
def test_only_zeros_are_left_out(tmp_path: Path, state: np.ndarray, left: list[str]):
    (node,) = layer_loaded(tmp_path, exported("LSTM", state=state)).graph.nodes
    assert list(node.inputs) == ["x", "w", "r", "b", *left]


def test_a_state_of_another_batch_stays():
    """No state means zeros for each element of the batch, and this one has them for one."""
    proto = exported("LSTM", batch=2, state=np.zeros((1, 1, HIDDEN), np.float32))
    before = proto.SerializeToString()
    drop_zero_states(proto)
    assert proto.SerializeToString() == before


def test_by_batch_first_the_shape_is_another():
    proto = exported("GRU", state=np.zeros((STEPS, 1, HIDDEN), np.float32), layout=1)
    drop_zero_states(proto)
    assert list(proto.graph.node[0].input) == ["x", "w", "r", "b"]


def test_one_of_two_states_may_stay():
    proto = exported("LSTM", state=np.zeros((1, 1, HIDDEN), np.float32))
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((1, 1, HIDDEN), np.float32), "cell"))
    proto.graph.node[0].input[6] = "cell"
    drop_zero_states(proto)
    assert list(proto.graph.node[0].input) == ["x", "w", "r", "b", "", "", "cell"]


def test_unfolded_the_node_is_that_of_the_file(tmp_path: Path):
    layer = layer_loaded(tmp_path, exported("LSTM"), fold=False).graph.nodes[-1]
    assert list(layer.inputs)[-2:] == ["state", "state"]
