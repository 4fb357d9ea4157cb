"""Artifacts without a module: pieces and native files compute what the model computes, also where this package or much of it is missing."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from collage_core.errors import CollageError
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import output_errors
from collage_core.model.samples.registry import resolve
from collage_core.pipeline.whole.assemble_and_verify import pieces_of as cut
from collage_core.rewrite.assemble import assemble, remove_artifact
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.artifact_calls import describe_artifact, run_loader
from collage_core.rewrite.runtime.machine import Machine
from collage_core.toolchains.conformance.small_models import conv_relu, matmul, node, sub_model, tensor
from collage_core.toolchains.registry import get
from tests.helpers.control_models import drawn, host_plan, lstm_loop
from tests.helpers.detectors import detector
from tests.helpers.mixed_models import NETS, Net, load, partition_models
from tests.helpers.models import write
from tests.helpers.paths import ROOT

from .test_opaque_values import OTHERS, parts_of, together

OURS = ("tvm", "tvm_ffi", "onnx", "flask", "werkzeug", "click", "rich", "pydantic", "scipy", "sqlalchemy", "psutil", "google")
"""Libraries that neither form needs."""
ROOMS = ("cli", "cost", "drawings", "pipeline", "search", "trace", "transform", "what_if", "events", "options", "api")
"""Rooms of this package that running an artifact never enters."""

BLOCKED = """
import pickle, sys

sys.modules["openvino_telemetry"] = None

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if any(f"{name}.".startswith(f"{one}.") for one in blocked):
            raise ImportError(f"{name} is blocked")

blocked, folder, arrays = pickle.loads(sys.stdin.buffer.read())
sys.meta_path.insert(0, Blocker())
"""
RUN_PIECES = f"""{BLOCKED}
from collage_core.rewrite.runtime.artifact import Artifact

with Artifact(folder) as artifact:
    outputs = artifact.run(arrays)
sys.stdout.buffer.write(pickle.dumps((outputs, sorted(name for name in sys.modules if name.startswith("collage_core.")))))
"""
RUN_LOADER = f"""{BLOCKED}
import runpy

