"""The whole pipeline with real toolchains: measured, built, verified, and run again in a fresh process. Mostly it measures briefly
(`brief_collage`); of what a user runs, nothing changed, there is one test."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brief_runs import shorten
from misbehaviours import plug_in_names

from collage_core.cost.cost import Cost
from collage_core.cost.database.database import CostDatabase
from collage_core.documents.json_form import to_json
from collage_core.events import ignore
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import largest_error
from collage_core.model.samples.registry import resolve
from collage_core.options import Options
from collage_core.pipeline.discover import load_as_planned
from collage_core.pipeline.record.record import read_record
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.pipeline.whole.finalists import SEARCHED
from collage_core.rewrite.plan import read_plan
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rules.spec import HOST_TARGET
from collage_core.toolchains.registry import get
from tests.helpers.command import COLLAGE, brief_collage, collage, document, environment
from tests.helpers.detectors import detector, pictures
from tests.helpers.models import model_of, rated_model, write

AS_A_USER = (collage, "tvm,onnxruntime,openvino")


@pytest.fixture(
    scope="module",
    params=[(brief_collage, "tvm,onnxruntime"), pytest.param(AS_A_USER, marks=pytest.mark.slow)],
    ids=["briefly", "as a user"],
)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    """The mini-MNIST over two or three toolchains: the folder of data, the artifact, the document."""
    run, targets = request.param
    for name in ("tvm", "openvino"):
        found = get(name).availability()
        if not found.usable:
            pytest.fail(f"{name} is not usable here: {found.reason}; run `make setup`")
    home, out = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("out") / "mini"
    command = ("partition", "mini_mnist", "--targets", targets, "--budget", "10m", "--out", out, "--json")
    return home, out, document(run(home, *command))


def targets_of(found: dict[str, Any]) -> list[str]:
    return [row["name"] for row in found["targets"]]


def test_every_node_is_covered_once_and_the_total_is_the_least(made: tuple[Path, Path, dict[str, Any]]) -> None:
    found = made[2]
    covered = sorted(node for partition in found["plan"]["partitions"] for node in partition["nodes"])
    assert covered == list(range(found["model"]["nodes"]))
    if found["decided_by"] == "sum":
        assert all(found["plan"]["total_s"] <= row["total_s"] for row in found["baselines"] if row["total_s"] is not None)
    for row in found["alternatives"]:
        if row["interval_s"] is not None:
            assert found["verify"]["measured_s"] <= max(1.01 * row["measured_s"], row["measured_s"] + row["interval_s"])
    assert all(partition["source"] == "measured" and partition["samples"] > 0 for partition in found["plan"]["partitions"])
    assert {row["name"] for row in found["baselines"]} == {*targets_of(found), "greedy"}
    assert all(row["measured_s"] > 0 for row in found["baselines"])


def test_it_computes_what_the_model_computes(made: tuple[Path, Path, dict[str, Any]], tmp_path: Path) -> None:
    home, out, found = made
    assert found["verify"]["max_rel_error"] < 1e-5
    model = load_model(resolve("mini_mnist"))
    inputs = model.seeded_inputs(7)
    np.savez(tmp_path / "inputs.npz", **inputs)  # type: ignore[arg-type]
    command = ("run", out, "--inputs", tmp_path / "inputs.npz", "--outputs", tmp_path / "outputs.npz", "--bench", "--profile")
    told = document(collage(home, *command, "--json"))
    assert told["bench"]["median_s"] > 0
    predicted = {part["id"]: part["predicted_s"] for part in told["profile"]["partitions"]}
    costs = {part["id"]: part["cost_s"] for part in found["plan"]["partitions"] if part["target"] != HOST_TARGET}
    assert {one for joined in predicted for one in joined.split("+")} == costs.keys(), "partitions that follow each other may run as one"
    assert sum(predicted.values()) == pytest.approx(sum(costs.values())), "each is timed inside the whole, beside its cost"
    with np.load(tmp_path / "outputs.npz") as got:
        assert largest_error(dict(got), model.reference(inputs)) < 1e-5


UNUSUAL = """g (int64[3] stamps, uint8[4] pixels, double[3] exact, float[3] scores) =>
    (int64[3] later, float[3] seconds, uint8[4] brighter, double[3] scaled, float[1] total, float[3] soft) {
        later = Add(stamps, stamps)  wide = Cast<to = 11>(stamps)  past = Sub(wide, start)  seconds = Cast<to = 1>(past)
        brighter = Add(pixels, pixels)  scaled = Mul(exact, exact)
        total = ReduceLogSumExp(scores, axis)  soft = Softplus(scores)
    }"""
"""Calls that toolchains compute right on small numbers alone."""


@pytest.mark.long
@pytest.mark.parametrize("cheapest", ["openvino", "ncnn", "tvm"])
def test_an_artifact_that_was_checked_on_small_numbers_is_right_on_others(tmp_path: Path, cheapest: str) -> None:
    model = write(tmp_path, model_of(UNUSUAL, {"start": np.array(1732700000.0), "axis": np.array([0])}, opset=18))
    targets, costs = ("openvino", "ncnn", "onnxruntime", "tvm"), tmp_path / "costs.json"
    costs.write_text(json.dumps({"targets": {name: {"op_s": 1e-6 if name == cheapest else 1e-3} for name in targets}}))
    command = ("partition", model, "--targets", ",".join(targets), "--costs", f"mock:{costs}", "--out", tmp_path / "artifact")
    found = document(collage(tmp_path / "home", *command, "--json"))
    assert cheapest in {partition["target"] for partition in found["plan"]["partitions"]}
    inputs = {
        "stamps": np.array([2**40, 1732700005, 7]),
        "pixels": np.uint8([200, 9, 255, 128]),
        "exact": np.array([1e9 + 1 / 3, -1e-200, 1e150]),
        "scores": np.float32([100, 88, -300]),
    }
    got, wanted = Artifact.open(tmp_path / "artifact").run(inputs), load_model(model).reference(inputs)
    for name in ("later", "brighter"):
        np.testing.assert_array_equal(got[name], wanted[name])
    np.testing.assert_allclose(got["scaled"], wanted["scaled"], rtol=1e-12)
    for name in ("seconds", "total", "soft"):
        np.testing.assert_allclose(got[name], wanted[name], rtol=1e-5, atol=1e-6)


def test_the_additive_error_is_what_the_whole_takes_beyond_the_sum_of_its_parts(made: tuple[Path, Path, dict[str, Any]]) -> None:
    verify, total_s = made[2]["verify"], made[2]["plan"]["total_s"]
    assert verify["additive_error_s"] == pytest.approx(verify["measured_s"] - total_s)


def test_what_cannot_be_in_a_better_plan_is_neither_built_nor_timed(made: tuple[Path, Path, dict[str, Any]]) -> None:
    _, out, found = made
    for target in found["targets"]:
        assert target["measured"] > 0
        assert target["measured"] + target["spared"] <= target["unique"]
    assert sum(target["spared"] for target in found["targets"]) > 0
    costs = [item.cost for item in read_record(out / "run.json.gz").candidates if item.target != HOST_TARGET]
    unmeasured = [cost for cost in costs if cost.source != "measured"]
    assert unmeasured
    assert {(cost.source, cost.reason, cost.samples) for cost in unmeasured} == {("bound", Cost.bound(0.0).reason, 0)}


def searched(home: Path, model: str, *targets: str) -> list[dict[str, Any]]:
    """Return the targets in the record of a run that ends with the search: nothing is built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLLAGE_HOME", str(home))
        shorten(patch.setattr)
        run = SearchedRun(model, Options(targets), ignore)
        try:
            decision = run.search(run.cost())
        finally:
            run.close()
        return to_json(run.record(decision).document.targets)


