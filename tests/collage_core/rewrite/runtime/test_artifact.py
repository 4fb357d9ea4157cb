"""An artifact opened and run: in this process and in a fresh one, and when something about it is wrong."""

from __future__ import annotations

import gc
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import psutil
import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from collage_core.base.bursts import BURST_S
from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import TensorType
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import output_errors
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.artifact_calls import describe_artifact, run_artifact, time_artifact
from collage_core.rewrite.runtime.machine import Machine
from collage_core.rewrite.runtime.manifest import fingerprint, read_manifest
from collage_core.rewrite.runtime.packed import AllocatingPartition, PackedPartition
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.onnxruntime.onnxruntime import OnnxRuntimeToolchain
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Availability
from tests.helpers.decoders import LONGEST, decoder, empty_caches
from tests.helpers.detectors import IMAGE, detector
from tests.helpers.mixed_models import NETS, load, partition_models, spoil
from tests.helpers.models import weights, write

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

FRESH = """
import pickle, sys
from collage_core.rewrite.runtime.artifact_calls import run_artifact
folder, inputs = pickle.loads(sys.stdin.buffer.read())
outputs = run_artifact(folder, inputs)
ours = {f"collage_core.{name}" for name in ("rewrite.assemble", "rewrite.plan", "rules.rule")}
heavy = sorted({"onnx", "openvino", "onnxruntime", "pydantic", "flask", *ours} & set(sys.modules))
sys.stdout.buffer.write(pickle.dumps((outputs, heavy)))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chain of four convolutions, on three toolchains."""
    folder = tmp_path_factory.mktemp("chain")
    net = NETS["chain"]()
    model = load(net, folder)
    sample = model.seeded_inputs()
    about = {"model": {"name": "chain", "hash": model.hash}}
    assemble(partition_models(model, net.placed), model.graph.inputs, model.graph.outputs, folder / "out", 2, about, sample=sample)
    return folder / "out"


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "copy"))


def given(seed: int = 0) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).standard_normal((1, 8, 10, 10)).astype(np.float32)}


def test_each_run_has_its_own_inputs_and_outputs(built: Path):
    artifact = Artifact.open(built)
    first, second = artifact.run(given(1)), artifact.run(given(2))
    kept = first["y"].copy()
    np.testing.assert_array_equal(artifact.run(given(1))["y"], kept)
    np.testing.assert_array_equal(first["y"], kept)
    assert not np.array_equal(first["y"], second["y"])


def test_it_runs_the_same_in_a_fresh_process_with_no_more_than_it_needs(built: Path, tmp_path: Path):
    ran = subprocess.run([sys.executable, "-c", FRESH], input=pickle.dumps((built, given())), capture_output=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr.decode()
    outputs, heavy = pickle.loads(ran.stdout)
    assert max(output_errors(outputs, Artifact.open(built).run(given())).values()) <= 1e-6
    assert heavy == [name for name in ("onnxruntime", "openvino") if get(name).availability().usable]


def test_it_can_be_moved(built: Path, copy: Path):
    np.testing.assert_array_equal(Artifact.open(copy).run(given())["y"], Artifact.open(built).run(given())["y"])


def test_two_of_the_same_live_side_by_side(built: Path):
    one, two = Artifact.open(built), Artifact.open(built)
    first = one.run(given(1))["y"]
    np.testing.assert_array_equal(two.run(given(1))["y"], first)
    del two
    gc.collect()
    np.testing.assert_array_equal(one.run(given(1))["y"], first)


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnnxModel, Artifact]:
    """A detector whose boxes cross two boundaries, and its artifact."""
    folder = tmp_path_factory.mktemp("detector")
    model = load_model(write(folder, detector(picks=True)))
    stops = [model.graph.index_by_name[name] for name in ("nms", "pick")]
    parts = list(enumerate(("tvm", "onnxruntime", "openvino")))
    by_node = [parts[sum(index >= stop for stop in stops)] for index in range(len(model.graph))]
    assemble(partition_models(model, by_node), model.graph.inputs, model.graph.outputs, folder / "out", 1)
    return model, Artifact.open(folder / "out")