outputs = runpy.run_path(folder + "/load.py")["run"](arrays)
sys.stdout.buffer.write(pickle.dumps((outputs, sorted(sys.modules))))
"""
WITHOUT_TVM = {"tvm": "onnxruntime"}


def usable(*names: str) -> list[object]:
    """Return parameters, of which those that are not usable here are skipped."""
    found = {name: get(name).availability() for name in names}
    return [pytest.param(name, marks=[] if one.usable else pytest.mark.skip(reason=one.reason)) for name, one in found.items()]


def pieces_of(model: OnnxModel, net: Net) -> list[PartitionModel]:
    return partition_models(model, [(number, WITHOUT_TVM.get(target, target)) for number, target in net.placed])


def fresh(code: str, blocked: Sequence[str], folder: Path, arrays: object) -> tuple[dict[str, np.ndarray], list[str]]:
    """Run `code` in a process of its own, in which modules are `blocked`; gives outputs, and the modules that were imported."""
    given = pickle.dumps((list(blocked), str(folder), arrays))
    ran = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return pickle.loads(ran.stdout)


@pytest.mark.parametrize("name", NETS)
def test_pieces_compute_what_the_model_computes(name: str, tmp_path: Path):
    net = NETS[name]()
    model = load(net, tmp_path)
    assemble(pieces_of(model, net), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1, form="pieces")
    with Artifact(tmp_path / "out") as artifact:
        assert artifact.manifest.form == "pieces"
        for seed in range(3):
            given = model.seeded_inputs(seed)
            errors = output_errors(artifact.run(given), model.reference(given))
            assert max(errors.values()) <= 1e-4, errors
    assert not list((tmp_path / "out").glob("module.*"))


def test_each_piece_of_a_toolchain_that_reads_onnx_is_an_onnx_file(tmp_path: Path):
    net = NETS["chain"]()
    model = load(net, tmp_path)
    pieces = pieces_of(model, net)
    assemble(pieces, model.graph.inputs, model.graph.outputs, tmp_path / "out", 1, form="pieces")
    files = sorted(path.name for path in (tmp_path / "out" / "partitions").iterdir())
    assert files == sorted(f"{index:03d}_{piece.target}.onnx" for index, piece in enumerate(pieces))
    for index, piece in enumerate(pieces):
        read = load_model(tmp_path / "out" / "partitions" / f"{index:03d}_{piece.target}.onnx", fold=False)
        assert [node.op for node in read.graph.nodes] == [model.graph.nodes[model.graph.index_by_name[name]].op for name in piece.names]


def test_open_shapes_pass_from_piece_to_piece(tmp_path: Path):
    model = load_model(write(tmp_path, detector(picks=True)))
    stop = model.graph.index_by_name["nms"]
    placed = [(int(index >= stop), "onnxruntime") for index in range(len(model.graph))]
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1, form="pieces")
    with Artifact(tmp_path / "out") as artifact:
        counts = []
        for scale in (0.0, 0.5, 2.0, 0.0):
            picture = {"image": model.seeded_inputs()["image"] * np.float32(scale)}
            got, want = artifact.run(picture), model.reference(picture)
            assert max(output_errors(got, want).values()) <= 1e-5
            counts.append(len(got["scaled"]))
    assert counts[0] == counts[3] != counts[2]


def test_values_that_are_no_plain_memory_pass_from_piece_to_piece(tmp_path: Path):
    model = load_model(write(tmp_path, together(OTHERS)), fold=False)
    assemble(parts_of(model), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1, form="pieces")
    with Artifact(tmp_path / "out") as artifact:
        for seed in range(2):
            given = model.seeded_inputs(seed)
            errors = output_errors(artifact.run(given), model.reference(given))
            assert max(errors.values()) <= 1e-5, errors


def test_the_host_turns_loops_of_pieces(tmp_path: Path):
    model = load_model(write(tmp_path, lstm_loop()))
    plan = host_plan(model, drawn(model, 0, turns=5, go=True))
    assemble(cut(model, plan), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1, form="pieces")
    with Artifact(tmp_path / "out") as artifact:
        for seed, turns in enumerate((5, 0, 16)):
            given = drawn(model, seed, turns=turns, go=True)
            assert max(output_errors(artifact.run(given), model.reference(given)).values()) <= 1e-5
    assert not list((tmp_path / "out").rglob("module.so"))


def test_constants_and_inputs_leave_as_outputs(tmp_path: Path):
    x, constants = tensor("x", (2, 2)), {"c": np.arange(3, dtype=np.int64)}
    assemble([], [x], ["x", "c", "x"], tmp_path / "out", 1, constants=constants, form="pieces")
    given = np.ones((2, 2), np.float32)
    with Artifact(tmp_path / "out") as artifact:
        got = artifact.run({"x": given})
    np.testing.assert_array_equal(got["x"], given)
    np.testing.assert_array_equal(got["c"], constants["c"])


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnnxModel, Path]:
    """The chain of convolutions as pieces of all toolchains that are here."""
    folder = tmp_path_factory.mktemp("mixed")
    net = NETS["chain"]()
    model = load(net, folder)
    others = {"tvm": "ncnn" if get("ncnn").availability().usable else "onnxruntime"}
    placed = [(number, others.get(target, target)) for number, target in net.placed]
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, folder / "out", 1, form="pieces")
    return model, folder / "out"


def test_pieces_run_where_neither_onnx_nor_tvm_nor_the_search_can_be_imported(mixed: tuple[OnnxModel, Path]):
    model, folder = mixed
    blocked = [*OURS, *(f"collage_core.{room}" for room in ROOMS), "collage_server"]
    outputs, imported = fresh(RUN_PIECES, blocked, folder, model.seeded_inputs())
    assert max(output_errors(outputs, model.reference(model.seeded_inputs())).values()) <= 1e-4
    rooms = {".".join(name.split(".")[1:3]) for name in imported if name.startswith("collage_core.rewrite.")}
    assert rooms == {"rewrite.runtime"}
    assert {name.split(".")[1] for name in imported} <= {"base", "errors", "graph", "model", "rewrite", "rules", "toolchains", "version"}
    assert {name for name in imported if name.startswith("collage_core.model.")} <= {f"collage_core.model.{name}" for name in ("model",)}


@pytest.mark.parametrize("target", usable("onnxruntime", "openvino", "ncnn"))
def test_native_files_run_without_this_package(target: str, tmp_path: Path):
    model = conv_relu()
    assemble([PartitionModel(target, ("c", "r"), model, "p")], model.inputs, ["y"], tmp_path / "out", 2, form="native")
    given = {"x": np.random.default_rng(0).standard_normal((1, 3, 9, 9)).astype(np.float32)}
    outputs, imported = fresh(RUN_LOADER, ["collage_core", *OURS], tmp_path / "out", given)
    assert not any(name.startswith("collage") for name in imported)
    with Artifact(tmp_path / "out") as artifact:
        np.testing.assert_allclose(outputs["y"], artifact.run(given)["y"], atol=1e-5)
    assert len((tmp_path / "out" / "load.py").read_text().splitlines()) < 40


@pytest.mark.long
@pytest.mark.parametrize("target", usable("onnxruntime", "openvino"))
@pytest.mark.parametrize("sample", ["mnist", "lstm"])
def test_a_sample_that_is_all_on_one_toolchain_leaves_this_package_behind(sample: str, target: str, tmp_path: Path):
    model = load_model(resolve(sample))
    placed = [(0, target)] * len(model.graph)
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1, form="auto")
    for seed in range(2):
        given = model.seeded_inputs(seed)
        outputs, _ = fresh(RUN_LOADER, ["collage_core", *OURS], tmp_path / "out", given)
        assert max(output_errors(outputs, model.reference(given)).values()) <= 1e-4


FILES = {
    "onnxruntime": {"model.onnx"},
    "openvino": {"model.xml", "model.bin"},
    "openvino@bf16": {"model.xml", "model.bin"},
    "ncnn": {"model.param", "model.bin"},
}


@pytest.mark.parametrize("target", usable(*FILES))
def test_native_files_are_those_of_the_toolchain_and_have_the_measured_settings(target: str, tmp_path: Path):
    model = matmul()
    assemble([PartitionModel(target, ("m", "a"), model, "p")], model.inputs, ["y"], tmp_path / "out", 3, form="auto")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"artifact.json", "load.py", "README.md", "requirements.txt"} | FILES[
        target
    ]
    manifest = json.loads((tmp_path / "out" / "artifact.json").read_text())
    assert (manifest["form"], manifest["tvm"]) == ("native", "")
    assert set(manifest["files"]) == {"load.py", "README.md", "requirements.txt"} | FILES[target]
    (entry,) = manifest["partitions"]
    assert {entry["package"], *entry["beside"]} == FILES[target]
    assert 3 in entry["settings"].values(), "the number of threads"
    said = (tmp_path / "out" / "README.md").read_text()
    assert f"This model runs on {target} alone" in said
    assert "| `x` | float32[2, 5, 24] |" in said
    package = target.partition("@")[0]
    needed = dict(line.split("==") for line in (tmp_path / "out" / "requirements.txt").read_text().splitlines())
    assert needed == {name: metadata.version(name).partition("+")[0] for name in (package, "numpy")}
    assert needed[package] in said


def test_the_text_of_native_files_says_which_dimensions_were_fixed(tmp_path: Path):
    model = matmul()
    part = PartitionModel("onnxruntime", ("m", "a"), model, "p")
    assemble([part], model.inputs, ["y"], tmp_path / "out", 1, about={"model": {"assumed": {"batch": 2}}}, form="native")
    said = (tmp_path / "out" / "README.md").read_text()
    assert "The dimension `batch` of the model is 2 here, since nobody gave its size; no other size fits." in said


def test_the_program_in_the_text_of_native_files_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    model = sub_model([node("Neg", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))])
    assemble([PartitionModel("onnxruntime", ("n",), model, "p")], model.inputs, ["y"], tmp_path / "out", 1, form="native")
    said = (tmp_path / "out" / "README.md").read_text()
    code = re.search(r"```python\n(.*?)```", said, re.DOTALL)
    assert code is not None
    known: dict[str, object] = {"x": np.ones(2, np.float32)}
    monkeypatch.chdir(tmp_path / "out")
    exec(code[1].replace("...", "x"), known)
    assert known["outputs"]["y"].tolist() == [-1, -1]  # type: ignore[index]
    assert run_loader(tmp_path / "out" / "load.py", {"x": np.ones(2, np.float32)})["y"].tolist() == [-1, -1]


def test_names_that_are_no_words_stay_what_they_are(tmp_path: Path):
    odd, made = "a/b:0 '\"\\{}", "|`$"
    model = sub_model([helper.make_node("Neg", [odd], [made])], [tensor(odd, (2,))], [tensor(made, (2,))])
    assemble([PartitionModel("onnxruntime", ("n",), model, "p")], model.inputs, [made], tmp_path / "out", 1, form="native")
    assert run_loader(tmp_path / "out" / "load.py", {odd: np.ones(2, np.float32)})[made].tolist() == [-1, -1]


def test_portable_files_run_on_another_processor_and_a_note_says_so(tmp_path: Path):
    model = matmul()
    assemble([PartitionModel("onnxruntime", ("m",), model, "p")], model.inputs, ["y"], tmp_path / "out", 1, form="native")
    path = tmp_path / "out" / "artifact.json"
    data = json.loads(path.read_text())
    data["machine"]["features"].append("avx9000")
    path.write_text(json.dumps(data))
    with Artifact(tmp_path / "out") as artifact:
        assert artifact.notes == ("its plan was measured on a processor with avx9000: here another one may be faster",)
    assert Machine.here().lacks(Machine.from_json(data["machine"]))
    data["partitions"][0]["is_portable"] = False
    path.write_text(json.dumps(data))
    with pytest.raises(CollageError, match="was built for a processor with avx9000, which this machine is not"):
        Artifact(tmp_path / "out")


@pytest.mark.parametrize("target", usable("onnxruntime", "openvino"))
def test_quantised_files_are_for_one_kind_of_processor(target: str, tmp_path: Path):
    net = NETS["quantised"]()
    model = load(net, tmp_path)
    placed = [(0, target)] * len(model.graph)
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1, form="native")
    with Artifact(tmp_path / "out") as artifact:
        assert not artifact.manifest.is_portable
        given = model.seeded_inputs()
        assert max(output_errors(artifact.run(given), model.reference(given)).values()) <= 2e-2


DAMAGES: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda data: data["files"].pop("model.onnx"), "'model.onnx' is loaded, and 'artifact.json' does not list it"),
    (lambda data: data.update(form="statue"), "'artifact.json' lacks or garbles the form 'statue'"),
    (lambda data: data["outputs"][0].update(name="z"), "names a tensor that nothing makes"),
    (lambda data: data.update(aliases={"a": "b", "b": "a"}, outputs=[{**data["outputs"][0], "name": "a"}]), "names a tensor that nothing"),
    (lambda data: data["partitions"][0].update(settings={}), "onnxruntime cannot load partition p: "),
]


@pytest.mark.parametrize(("change", "said"), DAMAGES)
def test_a_damaged_manifest_is_refused(change: Callable[[dict[str, Any]], object], said: str, tmp_path: Path):
    model = sub_model([node("Neg", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))])
    assemble([PartitionModel("onnxruntime", ("n",), model, "p")], model.inputs, ["y"], tmp_path / "out", 1, form="native")
    path = tmp_path / "out" / "artifact.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(CollageError, match=said):
        Artifact(tmp_path / "out")


def test_another_form_in_the_same_folder_leaves_nothing_of_the_first(tmp_path: Path):
    model, out = sub_model([node("Neg", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))]), tmp_path / "out"
    parts = [PartitionModel("onnxruntime", ("n",), model, "p")]
    out.mkdir()
    (out / "mine.txt").write_text("keep")
    assemble(parts, model.inputs, ["y"], out, 1, form="native")
    assemble(parts, model.inputs, ["y"], out, 1, form="pieces")
    assert {path.name for path in out.iterdir()} == {"artifact.json", "partitions", "requirements.txt", "mine.txt"}
    assemble(parts, model.inputs, ["y"], out, 1, form="native")
    assert {path.name for path in out.iterdir()} == {"artifact.json", "load.py", "README.md", "requirements.txt", "model.onnx", "mine.txt"}
    remove_artifact(out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_an_artifact_without_a_module_is_described_and_timed_like_any_other(tmp_path: Path):
    model = matmul()
    sample = {"x": np.ones((2, 5, 24), np.float32)}
    assemble([PartitionModel("onnxruntime", ("m",), model, "p")], model.inputs, ["y"], tmp_path / "out", 1, form="pieces", sample=sample)
    assert describe_artifact(tmp_path / "out")["seeded"]["x"][0, 0, 0] == 1
    with Artifact(tmp_path / "out") as artifact:
        assert len(artifact.time(sample, repeat=5)) == 5
        found = artifact.profile(sample)
    assert list(found.partitions) == ["p"]
    assert 0 < found.partitions["p"] < found.whole_s
