"""The sample models: each is deterministic, runs in ONNX Runtime, and its outputs follow its inputs."""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from collage_core.base.home import home
from collage_core.errors import CollageError
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import default_accuracy, largest_error
from collage_core.model.samples import convolutional, quantised, registry
from collage_core.model.samples.registry import SAMPLES, find_sample, resolve

# Nodes in the file, nodes when folded, version, and what the file's digest begins with. Recorded runs hold for one digest:
# whoever changes a builder raises the sample's version and writes the new digest here.
EXPECTED = {
    "mini_mnist": (8, 6, 1, "e311ef4364f65c3c"),
    "mnist": (12, 9, 1, "3589f8b9c67a7907"),
    "squeezenet": (66, 65, 1, "b084303a5dd49866"),
    "resnet50": (175, 122, 1, "248fa507ac84c7d6"),
    "inception": (68, 68, 1, "1cf0a5f3dbc71f38"),
    "gpt2": (34, 34, 1, "8934d4c6d0cc340f"),
    "bert": (77, 77, 1, "8c7b814dc80dbf1e"),
    "lstm": (8, 8, 1, "77447f2525c0ef92"),
    "quantised": (39, 39, 1, "05f6b23d7bd575da"),
    "crnn": (30, 30, 1, "2231342c0c7557c3"),
    "unet_segmentation": (50, 50, 1, "b708a0b6b1048d6e"),
    "unet_attention": (762, 716, 1, "254ed8c23c46cd64"),
    "speech_transformer": (345, 345, 1, "bab21bbfb3c2ab79"),
    "speech_lstm": (42, 42, 1, "7319945a937a6812"),
    "ssd300": (113, 112, 1, "4c7ce9db6d4e5e38"),
    "yolov4_tiny": (109, 90, 1, "6d285eb08a8b40d7"),
    "detr": (630, 585, 1, "0c13845a03dbd05b"),
    "retinanet": (252, 250, 1, "45d38138d7490705"),
}
LARGE = {
    "resnet50",
    "bert",
    "yolov4_tiny",
    "unet_segmentation",
    "unet_attention",
    "speech_transformer",
    "speech_lstm",
    "ssd300",
    "detr",
    "retinanet",
}


def unless(slow: set[str]) -> list[object]:
    """All samples; those in `slow` are for the long tests."""
    return [pytest.param(name, marks=pytest.mark.long) if name in slow else name for name in EXPECTED]


NAMES = unless(LARGE)
# Whose 8 bits are rounded otherwise, layer after layer, as soon as a sum is added up in another order.
ROUNDED = {"speech_transformer", "speech_lstm"}


@cache
def folded(name: str) -> OnnxModel:
    return load_model(resolve(name))