def test_a_second_run_measures_nothing(made: tuple[Path, Path, dict[str, Any]]) -> None:
    """Nothing that is known, that is: costs that were repeated may leave another candidate open, if the machine was busy."""
    home, _, found = made
    before = known_costs(home)
    again = searched(home, "mini_mnist", *targets_of(found))
    assert sum(target["measured"] for target in again) == known_costs(home) - before
    assert sum(target["measured"] for target in again) <= sum(target["measured"] for target in found["targets"]) / 4


def known_costs(home: Path) -> int:
    with CostDatabase(home / "costs.sqlite3") as database:
        return database.count()


def test_replay_gives_the_same_plan_without_measuring(made: tuple[Path, Path, dict[str, Any]]) -> None:
    home, out, first = made
    targets, costs = ",".join(targets_of(first)), f"replay:{out / 'run.json.gz'}"
    replay = brief_collage(home, "partition", "mini_mnist", "--targets", targets, "--costs", costs, "--json")
    plan = document(replay)["plan"]
    least = next((row for row in first["alternatives"] if row["kind"] == SEARCHED), first["plan"])
    assert [partition["id"] for partition in plan["partitions"]] == [partition["id"] for partition in least["partitions"]]
    assert {partition["source"] for partition in plan["partitions"]} == {"recorded"}


