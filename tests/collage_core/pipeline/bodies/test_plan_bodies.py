"""Bodies in a run: planned, counted into the costs, chosen by cost, built, and told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.cli.bodies_text import bodies_text
from collage_core.cli.explanation import show_explanation
from collage_core.errors import CollageError
from collage_core.events import Event, Note
from collage_core.model.body_runs import noted_runs
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import largest_error
from collage_core.options import Options
from collage_core.pipeline.apply import apply
from collage_core.pipeline.bodies.plan_bodies import NEVER_RAN
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord, read_record
from collage_core.rewrite.plan import plan_from_json, read_plan
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.what_if.explanation import explain
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from collage_core.what_if.what_if import what_if
from tests.helpers.control_models import branches, drawn, lstm_loop, nested, picking
from tests.helpers.models import write

WHOLE_S = 0.5


def mock(folder: Path, whole_s: float = WHOLE_S) -> str:
    """Return costs by which each operator takes a millisecond, and a whole node with bodies `whole_s`; TVM takes none of these."""
    ops = dict.fromkeys(("Loop", "If", "Scan"), whole_s)
    targets = {
        "onnxruntime": {"op_s": 1e-3, "decay": 0.5, "ops": ops},
        "tvm": {"op_s": 1e-3, "decay": 0.9, "invalid": list(ops), "ops": {"MatMul": 5e-4}},
    }
    (folder / "mock.json").write_text(json.dumps({"targets": targets}))
    return f"mock:{folder / 'mock.json'}"


def run(folder: Path, model: Any, inputs: Mapping[str, np.ndarray], **options: Any) -> tuple[RunRecord, list[str]]:
    np.savez(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]
    told: list[Event] = []
    costs = mock(folder, options.pop("whole_s", WHOLE_S))
    chosen = Options(("onnxruntime", "tvm"), costs=costs, inputs=folder / "inputs.npz", threads=1, **options)
    record = partition(write(folder, model), chosen, told.append)
    return record, [event.text for event in told if isinstance(event, Note)]


@pytest.fixture(scope="module")
def loop_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunRecord, list[str]]:
    """A run with 12 turns of the cell, built."""
    folder = tmp_path_factory.mktemp("loop")
    model = load_model(write(folder, lstm_loop()))
    record, notes = run(folder, lstm_loop(), drawn(model, 0, turns=12, go=True), out=folder / "out")
    return folder, record, notes


def test_the_cost_counts_how_often_the_body_ran(loop_run: tuple[Path, RunRecord, list[str]]) -> None:
    _, record, notes = loop_run
    (row,) = record.document.bodies
    (body,) = row.bodies
    assert (row.name, row.op, row.runs_on, body.runs) == ("loop", "Loop", "host", 12)
    assert row.predicted_s == pytest.approx(12 * body.total_s)
    assert row.host.seconds == row.predicted_s < WHOLE_S
    (placed,) = [one for one in record.plan.partitions if one.target == "host"]
    assert (placed.names, placed.cost_s, placed.source) == (("loop",), row.predicted_s, "mock")
    assert sorted(node for part in body.partitions for node in part.nodes) == list(range(body.nodes))
    assert any(text.startswith("body of 'loop' ran 12 times: on the host it takes") for text in notes)


def test_the_artifact_of_the_plan_computes_what_the_model_does(loop_run: tuple[Path, RunRecord, list[str]]) -> None:
    folder, record, _ = loop_run
    assert record.document.verify.max_rel_error < 1e-5
    model, artifact = load_model(folder / "model.onnx"), Artifact.open(folder / "out")
    assert [entry.nodes for entry in artifact.manifest.partitions if entry.control] == [("loop",)]
    for seed in range(50):
        given = drawn(model, seed, turns=seed % 17, go=True)
        assert largest_error(artifact.run(given), model.reference(given)) < 1e-5


@pytest.mark.long
def test_both_branches_of_an_artifact_compute_what_the_model_does(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, branches()))
    record, _ = run(tmp_path, branches(), drawn(model, 0), out=tmp_path / "out")
    assert [row.runs_on for row in record.document.bodies] == ["host"]
    artifact, signs = Artifact.open(tmp_path / "out"), set()
    for seed in range(50):
        given = drawn(model, seed)
        signs.add(given["x"].sum() > 0)
        assert largest_error(artifact.run(given), model.reference(given)) < 1e-5
    assert signs == {True, False}


def test_the_plan_and_the_record_read_back(loop_run: tuple[Path, RunRecord, list[str]]) -> None:
    folder, record, _ = loop_run
    plan = read_plan(folder / "out")
    assert plan == record.plan == plan_from_json(record.plan.to_json())
    assert plan.bodies["loop"]["body"].runs == 12
    assert set(plan.used_targets) <= {"onnxruntime", "tvm"}
    read = read_record(folder / "out" / "run.json.gz")
    body = read.bodies["loop"]["body"]
    assert body.plan == plan.bodies["loop"]["body"].plan
    assert body.node_candidates(2).candidates[0].chosen


@pytest.mark.long
def test_apply_builds_the_bodies_again(loop_run: tuple[Path, RunRecord, list[str]], tmp_path: Path) -> None:
    folder, record, _ = loop_run
    done = apply(record.plan, folder / "model.onnx", tmp_path / "again")
    assert done.max_rel_error < 1e-5
    assert [entry.control is not None for entry in Artifact.open(tmp_path / "again").manifest.partitions].count(True) == 1


def test_a_plan_without_the_bodies_is_refused(loop_run: tuple[Path, RunRecord, list[str]], tmp_path: Path) -> None:
    folder, record, _ = loop_run
    lacking = record.plan.model_copy(update={"bodies": {}})
    with pytest.raises(CollageError, match="the plan leaves 'body' of the node 'loop' to the host and has no plan for it"):
        apply(lacking, folder / "model.onnx", tmp_path / "out")


def test_a_pin_to_a_target_keeps_the_node_from_the_host(loop_run: tuple[Path, RunRecord, list[str]]) -> None:
    _, record, _ = loop_run
    pinned = what_if(record, Terms([{"kind": "pin", "node": "loop", "target": "onnxruntime"}], None))
    (part,) = [part for part in pinned.plan.partitions if "loop" in part.names]
    assert part.target == "onnxruntime"
    assert pinned.plan.total_s > record.plan.total_s


def test_another_plan_of_the_run_says_who_runs_the_node(loop_run: tuple[Path, RunRecord, list[str]]) -> None:
    _, record, _ = loop_run
    again = search_again(record, Terms([{"kind": "veto", "target": "host"}], None))
    assert [row.runs_on for row in again.document.bodies] == ["onnxruntime"]
    assert again.bodies.keys() == {"loop"}
    assert noted_runs(record.graph) == {1: {"body": 12}}


def test_the_terminal_tells_who_runs_the_node_and_how_often_its_body_ran(loop_run: tuple[Path, RunRecord, list[str]]) -> None:
    lines = bodies_text(loop_run[1].document.bodies)
    assert lines[0].startswith("'loop' (Loop) is run by the host, body by body: the host takes")
    assert lines[1].startswith("  body of loop, ran 12 times: one run is ")
    assert any("onnxruntime" in line and "Sigmoid" in line for line in lines[2:])


def test_explain_goes_into_bodies(loop_run: tuple[Path, RunRecord, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    out = loop_run[0] / "out"
    whole = explain(RunRecord.load(out), "loop")
    show_explanation(whole)
    told = capsys.readouterr().out
    assert " * host" in told
    assert "   'loop' (Loop) is run by the host, body by body" in told
    assert "body of loop, ran 12 times" in told
    body = explain(RunRecord.load(out), "loop/body")
    assert body.total_s == loop_run[1].document.bodies[0].bodies[0].total_s
    inner = explain(RunRecord.load(out), "loop/body/act")
    assert [(node.name, node.op) for node in inner.nodes] == [("act", "Tanh")]
    assert {row.target for row in inner.nodes[0].candidates} == {"onnxruntime", "tvm"}
    with pytest.raises(CollageError, match="the model has no node 'none'"):
        explain(RunRecord.load(out), "loop/body/none")


def test_a_node_that_is_cheaper_as_a_whole_stays_whole(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, lstm_loop()))
    record, _ = run(tmp_path, lstm_loop(), drawn(model, 0, turns=12, go=True), whole_s=1e-3)
    (row,) = record.document.bodies
    assert row.runs_on == "onnxruntime"
    assert row.host.seconds > 1e-3
    assert bodies_text([row])[0].startswith("'loop' (Loop) is run as a whole by onnxruntime; the host takes")


def test_a_body_that_never_ran_has_no_cost(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, lstm_loop()))
    record, notes = run(tmp_path, lstm_loop(), drawn(model, 0, turns=0, go=True))
    (row,) = record.document.bodies
    assert (row.runs_on, row.host.seconds, row.host.reason) == ("onnxruntime", None, NEVER_RAN)
    assert notes == [f"body of 'loop' never ran: {NEVER_RAN}"]


def test_only_the_branch_that_ran_counts(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, branches()))
    record, _ = run(tmp_path, branches(), {"x": np.abs(drawn(model, 0)["x"])})
    (row,) = record.document.bodies
    then, other = row.bodies
    assert (row.runs_on, then.runs, other.runs) == ("host", 1, 0)
    assert row.predicted_s == then.total_s
    assert other.partitions


@pytest.mark.parametrize("flag", [True, False])
def test_a_branch_that_computes_nothing_needs_no_plan(tmp_path: Path, flag: bool) -> None:
    model = load_model(write(tmp_path, picking()))
    record, notes = run(tmp_path, picking(), drawn(model, 0, flag=flag))
    (row,) = record.document.bodies
    assert [(body.attribute, body.runs) for body in row.bodies] == [("else_branch", int(not flag))]
    assert any(("then_branch of 'if' ran once" if flag else "then_branch of 'if' never ran") in text for text in notes)


def test_bodies_in_bodies_have_plans_of_their_own(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, nested()))
    record, _ = run(tmp_path, nested(), drawn(model, 0, turns=5))
    (row,) = record.document.bodies
    (body,) = row.bodies
    (inner,) = body.bodies
    runs = {one.attribute: one.runs for one in inner.bodies}
    assert (inner.runs_on, body.runs, runs) == ("host", 5, {"then_branch": 2, "else_branch": 3})
    assert inner.predicted_s == pytest.approx(sum(one.runs / 5 * one.total_s for one in inner.bodies))
    assert [line.strip().split(",")[0] for line in bodies_text([row]) if "ran" in line] == [
        "body of loop", "then_branch of if", "else_branch of if",
    ]  # fmt: skip
