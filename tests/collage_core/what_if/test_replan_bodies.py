"""Questions about a run whose constraints speak of nodes in bodies: other plans of the bodies, and what the node then takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.cli.bodies_text import bodies_text
from collage_core.errors import InfeasibleError
from collage_core.model.onnx_model import load_model
from collage_core.pipeline.bodies.body_rows import run_bodies
from collage_core.pipeline.record.record import RunRecord, read_record, write_record
from collage_core.rules.spec import HOST_TARGET
from collage_core.search.constraints.constraints import allowed_indices
from collage_core.what_if.replan_bodies import WHY
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from collage_core.what_if.what_if import effects, replanned
from tests.collage_core.pipeline.bodies.test_body_search import placed
from tests.collage_core.pipeline.bodies.test_plan_bodies import run
from tests.helpers.control_models import drawn, lstm_loop
from tests.helpers.models import write

TURNS = 6
PIN = {"kind": "pin", "node": "sum", "target": "tvm"}


@pytest.fixture(scope="module")
def loop_record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """A run over mock costs, read from its file again; the host runs the loop."""
    folder = tmp_path_factory.mktemp("loop")
    inputs = drawn(load_model(write(folder, lstm_loop())), 0, turns=TURNS, go=True)
    record, _ = run(folder, lstm_loop(), inputs)
    write_record(record, folder / "run.json.gz")
    return read_record(folder / "run.json.gz")


def host_s(record: RunRecord) -> float | None:
    return next(
        item.cost.seconds
        for item in record.candidates
        if item.target == HOST_TARGET and "loop" in record.graph.nodes[item.inside.first()].name
    )


def test_a_pin_in_a_body_plans_the_body_anew_and_costs_what_that_does(loop_record: RunRecord) -> None:
    body = loop_record.bodies["loop"]["body"]
    assert placed(loop_record)["sum"] == "onnxruntime"
    found = replanned(loop_record, Terms((PIN,)))
    planned = found.plan.bodies["loop"]["body"].plan
    assert {part.target for part in planned.partitions if "sum" in part.names} == {"tvm"}
    more_s = TURNS * (planned.total_s - body.plan.total_s)
    assert more_s > 0
    assert host_s(found.record) == pytest.approx(host_s(loop_record) + more_s)
    assert found.plan.total_s == pytest.approx(loop_record.plan.total_s + more_s)
    (effect,) = effects(loop_record, Terms((PIN,)), [[0]]).groups
    assert effect.alone.change_s == pytest.approx(more_s)
    whole = len(loop_record.problem.candidates) - len(allowed_indices(loop_record.problem, Terms((PIN,)).parse(loop_record.problem)))
    assert effect.refuses > whole, "candidates of the body are counted"


def test_a_pin_to_where_a_node_of_a_body_runs_already_changes_nothing(loop_record: RunRecord) -> None:
    """An estimate would take the place of what was measured of the loop on the host."""
    found = replanned(loop_record, Terms(({**PIN, "target": "onnxruntime"}, {"kind": "veto", "node": "sum", "target": "tvm"})))
    assert found.kept is loop_record
    assert found.plan.bodies == loop_record.plan.bodies
    assert host_s(found.record) == host_s(loop_record)
    assert replanned(loop_record, Terms((PIN,))).kept is None


def test_fewer_constraints_on_a_body_ask_for_a_search(tmp_path: Path, loop_record: RunRecord) -> None:
    inputs = drawn(load_model(write(tmp_path, lstm_loop())), 0, turns=TURNS, go=True)
    pinned, _ = run(tmp_path, lstm_loop(), inputs, constraints=(PIN,))
    assert replanned(pinned, Terms((PIN, {"kind": "veto", "node": "sum", "target": "onnxruntime"}))).kept is pinned
    assert replanned(pinned, Terms()).kept is None


def test_another_search_shows_the_bodies_as_they_are_planned_then(loop_record: RunRecord, tmp_path: Path) -> None:
    again = search_again(loop_record, Terms((PIN,)))
    assert placed(again)["sum"] == "tvm"
    (row,) = again.document.bodies
    assert (row.runs_on, row.host.source, row.host.reason) == ("host", "estimate", WHY)
    assert row.bodies[0].total_s == again.plan.bodies["loop"]["body"].plan.total_s
    assert row.predicted_s == pytest.approx(row.host.seconds)
    (drawn_node,) = run_bodies(again).nodes
    assert {part.target for part in drawn_node.bodies[0].partitions} == {"onnxruntime", "tvm", "host"} & set(placed(again).values())
    assert any("estimate" in line for line in bodies_text(again.document.bodies))
    write_record(again, tmp_path / "run.json.gz")
    assert read_record(tmp_path / "run.json.gz").document.bodies == again.document.bodies


def test_a_run_under_a_pin_in_a_body_can_be_asked_without_it(tmp_path: Path, loop_record: RunRecord) -> None:
    inputs = drawn(load_model(write(tmp_path, lstm_loop())), 0, turns=TURNS, go=True)
    pinned, _ = run(tmp_path, lstm_loop(), inputs, constraints=(PIN,))
    assert pinned.plan.total_s == pytest.approx(replanned(loop_record, Terms((PIN,))).plan.total_s)
    freed = replanned(pinned, Terms())
    assert freed.plan.total_s == pytest.approx(loop_record.plan.total_s)


def test_constraints_that_no_plan_of_a_body_holds_leave_the_node_to_others_or_no_plan(loop_record: RunRecord) -> None:
    both = ({"kind": "veto", "node": "sum", "target": target} for target in ("tvm", "onnxruntime"))
    with pytest.raises(InfeasibleError):
        replanned(loop_record, Terms(tuple(both)))


def test_terms_that_speak_of_no_body_leave_the_bodies_as_they_are(loop_record: RunRecord) -> None:
    found = replanned(loop_record, Terms(({"kind": "veto", "node": "scale", "target": "tvm"},)))
    assert found.plan.bodies == loop_record.plan.bodies