@given_any(scales=st.lists(st.floats(0, 1), min_size=1, max_size=4), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_any_pictures_in_a_row_have_their_own_numbers_of_boxes(boxes: tuple[OnnxModel, Artifact], scales: list[float], seed: int):
    model, artifact = boxes
    kept = []
    for scale in scales:
        picture = {"image": weights(*IMAGE, seed=seed) * np.float32(scale)}
        kept.append((artifact.run(picture), model.reference(picture)))
    for got, want in kept:
        assert got["scaled"].shape == want["scaled"].shape
        assert max(output_errors(*({"scaled": in_order(one["scaled"])} for one in (got, want))).values()) <= 1e-5


def test_fifty_pictures_have_their_own_numbers_of_boxes_and_some_none(boxes: tuple[OnnxModel, Artifact]):
    model, artifact = boxes
    random, counts = np.random.default_rng(0), []
    for seed in range(50):
        picture = {"image": weights(*IMAGE, seed=seed) * np.float32(random.choice([0, 0.1, 0.2, 0.5, 1, 2]))}
        got, want = artifact.run(picture)["scaled"], model.reference(picture)["scaled"]
        assert got.shape == want.shape
        assert output_errors({"scaled": in_order(got)}, {"scaled": in_order(want)})["scaled"] <= 1e-5
        counts.append(len(got))
    assert min(counts) == 0
    assert len(set(counts)) > 8


def test_a_decoder_step_has_a_cache_that_grows(tmp_path: Path):
    model = load_model(write(tmp_path, decoder()))
    inner = [model.graph.index_by_name[name] for name in ("filled", "merge")]
    parts = list(enumerate(("tvm", "onnxruntime", "openvino")))
    by_node = [parts[sum(index >= stop for stop in inner)] for index in range(len(model.graph))]
    assemble(partition_models(model, by_node), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1)
    artifact, caches, wanted_caches = Artifact.open(tmp_path / "out"), empty_caches(), empty_caches()
    for step in range(LONGEST - 1):
        given = {"x": weights(1, 1, 16, seed=step), "filled": np.array(step)}
        got, want = artifact.run(given | caches), model.reference(given | wanted_caches)
        assert got["all_keys"].shape == want["all_keys"].shape == (1, 2, step + 1, 8)
        assert max(output_errors(got, want).values()) <= 1e-4
        for kept, made in ((caches, got), (wanted_caches, want)):
            kept["cached_keys"][:, :, : step + 1] = made["all_keys"]
            kept["cached_values"][:, :, : step + 1] = made["all_values"]


def in_order(boxes: np.ndarray) -> np.ndarray:
    """The rows in an order of their own: that of nearly equal scores is a matter of rounding."""
    return boxes[np.lexsort(np.round(boxes, 2).T)]


def test_a_kernel_that_fails_to_allocate_is_named(boxes: tuple[OnnxModel, Artifact], monkeypatch: pytest.MonkeyPatch):
    model, artifact = boxes

    def failing(self: AllocatingPartition) -> None:
        raise MemoryError("no room for boxes")

    monkeypatch.setattr(AllocatingPartition, "_returned", failing)
    with pytest.raises(CollageError, match=r"partition p1 on onnxruntime failed as it ran: no room for boxes"):
        artifact.run(model.seeded_inputs())


def test_kernels_are_bound_once_since_buffers_stay_where_they_are(built: Path, monkeypatch: pytest.MonkeyPatch):
    bound: list[str] = []
    bind = PackedPartition._bind

    def counting(self: PackedPartition, addresses: list[int], shapes: list[tuple[int, ...]]) -> None:
        bound.append(self.entry.id)
        bind(self, addresses, shapes)

    monkeypatch.setattr(PackedPartition, "_bind", counting)
    artifact = Artifact.open(built)
    for seed in range(4):
        artifact.run(given(seed))
    assert bound == [entry.id for entry in artifact.manifest.partitions if entry.symbol]


def test_it_is_timed(built: Path):
    artifact = Artifact.open(built)
    samples = artifact.time(given(), repeat=7)
    assert len(samples) == 7
    assert min(samples) > 0
    assert sum(time_artifact(built, given())) >= BURST_S


def test_it_is_described_without_being_opened(built: Path):
    code = f"""
import sys
from pathlib import Path
from collage_core.rewrite.runtime.artifact_calls import describe_artifact
data = describe_artifact(Path({str(built)!r}))
assert data["about"]["model"]["name"] == "chain", data
print(sorted({{"tvm", "openvino", "onnxruntime"}} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")


def test_it_keeps_inputs_to_try_it_with(built: Path, copy: Path):
    model = load(NETS["chain"](), copy)
    np.testing.assert_array_equal(describe_artifact(built)["seeded"]["x"], model.seeded_inputs()["x"])


def test_without_kept_inputs_seeded_ones_are_drawn(tmp_path: Path):
    kinds = ("float32", "bfloat16", "int64", "bool")
    tensors = [tensor(kind, (2, 3), kind) for kind in kinds]
    assemble([], tensors, list(kinds), tmp_path / "out", 1)
    seeded = describe_artifact(tmp_path / "out")["seeded"]
    assert {name: array.dtype.name for name, array in seeded.items()} == {kind: kind for kind in kinds}
    got = run_artifact(tmp_path / "out", seeded)
    for name, array in seeded.items():
        np.testing.assert_array_equal(got[name], array)


def test_odd_dtypes_are_kept_as_they_are(tmp_path: Path):
    values = np.arange(4).astype(ml_dtypes.bfloat16)
    assemble([], [tensor("x", (4,), "bfloat16")], ["x"], tmp_path / "out", 1, sample={"x": values})
    kept = describe_artifact(tmp_path / "out")["seeded"]["x"]
    assert kept.dtype == values.dtype
    np.testing.assert_array_equal(kept, values)


def test_a_folder_that_was_built_again_is_opened_again(tmp_path: Path):
    for op in ("Neg", "Relu"):
        model = sub_model([node(op, "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))])
        assemble([PartitionModel("onnxruntime", (op,), model, op)], model.inputs, ["y"], tmp_path / "out", 1)
        got = run_artifact(tmp_path / "out", {"x": np.array([-1, 1], np.float32)})["y"]
        assert list(got) == ([1, -1] if op == "Neg" else [0, 1])


WRONG_INPUTS = [
    ({}, "the input 'x' is missing"),
    ({**given(), "z": np.zeros(1)}, "the model has no input 'z'"),
    ({"x": np.zeros((1, 8, 9, 10), np.float32)}, "the input 'x' is float32[1, 8, 9, 10], the model takes float32[1, 8, 10, 10]"),
    ({"x": np.zeros((1, 8, 10, 10))}, "the input 'x' is float64[1, 8, 10, 10], the model takes float32[1, 8, 10, 10]"),
]


@pytest.mark.parametrize(("arrays", "message"), WRONG_INPUTS, ids=["missing", "unknown", "shape", "dtype"])
def test_wrong_inputs_are_refused(built: Path, arrays: dict[str, np.ndarray], message: str):
    with pytest.raises(CollageError) as caught:
        Artifact.open(built).run(arrays)
    assert (caught.value.message, caught.value.code) == (message, "bad_inputs")
    assert caught.value.hint == "the model's inputs are x: float32[1, 8, 10, 10]"


NO_ARRAYS: list[tuple[Any, str]] = [
    ([np.zeros((1, 8, 10, 10))], "the inputs are a list, not arrays by input name"),
    (None, "the inputs are a NoneType, not arrays by input name"),
    ({"x": [[1.0], [2.0, 3.0]]}, "the input 'x' is no array: setting an array element with a sequence."),
]


@pytest.mark.parametrize(("arrays", "message"), NO_ARRAYS, ids=["a list", "nothing", "ragged lists"])
def test_what_is_no_array_is_refused(built: Path, arrays: Any, message: str):
    with pytest.raises(CollageError) as caught:
        Artifact.open(built).run(arrays)
    assert caught.value.message.startswith(message)
    assert caught.value.code == "bad_inputs"


def edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Any]:
    def apply(folder: Path) -> None:
        data = json.loads((folder / "artifact.json").read_text())
        change(data)
        (folder / "artifact.json").write_text(json.dumps(data))

    return apply


def outside(data: dict[str, Any]) -> None:
    data["files"]["../secret"] = {"bytes": 1, "sha256": ""}


def link_outside(folder: Path) -> None:
    """The library is another file outside, whose content is that of the manifest."""
    (folder / "module.so").rename(folder.parent / "elsewhere.so")
    (folder / "module.so").symlink_to(folder.parent / "elsewhere.so")


def pipe(folder: Path) -> None:
    (folder / "artifact.json").unlink()
    os.mkfifo(folder / "artifact.json")


DAMAGES = [
    ("a pipe as manifest", pipe, "'artifact.json' cannot be read (it is a pipe, not a regular file)", "damaged"),
    ("a link out of the folder", link_outside, "it lists a file outside itself, 'module.so'", "damaged"),
    (
        "a library without its hash",
        edit(lambda data: data["files"].pop("module.so")),
        "'module.so' is loaded, and 'artifact.json' does not list it",
        "damaged",
    ),
    (
        "a package outside",
        edit(lambda data: data["partitions"][1].update(package="../secret")),
        "it lists a file outside itself, '../secret'",
        "damaged",
    ),
    (
        "a package without its hash",
        edit(lambda data: data["files"].pop("partitions/001_onnxruntime.bin")),
        "'partitions/001_onnxruntime.bin' is loaded, and 'artifact.json' does not list it",
        "damaged",
    ),
    ("sizes without end", edit(lambda data: data.update(threads=float("inf"))), "'artifact.json' lacks or garbles", "damaged"),
    ("no manifest", lambda folder: (folder / "artifact.json").unlink(), "is no artifact: it holds no 'artifact.json'", "no_artifact"),
    ("cut off", lambda folder: (folder / "artifact.json").write_text('{"kind"'), "'artifact.json' cannot be read (", "damaged"),
    ("not text", lambda folder: (folder / "artifact.json").write_bytes(b"\xff\xfe\x00"), "'artifact.json' cannot be read (", "damaged"),
    (
        "foreign",
        lambda folder: (folder / "artifact.json").write_text("[1]"),
        "does not describe an artifact of this project",
        "no_artifact",
    ),
    ("another schema", edit(lambda data: data.update(schema=7)), "has schema 7, this version reads 1", "schema"),
    ("a key is missing", edit(lambda data: data.pop("partitions")), "'artifact.json' lacks or garbles 'partitions'", "damaged"),
    ("a value is odd", edit(lambda data: data.update(threads="many")), "'artifact.json' lacks or garbles invalid literal", "damaged"),
    ("a file is missing", lambda folder: (folder / "module.so").unlink(), "'module.so' is missing", "damaged"),
    ("a library is spoilt", lambda folder: spoil(folder / "module.so"), "'module.so' is not the file that was written", "damaged"),
    (
        "a package is cut off",
        lambda folder: (folder / "partitions" / "001_onnxruntime.bin").write_bytes(b""),
        "'partitions/001_onnxruntime.bin' is not the file that was written",
        "damaged",
    ),
    ("a file outside", edit(outside), "it lists a file outside itself, '../secret'", "damaged"),
    (
        "another system",
        edit(lambda data: data["machine"].update(system="Plan9")),
        "was built for Plan9 on ",
        "machine",
    ),
    (
        "another processor",
        edit(lambda data: data["machine"]["features"].append("avx9000")),
        "was built for a processor with avx9000, which this machine is not",
        "machine",
    ),
    (
        "an unknown toolchain",
        edit(lambda data: data["partitions"][1].update(target="npu")),
        "no toolchain is called 'npu'",
        "unknown_target",
    ),
]


HUGE = 1 << 39
ODD_TENSORS: list[tuple[dict[str, Any], str]] = [
    ({"shape": [0, HUGE, HUGE]}, f"the shape [0, {HUGE}, {HUGE}]"),
    ({"shape": [-1, 8, 10, 10]}, "the shape [-1, 8, 10, 10]"),
    ({"shape": [1 << 62, 1 << 62]}, f"the shape [{1 << 62}, {1 << 62}]"),
    ({"shape": [1 << 70]}, f"the shape [{1 << 70}]"),
    ({"shape": [1] * 65}, "the shape [1, 1, 1"),
    ({"dtype": 3}, "the dtype 3"),
    ({"dtype": None}, "the dtype None"),
    ({"dtype": ["float32"]}, "the dtype ['float32']"),
    ({"dtype": "float99"}, "data type 'float99' not understood"),
    ({"name": ["x"]}, "the name ['x'] of a tensor"),
    ({"shape": [None, 8], "measured_shape": [1]}, "the data-dependent dimensions of the shape [1]"),
    ({"largest_shape": [1]}, "the data-dependent dimensions of the shape [1, 8, 10, 10]"),
]


def with_tensor(change: dict[str, Any], of_partition: bool) -> Callable[[Path], Any]:
    """Change the model's input, or an output of its second partition."""
    return edit(lambda data: (data["partitions"][1]["outputs"] if of_partition else data["inputs"])[0].update(change))


DAMAGES += [
    (f"{'output of a partition' if of_partition else 'input'} {change!s:.40}", with_tensor(change, of_partition), message, "damaged")
    for of_partition in (False, True)
    for change, message in ODD_TENSORS
]


DAMAGES.append(
    (
        "an input that its partition reads as another",
        with_tensor({"shape": [1 << 31]}, of_partition=False),
        f"'artifact.json' says that the tensor 'x' is float32[{1 << 31}], and that it is ",
        "damaged",
    )
)


@pytest.mark.parametrize(("damage", "message", "code"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES])
def test_what_is_damaged_or_foreign_is_refused(copy: Path, damage: Callable[[Path], Any], message: str, code: str):
    damage(copy)
    with pytest.raises(CollageError) as caught:
        Artifact.open(copy)
    assert message in caught.value.message
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize("form", ["module", "pieces"])
def test_a_tensor_that_no_memory_holds_is_named(tmp_path: Path, form: str):
    model = sub_model([node("Relu", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))])
    assemble([PartitionModel("onnxruntime", ("r",), model, "p")], model.inputs, ["y"], tmp_path / "out", 1, form=form)
    edit(lambda data: [read["inputs"][0].update(shape=[1 << 45]) for read in (data, data["partitions"][0])])(tmp_path / "out")
    with pytest.raises(CollageError, match="needs more memory than this machine has free: ") as caught:
        Artifact.open(tmp_path / "out")
    assert caught.value.code == "no_memory"


