"""Phase 4: pieces become one Relax module and a folder, or one clear error and nothing at all."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import output_errors
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel, run_order
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rules.spec import HOST_TARGET
from collage_core.toolchains.conformance.small_models import drawn, node, normal, reference, sub_model, tensor, untakable
from collage_core.toolchains.libraries.blas import VARIABLE, BlasToolchain
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Availability
from collage_core.toolchains.tvm.tvm import TvmToolchain
from tests.helpers.detectors import detector, pictures
from tests.helpers.mixed_models import NETS, load, partition_models
from tests.helpers.models import write

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


def simple(name: str, reads: str, makes: str, target: str = "onnxruntime") -> PartitionModel:
    """A piece that adds what it reads."""
    given = [tensor(one, (2, 2)) for one in reads.split()]
    model = sub_model([node("Sum", reads, makes)], given, [tensor(makes, (2, 2))])
    return PartitionModel(target, (name,), model, name)


X = tensor("x", (2, 2))


@pytest.mark.parametrize("name", NETS)
def test_a_mixed_plan_computes_what_the_model_says(name: str, tmp_path: Path):
    net = NETS[name]()
    model = load(net, tmp_path)
    assemble(partition_models(model, net.placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 2)
    artifact, inputs = Artifact.open(tmp_path / "out"), model.seeded_inputs()
    want, tolerance = model.reference(inputs), 2e-3 if name == "dtypes" else 2e-6
    for given in (inputs, {name: np.flip(array) for name, array in inputs.items()}, inputs):
        got = artifact.run(given)
        if given is inputs:
            errors = output_errors(got, want)
            assert max(errors.values()) <= tolerance, errors
    assert list(got) == [output.name for output in net.outputs]


@pytest.mark.parametrize(
    ("targets", "stops"),
    [
        (["onnxruntime"], []),
        (["tvm", "onnxruntime", "onnxruntime"], ["nms", "pick"]),
        (["onnxruntime", "openvino", "onnxruntime"], ["nms", "area"]),
        (["openvino", "onnxruntime", "openvino"], ["nms", "pick"]),
    ],
)
def test_tensors_of_open_shape_cross_boundaries_and_leave_the_model(tmp_path: Path, targets: list[str], stops: list[str]):
    """Each target takes the nodes up to the next stop; the number of boxes is another at each call."""
    model = load_model(write(tmp_path, detector(picks=True)))
    bounds = [0, *(model.graph.index_by_name[stop] for stop in stops), len(model.graph)]
    placed = [(number, target) for number, target in enumerate(targets) for _ in range(bounds[number], bounds[number + 1])]
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1)
    artifact = Artifact.open(tmp_path / "out")
    counts = []
    for picture in [*pictures().values()] * 2:
        got, want = artifact.run({"image": picture}), model.reference({"image": picture})
        assert max(output_errors(got, want).values()) <= 1e-5
        counts.append(len(got["scaled"]))
    assert len(set(counts[:3])) == 3
    assert min(counts) == 0
    assert counts[:3] == counts[3:]


def test_outputs_of_open_and_of_fixed_shape_leave_one_partition(tmp_path: Path):
    model = load_model(write(tmp_path, detector()))
    names = tuple(node.name for node in model.graph.nodes)
    outputs = ["selected", "boxes", "selected"]
    parts = [(range(11), "onnxruntime"), (range(11, 12), "onnxruntime")]
    pieces = [
        PartitionModel(target, names[nodes[0] : nodes[-1] + 1], model.cut(IndexSet(nodes)), f"p{nodes[0]}") for nodes, target in parts
    ]
    assemble(pieces, model.graph.inputs, outputs, tmp_path / "out", 1)
    artifact = Artifact.open(tmp_path / "out")
    for picture in pictures().values():
        want = model.activations({"image": picture}, outputs)
        errors = output_errors(artifact.run({"image": picture}), want)
        assert max(errors.values()) <= 1e-5, errors


def test_a_toolchain_that_takes_fixed_shapes_only_is_named(tmp_path: Path):
    model = load_model(write(tmp_path, detector(picks=True)))
    placed = [(0, "onnxruntime")] * (len(model.graph) - 1) + [(1, "tvm")]
    with pytest.raises(
        CollageError, match=r"tvm cannot build partition p1: 'picked' is float32\[\?, 4\]: its shape differs from call to call"
    ):
        assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1)


def test_a_model_without_nodes_passes_its_inputs_on(tmp_path: Path):
    constants = {"c": np.arange(3, dtype=np.int64)}
    assemble([], [X], ["x", "c", "x"], tmp_path / "out", 1, constants=constants)
    given = np.ones((2, 2), np.float32)
    got = Artifact.open(tmp_path / "out").run({"x": given})
    np.testing.assert_array_equal(got["x"], given)
    np.testing.assert_array_equal(got["c"], constants["c"])
    assert got["x"] is not given


def test_a_piece_without_outputs_is_left_out(tmp_path: Path):
    dead = simple("dead", "x", "d")
    dead = dataclasses.replace(dead, model=dataclasses.replace(dead.model, outputs=()))
    assemble([dead, simple("p", "x", "y")], [X], ["y"], tmp_path / "out", 1)
    assert [entry.id for entry in Artifact.open(tmp_path / "out").manifest.partitions] == ["p"]


def test_an_identity_of_a_weight_is_a_constant(tmp_path: Path):
    weights = {"w": np.arange(4, dtype=np.float32).reshape(2, 2)}
    model = sub_model([node("Identity", "w", "y")], [], [tensor("y", (2, 2))], weights)
    assemble([PartitionModel(HOST_TARGET, ("i",), model, "i")], [X], ["y"], tmp_path / "out", 1)
    got = Artifact.open(tmp_path / "out").run({"x": np.zeros((2, 2), np.float32)})
    np.testing.assert_array_equal(got["y"], weights["w"])


def test_the_folder_says_what_is_in_it(tmp_path: Path):
    net = NETS["chain"]()
    model = load(net, tmp_path)
    out = tmp_path / "deep" / "out"
    assemble(partition_models(model, net.placed), model.graph.inputs, model.graph.outputs, out, 2, {"model": {"name": "chain"}})
    data = json.loads((out / "artifact.json").read_text())
    assert (data["kind"], data["schema"], data["threads"]) == ("collage-artifact", 1, 2)
    assert data["about"] == {"model": {"name": "chain"}}
    assert data["inputs"] == [{"name": "x", "shape": [1, 8, 10, 10], "dtype": "float32"}]
    assert [entry["id"] for entry in data["partitions"]] == ["p0", "p1", "p2", "p3", "p4"]
    packages = {entry["package"] for entry in data["partitions"] if entry["package"]}
    assert packages == {"partitions/001_onnxruntime.bin", "partitions/002_openvino.bin", "partitions/004_openvino.bin"}
    assert set(data["files"]) == packages | {"module.so", "module.py", "requirements.txt"}
    for entry in data["partitions"]:
        assert entry["version"] == get(entry["target"]).availability().version
        assert bool(entry["function"]) == (entry["target"] == "tvm")


def test_the_module_calls_one_function_a_partition(tmp_path: Path):
    net = NETS["chain"]()
    model = load(net, tmp_path)
    assemble(partition_models(model, net.placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1)
    main = (tmp_path / "out" / "module.py").read_text().partition("def main(")[2]
    assert main.count("call_dps_packed") == 3
    assert main.count("cls.tvm_000(") == main.count("cls.tvm_003(") == 1


def test_equal_kernels_of_several_partitions_are_compiled_once(tmp_path: Path):
    pieces = [
        PartitionModel("tvm", (name,), sub_model([node("Relu", read, made)], [tensor(read, (2, 2))], [tensor(made, (2, 2))]), name)
        for name, read, made in (("a", "x", "t"), ("b", "t", "y"))
    ]
    assemble(pieces, [X], ["y"], tmp_path / "out", 1)
    script = (tmp_path / "out" / "module.py").read_text()
    assert script.count("@T.prim_func") == 1
    assert script.count("@R.function") == 3


def test_the_same_pieces_give_the_same_symbols(tmp_path: Path):
    for name in ("one", "two"):
        assemble([simple("p", "x", "y")], [X], ["y"], tmp_path / name, 1)
    one, two = (json.loads((tmp_path / name / "artifact.json").read_text())["partitions"][0]["symbol"] for name in ("one", "two"))
    assert one == two
    assert one.startswith("collage.")


def test_pieces_run_after_those_that_they_read():
    a, b, c, d = simple("a", "x", "p"), simple("b", "x", "q"), simple("c", "p q", "r"), simple("d", "r p", "y")
    assert run_order([a, b, c, d]) == [a, b, c, d]
    assert run_order([d, c, b, a]) == [b, a, c, d]


def test_a_cycle_is_refused():
    with pytest.raises(CollageError, match="the partitions a, b wait for one another's results"):
        run_order([simple("a", "x q", "p"), simple("b", "p", "q"), simple("c", "x", "r")])


def test_two_makers_of_a_tensor_are_refused():
    with pytest.raises(CollageError, match="partitions a and b both make the tensor 'p'"):
        run_order([simple("a", "x", "p"), simple("b", "x", "p")])


REFUSALS = [
    ("an input that nothing makes", [simple("a", "z", "y")], ["y"], "partition a reads the tensor 'z', which nothing makes", "bad_plan"),
    ("an output that nothing makes", [simple("a", "x", "y")], ["w"], "the model's output 'w', which nothing makes", "bad_plan"),
    ("an unknown target", [simple("a", "x", "y", "npu")], ["y"], "no toolchain is called 'npu'", "unknown_target"),
    (
        "work for the host",
        [simple("a", "x", "y", HOST_TARGET)],
        ["y"],
        "partition a leaves Sum ('Sum_y') to the host, which only gives tensors another name",
        "bad_plan",
    ),
    (
        "a sub-model that its target refuses",
        [PartitionModel("tvm", ("odd",), untakable(), "p7")],
        ["y"],
        "tvm cannot build partition p7: operator org.example.Frobnicate is not supported",
        "toolchain",
    ),
]


@pytest.mark.parametrize(("pieces", "outputs", "message", "code"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_what_cannot_be_built_leaves_nothing(pieces: list[PartitionModel], outputs: list[str], message: str, code: str, tmp_path: Path):
    with pytest.raises(CollageError) as caught:
        assemble(pieces, [X], outputs, tmp_path / "out", 1)
    assert (caught.value.message, caught.value.code) == (message, code)
    assert list(tmp_path.iterdir()) == []


def test_a_tensor_that_is_read_as_something_else_is_refused(tmp_path: Path):
    with pytest.raises(CollageError, match=r"partition a reads the tensor 'x' as .*float32.* where it is made as .*float64"):
        assemble([simple("a", "x", "y")], [Tensor("x", TensorType((2, 2), "float64"))], ["y"], tmp_path / "out", 1)


def test_text_may_be_an_input_and_an_output(tmp_path: Path):
    assemble([], [Tensor("x", TensorType((2,), "string"))], ["x"], tmp_path / "out", 1)
    assert Artifact.open(tmp_path / "out").run({"x": np.array(["a", "é"])})["x"].tolist() == ["a", "é"]


def test_without_tvm_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    missing = Availability(False, reason="the package apache-tvm is not installed", hint="pip install apache-tvm")
    monkeypatch.setattr(TvmToolchain, "availability", lambda _self: missing)
    with pytest.raises(CollageError) as caught:
        assemble([simple("a", "x", "y")], [X], ["y"], tmp_path / "out", 1)
    assert caught.value.message.endswith("is not usable here: the package apache-tvm is not installed")
    assert caught.value.hint == "pip install apache-tvm"


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(CollageError, match=r"cannot write the artifact .*out': it is a file") as caught:
        assemble([simple("a", "x", "y")], [X], ["y"], tmp_path / "out", 1)
    assert caught.value.code == "unwritable"
    assert (tmp_path / "out").read_text() == "mine"


def test_an_unwritable_folder_is_refused():
    with pytest.raises(CollageError, match=r"cannot write the artifact '/proc/here/out': No such file or directory") as caught:
        assemble([simple("a", "x", "y")], [X], ["y"], Path("/proc/here/out"), 1)
    assert caught.value.hint == "give --out a folder that you can write"


def test_a_parent_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CollageError, match=r"cannot write the artifact .*"):
        assemble([simple("a", "x", "y")], [X], ["y"], tmp_path / "file" / "out", 1)


def test_only_an_earlier_artifact_is_replaced(tmp_path: Path):
    out = tmp_path / "out"
    assemble([simple("a", "x", "t"), simple("b", "t", "y")], [X], ["y"], out, 1, sample={"x": np.zeros((2, 2), np.float32)})
    (out / "plan.json").write_text("mine")
    assemble([simple("c", "x", "y", "tvm")], [X], ["y"], out, 1)
    assert sorted(path.name for path in out.iterdir()) == [
        "artifact.json",
        "module.py",
        "module.so",
        "partitions",
        "plan.json",
        "requirements.txt",
    ]
    assert list((out / "partitions").iterdir()) == []
    assert [entry.id for entry in Artifact.open(out).manifest.partitions] == ["c"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failed_build_keeps_the_earlier_artifact(tmp_path: Path):
    out = tmp_path / "out"
    assemble([simple("a", "x", "y")], [X], ["y"], out, 1)
    with pytest.raises(CollageError):
        assemble([PartitionModel("tvm", ("odd",), untakable(), "p")], [X], ["y"], out, 1)
    assert [entry.id for entry in Artifact.open(out).manifest.partitions] == ["a"]


def test_names_of_tensors_may_be_anything(tmp_path: Path):
    odd = "a/b.c:0 'ü\""
    given, made = Tensor(odd, X.type), Tensor("file", X.type)
    model = sub_model([helper.make_node("Relu", [odd], ["file"], name="r")], [given], [made])
    assemble(
        [PartitionModel("tvm", ("r",), model, "p")], [given], ["file", odd], tmp_path / "out", 1, sample={odd: np.ones((2, 2), np.float32)}
    )
    got = Artifact.open(tmp_path / "out").run({odd: -np.ones((2, 2), np.float32)})
    assert got["file"].sum() == 0


PRODUCTS = sub_model(
    [node("MatMul", "x v", "a"), node("Add", "a u", "b"), node("Relu", "b", "c"), node("MatMul", "c w", "y")],
    [tensor("x", (3, 8))],
    [tensor("y", (3, 5))],
    {"v": normal(8, 6, seed=1), "u": normal(6, seed=2), "w": normal(6, 5, seed=3)},
)
with_blas = pytest.mark.skipif(not get("blas").availability().usable, reason=get("blas").availability().reason)


def assemble_products(folder: Path, between: str) -> Artifact:
    """The products on `blas`, and the Relu between them on the target `between`."""
    (folder / "model.onnx").write_bytes(PRODUCTS.onnx)
    model = load_model(folder / "model.onnx", fold=False)
    placed = [(0, "blas"), (0, "blas"), (1, between), (2, "blas")]
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, folder / "out", 1)
    return Artifact.open(folder / "out")


def functions_of(artifact: Artifact) -> list[str]:
    return [entry.function for entry in artifact.manifest.partitions]


def check_products(artifact: Artifact) -> None:
    """Also at a second call, of other inputs."""
    for seed in (0, 1):
        inputs = drawn(PRODUCTS.inputs, seed)
        want = reference(PRODUCTS, inputs)[0]
        np.testing.assert_allclose(artifact.run({"x": inputs[0]})["y"], want, rtol=1e-5, atol=1e-5 * float(np.abs(want).max()))


@with_blas
def test_beside_tvm_libraries_are_called_from_c_and_have_no_packages(tmp_path: Path):
    artifact = assemble_products(tmp_path, "tvm")
    assert functions_of(artifact) == ["blas_000", "tvm_001", "blas_002"]
    assert list((tmp_path / "out" / "partitions").iterdir()) == []
    listing = (tmp_path / "out" / "module.py").read_text()
    assert "call_dps_packed" not in listing
    assert listing.count("T.call_extern") == 2
    check_products(artifact)


@with_blas
def test_a_plan_of_libraries_alone_is_called_from_c(tmp_path: Path):
    model = sub_model([node("MatMul", "x v", "y")], [tensor("x", (3, 8))], [tensor("y", (3, 6))], {"v": normal(8, 6)})
    assemble([PartitionModel("blas", ("m",), model, "p")], model.inputs, ["y"], tmp_path / "out", 1)
    artifact, inputs = Artifact.open(tmp_path / "out"), drawn(model.inputs)
    assert functions_of(artifact) == ["blas_000"]
    np.testing.assert_allclose(artifact.run({"x": inputs[0]})["y"], reference(model, inputs)[0], rtol=1e-5, atol=1e-5)


@with_blas
def test_beside_kernels_of_python_alone_libraries_are_called_by_python(tmp_path: Path):
    artifact = assemble_products(tmp_path, "onnxruntime")
    assert functions_of(artifact) == ["", "", ""]
    assert all(entry.symbol and entry.package for entry in artifact.manifest.partitions)
    check_products(artifact)


@with_blas
def test_a_call_that_only_python_can_make_is_made_by_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(BlasToolchain, "native_call", lambda _self, _call: None)
    artifact = assemble_products(tmp_path, "tvm")
    assert functions_of(artifact) == ["", "tvm_001", ""]
    check_products(artifact)


@with_blas
def test_a_library_that_is_not_where_the_user_says_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "/nowhere.so")
    artifact = assemble_products(tmp_path, "tvm")
    with pytest.raises(CollageError, match=r"the artifact's module failed as it ran: .*OpenBLAS cannot be loaded: set COLLAGE_OPENBLAS"):
        artifact.run({"x": drawn(PRODUCTS.inputs)[0]})
