"""The `collage` command against its contracts: documents, exit statuses, and what it says of every mistake."""

from __future__ import annotations

import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from collage_core.cli.main import main
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import CostKey, Record
from collage_core.documents.json_form import to_json
from collage_core.graph.computation import computation_key
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve
from collage_core.pipeline.record.record import RunRecord
from collage_core.toolchains import registry
from collage_core.toolchains.conformance.small_models import node, normal, sub_model, tensor
from tests.helpers import viewed_models
from tests.helpers.command import document_of, in_this_process

MOCK = {
    "targets": {
        "tvm": {"op_s": 3, "decay": 0.9, "ops": {"Conv": 5}, "invalid": ["MaxPool"]},
        "onnxruntime": {"op_s": 4, "decay": 0.75, "ops": {"MatMul": 20}},
    },
    "transitions": {"tvm->onnxruntime": {"fixed_s": 1, "per_byte_s": 0}, "onnxruntime->tvm": {"fixed_s": 0.5}},
}


@pytest.fixture
def mock(tmp_path: Path) -> str:
    path = tmp_path / "mock.json"
    path.write_text(json.dumps(MOCK))
    return f"mock:{path}"


def test_mini_mnist_by_hand(capsys: pytest.CaptureFixture[str], mock: str) -> None:
    """Folded it is Conv, Relu, MaxPool, Reshape, MatMul, Add. By hand, two at a time: ONNX Runtime takes Conv+Relu
    (4 + 4·0.75 = 7; TVM's 5 + 3·0.9 = 7.7 would be followed by a transition of 1) and MaxPool+Reshape (7), then after a
    transition of 0.5 TVM takes MatMul+Add (3 + 2.7 = 5.7; ONNX Runtime's MatMul alone is 20): 20.2. As one, ONNX Runtime's
    four are 4·(1 + 0.75 + 0.5625 + 0.421875) = 10.9375: 17.1375."""
    shallow = document_of(capsys, "partition", "mini_mnist", "--targets", "tvm,onnxruntime", "--costs", mock, "--max-depth", "2")
    assert shallow["search"]["total_s"] == pytest.approx(20.2)
    assert [(p["target"], p["ops"]) for p in shallow["plan"]["partitions"]] == [
        ("onnxruntime", ["Conv", "Relu", "MaxPool", "Reshape"]),
        ("tvm", ["MatMul", "Add"]),
    ], "neighbours were tried as one after the search"
    assert shallow["plan"]["total_s"] == pytest.approx(17.1375)
    assert shallow["plan"]["transitions"] == [
        {"from": "host", "to": "onnxruntime", "tensor": "x", "bytes": 3136, "cost_s": 0.0},
        {"from": "onnxruntime", "to": "tvm", "tensor": "reshape:0", "bytes": 6272, "cost_s": 0.5},
        {"from": "tvm", "to": "host", "tensor": "logits", "bytes": 40, "cost_s": 0.0},
    ]


def test_the_same_command_gives_the_same_plan(capsys: pytest.CaptureFixture[str], mock: str) -> None:
    arguments = ("partition", "mnist", "--targets", "onnxruntime,tvm", "--costs", mock)
    first, second = document_of(capsys, *arguments), document_of(capsys, *arguments)
    assert first["plan"] == second["plan"]
    assert first["search"]["optimal"]
    assert first["plan"]["total_s"] <= min(row["total_s"] for row in first["baselines"] if row["total_s"] is not None)
    covered = sorted(node for partition in first["plan"]["partitions"] for node in partition["nodes"])
    assert covered == list(range(first["model"]["nodes"]))
    assert first["verify"]["max_rel_error"] is None
    assert first["phases"]["rewrite_s"] is None