def test_no_folder_is_refused(tmp_path: Path):
    with pytest.raises(CollageError, match=r"does not exist, so there is no 'artifact.json'"):
        Artifact.open(tmp_path / "none")


def test_a_package_that_its_toolchain_cannot_load_is_named(copy: Path):
    package = copy / "partitions" / "001_onnxruntime.bin"
    package.write_bytes(b"garbage")
    manifest = read_manifest(copy)
    files = {**manifest.files, "partitions/001_onnxruntime.bin": fingerprint(package)}
    (copy / "artifact.json").write_text(json.dumps(replace(manifest, files=files).to_json()))
    with pytest.raises(CollageError, match="onnxruntime cannot load partition p1: "):
        Artifact.open(copy)


def test_a_toolchain_that_is_missing_is_named_with_the_command_to_type(built: Path, monkeypatch: pytest.MonkeyPatch):
    missing = Availability(False, reason="the package onnxruntime is not installed", hint="pip install onnxruntime")
    monkeypatch.setattr(OnnxRuntimeToolchain, "availability", lambda _self: missing)
    with pytest.raises(CollageError) as caught:
        Artifact.open(built)
    assert caught.value.message == "the artifact needs onnxruntime, which is not usable here: the package onnxruntime is not installed"
    assert caught.value.hint == f"pip install onnxruntime=={metadata.version('onnxruntime')}"


