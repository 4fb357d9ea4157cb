"""Branches that are always taken: which stand in the place of their `If`, and under which names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import largest_error
from tests.helpers.models import loaded, model_of, rated_model, write
from tests.helpers.speech_models import speech_model


def ops(model: OnnxModel) -> list[str]:
    return [node.op for node in model.graph.nodes]


def is_right(model: OnnxModel) -> bool:
    inputs = model.seeded_inputs()
    return largest_error(model.activations(inputs, model.graph.outputs), model.reference(inputs)) < 1e-5


@pytest.mark.parametrize(("rate", "length", "branch"), [(16000, 8, "wide"), (8000, 4, "narrow")])
def test_a_value_decides_a_branch_and_the_branches_within_it(tmp_path: Path, rate: int, length: int, branch: str) -> None:
    model = load_model(write(tmp_path, speech_model()), {"x": (1, length)}, values={"rate": rate})
    assert ops(model) == ["Unsqueeze", "Conv", "Squeeze", "Unsqueeze", "LSTM", "Squeeze", "Relu"]
    assert {f"{branch}/conv", f"{branch}/lstm", "relu"} <= {node.name for node in model.graph.nodes}
    assert [node.name for node in model.folded if node.op == "If"] == ["pick", f"If:{branch}/frame/y", f"If:{branch}/state/y"]
    assert model.notes == ()
    assert is_right(model)


def test_an_undecided_branch_that_does_not_fit_the_shapes_leaves_the_model_as_it_is(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, speech_model()), {"x": (1, 8)})
    assert ops(model) == ["Equal", "If", "Relu"]
    assert model.notes[0].startswith("ONNX Runtime cannot fold the model, so its nodes are those of the file: Node (pick) Op (If)")
    assert model.seeded_inputs()["rate"] == 16000
    assert is_right(model)


def test_shapes_that_neither_branch_takes_are_an_error_with_the_value_in_its_hint(tmp_path: Path) -> None:
    with pytest.raises(CollageError) as caught:
        load_model(write(tmp_path, speech_model()), {"x": (1, 16)})
    assert caught.value.message.startswith("ONNX Runtime does not take the model: Node (pick) Op (If)")
    assert "--shape x=1,16 --value rate=16000" in caught.value.hint


def test_without_folding_the_nodes_are_those_of_the_file(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, speech_model()), {"x": (1, 8)}, False, values={"rate": 16000})
    assert ops(model) == ["Equal", "If", "Relu"]
    assert is_right(model)


def test_a_model_that_ends_onnx_runtime_while_it_folds_ends_no_process_of_ours(tmp_path: Path) -> None:
    """The least integer divided by -1 does not fit: the processor refuses, though no run comes by there."""
    text = """g (float[1,4] x, int64 sr) => (float[1,4] y) { [is_fast] fast = Equal(sr, k16) [pick] y = If(fast) <
        then_branch = t () => (float[1,4] a) { [relu] a = Relu(x) },
        else_branch = e () => (float[1,4] b) { [div] q = Div(least, minus_one) [cast] f = Cast<to = 1>(q) [add] b = Add(x, f) }
    > }"""
    numbers = {"k16": np.array(16000), "least": np.array([-(2**63)]), "minus_one": np.array([-1])}
    model = load_model(write(tmp_path, model_of(text, numbers)))
    assert ops(model) == ["Equal", "If"]
    note = "ONNX Runtime cannot fold the model, so its nodes are those of the file: it crashed with SIGFPE"
    assert model.notes == (f"{note}; with --value sr=16000 only the branch that is taken counts",)
    assert is_right(model)


def test_what_a_branch_hands_on_keeps_its_name_and_names_that_two_branches_share_differ(tmp_path: Path) -> None:
    text = """g (float[2,4] x) => (float[2,4] y, float[2,4] z, float[2,4] same) { [shape] s = Shape(x) [first] n = Gather(s, zero)
        [is] two_rows = Equal(n, two)
        [one] a, b = If(two_rows) < then_branch = t () => (float[2,4] v, float[2,4] v) { [neg] u = Neg(x) [relu] v = Relu(u) },
                                    else_branch = e () => (float[2,4] x, float[2,4] x) { } >
        [other] c, same = If(two_rows) < then_branch = t2 () => (float[2,4] v, float[2,4] x) { [exp] u = Exp(x) [tanh] v = Tanh(u) },
                                    else_branch = e2 () => (float[2,4] x, float[2,4] x) { } >
        [y] y = Add(a, b) [z] z = Mul(a, c) }"""
    model = loaded(tmp_path, text, {"zero": np.array(0), "two": np.array(2)})
    assert sorted(ops(model)) == ["Add", "Exp", "Identity", "Mul", "Neg", "Relu", "Tanh"]
    assert is_right(model)


def test_a_condition_that_depends_on_data_or_on_chance_stays(tmp_path: Path) -> None:
    branches = (
        """<then_branch = t () => (float[1,4] a) { [relu] a = Relu(x) }, else_branch = e () => (float[1,4] b) { [neg] b = Neg(x) }>"""
    )
    begin = "g (float[1,4] x) => (float[1,4] y)"
    by_data = f"{begin} {{ [sum] s = ReduceMax<keepdims = 0>(x) [is] c = Greater(s, o) [pick] y = If(c) {branches} }}"
    assert "If" in ops(loaded(tmp_path, by_data, {"o": np.float32(0)}))
    by_chance = f"{begin} {{ [draw] s = Bernoulli(o) [is] c = Cast<to = 9>(s) [pick] y = If(c) {branches} }}"
    assert "If" in ops(loaded(tmp_path, by_chance, {"o": np.float32(0.5)}))


def test_an_input_that_stands_for_itself_is_left(tmp_path: Path) -> None:
    assert ops(load_model(write(tmp_path, rated_model()))) == ["Equal", "If"]