def test_candidates_document(capsys: pytest.CaptureFixture[str]) -> None:
    found = document_of(capsys, "candidates", "mini_mnist", "--targets", "tvm,onnxruntime", "--max-depth", "tvm=1")
    assert [(node["op"], node["kind"], node["inputs"]) for node in found["nodes"]][:3] == [
        ("Conv", "A", []),
        ("Relu", "E", [0]),
        ("MaxPool", "A", [1]),
    ]
    depths = {target: max(c["depth"] for c in found["candidates"] if c["target"] == target) for target in ("tvm", "onnxruntime")}
    assert depths == {"tvm": 1, "onnxruntime": 6}
    keys = {"id", "target", "nodes", "label", "kind", "rule", "depth", "exits"}
    assert all(keys <= set(candidate) for candidate in found["candidates"])
    assert all({"target", "nodes", "rule", "stage", "reason"} <= set(item) for item in found["rejected"])


def test_pins_and_vetoes_hold_and_collide(capsys: pytest.CaptureFixture[str], mock: str, tmp_path: Path) -> None:
    file = tmp_path / "constraints.json"
    arguments = ("partition", "mini_mnist", "--targets", "tvm,onnxruntime", "--costs", mock, "--constraints", file)
    file.write_text(
        json.dumps({"constraints": [{"kind": "pin", "op": "Conv", "target": "tvm"}, {"kind": "veto", "op": "Add", "target": "tvm"}]})
    )
    plan = document_of(capsys, *arguments)["plan"]
    targets = {op: partition["target"] for partition in plan["partitions"] for op in partition["ops"]}
    assert (targets["Conv"], targets["Add"]) == ("tvm", "onnxruntime")
    file.write_text(
        json.dumps({"constraints": [{"kind": "veto", "target": "onnxruntime"}, {"kind": "pin", "op": "Conv", "target": "tvm"}]})
    )
    status, out, err = in_this_process(capsys, *arguments, "--json")
    assert (status, out) == (3, "")
    assert err.splitlines()[-2] == "error: the constraint 0 (veto of onnxruntime for the whole model) cannot hold"


def test_run_and_plan_are_saved_and_explained(capsys: pytest.CaptureFixture[str], mock: str, tmp_path: Path) -> None:
    problem = tmp_path / "problem.json"
    made = document_of(capsys, "partition", "mini_mnist", "--targets", "tvm,onnxruntime", "--costs", mock, "--save-problem", problem)
    again = document_of(capsys, "search", problem, "--regret")
    assert again["plan"]["total_s"] == made["plan"]["total_s"]
    assert all(again["regret"][index] == 0 for index in again["plan"]["chosen"])


