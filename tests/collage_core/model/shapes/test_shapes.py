"""Fixing input shapes: what is given, what a symbol implies, a batch of one, and everything else an error."""

import shlex

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.model.onnx_model import load_model
from collage_core.model.shapes.shapes import input_dimensions
from tests.helpers.models import model_of, write

POSITIVE = "must be a positive number, and then numbers of 0 or more"


def shapes_of(folder, inputs: str, given=None) -> list[tuple[int, ...]]:
    names = [part.split()[-1] for part in inputs.split(";")]
    body = " ".join(f"[n{index}] y{index} = Relu({name})" for index, name in enumerate(names))
    outputs = ", ".join(f"float y{index}" for index in range(len(names)))
    proto = model_of(f"g ({inputs.replace(';', ',')}) => ({outputs}) {{ {body} }}")
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    return [tensor.type.shape for tensor in load_model(write(folder, proto), given).graph.inputs]


@pytest.mark.parametrize(
    ("inputs", "given", "shapes"),
    [
        ("float[batch,4] x", None, [(1, 4)]),
        ("float[?,4] x", None, [(1, 4)]),
        ("float[unk__7,4] x", None, [(1, 4)]),
        ("float[4,batch_size] x", None, [(4, 1)]),
        ("float[4,N] x", None, [(4, 1)]),
        ("float[batch,4] x", {"x": (8, 4)}, [(8, 4)]),
        ("float[batch,seq] x", {"x": [2, 7]}, [(2, 7)]),
        ("float[batch,seq] x; float[batch,seq,3] m", {"x": (2, 7)}, [(2, 7), (2, 7, 3)]),
        ("float[batch,seq] x; float[seq,batch] m", {"m": (7, 2)}, [(2, 7), (7, 2)]),
        ("float[batch,past,8] x", {"x": (1, 0, 8)}, [(1, 0, 8)]),
        ("float[batch,?] x; float[batch,?] m", {"x": (2, 7), "m": (2, 9)}, [(2, 7), (2, 9)]),
        ("float x", None, [()]),
    ],
)
def test_shapes(tmp_path, inputs, given, shapes):
    assert shapes_of(tmp_path, inputs, given) == shapes


@pytest.mark.parametrize(
    ("inputs", "given", "assumed"),
    [
        ("float[batch,4] x", None, {"batch": 1}),
        ("float[?,4] x; float[4,N] m", None, {"x[0]": 1, "N": 1}),
        ("float[batch,4] x; float[batch,4] m", {"m": (2, 4)}, {}),
        ("float[batch,4] x; float[n,4] m", {"m": (1, 4)}, {"batch": 1}),
        ("float[3,4] x", None, {}),
    ],
)
def test_a_size_that_nobody_gave_is_said(tmp_path, inputs, given, assumed):
    names = [part.split()[-1] for part in inputs.split(";")]
    body = " ".join(f"y{index} = Relu({name})" for index, name in enumerate(names))
    outputs = ", ".join(f"float[a,b] y{index}" for index in range(len(names)))
    model = load_model(write(tmp_path, model_of(f"g ({inputs.replace(';', ',')}) => ({outputs}) {{ {body} }}")), given)
    assert model.assumed == assumed
    assert model.notes == tuple(f"{name} was not given and is 1" for name in assumed)


def test_the_users_own_inputs_say_their_sizes(tmp_path):
    path = write(tmp_path, model_of("g (float[batch,4] x) => (float[batch,4] y) { y = Relu(x) }"))
    assert load_model(path, inputs={"x": np.ones((1, 4), np.float32)}).assumed == {}


