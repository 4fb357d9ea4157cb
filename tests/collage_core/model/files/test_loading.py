"""Broken, hostile and unfit model files: each is one clear line with a hint, and never a traceback."""

import contextlib
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from collage_core.errors import CollageError
from collage_core.model import nodes, onnx_model
from collage_core.model.files import loading
from collage_core.model.onnx_model import load_model
from collage_core.model.reference import ort_session
from collage_core.model.refusals import error_text, refused
from tests.helpers.models import model_of, weights, write

RELU = "g (float[1,4] x) => (float[1,4] y) { [relu] y = Relu(x) }"


def refusal(path: Path, shapes=None, fold: bool = True) -> CollageError:
    with pytest.raises(CollageError) as caught:
        load_model(path, shapes, fold)
    assert "\n" not in caught.value.message
    assert "\n" not in caught.value.hint
    return caught.value


def of_bytes(folder: Path, data: bytes) -> CollageError:
    path = folder / "model.onnx"
    path.write_bytes(data)
    return refusal(path)


def test_no_file(tmp_path):
    error = refusal(tmp_path / "gone.onnx")
    assert error.message == f"there is no file '{tmp_path}/gone.onnx'"
    assert error.code == "no_file"


def test_a_folder(tmp_path):
    write(tmp_path, model_of(RELU), "inner.onnx")
    error = refusal(tmp_path)
    assert error.message == f"'{tmp_path}' is a folder, not a model file"
    assert error.hint == "name the file in it, such as 'inner.onnx'"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = write(tmp_path, model_of(RELU))
    path.chmod(0)
    assert "Permission denied" in refusal(path).message


def test_a_file_that_cannot_be_read(tmp_path, monkeypatch):
    def fail(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, model_of(RELU))
    monkeypatch.setattr(loading, "open_file", fail)
    assert refusal(path).message == f"cannot read '{path}': Permission denied"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04 whatever", "is a zip archive (PyTorch and Keras save such files), not an ONNX model"),
        (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
        (b"\x20\0\0\0TFL3", "is a TensorFlow Lite model"),
        (b"version https://git-lfs.github.com/spec/v1", "is a Git LFS pointer"),
        (b"\xff\xfe\xfd\xfc not a message", "is not an ONNX model"),
        (ModelProto(ir_version=8).SerializeToString(), "holds no graph"),
    ],
)
def test_something_else(tmp_path, data, said):
    error = of_bytes(tmp_path, data)
    assert said in error.message
    assert error.code == "not_onnx"
    assert error.hint


def test_a_file_that_is_cut_off(tmp_path):
    whole = model_of("g (float[1,400] x) => (float[1,400] y) { [add] y = Add(x, w) }", {"w": weights(400)}).SerializeToString()
    error = of_bytes(tmp_path, whole[: len(whole) // 2])
    assert error.message.endswith("is cut off or damaged: it begins like an ONNX model")


@pytest.mark.parametrize("seed", range(40))
def test_any_damage_is_a_clear_error_or_no_damage(tmp_path, seed):
    data = bytearray(
        model_of("g (float[1,40] x) => (float[1,40] y) { [a] b = Add(x, w) [r] y = Relu(b) }", {"w": weights(40)}).SerializeToString()
    )
    random = np.random.default_rng(seed)
    for index in random.integers(0, len(data), 3):
        data[index] = random.integers(0, 256)
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with contextlib.suppress(CollageError):
        load_model(path)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_any_beginning_of_a_file_is_a_clear_error(tmp_path, share):
    text = "g (float[1,40] x) => (float[1,40] y) { [a] b = Add(x, w) [r] y = Relu(b) }"
    whole = model_of(text, {"w": weights(40)}).SerializeToString()
    assert of_bytes(tmp_path, whole[: int(len(whole) * share)]).message


def test_more_than_a_message_holds(tmp_path, monkeypatch):
    monkeypatch.setattr("collage_core.model.files.loading.MOST_BYTES", 100)
    error = refusal(write(tmp_path, model_of(RELU, {"w": weights(400)})))
    assert "more than the 2 GiB that one ONNX message can" in error.message


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g (float[1,4] x) => (float[1,4] y) { [a] y = Foo(x) }", "node 'a' is a 'Foo', which is not an operator of ONNX"),
        (
            "g (float[1,4] x) => (float[1,4] y) { [a] y = my.dom.Foo(x) }",
            "node 'a' is a 'my.dom.Foo', but the model imports no opset of 'my.dom'",
        ),
        ("g (float[1,4] x) => (float[1,4] y) { }", "the model has no nodes"),
        ("g (float[1,4] x) => () { [a] y = Relu(x) }", "the model has no outputs"),
        (
            "g (float[1,4] x) => (float[1,4] y) { [a] y = Add(x, b) [b] b = Relu(y) }",
            "the graph has a cycle: nodes 'a', 'b' wait for each other",
        ),
        (
            "g (float[1,4] x) => (float[1,4] y) { [a] y = Relu(x) [b] y = Tanh(x) }",
            "the tensor 'y' is made twice: by node 'a' and by node 'b'",
        ),
        ("g (float[1,4] x) => (float[1,4] y) { [a] y = Add(x, z) }", "the tensor 'z' is read by node 'a', but nothing makes it"),
        ("g (float[1,4] x) => (float[1,4] q) { [a] y = Relu(x) }", "the tensor 'q' is read by the model's outputs, but nothing makes it"),
        ("g (sparse_tensor(float[1,4]) x) => (float[1,4] y) { [a] y = Relu(x) }", "input 'x' is a sparse tensor, which no toolchain takes"),
        ("g (float16[1,4] x) => (float16[1,4] y) { [a] y = BitwiseNot(x) }", "in node (a)"),
    ],
)
def test_broken_graphs(tmp_path, text, message, fold):
    error = refusal(write(tmp_path, model_of(text, opset=18)), fold=fold)
    assert message in error.message
    assert error.hint


