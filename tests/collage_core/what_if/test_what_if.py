"""The what-if: other terms over known costs, and the effect of each term, against searches by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.errors import CollageError, InfeasibleError
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RunRecord
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from collage_core.what_if.what_if import baseline_plan, effects, what_if
from tests.helpers.command import document_of, in_this_process

PIN = {"kind": "pin", "op": "Conv", "target": "tvm"}
VETO = {"kind": "veto", "op": "Conv", "target": "onnxruntime"}
IDLE = {"kind": "veto", "op": "MaxPool", "target": "tvm"}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """mini-MNIST, where ONNX Runtime takes 1 s an operator and TVM 3 s."""
    costs = tmp_path_factory.mktemp("what_if") / "costs.json"
    costs.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 1}, "tvm": {"op_s": 3}}}))
    return partition("mini_mnist", Options(("onnxruntime", "tvm"), costs=f"mock:{costs}", max_depth={"": 1}))


def test_a_plan_under_other_terms_is_that_of_a_new_search(record: RunRecord) -> None:
    found = what_if(record, Terms([PIN]))
    assert found.plan == search_again(record, Terms([PIN])).document.plan
    assert found.plan.total_s == record.plan.total_s + 2
    assert found.optimal
    with pytest.raises(InfeasibleError):
        what_if(record, Terms([PIN, {"kind": "veto", "target": "tvm"}]))


def test_effects_say_what_each_costs_alone_and_what_taking_it_back_saves(record: RunRecord) -> None:
    found = effects(record, Terms([PIN, VETO, IDLE]), [[0], [1], [2]])
    pin, veto, idle = found.groups
    assert (found.off, found.accuracy) == ({}, None)
    assert (pin.alone.change_s, pin.saves.change_s) == (2, 0), "the veto holds what the pin wants"
    assert (veto.alone.change_s, veto.saves.change_s) == (2, 0)
    assert (idle.alone.change_s, idle.saves.change_s) == (0, 0), "TVM runs no MaxPool in any case"
    assert pin.refuses == veto.refuses > 0


def test_what_cannot_hold_has_no_cost(record: RunRecord) -> None:
    both = [{"kind": "veto", "target": "onnxruntime"}, {"kind": "veto", "target": "tvm"}]
    (first,) = effects(record, Terms(both), [[0]]).groups
    assert (first.alone.change_s, first.saves) == (2 * len(record.graph), None)


def test_a_target_that_is_switched_off_takes_no_node(record: RunRecord) -> None:
    vetoed = search_again(record, Terms([PIN, {"kind": "veto", "target": "onnxruntime"}]))
    switched = search_again(record, Terms([PIN], switched_off=["onnxruntime"]))
    assert switched.document.plan == vetoed.document.plan == what_if(record, Terms([PIN], None, ["onnxruntime"])).plan
    assert switched.plan.constraints == vetoed.plan.constraints, "a plan file lists what holds as constraints"


def test_a_collision_keeps_the_numbers_of_the_constraints_and_names_the_targets(record: RunRecord) -> None:
    with pytest.raises(InfeasibleError) as caught:
        search_again(record, Terms([IDLE, PIN], switched_off=["tvm"]))
    assert (caught.value.conflict, caught.value.switched_off) == ([1], ["tvm"])
    assert re.fullmatch(r"the constraint 1 \(pin of .* to tvm\) cannot hold with 'tvm' switched off", caught.value.message)
    assert caught.value.hint == "drop one of them, or switch a target on"
    with pytest.raises(InfeasibleError) as caught:
        what_if(record, Terms([IDLE], switched_off=["tvm", "onnxruntime"]))
    assert (caught.value.conflict, caught.value.switched_off) == ([], ["tvm", "onnxruntime"])
    assert caught.value.message == "no plan is left with 'tvm', 'onnxruntime' switched off"
    with pytest.raises(CollageError, match=r"switched_off\[0\]\.target is 'cudnn', it must be a target \(onnxruntime, tvm\)"):
        what_if(record, Terms(switched_off=["cudnn"]))


def test_switched_off_targets_and_the_accuracy_have_effects_too(record: RunRecord) -> None:
    terms = Terms([PIN], 1e-9, ["onnxruntime"])
    found = effects(record, terms, [[0]])
    switched = found.off["onnxruntime"]
    assert (len(found.groups), set(found.off)) == (1, {"onnxruntime"})
    assert switched.alone.change_s == 2 * len(record.graph)
    assert switched.saves.change_s == what_if(record, terms).plan.total_s - what_if(record, Terms([PIN])).plan.total_s
    assert switched.refuses == sum(candidate.target == "onnxruntime" for candidate in record.problem.candidates)
    assert found.accuracy is not None
    assert (found.accuracy.alone.change_s, found.accuracy.refuses) == (0, 0)


def test_effects_are_left_out_from_when_the_time_is_over(record: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collage_core.what_if.what_if.LONGEST_S", -1.0)
    found = effects(record, Terms([PIN], 1e-9, ["tvm"]), [[0]])
    assert (found.groups, found.off, found.accuracy) == ((), {}, None)


def test_a_baseline_is_a_plan_on_one_target_or_the_greedy_one(record: RunRecord) -> None:
    assert baseline_plan(record, "tvm").total_s == 3 * len(record.graph)
    assert baseline_plan(record, "greedy").total_s >= record.plan.total_s
    bare = replace(record, problem=record.problem.with_candidates([one for one in record.problem.candidates if one.target != "tvm"]))
    with pytest.raises(CollageError, match="tvm has no plan: it cannot take the whole model"):
        baseline_plan(bare, "tvm")


def test_candidates_that_err_too_much_are_left_out(record: RunRecord) -> None:
    conv = next(node.index for node in record.graph.nodes if node.op == "Conv")
    judged = [_erring(item) if item.target == "onnxruntime" and conv in item.inside else item for item in record.candidates]
    erring = replace(record, candidates=judged)
    assert what_if(erring, Terms(accuracy=1e-1)).plan.total_s == record.plan.total_s
    strict = search_again(erring, Terms(accuracy=1e-4))
    assert strict.plan.total_s == record.plan.total_s + 2
    assert strict.plan.accuracy == strict.document.verify.accuracy == 1e-4
    refused = [item.cost for item in strict.candidates if item.cost.error]
    assert {(cost.stage, cost.is_invalid) for cost in refused} == {("numerics", True)}
    assert what_if(strict, Terms(accuracy=1e-1)).untimed == len(refused), "what they took is forgotten, and that is said"


def _erring(item: CostedCandidate) -> CostedCandidate:
    return CostedCandidate(item.held, replace(item.cost, error=1e-2))


def test_the_command_says_the_same(record: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.save(tmp_path)
    (tmp_path / "terms.json").write_text(json.dumps({"constraints": [PIN, VETO, IDLE]}))
    told = document_of(capsys, "explain", tmp_path, "--what-if", tmp_path / "terms.json")
    assert (told["change"]["change_s"], told["plan"]["total_s"]) == (2, record.plan.total_s + 2)
    assert [effect["alone"]["change_s"] for effect in told["effects"]] == [2, 2, 0]
    _, out, _ = in_this_process(capsys, "explain", tmp_path, "--what-if", tmp_path / "terms.json", "--accuracy", "0.5")
    assert out.splitlines()[0].startswith(f"+2 s predicted against the plan of the run: predicted {record.plan.total_s + 2:g} s, ")
    beside = "taking it back saves nothing, for the others ask for the same"
    assert out.splitlines()[1] == f"  {json.dumps(PIN)}: costs 2 s predicted alone; {beside}"
    assert out.splitlines()[3] == f"  {json.dumps(IDLE)}: no effect: the best plan holds it anyway"


def test_terms_that_cannot_hold_end_the_command(record: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.save(tmp_path)
    (tmp_path / "terms.json").write_text(json.dumps({"constraints": [PIN, {"kind": "veto", "target": "tvm"}]}))
    status, _, err = in_this_process(capsys, "explain", tmp_path, "--what-if", tmp_path / "terms.json")
    assert status == 3
    assert re.fullmatch(r"error: the constraints 0 \(pin of .*\), 1 \(veto of tvm for .*\) cannot hold together", err.splitlines()[0])
    (tmp_path / "terms.json").write_text('{"constraints": [{"kind": "veto"}]}')
    status, _, err = in_this_process(capsys, "explain", tmp_path, "--what-if", tmp_path / "terms.json")
    assert status == 2
    assert "terms.json" in err
