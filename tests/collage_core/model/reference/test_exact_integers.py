"""Element types that follow from signatures alone, without inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from collage_core.graph.value_ranges import ranges_of
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.exact_integers import ElementTypes, may_hold, with_exact_integers
from collage_core.model.reference.ort_session import OrtSession
from collage_core.model.shapes.inference import proto_graph

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


RANDOM = np.random.default_rng(3)


def numbers(*centres: int, shape: Sequence[int] = (6, 8), spread: int = 4) -> np.ndarray:
    """Return int64 values near the centres, some of them with the same upper half."""
    drawn = RANDOM.integers(-spread, spread, (len(centres), *shape), endpoint=True)
    return np.choose(RANDOM.integers(0, len(centres), shape), drawn + np.array(centres).reshape(-1, *[1] * len(shape)))


EDGES = (2**31, -(2**31), 2**33 + 2**31, 2**32, 0, -(2**40), 2**53)
X, Y = numbers(*EDGES), numbers(*EDGES)
WHOLE = RANDOM.integers(-(2**63), 2**63 - 1, (6, 8), endpoint=True)
NEAR_DOUBLE = numbers(2**54, 2**53 + 1, -(2**55), spread=9)
AXIS = np.array([1])


def case(op: str, *inputs: np.ndarray | None, opset: int = 20, **attributes: object):
    """Return a call on inputs of the model, None for an absent one, with its values."""
    names = ["" if array is None else f"x{index}" for index, array in enumerate(inputs)]
    while names and not names[-1]:
        names.pop()
    given = {name: array for name, array in zip(names, inputs, strict=False) if name}
    return model([helper.make_node(op, names, ["y"], op, **attributes)], given, opset=opset), given


def model(
    nodes: Sequence[NodeProto],
    given: Mapping[str, np.ndarray],
    constants: Mapping[str, np.ndarray] | None = None,
    opset: int = 20,
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in given.items()
    ]
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "large", inputs, [ValueInfoProto(name="y")], weights)
    imports = [helper.make_opsetid("", opset), *([helper.make_opsetid("own", 1)] if functions else [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=functions)


CASES = {
    "Max": case("Max", X, Y),
    "Max of a row": case("Max", X, Y[:1]),
    "Max of a scalar": case("Max", np.array(2**31), Y),
    "Max of three": case("Max", X, Y, np.array([[2**33]])),
    "Max of one": case("Max", X),
    "Max, opset 12": case("Max", X, Y, opset=12),
    "Min": case("Min", X, Y),
    "Min of three": case("Min", X, Y[:1], np.array(-(2**31))),
    "Clip": case("Clip", X, np.array(-(2**31) - 2), np.array(2**33)),
    "Clip without max": case("Clip", X, np.array(2**31 + 1), None),
    "Clip without min": case("Clip", X, None, np.array(2**31 - 1)),
    "Clip without bounds": case("Clip", X),
    "Clip, bounds swapped": case("Clip", X, np.array(2**33), np.array(2**31)),
    "Sign": case("Sign", X),
    "Relu": case("Relu", X),
    "ReduceMax": case("ReduceMax", numbers(2**31), AXIS),
    "ReduceMax of the whole range": case("ReduceMax", WHOLE, AXIS, keepdims=0),
    "ReduceMax, axes as an attribute": case("ReduceMax", X, opset=13, axes=[0], keepdims=0),
    "ReduceMax of nothing": case("ReduceMax", X[:0], np.array([0])),
    "ReduceMax, no operation": case("ReduceMax", X, np.zeros(0, np.int64), noop_with_empty_axes=1),
    "ReduceMin": case("ReduceMin", numbers(-(2**31)), np.array([-1])),
    "ReduceMin of nothing": case("ReduceMin", X[:0], np.array([0])),
    "ReduceMin of the whole range": case("ReduceMin", WHOLE, keepdims=0),
    "ReduceSum": case("ReduceSum", NEAR_DOUBLE, AXIS),
    "ReduceSum that wraps around": case("ReduceSum", WHOLE, keepdims=0),
    "ReduceSum, axes as an attribute": case("ReduceSum", NEAR_DOUBLE, opset=11, axes=[1], keepdims=0),
    "ReduceSum of nothing": case("ReduceSum", X[:0], np.array([0])),
    "ReduceSum of int32": case("ReduceSum", WHOLE.astype(np.int32), AXIS),
    "ReduceL1": case("ReduceL1", NEAR_DOUBLE, AXIS),
    "ReduceL1, axes as an attribute": case("ReduceL1", NEAR_DOUBLE, opset=13, axes=[1]),
    "ReduceSumSquare": case("ReduceSumSquare", numbers(2**28, -(2**29)), AXIS),
    "Mod of the dividend's sign": case("Mod", NEAR_DOUBLE, np.array([7, -7, 2**31, -3, 5, 2**40, -1, 1]), fmod=1),
    "Mod of the dividend's sign, uint64": case("Mod", WHOLE.astype(np.uint64), (Y + 2**41).astype(np.uint64), fmod=1),
    "Pow": case("Pow", numbers(2, -3, 0, 2**15 - 4), RANDOM.integers(0, 5, (6, 8))),
    "Pow that wraps around": case("Pow", WHOLE, RANDOM.integers(0, 7, (6, 8))),
    "Pow of int32": case("Pow", WHOLE.astype(np.int32), RANDOM.integers(0, 7, (1, 8)).astype(np.int32)),
    "Pow, large exponents": case("Pow", np.array([1, -1, 0, 1, -1, 0]), np.array([64, 65, 66, 2**40, 2**40, 2**40 + 1])),
}

PLAIN_OPTIONS = onnxruntime.SessionOptions()
PLAIN_OPTIONS.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL


def expected(proto: ModelProto, given: Mapping[str, np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(ReferenceEvaluator(proto).run(None, dict(given))[0])


@pytest.mark.parametrize("name", CASES)
def test_a_call_on_large_integers_is_as_onnx_defines_it(name: str):
    proto, given = CASES[name]
    got = OrtSession(proto).run(given, ["y"])["y"]

    want = expected(proto, given)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def test_without_the_other_calls_onnx_runtime_is_wrong():
    """The reason for all this: a version of ONNX Runtime in which this fails needs none of it for such calls."""
    for name in (
        "Max",
        "Min",
        "Clip",
        "Sign",
        "ReduceMax",
        "ReduceMin",
        "ReduceSum",
        "Pow that wraps around",
        "Mod of the dividend's sign",
    ):
        proto, given = CASES[name]
        session = onnxruntime.InferenceSession(proto.SerializeToString(), PLAIN_OPTIONS, ["CPUExecutionProvider"])
        assert not np.array_equal(session.run(None, given)[0], expected(proto, given)), name


def test_a_constant_exponent_is_a_few_products():
    given = {"x": np.array([2**20 + 1, -(2**21), 3])}
    proto = model([helper.make_node("Pow", ["x", "three"], ["y"])], given, {"three": np.array([3])})

    assert [node.op_type for node in with_exact_integers(proto).graph.node].count("Mul") == 3
    np.testing.assert_array_equal(OrtSession(proto).run(given, ["y"])["y"], given["x"] ** 3)


def test_negative_exponents_leave_what_is_a_whole_number():
    given = {"x": np.array([1, -1, -1, 5]), "e": np.array([-1, -1, -2, -1])}
    proto = model([helper.make_node("Pow", ["x", "e"], ["y"])], given)
    assert OrtSession(proto).run(given, ["y"])["y"].tolist() == [1, -1, 1, 0]


def test_a_remainder_of_0_ends_no_process():
    given = {"x": np.array([-(2**63), 5]), "by": np.array([-1, 0])}
    proto = model([helper.make_node("Mod", ["x", "by"], ["y"], fmod=1)], given)
    assert OrtSession(proto).run(given, ["y"])["y"].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint64"])
def test_other_types_stay(dtype: str):
    given = {"x": np.zeros(3, dtype), "z": np.zeros(3, dtype)}
    proto = model([helper.make_node("Max", ["x", "z"], ["m"]), helper.make_node("Clip", ["m", "z0"], ["y"])], given, {"z0": given["x"][0]})
    assert may_hold(proto.SerializeToString())
    assert with_exact_integers(proto) is proto


def test_a_call_inside_a_body_is_changed():
    """The types of what it reads come from around the body, and from the tensors that other operators make there."""
    given = {"x": X, "is_left": np.array(True)}
    inner = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Max", ["n", "least"], ["m"], "inside")]
    then_branch = helper.make_graph(inner, "then", [], [ValueInfoProto(name="m")])
    else_branch = helper.make_graph([helper.make_node("Identity", ["x"], ["i"])], "else", [], [ValueInfoProto(name="i")])
    choose = helper.make_node("If", ["is_left"], ["c"], then_branch=then_branch, else_branch=else_branch)
    proto = model([choose, helper.make_node("Sign", ["c"], ["y"])], given, {"least": np.array(2**31 + 1)})
    _type_the_output(proto)

    np.testing.assert_array_equal(OrtSession(proto).run(given, ["y"])["y"], np.sign(np.maximum(-X, 2**31 + 1)))
    of_body = with_exact_integers(proto).graph.node[0].attribute
    assert all(node.op_type != "Max" for branch in of_body for node in branch.g.node)


def test_a_call_inside_a_function_is_changed(tmp_path: Path):
    body = [helper.make_node("Max", ["a", "b"], ["c"])]
    function = helper.make_function("own", "Larger", ["a", "b"], ["c"], body, [helper.make_opsetid("", 20)])
    given = {"x": X, "z": Y}
    proto = model([helper.make_node("Larger", ["x", "z"], ["y"], "larger", domain="own")], given, functions=[function])
    _type_the_output(proto)

    loaded = loaded_from(tmp_path, proto)
    assert [node.op for node in loaded.graph.nodes] == ["Max"]
    np.testing.assert_array_equal(loaded.reference(given)["y"], np.maximum(X, Y))


def loaded_from(folder: Path, proto: ModelProto) -> OnnxModel:
    onnx.save(proto, folder / "large.onnx")
    return load_model(folder / "large.onnx")


def _type_the_output(proto: ModelProto) -> None:
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT64, [6, 8]))


def test_small_values_stay():
    """A mask that is added up, and indices that are clipped: the graph shows that they are small."""
    nodes = [
        helper.make_node("Cast", ["mask"], ["ones"], to=TensorProto.INT64),
        helper.make_node("ReduceSum", ["ones"], ["count"], "sum", keepdims=1),
        helper.make_node("Clip", ["count", "low", "high"], ["y"], "clip"),
    ]
    proto = model(nodes, {"mask": np.zeros((4, 5), bool)}, {"low": np.array(1), "high": np.array(9)})
    assert with_exact_integers(proto, ranges_of(proto_graph(proto))) is proto
    assert with_exact_integers(proto) is not proto


def test_folding_evaluates_constants_right_and_leaves_other_calls(tmp_path: Path):
    """A constant Max is gone from the graph; the other stands there as it does in the file."""
    given = {"x": X}
    nodes = [helper.make_node("Max", ["one", "other"], ["most"], "constant"), helper.make_node("Max", ["x", "most"], ["y"], "call")]
    proto = model(nodes, given, {"one": np.array(2**31 + 7), "other": np.array(5)})
    _type_the_output(proto)

    loaded = loaded_from(tmp_path, proto)
    assert [(node.op, node.name) for node in loaded.graph.nodes] == [("Max", "call")]
    assert loaded.constant("most") == 2**31 + 7
    np.testing.assert_array_equal(loaded.reference(given)["y"], np.maximum(X, 2**31 + 7))
    np.testing.assert_array_equal(loaded.activations(given, ["y"])["y"], np.maximum(X, 2**31 + 7))


def test_a_call_keeps_its_name_and_output():
    proto = CASES["Max of three"][0]
    changed = with_exact_integers(proto)
    last = changed.graph.node[-1]
    assert (last.name, list(last.output), last.op_type) == ("Max", ["y"], "Where")
    assert proto.graph.node[0].op_type == "Max"  # the model itself is as it was