def test_the_samples_are_those_that_are_expected():
    assert list(SAMPLES) == list(EXPECTED) == [sample.name for sample in SAMPLES.values()]
    assert all(sample.title and sample.description.endswith(".") for sample in SAMPLES.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_are_the_same_everywhere(name):
    digest = hashlib.sha256(resolve(name).read_bytes()).hexdigest()
    assert (SAMPLES[name].version, digest[:16]) == EXPECTED[name][2:]


@pytest.mark.parametrize("name", unless(LARGE))
def test_a_sample_runs_and_its_outputs_follow_its_inputs(name):
    model = folded(name)
    assert len(model.graph) == EXPECTED[name][1]
    assert model.inputs_note == ""
    one, other = (model.reference(model.seeded_inputs(seed)) for seed in (0, 1))
    assert all(np.isfinite(value).all() for value in one.values())
    assert largest_error(one, other) > 0.2
    # Activations neither die nor explode on the way; the summand of a mask and a sum of 8-bit products are meant to be huge.
    inputs = model.seeded_inputs()
    huge = {node.outputs[0].name for node in model.graph.nodes if node.op in ("Where", "Cast")}
    sizes = {
        name: np.abs(value).max()
        for name, value in model.activations(inputs, model.graph.types).items()
        if value.dtype == np.float32 and value.size > 1
    }
    assert all(0.01 < size < 1000 for name, size in sizes.items() if name not in huge), sizes
    folded_outputs = model.activations(inputs, model.graph.outputs)
    assert largest_error(folded_outputs, one) < (default_accuracy(model) if name in ROUNDED else 1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_holds_the_nodes_that_its_builder_says(name):
    assert len(load_model(resolve(name), fold=False).graph) == EXPECTED[name][0]


def test_the_mnists_are_those_of_the_rfc():
    head = ["Reshape", "MatMul", "Add"]
    layer = ["Conv", "Add", "Relu", "MaxPool"]
    assert [node.op for node in load_model(resolve("mini_mnist"), fold=False).graph.nodes] == ["Pad", *layer, *head]
    assert [node.op for node in load_model(resolve("mnist"), fold=False).graph.nodes] == ["Pad", *layer, *layer, *head]
    assert folded("mini_mnist").graph.nodes[0].absorbed == ("pad1", "conv1")


@pytest.mark.long
def test_folding_takes_the_batch_norms_of_resnet():
    model = folded("resnet50")
    assert sum(node.into is not None for node in model.folded) == 53
    assert "BatchNormalization" not in {node.op for node in model.graph.nodes}


def test_the_quantised_scales_are_what_calibration_finds():
    model = load_model(resolve("quantised"), fold=False)
    read = {node.name.partition("/")[0]: node.inputs[0] for node in model.graph.nodes if node.op == "QuantizeLinear"}
    assert read.keys() == quantised._MOST.keys()
    runs = [model.activations(model.seeded_inputs(seed), read.values()) for seed in range(3)]
    for tensor, name in read.items():
        most = max(float(np.abs(run[name]).max()) for run in runs)
        assert 0.8 < most / quantised._MOST[tensor] < 1.05, tensor


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("mini-mnist", "mini_mnist"),
        ("MiniMNIST", "mini_mnist"),
        ("ResNet-50", "resnet50"),
        ("gpt2_block", "gpt2"),
        ("gpt2-block", "gpt2"),
        ("bert_base", "bert"),
        ("lstm_tagger", "lstm"),
        ("qdq", "quantised"),
        ("Quantized", "quantised"),
    ],
)
def test_other_spellings_are_accepted(said, name):
    sample = find_sample(said)
    assert sample is not None
    assert sample.name == name
    assert resolve(said).stem == name


def test_a_file_comes_before_a_sample_and_paths_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mnist").write_bytes(b"mine")
    assert resolve("mnist") == Path("mnist")
    assert resolve("gone/model.onnx") == Path("gone/model.onnx")
    assert resolve("./gone") == Path("./gone")


def test_what_is_neither_lists_the_samples():
    with pytest.raises(CollageError) as caught:
        resolve("resnet99")
    assert caught.value.message == "'resnet99' is neither a file nor a sample model"
    assert caught.value.hint == f"the samples are {', '.join(EXPECTED)}"
    assert caught.value.code == "no_file"


def test_a_sample_is_built_once_and_again_for_a_new_version(tmp_path, monkeypatch):
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    built, build = [], convolutional.mini_mnist
    monkeypatch.setattr(convolutional, "mini_mnist", lambda: built.append(1) or build())

    def sample(version: int) -> registry.Sample:
        return registry.Sample("mini_mnist", "", "", "convolutional", version=version)

    paths = [registry._built(sample(version)) for version in (1, 1, 2)]
    assert len(built) == 2
    assert paths[0] == paths[1] == home() / "samples" / "v1" / "mini_mnist.onnx"
    assert paths[2] == home() / "samples" / "v2" / "mini_mnist.onnx"
    assert [path.name for path in (home() / "samples" / "v1").iterdir()] == ["mini_mnist.onnx"], "nothing half-written is left"


def test_a_folder_without_room(tmp_path, monkeypatch):
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    (tmp_path / "samples").write_bytes(b"in the way")
    with pytest.raises(CollageError, match="cannot write the sample model to") as caught:
        resolve("mini_mnist")
    assert caught.value.code == "unwritable"