def test_another_version_of_a_toolchain_is_refused_unless_the_user_wants_it(built: Path, monkeypatch: pytest.MonkeyPatch):
    built_with = get("onnxruntime").availability().version
    monkeypatch.setattr(OnnxRuntimeToolchain, "availability", lambda _self: Availability(True, "99.0"))
    with pytest.raises(CollageError) as caught:
        Artifact(built)
    assert caught.value.message == f"the artifact was built with onnxruntime {built_with}, run with 99.0"
    assert caught.value.hint == (
        f"pip install onnxruntime=={metadata.version('onnxruntime')}, or build it again with `collage apply PLAN MODEL --out DIR`, "
        "or try it all the same with --other-versions"
    )
    assert caught.value.code == "other_version"
    with Artifact(built, other_versions=True) as artifact:
        assert artifact.notes == (f"built with onnxruntime {built_with}, run with 99.0",)
        artifact.run(given())
    monkeypatch.setattr(
        OnnxRuntimeToolchain, "availability", lambda _self: Availability(True, f"{built_with.partition('+')[0]}+collage.99")
    )
    with pytest.raises(CollageError) as changed:
        Artifact(built)
    assert changed.value.hint.startswith("build it again with"), "pip has no other version of what changed"


def test_a_closed_artifact_runs_nothing(built: Path):
    with Artifact(built) as artifact:
        artifact.run(given())
    for use in (lambda: artifact.run(given()), lambda: artifact.bind(given()), artifact.call, lambda: artifact.buffers):
        with pytest.raises(CollageError, match=r"the artifact '.*' is closed"):
            use()
    artifact.close()


