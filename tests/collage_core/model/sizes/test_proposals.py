"""Proposals where sizes of a model must be said: sizes with which it runs, and values that it knows."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from collage_core.base.open_inputs import OpenInput, OpenShapes
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import largest_error
from tests.helpers.models import model_of, write
from tests.helpers.speech_models import speech_model

NAMELESS = "g (float[?,?] x, float[2,?,4] s) => (float[?,n] y) { r = ReduceSum<keepdims = 0>(s, axes) y = Concat<axis = 1>(x, r) }"
NAMED = "g (float[batch,t] x, float[2,b,4] s) => (float[?,n] y) { r = ReduceSum<keepdims = 0>(s, axes) y = Concat<axis = 1>(x, r) }"


def asked(folder: Path, text: str, shapes: dict[str, tuple[int, ...]] | None = None) -> OpenShapes:
    with pytest.raises(OpenShapes) as caught:
        load_model(write(folder, model_of(text, {"axes": np.array([0])})), shapes)
    return caught.value


def test_nameless_sizes_that_belong_together_are_proposed_together(tmp_path: Path) -> None:
    error = asked(tmp_path, NAMELESS)
    assert error.hint == (
        "say the shapes of the inputs, such as --shape x=1,128 --shape s=2,1,4; "
        "dimension 0 of 'x' and dimension 1 of 's' have the same size"
    )
    assert error.inputs == (
        OpenInput("x", "float32", ("x[0] = s[1]", "?"), (1, 128), True),
        OpenInput("s", "float32", ("2", "x[0] = s[1]", "4"), (2, 1, 4), True),
    )


def test_so_are_those_of_two_symbols_and_those_of_a_shape_that_is_given(tmp_path: Path) -> None:
    error = asked(tmp_path, NAMED)
    assert [one.dimensions for one in error.inputs] == [("batch = b", "t"), ("2", "batch = b", "4")]
    assert error.hint == "say its shape, such as --shape x=1,128; dimension 0 of 'x' and dimension 1 of 's' have the same size"
    assert asked(tmp_path, NAMELESS, {"x": (5, 7)}).hint == "say its shape, such as --shape s=2,5,4"
    load_model(write(tmp_path, model_of(NAMELESS, {"axes": np.array([0])})), {"x": (5, 7), "s": (2, 5, 4)})


def test_a_value_that_the_model_knows_is_proposed_with_a_length_that_fits_it(tmp_path: Path) -> None:
    path = write(tmp_path, speech_model())
    with pytest.raises(OpenShapes) as caught:
        load_model(path)
    assert caught.value.inputs == (
        OpenInput("x", "float32", ("batch", "length"), (1, 8), True),
        OpenInput("rate", "int64", (), (), False, True, "16000"),
    )
    assert caught.value.hint == "say its shape, such as --shape x=1,8; with --value rate=16000 only the branch that is taken counts"
    with pytest.raises(OpenShapes) as caught:
        load_model(path, values={"rate": 8000})
    assert caught.value.inputs == (OpenInput("x", "float32", ("batch", "length"), (1, 4), True),)
    assert caught.value.hint == "say its shape, such as --shape x=1,4"


def test_a_model_that_takes_sequences_keeps_the_first_guess(tmp_path: Path) -> None:
    text = "g (seq(float[3]) s, int64 i, float[N,t] x) => (float[N,m] y) { r = SequenceAt(s, i) y = Add(x, r) }"
    with pytest.raises(OpenShapes) as caught:
        load_model(write(tmp_path, model_of(text)))
    assert caught.value.hint == "say its shape, such as --shape x=1,128"
    assert [one.name for one in caught.value.inputs] == ["i", "x"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "inputs", "lstms"),
    [
        ("silero_vad", {"input": (1, 256), "state": (2, 1, 128), "sr": ()}, 1),
        ("silero_vad_16k_op15", {"input": (1, 256), "state": (2, 1, 128), "sr": ()}, 1),
        ("silero_vad_16k_sequence", {"input": (128, 576)}, 1),
        ("silero_vad_half", {"input": (1, 256), "state": (2, 1, 128)}, 1),
        ("silero_vad_op18_ifless", {"input": (1, 256), "state": (2, 1, 128), "sr": ()}, 0),
    ],
)
def test_a_real_voice_detector_opens_with_what_is_proposed(form: str, inputs: dict[str, tuple[int, ...]], lstms: int) -> None:
    spec = find_spec("silero_vad")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "data" / f"{form}.onnx"
    with pytest.raises(OpenShapes) as caught:
        load_model(path)
    proposed = {one.name: one for one in caught.value.inputs}
    assert {name: proposed[name].sizes for name in inputs} == inputs
    values = {one.name: one.value for one in proposed.values() if one.value}
    model = load_model(path, {name: one.sizes for name, one in proposed.items() if one.sizes}, values=values)
    assert "If" not in {node.op for node in model.graph.nodes}
    assert sum(node.op == "LSTM" for node in model.graph.nodes) >= lstms
    given = model.seeded_inputs()
    assert largest_error(model.activations(given, model.graph.outputs), model.reference(given)) < 1e-4
