"""Runs that are cancelled: each keeps the best plan so far, and says what is missing; nothing is kept before there is a plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from brief_runs import shorten

from collage_core.documents.json_form import to_json
from collage_core.errors import Cancelled
from collage_core.events import CandidateCosted, Event, Note, PhaseStarted, PlanImproved
from collage_core.options import Options
from collage_core.pipeline.cancelled import NOT_BUILT, NOT_TIMED, cancelled_document
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.rules.spec import HOST_TARGET
from tests.helpers.documents import alternative, run_document


class Cancel:
    """A user who cancels at the first event that is `wanted`."""

    def __init__(self, wanted: Callable[[Event], bool]):
        self._wanted = wanted
        self.is_wanted = False
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.is_wanted = self.is_wanted or self._wanted(event)
        self.events.append(event)

    def partition(self, model: str | Path, options: Options) -> RunRecord:
        return partition(model, options, self, should_stop=lambda: self.is_wanted)


def begins(phase: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, PhaseStarted) and event.phase == phase


def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **more: bool) -> Options:
    """Options of a run that measures briefly, and leaves an artifact."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    shorten(monkeypatch.setattr)
    return Options(("onnxruntime",), threads=1, out=tmp_path / "out", **more)  # type: ignore[arg-type]


def test_a_cancel_while_costs_are_measured_keeps_the_best_plan_and_every_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = measured(tmp_path, monkeypatch, measure_all=True)
    cancel = Cancel(lambda event: isinstance(event, PlanImproved))
    record = cancel.partition("mini_mnist", options)
    found = to_json(record.document)
    assert [part["source"] for part in found["plan"]["partitions"]] == ["measured"]
    assert found["plan"]["total_s"] == next(event.total_s for event in cancel.events if isinstance(event, PlanImproved))
    known = [event for event in cancel.events if isinstance(event, CandidateCosted)]
    placed = [item for item in record.candidates if item.target != HOST_TARGET]
    late = sum(item.cost.is_unknown for item in placed)
    assert 0 < late < len(placed)
    assert found["cancelled"]["phase"] == "costs"
    assert found["cancelled"]["missing"] == [
        f"{late} of {len(placed)} candidates have no known cost",
        "not all adjacent partitions on one target were tried fused, and close choices were not re-timed",
        "the plan was not built, and not compared with the reference",
        "the plan was not timed beside each target alone",
    ]
    assert Note(f"the run was cancelled: {late} of {len(placed)} candidates have no known cost") in cancel.events
    assert not any(begins("rewrite")(event) for event in cancel.events)
    assert to_json(RunRecord.load(tmp_path / "out").document) == found, "the same after a reload"
    on = Cancel(lambda event: isinstance(event, CandidateCosted) and not event.from_cache)
    on.partition("mini_mnist", options)
    assert sum(event.from_cache for event in on.events if isinstance(event, CandidateCosted)) >= len(known), (
        "going on asks for no cost twice"
    )


@pytest.mark.parametrize("phase", ["search", "merge"])
def test_a_cancel_while_plans_are_searched_keeps_one(tmp_path: Path, phase: str) -> None:
    (tmp_path / "costs.json").write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 1.0, "decay": 0.5}, "tvm": {"op_s": 2.0}}}))
    options = Options(("onnxruntime", "tvm"), costs=f"mock:{tmp_path / 'costs.json'}")
    record = Cancel(begins(phase)).partition("mini_mnist", options)
    assert sorted(node for part in record.plan.partitions for node in part.nodes) == list(range(len(record.graph)))
    assert all(part.cost_s is not None for part in record.plan.partitions)
    assert to_json(record.document.cancelled) == {
        "phase": phase,
        "missing": ["not all adjacent partitions on one target were tried fused, and close choices were not re-timed"],
    }


@pytest.mark.long
def test_a_cancel_after_the_search_keeps_the_plan_and_what_was_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = measured(tmp_path, monkeypatch)
    found = to_json(Cancel(begins("rewrite")).partition("mini_mnist", options).document)
    assert (found["verify"]["reason"], found["verify"]["max_rel_error"], found["cancelled"]["phase"]) == (NOT_BUILT, None, "rewrite")
    assert not (tmp_path / "out" / "artifact.json").exists()
    record = Cancel(begins("baselines")).partition("mini_mnist", options)
    found = to_json(record.document)
    assert found["verify"]["max_rel_error"] < 1e-3
    assert found["cancelled"] == {"phase": "baselines", "missing": ["the plan was not timed beside each target alone"]}
    assert {row["reason"] for row in found["baselines"]} == {NOT_TIMED}
    manifest = json.loads((tmp_path / "out" / "artifact.json").read_text())
    assert [entry["id"] for entry in manifest["partitions"]] == [part.id for part in record.plan.partitions]


def test_before_there_is_a_plan_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Cancelled):
        Cancel(lambda event: True).partition("mini_mnist", measured(tmp_path, monkeypatch))


def test_what_is_missing_is_nothing_where_all_was_done() -> None:
    document = run_document(verify={"max_rel_error": 0.0}, alternatives=[alternative("ncnn")])
    assert cancelled_document("", 3, 9, document, builds=True) is None
    assert cancelled_document("baselines", 0, 9, document, builds=True) is None
