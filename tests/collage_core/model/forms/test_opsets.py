"""Models of newer opsets than ONNX Runtime's are lowered, very old ones raised where they must be, and what cannot be is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.defs
import pytest

from collage_core.errors import CollageError
from collage_core.model.forms import opsets
from collage_core.model.forms.opsets import newest_opset
from collage_core.model.onnx_model import load_model
from tests.helpers.models import model_of, write

NEWER = onnx.defs.onnx_opset_version()
needs_newer = pytest.mark.skipif(newest_opset() >= NEWER, reason="ONNX Runtime reads all that ONNX knows")


@needs_newer
@pytest.mark.parametrize(
    "body",
    [
        "y = Relu(x)",
        "y = Cast<to = 1>(x)",
        "y = If(c)<then_branch = t () => (float[2] a) { a = Relu(x) }, else_branch = e () => (float[2] b) { b = Neg(x) }>",
    ],
    ids=["unchanged", "changed", "inner"],
)
def test_a_newer_model_is_lowered(tmp_path: Path, body: str) -> None:
    path = write(tmp_path, model_of(f"g (float[2] x, bool c) => (float[2] y) {{ [a] {body} }}", opset=NEWER))
    model = load_model(path, fold=False)
    given = {"x": np.array([1, 2], np.float32), "c": np.array(True)}
    assert model.reference(given)["y"].tolist() == [1, 2]
    assert [node.name for node in model.graph.nodes] == ["a"]


@needs_newer
def test_an_operator_that_older_opsets_lack_is_named(tmp_path: Path) -> None:
    since = onnx.defs.get_schema("SwiGLU").since_version
    path = write(tmp_path, model_of("g (float[2] x) => (float[2] y) { [a] y = SwiGLU(x) }", opset=NEWER))
    with pytest.raises(CollageError) as caught:
        load_model(path)
    newest = newest_opset()
    said = f"newer than the {newest} that ONNX Runtime reads here: node 'a' is a 'SwiGLU' of opset {since}, and it cannot be lowered"
    assert said in caught.value.message
    assert caught.value.code == "opset"


@needs_newer
def test_a_converter_that_crashes_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opsets, "LONGEST_S", 0.0)
    path = write(tmp_path, model_of("g (float[2] x) => (float[2] y) { [a] y = Cast<to = 1>(x) }", opset=NEWER))
    with pytest.raises(CollageError) as caught:
        load_model(path)
    assert "it cannot be lowered" in caught.value.message


def test_an_old_model_is_raised_where_onnx_runtime_does_not_read_it(tmp_path: Path) -> None:
    text = "g (float[1,3,4] x, float[4] b) => (float[1,3,4] y) { [a] y = Add<broadcast = 1>(x, b) }"
    model = load_model(write(tmp_path, model_of(text, opset=1)))
    given = {"x": np.zeros((1, 3, 4), np.float32), "b": np.arange(4, dtype=np.float32)}
    assert model.reference(given)["y"][0].tolist() == [[0, 1, 2, 3]] * 3
    assert model.graph.nodes[-1].name == "a"


@pytest.mark.parametrize(("opset", "axis"), [(1, 1), (6, 1), (6, -2), (6, 2), (6, 0)])
def test_the_axis_of_an_old_broadcast_holds(tmp_path: Path, opset: int, axis: int) -> None:
    x, size = np.zeros((2, 3, 4), np.float32), (2, 3, 4)[axis]
    text = f"g (float[2,3,4] x, float[{size}] b) => (float[2,3,4] y) {{ [a] y = Sub<broadcast = 1, axis = {axis}>(x, b) }}"
    model = load_model(write(tmp_path, model_of(text, opset=opset)))
    b = np.arange(1, 1 + size, dtype=np.float32)
    wanted = -np.broadcast_to(b.reshape([size if at == axis % 3 else 1 for at in range(3)]), x.shape)
    np.testing.assert_array_equal(model.reference({"x": x, "b": b})["y"], wanted)
    assert "a" in [node.name for node in model.graph.nodes]


def test_what_the_converter_cannot_raise_is_refused_in_onnx_runtimes_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opsets, "LONGEST_S", 0.0)
    text = "g (float[1,3,4] x, float[3] b) => (float[1,3,4] y) { [a] y = Add<broadcast = 1, axis = 1>(x, b) }"
    with pytest.raises(CollageError) as caught:
        load_model(write(tmp_path, model_of(text, opset=1)))
    assert caught.value.message.startswith("ONNX Runtime cannot run node 'a'")


def test_an_old_model_that_onnx_runtime_reads_stays_as_it_is(tmp_path: Path) -> None:
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { [a] y = Relu(x) }", opset=6)
    assert opsets.with_known_opset(proto) is proto