@pytest.mark.long
def test_a_fixed_value_is_known_to_the_plan_its_artifact_and_every_reader(tmp_path: Path) -> None:
    home, model, out = tmp_path / "home", write(tmp_path, rated_model()), tmp_path / "out"
    costs = tmp_path / "mock.json"
    costs.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 1}}}))
    options = "--targets", "onnxruntime", "--costs", f"mock:{costs}", "--threads", "1"
    made = document(brief_collage(home, "partition", model, *options, "--value", "sr=8000", "--out", out, "--json"))
    fixed = {"sr": 8000}
    assert (made["model"]["nodes"], made["model"]["fixed"], [tensor["name"] for tensor in made["model"]["inputs"]]) == (4, fixed, ["x"])
    assert made["verify"]["reference"].endswith(", its finite values, on drawn and extreme inputs, sr = 8000")
    assert json.loads((out / "plan.json").read_text())["model"]["fixed"] == fixed
    about = json.loads((out / "artifact.json").read_text())["about"]
    assert (about["model"]["fixed"], about["value_policy"], made["verify"]["value_policy"]) == (fixed, "finite", "finite")
    assert load_as_planned(read_plan(out), model).hash == made["model"]["hash"]
    assert brief_collage(home, "run", out).stdout.startswith("sr = 8000, fixed when the artifact was built\n")
    np.savez(tmp_path / "both.npz", x=np.ones((1, 4), np.float32), sr=np.array(8000))
    refused = brief_collage(home, "run", out, "--inputs", tmp_path / "both.npz")
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (
        2,
        "error: the input 'sr' was fixed to 8000 when the artifact was built",
    )
    plan = json.loads((out / "plan.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**plan, "model": {**plan["model"], "fixed": {}}}))
    other = brief_collage(home, "apply", tmp_path / "other.json", model, "--out", tmp_path / "other")
    assert (other.returncode, other.stderr.startswith("error: the plan is for the model 'model' (")) == (2, True)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("rate=1", "the model has no input 'rate'"),
        ("sr=16k", "the value '16k' of input 'sr' is no int64"),
        ("sr", "--value is 'sr', it must be INPUT=16000"),
    ],
)
def test_a_wrong_value_is_one_line(tmp_path: Path, given: str, error: str) -> None:
    model = write(tmp_path, rated_model())
    done = brief_collage(tmp_path / "home", "candidates", model, "--targets", "onnxruntime", "--value", given)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: {error}")


@pytest.mark.long
def test_a_mixed_plan_is_built_and_explained(made: tuple[Path, Path, dict[str, Any]], tmp_path: Path) -> None:
    home, _, _ = made
    pins = [{"kind": "pin", "op": "Conv", "target": "openvino"}, {"kind": "pin", "op": "MaxPool", "target": "tvm"}]
    pins.append({"kind": "pin", "op": "MatMul", "target": "onnxruntime"})
    (tmp_path / "pins.json").write_text(json.dumps({"constraints": pins}))
    out = tmp_path / "mixed"
    done = brief_collage(
        home,
        "partition",
        "mini_mnist",
        "--targets",
        "tvm,onnxruntime,openvino",
        "--constraints",
        tmp_path / "pins.json",
        "--out",
        out,
        "--json",
    )
    found = document(done)
    assert {partition["target"] for partition in found["plan"]["partitions"]} == {"tvm", "onnxruntime", "openvino"}
    assert found["verify"]["max_rel_error"] < 1e-5
    why = document(brief_collage(home, "explain", out, "--node", "0", "--json"))
    assert [row["target"] for row in why["nodes"][0]["candidates"] if row["chosen"]] == ["openvino"]
    profiled = {times["partition"]: times for times in found["node_times"]}
    for part in found["plan"]["partitions"]:
        if len(part["nodes"]) > 1 and part["target"] != "tvm":
            assert profiled[part["id"]]["source"] == "profiler", profiled[part["id"]]["reason"]
            assert sum(group["seconds"] for group in profiled[part["id"]]["groups"]) <= part["cost_s"] * (1 + 1e-6)
    shutil.rmtree(out / "partitions")
    rebuilt = tmp_path / "rebuilt"
    assert (
        document(brief_collage(home, "apply", out / "plan.json", "mini_mnist", "--out", rebuilt, "--json"))["verify"]["max_rel_error"]
        < 1e-5
    )
    assert collage(home, "run", rebuilt).returncode == 0
    broken = collage(home, "run", out)
    assert (broken.returncode, "Traceback" in broken.stderr) == (2, False)
    other = brief_collage(home, "apply", out, "mnist", "--out", tmp_path / "other")
    assert other.returncode == 2
    assert other.stderr.startswith("error: the plan is for the model 'mini_mnist'")


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "words"),
    [("segfaults_at_build", "SIGSEGV"), ("hangs_at_run", "no answer")],
)
def test_a_toolchain_that_kills_or_hangs_is_left_out(tmp_path: Path, target: str, words: str) -> None:
    """Both take Add and MatMul well, and fail where a Relu is inside."""
    out, asked = tmp_path / "out", ("--targets", f"onnxruntime,{target}", "--max-depth", f"{target}=2", "--measure-all", "--json")
    done = brief_collage(
        tmp_path / "home", "partition", "mini_mnist", *asked, "--out", out,
        COLLAGE_TOOLCHAINS=plug_in_names(target), COLLAGE_RUN_TIMEOUT_S="2", COLLAGE_BUILD_TIMEOUT_S="20",
    )  # fmt: skip
    found = document(done)
    counts = {item["name"]: item for item in found["targets"]}
    assert counts[target]["invalid"] > 0
    assert counts[target]["invalid"] < counts[target]["candidates"]
    assert found["verify"]["max_rel_error"] < 1e-5
    relu = next(
        node
        for partition in found["plan"]["partitions"]
        for node, op in zip(partition["nodes"], partition["ops"], strict=True)
        if op == "Relu"
    )
    why = document(collage(tmp_path / "home", "explain", out, "--node", relu, "--json"))
    reasons = [item["reason"] for item in why["nodes"][0]["rejections"] if item["target"] == target]
    assert any(words in reason for reason in reasons), reasons


