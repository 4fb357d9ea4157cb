"""`worth`: the best plan over each set of targets is that of a run over these targets alone."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from collage_core.base.durations import duration
from collage_core.cost.cost import Cost
from collage_core.documents.statements import PlanTime
from collage_core.documents.worth import TargetSet, TargetStep
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RunRecord, read_record
from collage_core.what_if import worth as sweeping
from collage_core.what_if.worth import worth
from tests.helpers.command import document_of, in_this_process
from tests.helpers.paths import RECORDED

TARGETS = ("onnxruntime", "tvm", "openvino")
RATES = {
    "onnxruntime": {"op_s": 3, "ops": {"Conv": 1}},
    "tvm": {"op_s": 2, "ops": {"Conv": 9}},
    "openvino": {"op_s": 4},
}


def run(costs: Path, targets: tuple[str, ...], out: Path | None = None) -> RunRecord:
    record = partition("mini_mnist", Options(targets, costs=f"mock:{costs}", max_depth={"": 1}))
    if out is not None:
        out.mkdir()
        record.save(out)
    return record


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    path = tmp_path / "costs.json"
    path.write_text(json.dumps({"targets": RATES}))
    return path


def test_each_set_has_the_plan_of_a_run_over_it_alone(costs: Path) -> None:
    found = {tuple(one.targets): one.total_s for one in worth(run(costs, TARGETS)).sets}
    assert len(found) == 7
    for count in (1, 2, 3):
        for chosen in combinations(TARGETS, count):
            assert found[chosen] == pytest.approx(run(costs, chosen).plan.total_s), chosen


def test_steps_name_what_each_further_target_brings_and_end_where_none_brings_more(costs: Path) -> None:
    found = worth(run(costs, TARGETS))
    first, second = found.steps
    assert second.targets == ("onnxruntime", "tvm"), "the third gets no node in the best plan"
    assert second.gain.change_s == pytest.approx(first.total_s - second.total_s)
    assert first.gain is None
    assert found.as_good == second.targets
    assert found.is_whole


def test_one_that_is_as_good_alone_is_said_to_be(costs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    costs.write_text(json.dumps({"targets": {**RATES, "onnxruntime": {"op_s": 1}}}))
    run(costs, TARGETS, tmp_path / "out")
    status, out, _ = in_this_process(capsys, "explain", tmp_path / "out", "--by-targets")
    assert status == 0
    assert out.startswith("one target alone is best here: onnxruntime\n1: onnxruntime: predicted ")
    assert " onnxruntime + tvm" not in out, "a set in which a target gets no node is no other answer than a smaller one"
    assert out.endswith("  and 3 more (--json has all)\n")
    assert document_of(capsys, "explain", tmp_path / "out", "--by-targets")["as_good"] == ["onnxruntime"]


def test_a_target_whose_time_alone_nobody_knows_might_be_the_answer() -> None:
    step = TargetStep(("a",), 1.0, None, None, True, "")
    assert sweeping._text(("a",), [step], ["b", "c"]) == "one target alone is best here: a; not known: b and c alone"
    assert sweeping._text(("a", "d"), [step], ["b"]) == "2 targets are worth having here: a + d; not known: b alone"


def test_a_gain_that_is_predicted_says_so_beside_a_measured_time() -> None:
    fewer = sweeping._Best(TargetSet(("b",), ("b",), 3.0, None, 1, True, None, "predicted 3 s"), PlanTime(predicted_s=3.0))
    own = TargetSet(("a", "b"), ("a", "b"), 2.0, 1.0, 2, True, None, "measured 1 s")
    row = sweeping._step_row(sweeping._Best(own, PlanTime(predicted_s=2.0, measured_s=1.0)), fewer)
    assert row.text == "a + b: measured 1 s, 1 s less than with one target fewer by predicted times"


def test_constraints_of_the_run_hold_and_a_set_without_a_plan_says_so(costs: Path) -> None:
    pin = {"kind": "pin", "op": "Conv", "target": "tvm"}
    record = partition("mini_mnist", Options(TARGETS, costs=f"mock:{costs}", max_depth={"": 1}, constraints=(pin,)))
    found = {tuple(one.targets): one.total_s for one in worth(record).sets}
    assert found["onnxruntime",] is None
    assert found["onnxruntime", "tvm"] == pytest.approx(record.plan.total_s)


def test_a_plan_that_rests_on_what_was_not_measured_is_an_estimate(costs: Path) -> None:
    record = run(costs, TARGETS)
    bound = Cost.bound(0.5)
    candidates = [CostedCandidate(one.held, bound) if one.target == "openvino" else one for one in record.candidates]
    known = {tuple(one.targets): one.is_known for one in worth(replace(record, candidates=candidates)).sets}
    assert known["onnxruntime", "tvm"]
    assert not known["openvino",]


def test_of_many_targets_not_every_set_is_tried(costs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = run(costs, TARGETS)
    monkeypatch.setattr(sweeping, "EVERY_SET_UP_TO", 2)
    found = worth(record)
    assert found == worth(record)
    assert len(found.sets) == 7, "all of one, of two, and the best two with the third"


def test_searches_end_when_their_time_is_over(costs: Path) -> None:
    times = iter((0.0, 1.0, 2.0, 1e3))
    found = worth(run(costs, TARGETS), lambda: next(times, 1e3))
    assert not found.is_whole
    assert len(found.sets) < 7


def test_a_target_that_was_measured_whole_counts_with_that_whatever_its_parts_add_up_to() -> None:
    record = read_record(RECORDED / "crnn.json.gz")
    document = record.document
    alone = {row.name: row for row in document.alternatives if row.kind == "baseline" and row.measured_s is not None}
    assert "ncnn" in alone
    cheap = tuple(replace(row, total_s=0.0) for row in document.alternatives)
    found = worth(replace(record, document=replace(document, alternatives=cheap)))
    rows = {one.targets: one for one in found.sets}
    assert (rows["ncnn",].measured_s, rows["ncnn",].against.basis) == (alone["ncnn"].measured_s, "measured")
    assert rows["ncnn",].against.ratio > 1.1
    used = next(one.targets for one in found.sets if set(one.targets) == set(record.plan.used_targets))
    assert found.as_good == used, "the plan of the run was measured to be faster than each of them alone"
    best = rows[used]
    assert (best.against.change_s, best.measured_s) == (0.0, document.verify.measured_s)
    assert best.text == f"measured {duration(best.measured_s)}"