def test_an_operator_of_an_unknown_domain(tmp_path):
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { [a] y = my.dom.Foo(x) }", domains={"my.dom": 1})
    error = refusal(write(tmp_path, proto))
    assert error.message == "node 'a' is a 'my.dom.Foo', an operator of the unknown domain 'my.dom'"
    assert error.code == "unknown_operator"


def test_an_operator_that_no_kernel_runs(tmp_path):
    error = refusal(write(tmp_path, model_of("g (bfloat16[1,4] x) => (bfloat16[1,4] y) { [a] y = Conv(x, x) }")))
    assert "in node (a)" in error.message
    proto = model_of("g (float[1,4] x) => (int32[1,4] y) { [a] b = Cast<to = 11>(x) [g] y = HannWindow(c) [c] c = Cast<to = 6>(b) }")
    assert refusal(write(tmp_path, proto)).code in ("unsupported", "broken_model")


def test_an_opset_that_is_too_new(tmp_path):
    error = refusal(write(tmp_path, model_of(RELU, opset=99)))
    assert "the model needs opset 99 of the ONNX operators, newer than the" in error.message
    assert error.hint == "update onnxruntime, or export the model with an older opset"


def test_an_ir_version_that_is_newer_than_the_toolchains_still_loads(tmp_path):
    proto = model_of(RELU)
    proto.ir_version = 99
    assert len(load_model(write(tmp_path, proto)).graph) == 1