def test_ctrl_c_stops_cleanly_and_keeps_what_was_measured(tmp_path: Path) -> None:
    home = tmp_path / "home"
    command = [str(COLLAGE), "partition", "mnist", "--targets", "onnxruntime,openvino"]
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(home), start_new_session=True
    )
    database = home / "costs.sqlite3"
    deadline = time.monotonic() + 120
    while _measured(database) < 3:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline, "nothing was measured in two minutes"
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert err.strip().splitlines()[-1] == "stopped; what was measured is stored"
    assert "Traceback" not in err
    kept = _measured(database)
    assert kept >= 3
    assert searched(home, "mnist", "onnxruntime")[0]["cache_hits"] >= 1


def _measured(database: Path) -> int:
    if not database.exists():
        return 0
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM measurements").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


@pytest.mark.long
@pytest.mark.parametrize("front", ["onnxruntime", "openvino"])
def test_an_artifact_of_a_detector_gives_as_many_boxes_as_there_are(tmp_path: Path, front: str) -> None:
    """From the file to the artifact: the whole on ONNX Runtime, or its convolutions on OpenVINO."""
    pins = [{"kind": "pin", "op": "Conv", "target": front}, {"kind": "pin", "op": "NonMaxSuppression", "target": "onnxruntime"}]
    (tmp_path / "pins.json").write_text(json.dumps({"constraints": pins}))
    path, out = write(tmp_path, detector(picks=True)), tmp_path / "out"
    targets = ",".join(dict.fromkeys(("onnxruntime", front)))
    command = ("partition", path, "--targets", targets, "--constraints", tmp_path / "pins.json", "--out", out, "--max-depth", 2, "--json")
    found = document(brief_collage(tmp_path / "home", *command))
    assert found["verify"]["max_rel_error"] < 1e-4
    assert found["model"]["outputs"][0]["shape"][0] is None
    assert {partition["target"] for partition in found["plan"]["partitions"]} == {"onnxruntime", front}
    model, counts = load_model(path), {}
    for name, picture in pictures().items():
        np.savez(tmp_path / "inputs.npz", image=picture)
        files = ("--inputs", tmp_path / "inputs.npz", "--outputs", tmp_path / "outputs.npz")
        done = document(brief_collage(tmp_path / "home", "run", out, *files, "--json"))
        with np.load(tmp_path / "outputs.npz") as got:
            assert largest_error(dict(got), model.reference({"image": picture})) < 1e-4
            counts[name] = len(got["scaled"])
        assert done["outputs"]["scaled"]["shape"] == [counts[name], 4]
    assert counts["none"] == 0 < counts["some"] < counts["many"]