def run_in_threads(artifact: Artifact, want: list[dict[str, np.ndarray]], goes_on: Callable[[int], bool]) -> list[str]:
    """Run the artifact in a thread for each of `want`, all at once, each on inputs of its own, and return what was wrong."""
    wrong: list[str] = []
    start = threading.Barrier(len(want))

    def work(seed: int) -> None:
        start.wait()
        turn = 0
        while goes_on(turn):
            turn += 1
            if not np.array_equal(artifact.run(given(seed))["y"], want[seed]["y"]):
                wrong.append(f"thread {seed}, turn {turn}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(len(want))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def test_eight_threads_have_each_the_outputs_of_its_own_inputs(built: Path):
    with Artifact(built) as artifact:
        want = [artifact.run(given(seed)) for seed in range(8)]
        assert run_in_threads(artifact, want, lambda turn: turn < 20) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["module", "pieces"])
def test_eight_threads_for_a_minute_grow_nothing(form: str, tmp_path: Path):
    net = NETS["chain"]()
    model = load(net, tmp_path)
    placed = net.placed if form == "module" else [(number, "onnxruntime") for number, _ in net.placed]
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 2, form=form)
    process = psutil.Process()
    with Artifact(tmp_path / "out") as artifact:
        want = [artifact.run(given(seed)) for seed in range(8)]

        sizes = []
        for _ in range(6):
            end = time.monotonic() + 10
            assert run_in_threads(artifact, want, lambda _, end=end: time.monotonic() < end) == []
            gc.collect()
            sizes.append(process.memory_info().rss)
    assert sizes[-1] - sizes[1] < 16 << 20, sizes
    assert process.num_threads() < 64