def test_search_without_a_plan_says_why(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    problem = tmp_path / "problem.json"
    problem.write_text(
        json.dumps({"schema": 1, "nodes": 2, "edges": [[0, 1, 4]], "candidates": [{"nodes": [0], "target": "a", "cost_s": 1}]})
    )
    status, out, err = in_this_process(capsys, "search", problem, "--json")
    assert status == 3
    assert json.loads(out)["uncovered"] == [1]
    assert err == "error: no plan exists: no target can take 1\n"


def write_model(path: Path, **change: Any) -> Path:
    """A model of one Relu, with one thing wrong."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, change.get("shape", [1, 4]))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [] if change.get("empty") else [helper.make_node(change.get("op", "Relu"), ["x"], ["y"], "r", domain=change.get("domain", ""))]
    graph = helper.make_graph(nodes, "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("odd.domain", 1)]), path)
    return path


def with_missing_data(path: Path) -> Path:
    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight]))
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    (path.parent / "w.bin").unlink()
    return path


@pytest.fixture
def broken(tmp_path: Path) -> dict[str, Path]:
    """Models that nobody can take, by what is wrong with them."""
    whole = resolve("mini_mnist").read_bytes()
    made = {name: tmp_path / f"{name}.onnx" for name in ("text", "cut", "nothing", "op", "domain", "open", "none", "data")}
    made["text"].write_text("this is not a model")
    made["cut"].write_bytes(whole[: len(whole) // 2])
    made["nothing"].write_bytes(b"")
    write_model(made["op"], op="Frobnicate")
    write_model(made["domain"], op="Frobnicate", domain="odd.domain")
    write_model(made["open"], shape=[1, "width"])
    write_model(made["none"], empty=True)
    with_missing_data(made["data"])
    return made


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("text", "text.onnx"),
        ("cut", "cut.onnx"),
        ("nothing", "nothing.onnx"),
        ("op", "Frobnicate"),
        ("domain", "odd.domain"),
        ("open", "width"),
        ("none", "no nodes"),
        ("data", "w.bin"),
    ],
)
def test_a_broken_model_gets_one_clear_line(capsys: pytest.CaptureFixture[str], broken: dict[str, Path], which: str, words: str) -> None:
    status, out, err = in_this_process(capsys, "candidates", broken[which], "--targets", "onnxruntime", "--json")
    assert (status, out) == (2, "")
    assert words in err
    assert re.fullmatch(r"error: [^\n]+\n(hint: [^\n]+\n)?", err)


def test_a_folder_lists_its_models_and_asks_for_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("model.onnx", "model_quantized.onnx"):
        (tmp_path / name).write_bytes(resolve("mini_mnist").read_bytes())
    for command in ("partition", "candidates"):
        status, out, err = in_this_process(capsys, command, tmp_path, "--targets", "onnxruntime", "--json")
        assert (status, out) == (2, "")
        assert re.fullmatch(r"error: [^\n]+ a folder with 2 models: model\.onnx \([^\n]+\nhint: name one of them, such as [^\n]+\n", err)


def test_an_open_shape_names_the_option_and_the_option_mends_it(capsys: pytest.CaptureFixture[str], broken: dict[str, Path]) -> None:
    _, _, err = in_this_process(capsys, "candidates", broken["open"], "--targets", "onnxruntime")
    assert "--shape x=1," in err
    found = document_of(capsys, "candidates", broken["open"], "--targets", "onnxruntime", "--shape", "x=1,7")
    assert found["nodes"][0]["outputs"][0]["shape"] == [1, 7]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mini_mnist", "--targets", ","], "no target was given"),
        (["mini_mnist", "--targets", "abacus"], "'abacus'"),
        (["mini_mnist", "--targets", "tvm,tvm"], "twice"),
        (["nope", "--targets", "tvm"], "'nope'"),
        (["mini_mnist", "--targets", "tvm", "--costs", "guess"], "'guess'"),
        (["mini_mnist", "--targets", "tvm", "--costs", "mock:/nowhere.json"], "/nowhere.json"),
        (["mini_mnist", "--targets", "tvm", "--search", "luck"], "'luck'"),
        (["mini_mnist", "--targets", "tvm", "--max-depth", "0"], "--max-depth is 0"),
        (["mini_mnist", "--targets", "tvm", "--max-depth", "openvino=2"], "'openvino'"),
        (["mini_mnist", "--targets", "tvm", "--fusion", "tvm=most"], "'most'"),
        (["mini_mnist", "--targets", "tvm", "--shape", "image"], "--shape is 'image'"),
        (["mini_mnist", "--targets", "tvm", "--constraints", "/nowhere.json"], "/nowhere.json"),
        (["mini_mnist", "--targets", "tvm", "--accuracy", "-1"], "--accuracy"),
        (["mini_mnist", "--targets", "tvm", "--tune", "0"], "--tune is 0, it must be more than 0"),
        (["mini_mnist", "--targets", "tvm", "--budget", "-1m"], "--budget is -60, it must be more than 0"),
        (["mini_mnist", "--targets", "tvm", "--budget", "a while"], "--budget is 'a while', it must be a time"),
        (["mini_mnist", "--targets", "tvm", "--frobnicate"], "--frobnicate"),
        ([], "MODEL"),
    ],
)
def test_a_mistake_in_the_command_gets_one_clear_line(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    status, out, err = in_this_process(capsys, "partition", *arguments)
    assert (status, out) == (2, "")
    assert words in err
    lines = err.strip().splitlines()
    assert lines[-1].startswith(("error: ", "hint: "))
    assert len(lines) <= 4


def test_an_unwritable_folder(capsys: pytest.CaptureFixture[str], mock: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, _, err = in_this_process(
        capsys, "partition", "mini_mnist", "--targets", "tvm,onnxruntime", "--costs", mock, "--out", tmp_path / "file" / "out", "--json"
    )
    assert status == 2
    assert "cannot write to the folder" in err


def test_a_described_toolchain_is_a_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hook = tmp_path / "hook.toml"
    hook.write_text('name = "hook"\n[[pattern]]\nlabel = "conv_relu"\nmatch = "Relu(Conv(*, *))"\n')
    costs = tmp_path / "costs.json"
    costs.write_text(
        json.dumps({"targets": {"tvm": {"op_s": 3}, "hook": {"op_s": 1}}, "transitions": {"tvm->hook": {"fixed_s": 1, "per_byte_s": 0}}})
    )
    made = document_of(capsys, "partition", "mini_mnist", "--targets", "tvm,hook", "--toolchain", hook, "--costs", f"mock:{costs}")
    assert next((p["target"], p["ops"]) for p in made["plan"]["partitions"]) == ("hook", ["Conv", "Relu"])
    assert made["plan"]["total_s"] == 2 + 4 * 3


def test_a_tensor_is_copied_to_a_described_device_once_for_two_readers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Both convolutions read what the host's memory has, in partitions of their own: one copy serves them."""
    nodes = [node("Relu", "x", "r"), node("Conv", "r v", "a"), node("Conv", "r w", "b", pads=[1, 1, 1, 1]), node("Add", "a b", "y")]
    weights = {"v": normal(4, 4, 1, 1), "w": normal(4, 4, 3, 3)}
    model = sub_model(nodes, [tensor("x", (1, 4, 8, 8))], [tensor("y", (1, 4, 8, 8))], weights)
    (tmp_path / "model.onnx").write_bytes(model.onnx)
    device = tmp_path / "gpu.toml"
    device.write_text(
        'name = "gpu"\nstyle = "library"\n[[pattern]]\nmatch = "Conv(*, *)"\nlabel = "conv"\n[location]\nname = "cuda:0"\n'
        "from_host = {fixed_s = 1.0}\nto_host = {per_byte_s = 0.0009765625}\n"
    )
    costs = tmp_path / "costs.json"
    costs.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 5}, "gpu": {"op_s": 1}}}))
    options = ("--targets", "onnxruntime,gpu", "--toolchain", device, "--costs", f"mock:{costs}")
    made = document_of(capsys, "partition", tmp_path / "model.onnx", *options, "--save-problem", tmp_path / "problem.json")["plan"]
    assert [partition["target"] for partition in made["partitions"]] == ["onnxruntime", "gpu", "gpu", "onnxruntime"]
    back = "stated, not measured: 1.02 kB/s"
    assert made["copies"] == [
        {"from": "host", "to": "cuda:0", "tensor": "r", "bytes": 1024, "cost_s": 1.0, "basis": "stated, not measured: 1 s"},
        *({"from": "cuda:0", "to": "host", "tensor": t, "bytes": 1024, "cost_s": 1.0, "basis": back} for t in ("a", "b")),
    ]
    weights = 4 * (4 * 4 + 4 * 4 * 9)
    (host, device_memory) = made["memory"]
    assert (host["location"], host["weights"]) == ("host", 0)
    assert device_memory == {
        "location": "cuda:0",
        "weights": weights,
        "peak": weights + 3 * 1024,
        "limit": None,
        "at_node": 2,
        "node": made["partitions"][2]["names"][0],
    }
    gain = "running partitions at the same time can gain at most 13 % here: host works for 10 s, cuda:0 works for 2 s"
    assert (made["parallel"]["gain_at_most"], made["parallel"]["least_s"]) == (pytest.approx(2 / 15), 13)
    assert made["parallel"]["text"].startswith(gain)
    assert made["total_s"] == 5 + 1 + 1 + 5 + 3
    _, text, _ = in_this_process(capsys, "partition", tmp_path / "model.onnx", *options)
    assert f"copy of a from cuda:0 to host: 1.02 kB, 1 s ({back})" in text
    assert f"cuda:0 holds 3.71 kB at most, while the partition of {device_memory['node']!r} runs; 640 bytes are weights" in text
    assert gain in text
    again = document_of(capsys, "search", tmp_path / "problem.json")["plan"]
    assert (again["total_s"], again["copies"][0]["tensor"]) == (15.0, "r")


