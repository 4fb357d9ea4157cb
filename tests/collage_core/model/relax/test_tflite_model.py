"""TensorFlow Lite models: read through TVM's importer where the package tflite is there, and one line where it is not."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from collage_core.base.model_file import is_relax_file
from collage_core.errors import CollageError
from collage_core.model.relax.load import load
from collage_core.toolchains.registry import get
from tests.helpers.models import weights
from tests.helpers.tflite_models import dense_model

HAS_TFLITE = importlib.util.find_spec("tflite") is not None
needs_tflite = pytest.mark.skipif(not HAS_TFLITE, reason="tflite is in no lock: pip install tflite==2.18.0")
pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


@pytest.mark.skipif(HAS_TFLITE, reason="tflite is installed")
def test_without_its_package_it_is_one_line(tmp_path: Path):
    path = tmp_path / "model.bin"
    path.write_bytes(bytes([28, 0, 0, 0]) + b"TFL3" + bytes(40))
    with pytest.raises(CollageError, match=r"is a TensorFlow Lite model, and the package tflite, .* is not installed$") as caught:
        load(path)
    assert caught.value.hint == "pip install tflite==2.18.0"


def test_it_is_told_by_its_content(tmp_path: Path):
    for name, data, is_one in (("a.onnx", b"\0\0\0\0TFL3", True), ("b.tflite", b"PK\x03\x04", False), ("c.tflite", b"", False)):
        (tmp_path / name).write_bytes(data)
        assert is_relax_file(tmp_path / name) == is_one
    assert not is_relax_file(tmp_path / "gone.tflite")


@needs_tflite
def test_it_computes_what_the_model_says(tmp_path: Path):
    w, b = weights(8, 5), weights(8, seed=1)
    (tmp_path / "dense.tflite").write_bytes(dense_model(w, b))
    model = load(tmp_path / "dense.tflite")
    assert [tensor.name for tensor in model.graph.inputs] == ["x"]
    assert {"MatMul", "Relu", "Sigmoid"} <= {node.op for node in model.graph.nodes}
    x = weights(1, 5, seed=2)
    want = 1 / (1 + np.exp(-np.maximum(x @ w.T + b, 0)))
    assert np.allclose(next(iter(model.reference({"x": x}).values())), want, atol=1e-6)


@needs_tflite
def test_a_damaged_one_is_one_line_in_the_importers_words(tmp_path: Path):
    path = tmp_path / "model.tflite"
    path.write_bytes(dense_model(weights(8, 5), weights(8))[:300])
    with pytest.raises(CollageError, match=r"TVM's importer does not take '.*/model\.tflite': |cannot be read as a Relax module"):
        load(path)
