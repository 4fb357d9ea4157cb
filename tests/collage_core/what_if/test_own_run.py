"""A plan of the user's own as a run: its costs are measured, and the whole in turns with the plan of the run that it was given to."""

from __future__ import annotations

from pathlib import Path

import pytest
from brief_runs import shorten

from collage_core.documents.statements import measured_beside
from collage_core.errors import CollageError
from collage_core.events import Event, Note
from collage_core.options import Options
from collage_core.pipeline.record.record import RunRecord
from collage_core.what_if.apparent_loss import apparent_loss
from collage_core.what_if.given_plan import given_from_text
from collage_core.what_if.own_run import own_run
from collage_core.what_if.timed_beside import timed_beside
from tests.helpers.searched_runs import searched_run

OWN = '[{"target": "numpy", "nodes": ["relu", "add"]}, {"target": "partitions", "nodes": ["sigmoid", "mul"]}]'


@pytest.fixture
def record(chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    """A run that was measured here, under a pin that the user's own plan does not hold."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "collage_test_toolchains:Numpy,collage_test_toolchains:Partitions")
    shorten(monkeypatch.setattr)
    pin = {"kind": "pin", "nodes": ["mul"], "target": "numpy"}
    return searched_run(chain, Options(("numpy", "partitions"), max_depth={"": 1}, constraints=(pin,), measure_all=True, threads=1))


@pytest.mark.long
def test_both_plans_are_built_checked_and_timed_in_turns(record: RunRecord, chain: Path, tmp_path: Path) -> None:
    told: list[Event] = []
    made = own_run(record, given_from_text(OWN, "mine.json"), {}, chain, told.append)
    assert [(part.target, part.names, part.source) for part in made.plan.partitions] == [
        ("numpy", ("relu", "add"), "measured"),
        ("partitions", ("sigmoid", "mul"), "measured"),
    ]
    assert (made.plan.constraints, made.document.decided_by, made.document.search.final.optimal) == ((), "given", False)
    verify, [beside] = made.document.verify, made.document.alternatives
    assert verify.max_rel_error <= made.plan.accuracy
    assert verify.rounds == beside.rounds >= 1, "in the same rounds"
    assert measured_beside(made.document) == verify.measured_s > 0
    assert (beside.name, beside.total_s) == ("the plan of the run", record.plan.total_s)
    assert any(
        isinstance(event, Note) and event.text.startswith("the plan was given, and not searched for: timed end to end") for event in told
    )
    made.save(tmp_path)
    assert RunRecord.load(tmp_path).plan == made.plan, "it is a run like any other"
    found = apparent_loss(record, tmp_path / "plan.json", model=chain)
    assert None not in (found.first.measured_s, found.second.measured_s, found.measured.change_s)
    assert found.not_measured == ""


@pytest.mark.long
def test_a_plan_that_computes_something_else_is_not_timed_and_says_so(record: RunRecord, chain: Path) -> None:
    plan = record.plan.model_copy(update={"accuracy": -1.0})
    beside = timed_beside(record, plan, "mine", chain)
    assert beside.other.measured_s is None
    assert beside.plan.measured_s is not None
    assert beside.reason.startswith("it errs by")


def test_costs_of_another_machine_or_of_no_measurement_are_refused(record: RunRecord, chain: Path) -> None:
    record.machine = "another"
    with pytest.raises(CollageError, match="the costs of this run are from another, and a new one from here would not go with them"):
        timed_beside(record, record.plan, "mine", chain)