def test_a_failure_in_one_thread_leaves_the_others_alone(built: Path):
    with Artifact(built) as artifact:
        want = artifact.run(given(1))["y"]
        failed: list[CollageError] = []

        def fail() -> None:
            try:
                artifact.run({"x": np.zeros(1, np.float32)})
            except CollageError as error:
                failed.append(error)

        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        assert len(failed) == 1
        np.testing.assert_array_equal(artifact.run(given(1))["y"], want)


def test_a_partition_that_fails_as_it_runs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "tests.helpers.plug_ins:RunFails")
    model = sub_model([node("Neg", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))])
    assemble([PartitionModel("runfails", ("n",), model, "p9")], model.inputs, ["y"], tmp_path / "out", 1)
    with pytest.raises(CollageError) as caught:
        run_artifact(tmp_path / "out", {"x": np.zeros(2, np.float32)})
    assert caught.value.message == "partition p9 on runfails failed as it ran: the accelerator is on fire"


def test_a_lesser_machine_lacks_something():
    here = Machine("Linux", "x86_64", ("avx", "avx2"))
    assert here.lacks(Machine("Linux", "x86_64", ("avx",))) == ""
    assert here.lacks(Machine("Linux", "x86_64", ("avx", "avx512f"))) == "a processor with avx512f"
    assert here.lacks(Machine("Linux", "aarch64", ())) == "Linux on aarch64"


def test_this_machine_is_enough_for_itself():
    assert Machine.here().features
    assert Machine.here().lacks(Machine.from_json(Machine.here().to_json())) == ""


def test_types_survive_the_manifest(built: Path):
    manifest = read_manifest(built)
    assert manifest.inputs[0].type == TensorType((1, 8, 10, 10), "float32")
    assert type(manifest).from_json(manifest.to_json()) == manifest
