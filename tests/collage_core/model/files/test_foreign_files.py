"""Files that are no ONNX models: each is told by its content, whatever it is called, and refused with what to do instead."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path

import pytest

from collage_core.errors import CollageError
from collage_core.model.relax.load import load
from tests.helpers.models import model_of, write

IR = b'<?xml version="1.0"?>\n<net name="Model0" version="11">\n\t<layers>\n\t\t<layer id="0" name="x" type="Parameter" version="opset1">'


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, "content")
    return data.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(8)


def frozen_graph() -> bytes:
    """Return a graph of TensorFlow: a node with its name and its operator."""
    node = b"\n\x05input\x12\x0bPlaceholder" + b"*\x10" + bytes(16)
    return b"\n" + bytes([len(node)]) + node


@pytest.mark.parametrize(
    ("data", "what", "hint"),
    [
        (zipped("archive/data.pkl", "archive/data/0", "archive/version"), "a checkpoint of PyTorch: pickled weights", "torch.onnx.export"),
        (zipped("net/data.pkl", "net/code/__torch__.py", "net/constants.pkl"), "a TorchScript program", "torch.onnx.export"),
        (zipped("model/models/model.json", "model/archive_format"), "a program of torch.export under another ending", "end in .pt2"),
        (zipped("serialized_exported_program.json"), "a program of torch.export under another ending", "end in .pt2"),
        (zipped("metadata.json", "config.json", "model.weights.h5"), "a model of Keras", "format='onnx'"),
        (zipped("model.onnx"), "a zip archive", "unpack it"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file (Keras", "format='onnx'"),
        (pickle.dumps({"w": [1.0]}, protocol=2), "a Python pickle", "torch.onnx.export"),
        (pickle.dumps({"w": [1.0]}, protocol=5), "reading one may run any code", "torch.onnx.export"),
        (safetensors(), "a file of safetensors: weights without a graph", "optimum-cli export onnx"),
        (b"GGUF\x03\x00\x00\x00" + bytes(100), "weights for llama.cpp", "optimum-cli export onnx"),
        (IR, "a saved model of OpenVINO (IR)", "give the model that it was made from"),
        (b"<html><body>404</body></html>", "text (XML or HTML)", "export the model"),
        (b'{"architectures": ["Bert"]}', "text (JSON)", "export the model"),
        (bytes([28, 0, 0, 0]) + b"ORTM" + bytes(100), "ONNX Runtime's own format (.ort)", "the ONNX model that it was made from"),
        (frozen_graph(), "a frozen graph of TensorFlow", "tf2onnx.convert --graphdef"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer", "git lfs pull"),
    ],
)
@pytest.mark.parametrize("name", ["model.onnx", "model.bin"])
def test_it_is_refused_with_a_reason_and_what_to_do(tmp_path: Path, data: bytes, what: str, hint: str, name: str):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CollageError) as caught:
        load(path)
    assert caught.value.message.startswith(f"'{path}' is ")
    assert caught.value.message.endswith(", not an ONNX model")
    assert what in caught.value.message
    assert hint in caught.value.hint
    assert "\n" not in caught.value.message + caught.value.hint
    assert caught.value.code == "not_onnx"


def test_a_saved_model_of_tensorflow_is_known_by_its_name(tmp_path: Path):
    path = tmp_path / "saved_model.pb"
    path.write_bytes(b"\x08\x01\x12\x00")
    with pytest.raises(CollageError, match=r"is a SavedModel of TensorFlow, not an ONNX model$") as caught:
        load(path)
    assert "tf2onnx.convert --saved-model" in caught.value.hint


def test_a_program_that_is_none_is_told_by_its_content(tmp_path: Path):
    path = tmp_path / "model.pt2"
    path.write_bytes(pickle.dumps([1], protocol=4))
    with pytest.raises(CollageError, match=r"is a Python pickle .*, not an ONNX model$"):
        load(path)


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("old.pth", "a Python pickle (PyTorch saves such files)", "torch.onnx.export"),
        ("flax_model.msgpack", "a file of weights, as Flax saves them", "optimum-cli export onnx"),
        ("net.MLMODEL", "a Core ML model", "the ONNX model that it was made from"),
        ("inference.pdmodel", "a program of Paddle", "paddle2onnx"),
    ],
)
@pytest.mark.parametrize("data", [b"\xffnothing that is known", b"\x08\x04"], ids=["damaged", "empty message"])
def test_where_the_content_tells_nothing_the_ending_does(tmp_path: Path, data: bytes, name: str, what: str, hint: str):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CollageError) as caught:
        load(path)
    assert caught.value.message.startswith(f"'{path}' is not an ONNX model; a file with this ending is usually {what}")
    assert hint in caught.value.hint
    assert caught.value.code == "not_onnx"


def test_an_onnx_model_opens_whatever_it_is_called(tmp_path: Path):
    for name in ("model.pb", "model.pth", "model.bin"):
        model = load(write(tmp_path, model_of("g (float[2] x) => (float[2] y) { [a] y = Relu(x) }")).rename(tmp_path / name))
        assert [node.name for node in model.graph.nodes] == ["a"]