def test_models_and_toolchains_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "resnet50" in {model["name"] for model in document_of(capsys, "models")["models"]}


def test_the_card_of_a_model_that_cannot_be_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "odd.onnx"
    onnx.save(viewed_models.missing_weights(), path)
    _, text, _ = in_this_process(capsys, "models", str(path))
    assert text.splitlines() == [
        "model        odd",
        "IR version   9",
        "opsets       ai.onnx 18",
        "nodes        1",
        "parameters   9 in 36 bytes",
        "weights in   absent.bin",
        "input        x N×3×? float32",
        "output       y … float32",
        "operators    MatMul ×1",
    ]
    assert document_of(capsys, "models", str(path))["operators"] == {"MatMul": 1}
    listed = {item["name"]: item for item in document_of(capsys, "toolchains")["toolchains"]}
    assert {"tvm", "onnxruntime", "openvino"} <= set(listed)
    assert listed["onnxruntime"]["usable"]


def test_a_gpu_is_described_by_the_rules_of_a_toolchain_and_its_speed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["toolchains", "--describe", "tensorrt_rtx"])
    path, name = tmp_path / "gpu.toml", "described_tensorrt_rtx"
    path.write_text(capsys.readouterr().out + "\n[cost]\nlaunch_s = 1e-9\nflops_per_s = 1e15\n")
    made = document_of(
        capsys,
        "partition",
        "mini_mnist",
        "--targets",
        "onnxruntime,described_tensorrt_rtx",
        "--toolchain",
        str(path),
        "--costs",
        "roofline",
    )
    assert {(p["target"], p["source"]) for p in made["plan"]["partitions"]} == {(name, "estimate")}
    assert made["verify"]["measured_s"] is None