def test_a_model_that_accepts_no_inputs(tmp_path):
    proto = model_of("g (float[3] x, int64[1] s) => (int64[a,b] z) { [r] y = Reshape(x, t) [t] t = Add(s, seven) [n] z = NonZero(y) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([7]), "seven"))
    error = refusal(write(tmp_path, proto))
    assert error.message.startswith(
        "the shape of 'y', made by node 'r', is only known when it runs, and the model accepts none of the inputs"
    )
    text = """g (float[1,4] x, int64[4] i) => (float[1,4] y) {
        [j] j = Add(i, thousand) [u] k = Unsqueeze(j, zero) [g] y = GatherElements<axis = 1>(x, k) }"""
    model = load_model(write(tmp_path, model_of(text, {"thousand": np.array([1000]), "zero": np.array([0])})))
    with pytest.raises(CollageError, match=r"^the model accepts none of the inputs that were tried: .*GatherElements") as caught:
        model.seeded_inputs()
    assert caught.value.hint == "bring inputs that it accepts with --inputs FILE.npz"


def external(folder: Path, **said: str) -> Path:
    """A model whose weight of 400 floats is in another file, as `said`."""
    proto = model_of("g (float[1,400] x) => (float[1,400] y) { [add] y = Add(x, w) }")
    tensor = proto.graph.initializer.add(name="w", dims=[400], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    for key, value in said.items():
        tensor.external_data.add(key=key, value=value)
    return write(folder, proto)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"location": "gone.data"}, "the data of 'w' is in '{folder}/gone.data', which is not there"),
        ({}, "the data of 'w' is declared to be in another file, which is not named"),
        ({"location": "../w.data"}, "the data of 'w' is declared to be in '../w.data', which lies outside the model's folder"),
        ({"location": "/etc/passwd"}, "the data of 'w' is declared to be in '/etc/passwd', which lies outside the model's folder"),
        ({"location": "link.data"}, "the data of 'w' is declared to be in 'link.data', which lies outside the model's folder"),
        ({"location": "a\0b"}, "the data of 'w' is declared to be in 'a\\x00b', which is not a usable path"),
        ({"location": "w.data", "offset": "8"}, "the data of 'w' is declared to end at byte 1608 of '{folder}/w.data', which has 1600"),
        ({"location": "w.data", "offset": "-8"}, "the data of 'w' has the offset '-8', which is not a number of bytes"),
        ({"location": "w.data", "offset": "many"}, "the data of 'w' has the offset 'many', which is not a number of bytes"),
        ({"location": "w.data", "length": "8"}, "the data of 'w' is declared with 8 bytes, its shape needs 1600"),
        ({"location": "."}, "the data of 'w' is in '{folder}', which is not there"),
    ],
)
def test_external_data(tmp_path, said, message):
    folder = tmp_path / "model"
    folder.mkdir()
    for where in (tmp_path, folder):
        (where / "w.data").write_bytes(weights(400).tobytes())
    (folder / "link.data").symlink_to(tmp_path / "w.data")
    error = refusal(external(folder, **said))
    assert error.message.startswith(message.format(folder=folder))
    assert error.code == ("no_external_data" if message.endswith("which is not there") else "external_data")


def test_external_data_that_is_well(tmp_path):
    (tmp_path / "w.data").write_bytes(b"12345678" + weights(400).tobytes())
    model = load_model(external(tmp_path, location="w.data", offset="8", length="1600"))
    assert np.array_equal(model.constant("w"), weights(400))


def test_first_line_drops_codes_and_source_positions():
    text = (
        "[ONNXRuntimeError] : 1 : FAIL : /onnxruntime_src/onnxruntime/core/graph/model.cc:256 onnxruntime::Model::Model("
        "onnx::ModelProto&&, const PathString&, std::function<void(int)>) const Unsupported model IR version: 99 (max 13)\n"
    )
    assert error_text(RuntimeError(text)) == "Unsupported model IR version: 99 (max 13)"
    assert error_text(RuntimeError("")) == "RuntimeError"
    assert len(error_text(RuntimeError("x" * 1000))) == 401


