"""The searches over bodies end: by their number, and by their share of the time; and measured runs choose between host and whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.documents.run import NodeWithBodies
from collage_core.errors import CollageError
from collage_core.events import Event, PhaseStarted, SearchingBody
from collage_core.model.body_runs import count_body_runs
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import largest_error
from collage_core.options import Options
from collage_core.pipeline.bodies import body_search
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.rewrite.plan import plan_from_json
from collage_core.rewrite.runtime.artifact import Artifact
from tests.collage_core.pipeline.bodies.test_plan_bodies import mock, run
from tests.helpers.command import brief_collage, collage, document
from tests.helpers.control_models import branches, drawn, lstm_loop, nested
from tests.helpers.models import write


def reasons(rows: Sequence[NodeWithBodies]) -> list[str]:
    return [row.host.reason for row in rows]


def test_no_more_bodies_are_searched_than_the_bound_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_search, "MOST_BODIES", 1)
    record, notes = run(tmp_path, branches(), drawn(load_model(write(tmp_path, branches())), 0))
    (row,) = record.document.bodies
    assert (row.runs_on, reasons([row])) == ("onnxruntime", ["its else_branch has no plan: 1 bodies were searched before it"])
    assert notes == ["'if': its else_branch has no plan: 1 bodies were searched before it"]


def test_an_inner_node_stays_whole_where_its_body_was_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collage_core.model.body_runs.MOST_DEPTH", 1)
    record, _ = run(tmp_path, nested(), drawn(load_model(write(tmp_path, nested())), 0, turns=4))
    (row,) = record.document.bodies
    (body,) = row.bodies
    assert [inner.runs_on for inner in body.bodies] == ["onnxruntime"]
    assert reasons(body.bodies) == ["the host cannot run it: it is nested in 1 bodies, at most 0 are partitioned"]


def told_of(folder: Path, model: Any, **inputs: Any) -> list[SearchingBody]:
    """Return what a run tells of the bodies that it searches."""
    loaded, told = load_model(write(folder, model)), list[Event]()
    np.savez(folder / "told.npz", **drawn(loaded, 0, **inputs))  # type: ignore[arg-type]
    options = Options(("onnxruntime", "tvm"), costs=mock(folder), inputs=folder / "told.npz", threads=1)
    partition(folder / "model.onnx", options, told.append)
    assert [type(event) for event in told].index(SearchingBody) > told.index(PhaseStarted("costs"))
    return [event for event in told if isinstance(event, SearchingBody)]


def test_a_run_tells_which_body_it_searches_and_how_far_that_is(tmp_path: Path) -> None:
    told = told_of(tmp_path, branches())
    assert {(event.doing, event.name, event.number, event.count) for event in told} == {
        ("search", "then_branch of if", 1, 2),
        ("search", "else_branch of if", 2, 2),
    }
    assert all(event.done <= event.total for event in told)
    assert max(event.done for event in told) > 0


def test_a_body_inside_another_is_told_with_it(tmp_path: Path) -> None:
    names = {event.name for event in told_of(tmp_path, nested(), turns=4)}
    assert any(name.endswith("in body of loop") for name in names), names


def test_how_often_a_body_runs_is_part_of_the_computation(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, lstm_loop()))
    keys = []
    for turns in (3, 4, 3):
        record, _ = run(tmp_path, lstm_loop(), drawn(model, 0, turns=turns, go=True))
        keys.append(record.graph.nodes[1].attributes["body"])
    assert [key["runs"] for key in keys] == [3, 4, 3]
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize(
    "constraint",
    [
        {"kind": "veto", "target": "host"},
        {"kind": "pin", "target": "onnxruntime"},
        {"kind": "pin", "node": "loop", "target": "onnxruntime"},
    ],
    ids=["a veto of the host", "a pin of all", "a pin of the node"],
)
def test_the_bodies_of_a_node_that_constraints_keep_from_the_host_are_not_searched(tmp_path: Path, constraint: dict[str, str]) -> None:
    model = load_model(write(tmp_path, lstm_loop()))
    record, _ = run(tmp_path, lstm_loop(), drawn(model, 0, turns=6, go=True), constraints=(constraint,))
    (row,) = record.document.bodies
    assert (row.runs_on, row.bodies) == ("onnxruntime", ())
    assert reasons([row]) == ["the host cannot run it: the constraints keep it away"]


def test_a_veto_of_a_target_holds_in_bodies(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, lstm_loop()))
    record, _ = run(tmp_path, lstm_loop(), drawn(model, 0, turns=6, go=True), constraints=({"kind": "veto", "target": "tvm"},))
    ((body,),) = [row.bodies for row in record.document.bodies]
    assert {part.target for part in body.partitions} <= {"onnxruntime", "host"}


def placed(record: RunRecord) -> dict[str, str]:
    """Return the target of each node in the bodies that were planned."""
    bodies = [body for found in record.bodies.values() for body in found.values()]
    return {name: part.target for body in bodies for part in body.plan.partitions for name in part.names}


def test_pins_vetoes_and_cuts_hold_in_bodies(tmp_path: Path) -> None:
    """Without them ONNX Runtime runs each branch as one partition."""
    inputs = drawn(load_model(write(tmp_path, branches())), 0)
    before, _ = run(tmp_path, branches(), inputs)
    constraints = (
        {"kind": "pin", "node": "tm", "target": "tvm"},
        {"kind": "veto", "op": "Relu", "target": "onnxruntime"},
        {"kind": "cut", "between": ["es", "em"]},
    )
    record, notes = run(tmp_path, branches(), inputs, constraints=constraints)
    assert record.document.bodies[0].runs_on == "host"
    assert set(placed(before).values()) == {"onnxruntime"}
    assert (placed(record)["tm"], placed(record)["tr"]) == ("tvm", "tvm")
    else_branch = record.bodies["if"]["else_branch"].plan.partitions
    assert [part.names for part in else_branch] == [("es",), ("em",)]
    assert not any("folded away" in note for note in notes)
    again = plan_from_json(record.plan.to_json())
    assert again.constraints == record.plan.constraints == constraints


def test_a_pin_in_a_body_keeps_other_targets_from_the_whole_node(tmp_path: Path) -> None:
    """Taken whole the node is nearly free on ONNX Runtime, which may not run `ta`; and TVM does not take it."""
    inputs = drawn(load_model(write(tmp_path, branches())), 0)
    free, _ = run(tmp_path, branches(), inputs, whole_s=1e-9)
    assert free.document.bodies[0].runs_on == "onnxruntime"
    held, _ = run(tmp_path, branches(), inputs, whole_s=1e-9, constraints=({"kind": "pin", "node": "ta", "target": "tvm"},))
    assert held.document.bodies[0].runs_on == "host"
    assert placed(held)["ta"] == "tvm"


def test_a_constraint_reaches_a_body_inside_another(tmp_path: Path) -> None:
    inputs = drawn(load_model(write(tmp_path, nested())), 0, turns=4)
    record, _ = run(tmp_path, nested(), inputs)
    ((outer,),) = [list(found.values()) for found in record.bodies.values()]
    name, target = next(
        (part.names[0], part.target) for found in outer.bodies.values() for body in found.values() for part in body.plan.partitions
    )
    other = {"onnxruntime": "tvm", "tvm": "onnxruntime"}[target]
    pinned, _ = run(tmp_path, nested(), inputs, constraints=({"kind": "pin", "node": name, "target": other},))
    ((outer,),) = [list(found.values()) for found in pinned.bodies.values()]
    inner = [part for found in outer.bodies.values() for body in found.values() for part in body.plan.partitions]
    assert [part.target for part in inner if name in part.names] == [other]


def test_a_name_that_is_in_no_body_is_a_mistake(tmp_path: Path) -> None:
    inputs = drawn(load_model(write(tmp_path, branches())), 0)
    with pytest.raises(CollageError, match=r"constraints\[0\]\.node is 'nowhere', it must be the name of a node or of one in a body"):
        run(tmp_path, branches(), inputs, constraints=({"kind": "pin", "node": "nowhere", "target": "tvm"},))


@pytest.mark.parametrize(
    ("given_s", "limit_s", "expected_s"), [(60.0, 40.0, 20.0), (None, 90.0, 32.5), (None, 20.0, 10.0)], ids=["a budget", "sizes", "a share"]
)
def test_the_time_for_all_bodies(tmp_path: Path, given_s: float | None, limit_s: float, expected_s: float) -> None:
    """Branches of 3 and 2 nodes, 15 s and half a second for each node; or a half of the time for measuring."""
    model = load_model(write(tmp_path, branches()))
    options = Options(("onnxruntime",), budget_s=given_s)
    found = body_search.bodies_s(count_body_runs(model, drawn(model, 0)), options, limit_s)
    assert found == pytest.approx(expected_s, abs=0.6)


@pytest.mark.long
def test_partition_and_apply_compute_what_onnx_runtime_does_on_50_inputs(tmp_path: Path) -> None:
    path = write(tmp_path, lstm_loop())
    model = load_model(path)
    np.savez(tmp_path / "in.npz", **drawn(model, 0, turns=16, go=True))  # type: ignore[arg-type]
    (tmp_path / "pin.json").write_text(json.dumps({"constraints": [{"kind": "pin", "node": "loop", "target": "host"}]}))
    given = ("--targets", "onnxruntime,tvm", "--inputs", tmp_path / "in.npz", "--budget", "10m", "--out", tmp_path / "out", "--json")
    done = document(brief_collage(tmp_path, "partition", path, *given, "--constraints", tmp_path / "pin.json"))
    (row,) = done["bodies"]
    assert (row["runs_on"], row["host"]["source"]) == ("host", "measured")
    assert row["host"]["error"] < 1e-5
    collage(tmp_path, "apply", tmp_path / "out" / "plan.json", path, "--out", tmp_path / "again")
    for folder in ("out", "again"):
        artifact = Artifact.open(tmp_path / folder)
        for seed in range(50):
            given_now = drawn(model, seed, turns=seed % 17, go=True)
            assert largest_error(artifact.run(given_now), model.reference(given_now)) < 1e-5