def test_costs_of_a_gpu_elsewhere_are_replayed_and_labelled_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing here has TensorRT: its costs come from the database of another machine, nothing is built, and the note names the machine."""
    graph = load_model(resolve("mini_mnist")).graph
    with CostDatabase(tmp_path / "costs") as database:
        for nodes, target, seconds in [*(([index], "onnxruntime", 1e-3) for index in range(6)), (range(5), "tensorrt_rtx", 1e-4)]:
            key = CostKey(computation_key(graph, IndexSet(nodes)), target, "1", 1, "a machine with a GPU")
            database.put(key, Record(samples=(seconds,) * 3, error=1e-4))
    asked = ("mini_mnist", "--targets", "onnxruntime,tensorrt_rtx", "--costs", f"replay:{tmp_path / 'costs'}")
    with pytest.raises(SystemExit) as ended:
        main(["partition", *asked, "--json"])
    assert ended.value.code in (0, None)
    printed = capsys.readouterr()
    made = json.loads(printed.out)
    assert [(p["target"], p["source"]) for p in made["plan"]["partitions"]] == [("tensorrt_rtx", "recorded"), ("onnxruntime", "recorded")]
    assert made["plan"]["total_s"] == pytest.approx(1.1e-3)
    assert made["verify"]["measured_s"] is None
    assert "costs are replayed as recorded on a machine with a GPU" in printed.err


def test_rules_that_hold_code_are_not_described(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["toolchains", "--describe", "ncnn"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: the description of ncnn, line ")


def test_the_python_function_gives_the_same_plan(capsys: pytest.CaptureFixture[str], mock: str) -> None:
    import collage_core as collage

    result = collage.partition("mini_mnist", targets=["tvm", "onnxruntime"], costs=mock)
    printed = document_of(capsys, "partition", "mini_mnist", "--targets", "tvm,onnxruntime", "--costs", mock)
    assert to_json(result.document.plan) == printed["plan"]
    assert result.plan.total_s == printed["plan"]["total_s"]


def test_exits_and_taps_are_bounded_for_each_target(capsys: pytest.CaptureFixture[str]) -> None:
    """In SqueezeNet a Relu is read by two convolutions, so more exits, and taps, mean more candidates."""

    def found(*more: str) -> dict[str, tuple[int, int]]:
        """Target → most exits of a combined candidate, and how many combined candidates there are."""
        arguments = ("squeezenet", "--targets", "tvm,onnxruntime", "--fusion", "tvm=arbitrary", "--fusion", "onnxruntime=arbitrary")
        listed = document_of(capsys, "candidates", *arguments, "--max-depth", "2", *more)["candidates"]
        exits = {t: [c["exits"] for c in listed if c["target"] == t and "combine" in c["rule"]] for t in ("tvm", "onnxruntime")}
        return {target: (max(listed), len(listed)) for target, listed in exits.items()}

    plain = found()
    assert plain["tvm"] == plain["onnxruntime"]
    assert plain["tvm"][0] == 1
    for options in (("--max-exits", "2", "--allow-taps-of", "tvm"), ("--max-exits", "tvm=2", "--allow-taps")):
        wide = found(*options)
        assert wide["tvm"] == (2, plain["tvm"][1] + 16)
        assert wide["onnxruntime"] == plain["onnxruntime"]


@pytest.mark.parametrize("text", ["two", "tvm=", "=", "tvm=1.5"])
def test_a_bound_on_exits_that_is_no_number(capsys: pytest.CaptureFixture[str], text: str) -> None:
    status, _, err = in_this_process(capsys, "candidates", "mini_mnist", "--targets", "tvm", "--max-exits", text)
    assert (status, err) == (2, f"error: --max-exits is {text!r}, it must be N or TARGET=N\nhint: such as 3 or tvm=3\n")


@pytest.mark.parametrize("option", ["--max-exits", "--allow-taps-of"])
def test_a_bound_for_a_target_that_is_not_there(capsys: pytest.CaptureFixture[str], option: str) -> None:
    status, _, err = in_this_process(
        capsys, "candidates", "mini_mnist", "--targets", "tvm", option, "openvino=2" if option == "--max-exits" else "openvino"
    )
    assert status == 2
    assert err.startswith("error: an option names the target 'openvino', which is not among --targets\n")


def test_a_form_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = in_this_process(capsys, "partition", "mini_mnist", "--targets", "onnxruntime", "--form", "native")
    assert (status, out) == (2, "")
    assert err.startswith("error: --form native is the form of an artifact, and there is none without --out\nhint: give --out DIR")


@pytest.mark.long
def test_a_plan_is_shipped_in_the_form_that_needs_least(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ("partition", "mini_mnist", "--targets", "onnxruntime", "--costs", "roofline", "--out", tmp_path / "out", "--form", "auto")
    found = document_of(capsys, *command)
    (verify,) = found["artifacts"].values()
    assert verify["max_rel_error"] <= 1e-3
    assert verify["measured_s"] > 0
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"load.py", "model.onnx", "plan.json", "run.json.gz", "artifact.json"}
    assert not (tmp_path / "out" / "module.so").exists()
    ran = document_of(capsys, "run", tmp_path / "out", "--bench", "--profile")
    assert ran["bench"]["samples"] >= 5
    assert len(ran["profile"]["partitions"]) == 1
    built = document_of(capsys, "apply", tmp_path / "out" / "plan.json", "mini_mnist", "--out", tmp_path / "pieces", "--form", "pieces")
    assert built["verify"]["max_rel_error"] <= 1e-3
    data = json.loads((tmp_path / "pieces" / "artifact.json").read_text())
    data["partitions"][0]["version"] = "0.1"
    (tmp_path / "pieces" / "artifact.json").write_text(json.dumps(data))
    status, _, err = in_this_process(capsys, "run", tmp_path / "pieces")
    assert status == 2
    assert "built with onnxruntime 0.1, run with" in err
    ran = document_of(capsys, "run", tmp_path / "pieces", "--other-versions")
    assert ran["notes"][0].startswith("built with onnxruntime 0.1, run with")


def test_targets_that_nobody_named_are_named_on_standard_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "default_targets", lambda: ("onnxruntime", "tvm"))
    status, out, err = in_this_process(capsys, "candidates", "mini_mnist", "--json")
    assert (status, {row["target"] for row in json.loads(out)["candidates"]}) == (0, {"onnxruntime", "tvm"})
    assert "targets: onnxruntime, tvm, usable here and in the precision of the model; --targets names others\n" in err


def test_a_batch_that_was_not_given_is_said_and_one_that_was_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "candidates", "mini_mnist", "--targets", "onnxruntime", "--json"
    status, out, err = in_this_process(capsys, *asked)
    assert (status, json.loads(out)["model"]["assumed"]) == (0, {"batch": 1})
    assert "note: batch was not given and is 1\n" in err
    status, out, err = in_this_process(capsys, *asked, "--shape", "x=1,1,28,28")
    assert (status, json.loads(out)["model"]["assumed"]) == (0, {})
    assert "was not given" not in err


@pytest.fixture
def explored(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The settings with which `collage explore` would start servers."""
    asked = list[dict[str, Any]]()
    monkeypatch.setattr(import_module("collage_server.launch"), "serve", lambda **settings: asked.append(settings))
    monkeypatch.delenv("COLLAGE_TOKEN", raising=False)
    return asked


