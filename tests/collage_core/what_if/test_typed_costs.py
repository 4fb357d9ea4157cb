"""A cost that is typed in: the plan is that of a search with it, it is labelled, and nothing that was measured is changed."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.cli.explain import seconds_in, what_ifs
from collage_core.cost.cost import Cost
from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError
from collage_core.graph.computation import Computations
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from collage_core.search.problem import FEMTOSECONDS
from collage_core.search.solve import solve
from collage_core.what_if.other_terms import other_terms
from collage_core.what_if.terms import Terms
from collage_core.what_if.typed_costs import TYPED, with_typed
from collage_core.what_if.what_if import effects, what_if
from tests.helpers.command import document_of, in_this_process


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """mini-MNIST, where ONNX Runtime takes 1 s an operator, TVM 3 s, and TVM takes no MaxPool."""
    costs = tmp_path_factory.mktemp("typed") / "costs.json"
    costs.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 1}, "tvm": {"op_s": 3, "invalid": ["MaxPool"]}}}))
    return partition("mini_mnist", Options(("onnxruntime", "tvm"), costs=f"mock:{costs}", max_depth={"": 1}))


def single(record: RunRecord, op: str, target: str) -> str:
    """Return the id of the candidate of one such operator alone."""
    nodes = record.graph.nodes
    return next(item.id for item in record.candidates if item.target == target and [nodes[i].op for i in item.inside] == [op])


def test_the_plan_is_that_of_a_search_with_the_cost(record: RunRecord) -> None:
    conv = single(record, "Conv", "tvm")
    for seconds in (0.25, 2.5):
        changed = [replace(one, cost=round(seconds * FEMTOSECONDS)) if one.id == conv else one for one in record.problem.candidates]
        wanted = solve(record.problem.with_candidates(changed)).total / FEMTOSECONDS
        found = what_if(record, Terms(costs={conv: seconds}))
        assert found.plan.total_s == pytest.approx(wanted)
        sources = {part.source for part in found.plan.partitions if part.id == conv}
        assert sources == ({TYPED} if seconds < 1 else set()), "it comes in, and says where its cost is from"


def test_each_typed_cost_has_its_effect_alone_and_beside_the_others(record: RunRecord) -> None:
    conv, relu = single(record, "Conv", "tvm"), single(record, "Relu", "onnxruntime")
    found = effects(record, Terms(costs={conv: 0.25, relu: 0.5}), []).costs
    assert {id: effect.alone.change_s for id, effect in found.items()} == pytest.approx({conv: -0.75, relu: -0.5})
    assert {id: effect.saves.change_s for id, effect in found.items()} == pytest.approx({conv: -0.75, relu: -0.5})


def test_what_comes_in_is_told_with_what_it_brings(record: RunRecord) -> None:
    conv = single(record, "Conv", "tvm")
    found = other_terms(record, Terms(costs={conv: 0.25}))
    rows = {row.target: row for row in found.targets}
    assert (rows["tvm"].nodes, rows["tvm"].nodes_before) == (1, 0)
    assert rows["tvm"].brings_s == pytest.approx(0.75)
    assert found.change.change_s == pytest.approx(-0.75)
    assert found.kept_s == pytest.approx(record.plan.total_s), "the plan of the run does not hold it"
    (typed,) = found.typed
    assert (typed.id, typed.seconds, typed.before.seconds, typed.equal) == (conv, 0.25, 3, 1)
    assert conv in [part.id for region in found.regions for part in region.first]


def test_a_part_of_the_plan_that_gets_dearer_leaves_it(record: RunRecord) -> None:
    kept = single(record, "Conv", "onnxruntime")
    held = next(part for part in record.plan.partitions if "Conv" in part.ops)
    found = other_terms(record, Terms(costs={held.id: 100.0}))
    assert held.id not in [part.id for part in found.plan.partitions]
    assert found.kept_s > found.plan.total_s
    assert kept


def test_what_failed_can_be_supposed_to_work(record: RunRecord) -> None:
    pool = single(record, "MaxPool", "tvm")
    assert next(item.cost for item in record.candidates if item.id == pool).is_invalid
    found = what_if(record, Terms([{"kind": "pin", "candidate": pool}], costs={pool: 0.5}))
    assert pool in [part.id for part in found.plan.partitions]


def test_equal_computations_cost_as_much_and_the_run_is_unchanged(record: RunRecord) -> None:
    before = [item.cost for item in record.candidates]
    computations = record.graph.derive(Computations)
    for item in record.candidates:
        if item.target == "host":
            continue
        typed = with_typed(record, {item.id: 0.125})
        changed = {one.id for one in typed.candidates if one.cost.source == TYPED}
        wanted = computations.of(item.inside)
        assert changed == {one.id for one in record.candidates if one.target == item.target and computations.of(one.inside) == wanted}
    assert [item.cost for item in record.candidates] == before


def test_an_accuracy_tells_what_would_be_accurate_enough_and_was_not_timed(record: RunRecord) -> None:
    conv = single(record, "Conv", "tvm")
    failed = Cost(None, "invalid", stage="numerics", reason="it errs", error=5e-3)
    erring = [CostedCandidate(item.held, failed) if item.id == conv else item for item in record.candidates]
    refused = replace(record, candidates=erring, problem=record.problem.with_candidates(search_candidates(erring)))
    assert {row.target: row.untimed for row in other_terms(refused, Terms(accuracy=1e-2)).targets} == {"onnxruntime": 0, "tvm": 1}
    assert {row.untimed for row in other_terms(refused, Terms(accuracy=1e-3)).targets} == {0}


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ({"nothing": 1.0}, "the run has no candidate 'nothing'"),
        ({"conv": -1.0}, "it must be seconds from 0 to 1e\\+06"),
        ({"conv": math.nan}, "it must be seconds from 0 to 1e\\+06"),
    ],
)
def test_a_cost_that_nothing_can_have_is_refused(record: RunRecord, costs: dict[str, float], said: str) -> None:
    named = {single(record, "Conv", "tvm") if name == "conv" else name: seconds for name, seconds in costs.items()}
    with pytest.raises(CollageError, match=said):
        what_if(record, Terms(costs=named))


@pytest.mark.parametrize(("text", "seconds"), [("1.2ms", 1.2e-3), ("800us", 8e-4), ("3µs", 3e-6), ("0.5s", 0.5), ("7ns", 7e-9)])
def test_a_time_has_a_unit(text: str, seconds: float) -> None:
    assert seconds_in(text, text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["cost:abc=12"], "gives no unit for '12'"),
        (["cost:abc"], "it must be cost:ID=1.2ms"),
        (["cost:abc=xms"], "has 'x' where a number must stand"),
        (["accuracy=0"], "the accuracy is 0, it must be more than 0"),
        (["accuracy=nan"], "the accuracy is nan, it must be more than 0"),
        (["a.json", "b.json"], "'b.json' is a second file of constraints"),
    ],
)
def test_what_is_no_term_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(CollageError) as caught:
        what_ifs(texts, None)
    assert said in caught.value.message


def test_terms_of_several_kinds_are_read() -> None:
    found = what_ifs(["terms.json", "cost:a=1ms", "cost:b=2us", "accuracy=1e-2"], None)
    assert (found.file, found.accuracy) == (Path("terms.json"), 1e-2)
    assert found.costs == pytest.approx({"a": 1e-3, "b": 2e-6})


def test_the_command_says_that_it_was_typed_in(record: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.save(tmp_path)
    conv = single(record, "Conv", "tvm")
    told = document_of(capsys, "explain", tmp_path, "--what-if", f"cost:{conv}=250ms")
    assert told == {"schema": 1, **to_json(other_terms(RunRecord.load(tmp_path), Terms(costs={conv: 0.25})))}
    status, out, _ = in_this_process(capsys, "explain", tmp_path, "--what-if", f"cost:{conv}=250ms")
    assert status == 0
    lines = out.splitlines()
    assert lines[0].endswith((" partition, with costs typed in", " partitions, with costs typed in"))
    assert lines[1] == "  typed in: Conv on tvm takes 250 ms (mock before: 3 s)"
    assert "  tvm comes in with 1 node, 750 ms less than without it" in lines