def test_a_fault_of_ours_is_no_user_error(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise AssertionError("ours")

    monkeypatch.setattr(onnx_model, "fix_shapes", fail)
    with pytest.raises(AssertionError, match="ours"):
        load_model(write(tmp_path, model_of(RELU)))


@pytest.mark.parametrize(
    ("kind", "size"), [(TensorProto.INT4, 2), (TensorProto.UINT2, 1), (TensorProto.FLOAT4E2M1, 2), (TensorProto.INT16, 6)]
)
def test_external_data_of_packed_types_has_its_own_length(tmp_path, kind, size):
    (tmp_path / "w.data").write_bytes(bytes(size))
    proto = model_of(RELU)
    tensor = proto.graph.initializer.add(name="w", dims=[3], data_type=kind, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.data")
    assert len(load_model(write(tmp_path, proto)).graph) == 1
    (tmp_path / "w.data").write_bytes(bytes(size - 1))
    assert f"is declared to end at byte {size} of" in refusal(tmp_path / "model.onnx").message


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_a_device_is_no_model(tmp_path, make):
    make(tmp_path / "model.onnx")
    assert refusal(tmp_path / "model.onnx").message.endswith(", not a regular file")


def test_a_path_that_is_too_long():
    assert refusal(Path("x" * 5000)).message.endswith(": File name too long")


def test_a_name_that_is_too_long(tmp_path):
    error = refusal(write(tmp_path, model_of(RELU.replace("relu", "r" * 5000))))
    assert "holds a name of 5000 characters, 'rrrr" in error.message
    assert len(error.message) < 200 + len(str(tmp_path))


def test_too_many_nodes(tmp_path, monkeypatch):
    """Those of inner graphs count as well."""
    text = "g (float[4] x) => (float[4] y) { a = Relu(x) b = Sin(a) y = Relu(b) }"
    monkeypatch.setattr(nodes, "MOST_NODES", 2)
    assert refusal(write(tmp_path, model_of(text))).message == "the model has 3 nodes, more than 2"
    inner = (
        "g (bool c, float[4] x) => (float[4] y) { y = If (c) <then_branch = t () => (float[4] u) { u = Relu(x) }, "
        "else_branch = e () => (float[4] v) { v = Sin(x) }> }"
    )
    assert refusal(write(tmp_path, model_of(inner))).message == "the model has 3 nodes, more than 2"


ENDLESS = """g (float[4] x) => (float[n] y) {
  z = Loop (turns, go, x) <body = b (int64 i, bool c, v) => (bool d, w) { d = Identity(c) w = Sin(v) }>
  y = Add(x, z)
}"""


def test_a_loop_of_very_many_turns_is_ended(tmp_path, monkeypatch):
    """Folding does not run it, and the shape of its result is that of what it begins with."""
    monkeypatch.setattr(ort_session, "RUN_LIMIT_S", 0.2)
    model = load_model(write(tmp_path, model_of(ENDLESS, {"turns": np.array(2**62), "go": np.array(True)})))
    assert str(model.graph.types["z"]) == "float32[4]"
    with pytest.raises(CollageError, match=r"the model was still running after 200 ms"):
        model.reference({"x": np.ones(4, np.float32)})


def test_a_loop_of_very_many_turns_is_ended_where_its_shape_is_only_known_when_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(ort_session, "RUN_LIMIT_S", 0.2)
    text = ENDLESS.replace("w = Sin(v)", "k = Where(c, four, four) w = Reshape(v, k)")
    given = {"turns": np.array(2**62), "go": np.array(True), "four": np.array([4])}
    error = refusal(write(tmp_path, model_of(text, given)))
    assert "is only known when it runs, and the model was still running after 200 ms" in error.message


def test_a_locale_that_is_missing_is_named_with_the_node_that_needs_it() -> None:
    model = model_of('g (string[2] x) => (string[2] y) { [norm] y = StringNormalizer<case_change_action = "LOWER">(x) }')
    said = "Exception during initialization: Failed to construct locale with name:en_US.UTF-8:locale::facet::_S_create_c_locale"
    error = refused(model, said)
    assert error.message.startswith("node 'norm' compares text by the rules of the locale 'en_US.UTF-8'")
    assert "`locale-gen en_US.UTF-8`" in error.hint


@pytest.mark.parametrize("is_function", [False, True])
@pytest.mark.parametrize("spoilt", [b"body's output", b"node of the body"])
def test_a_name_in_a_body_that_is_not_text(tmp_path, is_function, spoilt):
    helper = onnx.helper
    made = helper.make_node("Constant", [], ["body's output"], "node of the body", value_float=1.0)
    branch = helper.make_graph([made], "branch", [], [helper.make_tensor_value_info("body's output", TensorProto.FLOAT, [])])
    choice = helper.make_node("If", ["go"], ["y"], then_branch=branch, else_branch=branch)
    call = helper.make_node("Choose", ["go"], ["y"], domain="own") if is_function else choice
    function = helper.make_function("own", "Choose", ["go"], ["y"], [choice], [helper.make_opsetid("", 21)])
    go, y = (helper.make_tensor_value_info(name, kind, []) for name, kind in (("go", TensorProto.BOOL), ("y", TensorProto.FLOAT)))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    model = helper.make_model(helper.make_graph([call], "g", [go], [y]), opset_imports=imports, functions=[function] if is_function else [])
    error = of_bytes(tmp_path, model.SerializeToString().replace(spoilt, b"\xe2" + spoilt[1:]))
    assert error.message.endswith("is damaged: a name in it is not text")
