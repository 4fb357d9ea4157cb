"""First states of zeros are left out where that is the same, and ncnn takes such an operator then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

from collage_core.graph.index_set import IndexSet
from collage_core.model.forms.zero_states import drop_zero_states
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import relative_error
from collage_core.toolchains.conformance.small_models import normal
from collage_core.toolchains.ncnn.ncnn_operators import refusal
from collage_core.toolchains.registry import get

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


def loaded(folder: Path, proto: ModelProto, *, fold: bool = True) -> OnnxModel:
    onnx.save(proto, folder / "layer.onnx")
    return load_model(folder / "layer.onnx", fold=fold)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(("op", "more"), [("LSTM", {}), ("GRU", {"linear_before_reset": 1}), ("RNN", {})])
def test_zeros_that_follow_from_the_shape_are_left_out(tmp_path: Path, op: str, more: dict[str, int], direction: str):
    model = loaded(tmp_path, exported(op, direction=direction, **more))
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
    model = loaded(tmp_path, exported("LSTM"))
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
    (node,) = loaded(tmp_path, exported("LSTM", state=state)).graph.nodes
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
    layer = loaded(tmp_path, exported("LSTM"), fold=False).graph.nodes[-1]
    assert list(layer.inputs)[-2:] == ["state", "state"]