def test_the_token_of_the_explorer(
    explored: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ((), ("--token", "mine"), ("--no-token",)):
        assert in_this_process(capsys, "explore", *arguments)[0] == 0
    monkeypatch.setenv("COLLAGE_TOKEN", "from-the-environment")
    for arguments in ((), ("--no-token",)):
        assert in_this_process(capsys, "explore", *arguments)[0] == 0
    assert [(one["token"], one["asks_token"]) for one in explored] == [
        (None, True),
        ("mine", True),
        (None, False),
        ("from-the-environment", True),
        ("from-the-environment", False),
    ]


def test_a_token_and_none_exclude_each_other(explored: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, errors = in_this_process(capsys, "explore", "--token", "mine", "--no-token")
    assert (status, errors.splitlines()[0]) == (2, "error: --token and --no-token exclude each other")
    assert explored == []


def test_proxies_are_counted(explored: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ((), ("--behind-proxy",), ("--behind-proxy", "--behind-proxy")):
        assert in_this_process(capsys, "explore", *arguments)[0] == 0
    assert [one["behind_proxy"] for one in explored] == [0, 1, 2]


def test_two_sets_of_cores_are_two_devices_from_plan_to_artifact(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = min(os.sched_getaffinity(0))
    monkeypatch.setenv("COLLAGE_CORE_SETS", f"{core};{core}")
    first, second = (f"onnxruntime@cores:cpu:{number}" for number in range(2))
    costs, pins = tmp_path / "costs.json", tmp_path / "pins.json"
    costs.write_text(json.dumps({"targets": {first: {"op_s": 1}, second: {"op_s": 2}}}))
    pins.write_text(json.dumps({"constraints": [{"kind": "pin", "op": "Conv", "target": second}]}))
    options = ("--targets", f"{first},{second}", "--costs", f"mock:{costs}", "--constraints", pins, "--out", tmp_path / "run")
    _, text, _ = in_this_process(capsys, "partition", "mini_mnist", *options)
    lines = text.splitlines()
    assert "nothing is copied between memories" in lines
    assert any(line.startswith("host holds ") and line.endswith(" are weights") for line in lines)
    record = RunRecord.load(tmp_path / "run")
    assert [part.target for part in record.plan.partitions] == [second, first]
    assert record.document.verify.max_rel_error is not None
    (held,) = record.plan.memory or ()
    assert (held.location, held.weights) == ("host", sum(constant.type.bytes for constant in record.graph.constants.values()))
