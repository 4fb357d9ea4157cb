"""Odd models, each node of which is a partition of its own: all that they make crosses a boundary, and comes out as in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.model import Arrays
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import output_errors
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.arrays_file import read_arrays, write_arrays
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.artifact_calls import describe_artifact
from collage_core.toolchains.registry import get
from tests.helpers.models import loaded, model_of, write
from tests.helpers.odd_models import ODD, SMALL_TYPES, together

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


Built = tuple[OnnxModel, Artifact]
OTHERS = tuple(name for name in ODD if name not in SMALL_TYPES)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return artifact_of(OTHERS, tmp_path_factory.mktemp("odd"))


@pytest.fixture(scope="module")
def built_small(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return artifact_of(SMALL_TYPES, tmp_path_factory.mktemp("small"))


def artifact_of(names: Sequence[str], folder: Path) -> Built:
    """Return these models as one, unfolded, on ONNX Runtime; its artifact keeps the seeded inputs."""
    model = load_model(write(folder, together(names)), fold=False)
    assemble(parts_of(model), model.graph.inputs, model.graph.outputs, folder / "out", 1, sample=model.seeded_inputs())
    return model, Artifact.open(folder / "out")


def parts_of(model: OnnxModel) -> list[PartitionModel]:
    """Return a partition for each node."""
    return [
        PartitionModel("host" if node.is_host else "onnxruntime", (node.name,), model.cut(IndexSet([node.index])), f"p{node.index}")
        for node in model.graph.nodes
    ]


@pytest.fixture(scope="module", params=[0, 1, 2])
def outputs(request: pytest.FixtureRequest, built: Built, built_small: Built) -> tuple[Arrays, Arrays]:
    """The outputs of the artifacts and of ONNX Runtime on seeded inputs."""
    got: dict[str, Any] = {}
    wanted: dict[str, Any] = {}
    for model, artifact in (built, built_small):
        given = model.seeded_inputs(request.param)
        got |= artifact.run(given)
        wanted |= model.reference(given)
    return got, wanted


@pytest.mark.parametrize("name", ODD)
def test_an_odd_model_is_right(outputs: tuple[Arrays, Arrays], name: str) -> None:
    got, wanted = ({key: value for key, value in made.items() if key.startswith(f"{name}/")} for made in outputs)
    assert list(got) == list(wanted) != []
    assert [type(value) for value in got.values()] == [type(value) for value in wanted.values()]
    assert max(output_errors(got, wanted).values()) <= (5e-2 if name == "bfloat16" else 1e-5)


@pytest.mark.parametrize("which", ["built", "built_small"])
def test_the_kept_inputs_are_those_of_the_model(request: pytest.FixtureRequest, which: str) -> None:
    model, artifact = request.getfixturevalue(which)
    kept, wanted = describe_artifact(artifact.folder)["seeded"], model.seeded_inputs()
    assert list(kept) == list(wanted)
    assert max(output_errors(kept, wanted).values()) == 0


def test_sequences_and_text_come_from_a_file(built: Built, tmp_path: Path) -> None:
    model, artifact = built
    given = model.seeded_inputs(3) | {"sequence_at_the_ends/s": [np.full((2, 3), part, np.float32) for part in range(3)]}
    made = from_a_file(model, artifact, given, tmp_path)
    assert len(made["sequence_at_the_ends/t"]) == 4


def test_small_types_come_from_a_file(built_small: Built, tmp_path: Path) -> None:
    model, artifact = built_small
    from_a_file(model, artifact, model.seeded_inputs(3), tmp_path)


def from_a_file(model: OnnxModel, artifact: Artifact, given: Arrays, folder: Path) -> Arrays:
    """Return the right outputs of `artifact` for inputs that were written and read."""
    write_arrays(folder / "inputs.npz", given)
    read = read_arrays(folder / "inputs.npz")
    made = artifact.run(read)
    assert max(output_errors(made, model.reference(model.check_inputs(read))).values()) <= 5e-2
    return made


def test_an_optional_that_holds_nothing(tmp_path: Path) -> None:
    model = loaded(tmp_path, "g (optional(float[3]) o) => (bool h) { h = OptionalHasElement(o) }", opset=18)
    assemble(parts_of(model), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1)
    artifact = Artifact.open(tmp_path / "out")
    assert [bool(artifact.run(given)["h"]) for given in ({"o": None}, {}, {"o": np.ones(3, np.float32)})] == [False, False, True]


def test_a_map_goes_in_and_maps_come_out(tmp_path: Path) -> None:
    text = """g (map(int64,float) m) => (float[1,3] y, seq(map(int64,float)) z) {
        y = ai.onnx.ml.DictVectorizer<int64_vocabulary = [7, 8, 9]>(m) z = ai.onnx.ml.ZipMap<classlabels_int64s = [7, 8, 9]>(y) }"""
    given = {"m": {8: 0.5, 7: 2.0}}
    write_arrays(tmp_path / "inputs.npz", given)
    read = read_arrays(tmp_path / "inputs.npz")
    model = load_model(write(tmp_path, model_of(text, domains={"ai.onnx.ml": 1})), inputs=read)
    assemble(parts_of(model), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1)
    made = Artifact.open(tmp_path / "out").run(read)
    assert (made["y"].tolist(), made["z"]) == ([[2, 0.5, 0]], [{7: 2.0, 8: 0.5, 9: 0.0}])


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("strings/a", np.ones(2, np.float32), "the input 'strings/a' is float32[2], the model takes string[2]"),
        ("sequence_at_the_ends/s", np.ones((2, 3), np.float32), "is a ndarray, the model takes seq(tensor(float))"),
        ("sequence_at_the_ends/s", [np.ones((2, 3), np.float64)], "partition"),
    ],
)
def test_a_value_of_another_type_is_refused(built: Built, name: str, value: object, said: str) -> None:
    model, artifact = built
    with pytest.raises(CollageError) as caught:
        artifact.run(model.seeded_inputs() | {name: value})
    assert said in caught.value.message


@pytest.mark.parametrize("dtype", [np.int8, ml_dtypes.uint4, ml_dtypes.int2])
def test_another_small_type_is_refused(built_small: Built, dtype: type) -> None:
    model, artifact = built_small
    given = model.seeded_inputs() | {"int4/a": np.ones((3, 2), dtype)}
    with pytest.raises(CollageError) as caught:
        artifact.run(given)
    assert caught.value.message == f"the input 'int4/a' is {np.dtype(dtype).name}[3, 2], the model takes int4[3, 2]"
    with pytest.raises(CollageError) as caught:
        model.check_inputs(given)
    assert caught.value.message == f"the input 'int4/a' has dtype {np.dtype(dtype).name!r}, not 'int4'"


def test_a_toolchain_of_plain_memory_refuses_a_partition_that_reads_text(tmp_path: Path) -> None:
    model = loaded(tmp_path, "g (string[2] a) => (string[2] y) { [c] y = StringConcat(a, a) }", opset=20)
    part = PartitionModel("openvino", ("c",), model.cut(IndexSet([0])), "p0")
    with pytest.raises(CollageError) as caught:
        assemble([part], model.graph.inputs, model.graph.outputs, tmp_path / "out", 1)
    assert caught.value.message == "openvino cannot build partition p0: 'a' is string[2]: it is not a flat buffer, which is not supported"
