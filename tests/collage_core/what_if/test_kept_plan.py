"""Terms that the plan of a run holds already change nothing, however the run decided on its plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.documents.json_form import from_json, to_json
from collage_core.documents.plan import PlanInfo
from collage_core.documents.run import RunBudget
from collage_core.documents.statements import NO_CHANGE
from collage_core.errors import CollageError
from collage_core.pipeline.record.record import RunRecord, read_record
from collage_core.rules.spec import HOST_TARGET
from collage_core.what_if.other_terms import other_terms
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from collage_core.what_if.typed_costs import with_typed
from collage_core.what_if.what_if import effects, what_if
from tests.helpers.command import document_of, in_this_process
from tests.helpers.paths import ROOT

RECORDED = ROOT / "collage_core" / "model" / "samples" / "recorded"
FIRST = {"kind": "pin", "node": "/cnn/conv0/Conv", "target": "ncnn"}


@pytest.fixture(scope="module")
def crnn() -> RunRecord:
    """A run that decided by measuring whole plans: another plan than this one has the least sum."""
    record = read_record(RECORDED / "crnn.json.gz")
    assert record.document.decided_by == "whole"
    return record


def ids(plan: PlanInfo) -> list[str]:
    return [part.id for part in plan.partitions]


def held_by(record: RunRecord) -> Iterator[dict[str, Any]]:
    """Yield constraints of every kind that the plan of `record` holds."""
    graph, plan = record.graph, record.plan
    targets = {item.target for item in record.candidates} - {HOST_TARGET}
    holder = {node: part for part in plan.partitions for node in part.nodes}
    for node in graph.nodes:
        part = holder[node.index]
        if part.target != HOST_TARGET:
            yield {"kind": "pin", "node": node.name, "target": part.target}
            yield from ({"kind": "veto", "node": node.name, "target": target} for target in sorted(targets - {part.target}))
        readers = [other for other in graph.nodes if node.index in graph.sources[other.index] and holder[other.index] is not part]
        yield from ({"kind": "cut", "between": [node.name, reader.name]} for reader in readers)
    for part in plan.partitions:
        yield {"kind": "pin", "candidate": part.id}
        yield {"kind": "pin", "nodes": list(part.names), "target": part.target, "together": True, "exact": True}
    for target in sorted(targets - {part.target for part in plan.partitions}):
        yield {"kind": "veto", "target": target}
    chosen = {part.id for part in plan.partitions}
    yield {"kind": "veto", "candidate": next(item.id for item in record.problem.candidates if item.id not in chosen)}


@pytest.mark.parametrize("name", ["bert", "crnn", "lstm", "mini_mnist", "unet_segmentation"])
def test_what_the_plan_holds_changes_nothing(name: str) -> None:
    record = read_record(RECORDED / f"{name}.json.gz")
    own = [part.id for part in record.plan.partitions]
    listed = list(held_by(record))
    assert {item["kind"] for item in listed} >= {"pin", "veto"}
    for terms in (Terms(), *(Terms([item]) for item in listed), Terms(listed)):
        found = what_if(record, terms)
        assert (found.keeps_plan, ids(found.plan), found.plan.total_s) == (True, own, record.plan.total_s), terms


def test_its_measured_times_stay_when_it_is_kept(crnn: RunRecord) -> None:
    kept = search_again(crnn, Terms([FIRST]))
    assert kept.plan.partitions == crnn.plan.partitions
    assert kept.plan.constraints == (FIRST,)
    for part in ("verify", "alternatives", "baselines", "decided_by", "search"):
        assert getattr(kept.document, part) == getattr(crnn.document, part), part
    assert kept.document.phases != crnn.document.phases, "it was not measured again"
    once_more = search_again(kept, Terms([FIRST, {"kind": "veto", "target": "openvino"}]))
    assert once_more.document.verify == crnn.document.verify


def test_its_terms_have_no_effect(crnn: RunRecord) -> None:
    listed = list(held_by(crnn))[:6]
    found = effects(crnn, Terms(listed), [[index] for index in range(len(listed))])
    assert {(effect.alone, effect.saves) for effect in found.groups} == {(NO_CHANGE, NO_CHANGE)}


def test_the_command_line_says_that_nothing_changes(crnn: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crnn.save(tmp_path)
    (tmp_path / "pins.json").write_text(json.dumps({"constraints": [FIRST]}))
    asked = ("explain", tmp_path, "--what-if", tmp_path / "pins.json")
    _, told, _ = in_this_process(capsys, *asked)
    assert "nothing changes, the plan of the run holds this: measured 23.84 ms, predicted 24.8 ms, 3 partitions" in told
    assert "no effect: the best plan holds it anyway" in told
    document = document_of(capsys, *asked)
    assert (document["keeps_plan"], document["change"]["change_s"], document["regions"]) == (True, 0.0, [])
    assert document["measured_s"] == crnn.document.verify.measured_s


def test_no_constraint_is_said_to_make_the_plan_of_a_run_faster(crnn: RunRecord) -> None:
    """The plan has not the least sum, so a search under a veto may find one of a lower sum: nobody knows that it is faster."""
    least_s = min(row.total_s for row in crnn.document.alternatives if row.total_s is not None)
    assert least_s < crnn.plan.total_s
    for part in crnn.plan.partitions:
        veto = Terms([{"kind": "veto", "candidate": part.id}])
        found = what_if(crnn, veto)
        assert not found.keeps_plan
        (effect,) = effects(crnn, veto, [[0]]).groups
        for statement in (found.change, effect.alone, effect.saves):
            assert (statement.change_s if statement.change_s is not None else statement.at_least_s) >= 0, part
        assert not effect.text.startswith("no effect")
        assert "-" not in found.change_text


def test_a_plan_that_was_measured_whole_counts_with_that_in_a_what_if(crnn: RunRecord) -> None:
    """Only the partitions of the plan of the least sum are left, which the run has measured to be slower."""
    searched = next(row for row in crnn.document.alternatives if row.kind == "search")
    pins = [{"kind": "pin", "candidate": part.id} for part in searched.partitions if part.target != HOST_TARGET]
    found = what_if(crnn, Terms(pins))
    assert {part.id for part in found.plan.partitions} == {part.id for part in searched.partitions}
    assert (found.change.basis, found.change.seconds) == ("measured", searched.measured_s)
    assert found.change.change_s == searched.measured_s - crnn.document.verify.measured_s


def test_a_pin_elsewhere_is_searched(crnn: RunRecord) -> None:
    other = {**FIRST, "target": "onnxruntime"}
    found = what_if(crnn, Terms([other]))
    assert not found.keeps_plan
    assert ids(found.plan) != [part.id for part in crnn.plan.partitions]
    document = other_terms(crnn, Terms([other]))
    assert document.measured_s is None
    assert document.change.change_s != 0
    assert search_again(crnn, Terms([other])).document.verify.measured_s is None


def test_with_fewer_constraints_than_those_of_the_run_there_may_be_a_better_plan(crnn: RunRecord) -> None:
    bound = search_again(crnn, Terms([{**FIRST, "target": "onnxruntime"}, {"kind": "veto", "target": "openvino"}]))
    freed = what_if(bound, Terms([{"kind": "veto", "target": "openvino"}]))
    assert not freed.keeps_plan
    assert freed.plan.total_s < bound.plan.total_s
    assert what_if(bound, Terms(list(bound.plan.constraints))).keeps_plan
    said_otherwise = [{"kind": "pin", "node": 0, "target": "onnxruntime"}, {"kind": "veto", "target": "openvino"}]
    assert what_if(bound, Terms(said_otherwise)).keeps_plan, "constraints are compared by what they forbid"


def test_other_costs_and_a_looser_accuracy_ask_for_a_search(crnn: RunRecord) -> None:
    cheap = {crnn.plan.partitions[0].id: 1e-3}
    assert not what_if(crnn, Terms(costs=cheap)).keeps_plan
    assert not what_if(with_typed(crnn, cheap), Terms([FIRST])).keeps_plan
    assert not search_again(crnn, Terms(costs=cheap)).has_newer_costs
    assert not what_if(crnn, Terms(accuracy=1e-2)).keeps_plan


def test_a_stricter_accuracy_that_the_plan_has_changes_nothing(crnn: RunRecord) -> None:
    measured = crnn.document.verify.max_rel_error
    kept = search_again(crnn, Terms(accuracy=5e-4))
    assert kept.plan.partitions == crnn.plan.partitions
    assert (kept.plan.accuracy, kept.document.verify) == (5e-4, replace(crnn.document.verify, accuracy=5e-4))
    assert not what_if(crnn, Terms(accuracy=measured / 2)).keeps_plan, "timed end to end, it errs more than that"


def test_a_search_on_the_costs_of_a_run_keeps_its_own_plan(crnn: RunRecord) -> None:
    """Its own record has forgotten candidates that err too much; what is asked of it later needs the costs of the run that measured."""
    elsewhere = {**FIRST, "target": "onnxruntime"}
    own = search_again(crnn, Terms([elsewhere], accuracy=1e-4))
    own.document = replace(own.document, verify=replace(own.document.verify, measured_s=0.03))
    pin = {"kind": "pin", "candidate": own.plan.partitions[-1].id}
    asked = Terms([elsewhere, pin], accuracy=1e-4)
    found = what_if(crnn, asked, own)
    assert (found.keeps_plan, ids(found.plan)) == (True, [part.id for part in own.plan.partitions])
    assert search_again(crnn, asked, own=own).document.verify.measured_s == 0.03
    assert not what_if(crnn, replace(asked, accuracy=None), own).keeps_plan, "that of the run that measured is meant"
    freed = what_if(crnn, Terms(), own)
    assert (freed.keeps_plan, ids(freed.plan)) == (False, [part.id for part in crnn.plan.partitions])
    assert search_again(crnn, Terms(), own=own).document.verify == crnn.document.verify, "that plan was measured"


def test_a_typed_cost_that_is_taken_back_is_gone(crnn: RunRecord) -> None:
    cheap = max((item for item in crnn.problem.candidates if item.target == "openvino"), key=lambda item: len(item.inside)).id
    own = search_again(crnn, Terms(costs={cheap: 1e-9}))
    assert cheap in [part.id for part in own.plan.partitions]
    found = what_if(crnn, Terms(), own)
    assert (found.keeps_plan, ids(found.plan)) == (False, [part.id for part in crnn.plan.partitions])


def test_rivals_that_the_new_terms_forbid_are_none(crnn: RunRecord) -> None:
    part = crnn.plan.partitions[0]
    others = [item for item in crnn.problem.candidates if item.target != part.target and item.inside.first() == part.nodes[0]][:1]
    allowed = next(item for item in crnn.problem.candidates if item.id not in {part.id for part in crnn.plan.partitions})
    rivals = [
        {
            "partitions": [part.id],
            "instead": [{"id": one.id, "target": one.target, "nodes": list(one.inside)}],
            "above_s": 0,
            "could_gain_s": 1,
        }
        for one in (others[0], allowed)
    ]
    budget = {"limit_s": 20.0, "spent_s": 20.0, "undecided": [part.id, "x"], "rivals": rivals}
    record = replace(crnn, document=replace(crnn.document, budget=from_json(RunBudget, budget)))
    kept = search_again(record, Terms([{"kind": "pin", "candidate": part.id}]))
    assert part.nodes[0] in others[0].inside
    assert not [rival for rival in kept.document.budget.rivals if rival.instead[0].id == others[0].id]
    assert to_json(search_again(record, Terms()).document.budget.rivals) == rivals
    assert search_again(replace(record, document=replace(crnn.document, budget=None)), Terms()).document.budget is None


def test_a_malformed_constraint_is_an_error_all_the_same(crnn: RunRecord) -> None:
    with pytest.raises(CollageError, match=r"constraints\[0\]\.target is 'cudnn', it must be a target"):
        what_if(crnn, Terms([{**FIRST, "target": "cudnn"}]))