@pytest.mark.parametrize(
    ("inputs", "given", "message", "hint"),
    [
        (
            "float[N,3,h,w] x",
            None,
            "input 'x' [N, 3, h, w] has the dynamic dimension 2 ('h')",
            "say its shape, such as --shape x=1,3,224,224",
        ),
        ("float[N,?] x", None, "input 'x' [N, ?] has the dynamic dimension 1", "say its shape, such as --shape x=1,128"),
        ("float[seq,4] x", None, "input 'x' [seq, 4] has the dynamic dimension 0 ('seq')", "say its shape, such as --shape x=128,4"),
        (
            "float[N,4] x; float[N,t] m",
            {"x": (5, 4)},
            "input 'm' [N, t] has the dynamic dimension 1 ('t')",
            "say its shape, such as --shape m=5,128",
        ),
        (
            "float[N,seq] ids; float[N,seq] mask; float[N,past] kept; float[N,2,?] rest",
            None,
            "input 'ids' [N, seq] has the dynamic dimension 1 ('seq')",
            "say the shapes of the inputs, such as --shape ids=1,128 --shape kept=1,128 --shape rest=1,2,128",
        ),
        ("float[N,4] x", {"z": (1, 4)}, "the model has no input 'z'", "its inputs are x [N, 4]"),
        ("float[N,4] x", {"x": (1, 4, 1)}, "the shape '1,4,1' of input 'x' has 3 dimensions, not 2", "its inputs are x [N, 4]"),
        (
            "float[N,4] x",
            {"x": (1, 5)},
            "the shape '1,5' of input 'x' has 5 in dimension 1, the model fixes it to 4",
            "its inputs are x [N, 4]",
        ),
        ("float[N,4] x", {"x": (0, 4)}, f"the shape '0,4' of input 'x' {POSITIVE}", "its inputs are x [N, 4]"),
        ("float[N,4] x", {"x": (-1, 4)}, f"the shape '-1,4' of input 'x' {POSITIVE}", "its inputs are x [N, 4]"),
        ("float[N,p,4] x", {"x": (1, -1, 4)}, f"the shape '1,-1,4' of input 'x' {POSITIVE}", "its inputs are x [N, p, 4]"),
    ],
)
def test_shapes_that_do_not_fit(tmp_path, inputs, given, message, hint):
    with pytest.raises(CollageError) as caught:
        shapes_of(tmp_path, inputs, given)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_an_example_can_be_pasted_into_a_shell(tmp_path):
    proto = model_of("g (float[N,h] x) => (float[N,h] y) { y = Relu(x) }")
    proto.graph.input[0].name = proto.graph.node[0].input[0] = name = "Bild 'A'; $HOME"
    with pytest.raises(CollageError) as caught:
        load_model(write(tmp_path, proto))
    assert shlex.split(caught.value.hint.partition("such as ")[2]) == ["--shape", f"{name}=1,128"]


def test_sizes_that_do_not_fit_each_other_are_named(tmp_path):
    text = "g (float[a,4] x, float[b,4] z, float[4] w) => (float[c,4] y) { s = Add(x, z) y = Add(s, w) }"
    with pytest.raises(CollageError) as caught:
        load_model(write(tmp_path, model_of(text)), {"x": (3, 4), "z": (5, 4)})
    assert caught.value.message.startswith("ONNX Runtime does not take the model: ")
    said = (
        "the sizes of its inputs may not fit each other, give others: --shape x=3,4 --shape z=3,4; else check the model with `onnx.checker`"
    )
    assert caught.value.hint == said


def test_an_example_ends_somewhere(tmp_path):
    inputs = "; ".join(f"float[N,?] x{index}" for index in range(8))
    with pytest.raises(CollageError) as caught:
        shapes_of(tmp_path, inputs)
    shown = " ".join(f"--shape x{index}=1,128" for index in range(6))
    assert caught.value.hint == f"say the shapes of the inputs, such as {shown} …"


def test_a_detector_is_likely_to_take_larger_pictures(tmp_path):
    text = "g (float[N,3,h,w] x, float[4] s) => (float[N,3,a,b] y) { y = Resize(x, , s) }"
    with pytest.raises(CollageError) as caught:
        load_model(write(tmp_path, model_of(text)))
    assert caught.value.hint == "say its shape, such as --shape x=1,3,640,640"


def test_an_input_of_unknown_rank(tmp_path):
    proto = model_of("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(CollageError) as caught:
        load_model(write(tmp_path, proto))
    assert (caught.value.message, caught.value.hint) == ("input 'x' has no shape", "give it one, such as --shape x=1,3,224,224")
    assert load_model(write(tmp_path, proto), {"x": (2, 4)}).graph.types["y"].shape == (2, 4)


def test_dimensions_of_inputs_are_those_of_the_file():
    proto = model_of("g (float[batch,3,?] x, float s, float[2] w, float[4] u) => (float y) { y = Sum(x, s, w, u) }")
    proto.graph.input[3].type.tensor_type.ClearField("shape")
    proto.graph.initializer.add(name="w")
    assert input_dimensions(proto) == {"x": ["batch", "3", "?"], "s": []}


def test_dimensions_below_one_are_open(tmp_path):
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert load_model(write(tmp_path, proto)).graph.inputs[0].type.shape == (1, 4)


def test_shapes_that_the_file_claims_for_outputs_do_not_count(tmp_path):
    proto = model_of("g (float[batch,4] x) => (float[7,9] y) { y = Relu(x) }")
    assert load_model(write(tmp_path, proto)).graph.types["y"].shape == (1, 4)
