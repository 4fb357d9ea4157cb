"""One candidate of a run is measured afresh: its new cost is in the record and in the database, and the plan follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from brief_runs import shorten

from collage_core.cost.cost import Cost
from collage_core.cost.database.database import open_database
from collage_core.errors import CollageError
from collage_core.events import CandidateBuilding, CandidateCosted, Event, Note
from collage_core.model.samples.registry import resolve
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RunRecord
from collage_core.what_if.remeasure import measure_again

MODEL = "mini_mnist"

pytestmark = pytest.mark.long  # a real run, whose costs are measured again


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunRecord]:
    """A run as it is read back, in a folder of its own."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch.setattr)
        patch.setenv("COLLAGE_HOME", str(tmp_path_factory.mktemp("home")))
        partition(MODEL, Options(targets=("onnxruntime",), measure_all=True, out=folder))
        yield RunRecord.load(folder)


def measured(record: RunRecord) -> CostedCandidate:
    return next(item for item in record.candidates if item.cost.source == "measured" and len(item.inside) == 1)


def test_the_new_cost_is_everywhere(record: RunRecord) -> None:
    old = measured(record)
    absurd = replace(old.cost, seconds=3600.0)
    before = replace(record, candidates=[replace(item, cost=absurd) if item is old else item for item in record.candidates])
    events: list[Event] = []
    after = measure_again(before, MODEL, old.id, events.append)
    new = next(item for item in after.candidates if item.id == old.id).cost
    assert new.source == "measured"
    assert new.samples > 0
    assert new.seconds is not None
    assert new.seconds < 1.0
    searched = next(candidate for candidate in after.problem.candidates if candidate.id == old.id)
    assert searched.cost == round(new.seconds * 10**15)
    others = {item.id: item.cost for item in before.candidates if item.id != old.id}
    assert {item.id: item.cost for item in after.candidates if item.id in others and item.candidate.get("times", 1) == 1} == {
        item.id: item.cost for item in before.candidates if item.id in others and item.candidate.get("times", 1) == 1
    }
    assert after.document.plan.total_s == after.plan.total_s
    assert after.document.verify.measured_s is None, "the new plan was not built"
    assert [row.name for row in after.document.baselines] == [row.name for row in before.document.baselines]
    assert any(isinstance(event, CandidateBuilding) for event in events), "it came from the database"
    assert [event.candidates for event in events if isinstance(event, CandidateCosted)] == [(old.id,)]
    assert any(isinstance(event, Note) and "60 min before" in event.text for event in events)


def test_the_database_has_it(record: RunRecord) -> None:
    with open_database() as database:
        count = database.count()
    measure_again(record, MODEL, measured(record).id)
    with open_database() as database:
        assert database.count() == count


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"machine": "another machine"}, "other_machine"),
        ({"candidates": []}, "unknown_candidate"),
    ],
)
def test_what_cannot_be_measured_is_refused(record: RunRecord, change: dict[str, object], code: str) -> None:
    wanted = measured(record).id
    with pytest.raises(CollageError) as caught:
        measure_again(replace(record, **change), MODEL, wanted)  # type: ignore[arg-type]
    assert caught.value.code == code


def test_costs_of_another_sort_and_another_model_are_refused(record: RunRecord) -> None:
    wanted = measured(record).id
    mocked = replace(record, plan=record.plan.model_copy(update={"options": {**record.plan.options, "costs": "mock:x"}}))
    for run, source, code in ((mocked, MODEL, "not_measured"), (record, "mnist", "other_model")):
        with pytest.raises(CollageError) as caught:
            measure_again(run, resolve(source), wanted)
        assert caught.value.code == code


def test_an_estimate_can_be_measured_for_the_first_time(record: RunRecord) -> None:
    old = measured(record)
    guess = Cost(1e-9, "estimate", reason="not measured")
    before = replace(record, candidates=[replace(item, cost=guess) if item is old else item for item in record.candidates])
    after = measure_again(before, Path(resolve(MODEL)), old.id)
    assert next(item for item in after.candidates if item.id == old.id).cost.source == "measured"
