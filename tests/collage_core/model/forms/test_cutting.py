"""Any model cut anywhere: its pieces, run one after another, give what the whole model gives.

The models are our samples, ONNX's own test models, and the real ones inside rapidocr-onnxruntime and magika. Those that
cannot be taken must say so in one line.
"""

from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import onnx.backend.test
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import largest_error
from collage_core.model.samples.registry import resolve
from tests.helpers.models import loaded, run_in_parts

ONNX_MODELS = Path(onnx.backend.test.__file__).parent / "data"


def inside(package: str, path: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / path


REAL = {
    "detection": (inside("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"), {"x": (1, 3, 64, 64)}, 328),
    "recognition": (inside("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx"), {"x": (1, 3, 48, 64)}, 390),
    "angle": (inside("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"), {"x": (1, 3, 48, 192)}, 180),
    "magika": (inside("magika", "models/standard_v3_3/model.onnx"), {}, 77),
}


@cache
def model_called(name: str, fold: bool) -> OnnxModel:
    if name in REAL:
        path, shapes, _ = REAL[name]
        return load_model(path, shapes, fold)
    return load_model(resolve(name), fold=fold)


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("name", ["mini_mnist", "mnist", "quantised", "lstm", "angle", "magika", "recognition"])
@settings(max_examples=5)
@given(data=st.data())
def test_pieces_give_what_the_whole_gives(name, fold, data):
    model = model_called(name, fold)
    count = len(model.graph)
    cuts = sorted(data.draw(st.sets(st.integers(1, count - 1), max_size=6)))
    bounds = [0, *cuts, count]
    pieces = [range(first, last) for first, last in pairwise(bounds)]
    inputs = model.seeded_inputs()
    assert largest_error(run_in_parts(model, pieces, inputs), model.reference(inputs)) < 1e-4


@pytest.mark.parametrize("name", REAL)
def test_real_models_fold_to_what_is_known(name):
    model = model_called(name, True)
    assert len(model.graph) == REAL[name][2]
    assert model.inputs_note == ""
    inputs = model.seeded_inputs()
    activations = model.activations(inputs, model.graph.types)
    assert largest_error(activations, model.reference(inputs)) < 1e-4
    assert {name: value.shape for name, value in activations.items()} == {name: known.shape for name, known in model.graph.types.items()}
    users = {node.name for node in model_called(name, False).graph.nodes}
    assert {node.name for node in model.graph.nodes} <= users
    assert {node.name for node in model.folded} | {node.name for node in model.graph.nodes} >= users


def test_a_dynamic_dimension_of_a_real_model_is_named():
    path, _, _ = REAL["recognition"]
    with pytest.raises(CollageError) as caught:
        load_model(path)
    assert caught.value.message == "input 'x' [p2o.DynamicDimension.0, 3, ?, p2o.DynamicDimension.1] has the dynamic dimension 2"
    assert caught.value.hint == "say its shape, such as --shape x=1,3,48,224", "it takes no picture that is 224 high"


@pytest.mark.parametrize(("folder", "step"), [("simple", 2), ("pytorch-converted", 9), ("pytorch-operator", 6)])
def test_every_model_of_onnx_is_taken_or_refused(folder, step):
    taken = [path for path in sorted((ONNX_MODELS / folder).rglob("*.onnx"))[::step] if is_taken(path)]
    assert taken


def is_taken(path: Path) -> bool:
    """Return whether the model is not refused; then every node by itself must be right."""
    try:
        model = load_model(path)
        inputs = model.seeded_inputs()
    except CollageError:
        return False
    pieces = [[index] for index in range(len(model.graph))]
    assert largest_error(run_in_parts(model, pieces, inputs), model.reference(inputs)) < 1e-4, path
    return True


def test_a_part_may_return_what_nothing_outside_reads(tmp_path: Path):
    model = loaded(tmp_path, "m (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) b = Sigmoid(a) y = Add(a, b) }")
    cut = model.cut(IndexSet([0, 1]), ["a", "b"])
    whole = model.cut(IndexSet(range(3)), ["a", "b"])
    assert [tensor.name for tensor in cut.outputs] == ["a", "b"]
    assert [tensor.name for tensor in whole.outputs] == ["y", "a", "b"]
    assert [value.name for value in onnx.load_model_from_string(whole.onnx).graph.output] == ["y", "a", "b"]
