"""Every kind of explanation, solved once more: the choice that is explained pinned or taken away, the threshold put in on either side.

Each number that a user reads is compared with a search of its own, over two samples whose transitions have a cost and where a target
cannot take everything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.errors import InfeasibleError
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.rules.spec import HOST_TARGET
from collage_core.search.problem import FEMTOSECONDS
from collage_core.search.solve import solve
from collage_core.what_if.compare import compare
from collage_core.what_if.explanation import explain
from collage_core.what_if.other_terms import other_terms
from collage_core.what_if.terms import Terms
from collage_core.what_if.what_if import effects, what_if
from collage_core.what_if.worth import worth

COSTS = {
    "targets": {
        "tvm": {"op_s": 3, "decay": 0.9, "ops": {"Conv": 5}, "invalid": ["MaxPool"]},
        "onnxruntime": {"op_s": 4, "decay": 0.75, "ops": {"MatMul": 20}},
    },
    "transitions": {"tvm->onnxruntime": {"fixed_s": 1}, "onnxruntime->tvm": {"fixed_s": 0.5}},
}
Constraint = dict[str, Any]


@pytest.fixture(scope="module", params=["mini_mnist", "mnist"])
def record(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    file = tmp_path_factory.mktemp("explained") / "costs.json"
    file.write_text(json.dumps(COSTS))
    return partition(request.param, Options(("tvm", "onnxruntime"), costs=f"mock:{file}", max_depth={"": 2}))


def total_s(record: RunRecord, *constraints: Constraint, without: Sequence[str] = ()) -> float | None:
    """Return the least total under some constraints; None where no plan holds them."""
    try:
        return float(what_if(record, Terms(list(constraints), switched_off=list(without))).plan.total_s)
    except InfeasibleError:
        return None


def exactly(record: RunRecord, nodes: Sequence[int], target: str) -> Constraint:
    names = [record.graph.nodes[node].name for node in nodes]
    return {"kind": "pin", "nodes": names, "target": target, "together": True, "exact": True}


def rows_of(record: RunRecord) -> dict[str, dict[str, Any]]:
    """Return what is said of each candidate; of each node one is the chosen one."""
    told = [explain(record, str(node)).nodes[0].candidates for node in range(len(record.graph))]
    assert [sum(row.chosen for row in rows) for rows in told] == [1] * len(record.graph)
    return {row.id: row for rows in told for row in rows if row.target != HOST_TARGET}


def test_a_candidate_that_is_pinned_costs_its_regret(record: RunRecord) -> None:
    rows, exact = rows_of(record), 0
    for row in rows.values():
        pinned_s = total_s(record, exactly(record, row.nodes, row.target))
        if pinned_s is None:
            assert (row.regret_s, row.regret_at_least_s) == (None, None), "it is in no plan"
        elif row.regret_s is not None:
            exact += 1
            assert pinned_s - record.plan.total_s == pytest.approx(row.regret_s)
            assert not row.chosen or row.regret_s == 0
        else:
            assert pinned_s - record.plan.total_s >= row.regret_at_least_s - 1e-9
    assert exact > 5


def test_a_candidate_enters_just_below_its_threshold_and_not_above(record: RunRecord) -> None:
    def is_chosen_at(id: str, seconds: float) -> bool:
        changed = [replace(one, cost=round(seconds * FEMTOSECONDS)) if one.id == id else one for one in record.problem.candidates]
        return id in {record.problem.candidates[index].id for index in solve(record.problem.with_candidates(changed)).chosen}

    rows = [row for row in rows_of(record).values() if row.enters_below_s]
    assert len(rows) > 5
    for row in rows:
        assert is_chosen_at(row.id, row.enters_below_s * (1 - 1e-6))
        assert not is_chosen_at(row.id, row.enters_below_s * (1 + 1e-6))


def test_a_target_that_cannot_take_a_node_has_no_plan_with_it_and_a_reason(record: RunRecord) -> None:
    pool = next(node for node in record.graph.nodes if node.op == "MaxPool")
    assert total_s(record, {"kind": "pin", "nodes": [pool.name], "target": "tvm"}) is None
    reasons = [one for one in explain(record, pool.name).nodes[0].rejections if one.target == "tvm"]
    assert reasons
    assert all(one.stage and one.reason for one in reasons)


def test_each_constraint_costs_alone_and_saves_taken_back_what_searches_say(record: RunRecord) -> None:
    terms = [{"kind": "veto", "op": "Conv", "target": "onnxruntime"}, {"kind": "pin", "op": "Relu", "target": "onnxruntime"}]
    together_s, found = total_s(record, *terms), effects(record, Terms(terms), [[0], [1]]).groups
    for index, effect in enumerate(found):
        alone_s, rest_s = total_s(record, terms[index]), total_s(record, terms[1 - index])
        assert None not in (together_s, alone_s, rest_s)
        assert effect.alone.change_s == pytest.approx(alone_s - record.plan.total_s)
        assert effect.saves.change_s == pytest.approx(together_s - rest_s)


def test_a_target_brings_what_the_plan_loses_without_it(record: RunRecord) -> None:
    rows = {row.target: row for row in other_terms(record, Terms()).targets}
    assert set(rows) == {"tvm", "onnxruntime"}
    for target, row in rows.items():
        left_s = total_s(record, without=[target])
        if left_s is None or not row.nodes:
            assert row.brings_s is None
        else:
            assert row.brings_s == pytest.approx(left_s - record.plan.total_s)


def test_each_set_of_targets_has_the_total_of_a_search_over_it(record: RunRecord) -> None:
    found = worth(record)
    assert len(found.sets) == 3
    for one in found.sets:
        others = [name for name in ("tvm", "onnxruntime") if name not in one.targets]
        assert (one.total_s is None) == (total_s(record, without=others) is None)
        assert one.total_s is None or one.total_s == pytest.approx(total_s(record, without=others))
    gains = [step.gain.change_s for step in found.steps[1:]]
    assert sum(gains) == pytest.approx(found.steps[0].total_s - found.steps[-1].total_s)


def test_a_typed_cost_gives_the_plan_of_a_search_on_it_on_either_side_of_the_threshold(record: RunRecord) -> None:
    """Equal computations cost as much, so one that is alone in its kind is typed."""
    alone = [row for row in rows_of(record).values() if row.enters_below_s and row.times == 1]
    assert alone
    for row in alone:
        for share, comes_in in ((1 - 1e-6, True), (1 + 1e-6, False)):
            found = other_terms(record, Terms(costs={row.id: row.enters_below_s * share}))
            assert (row.id in {part.id for part in found.plan.partitions}) is comes_in
            assert found.change.change_s == pytest.approx(0.0, abs=1e-4)


def test_a_region_of_a_comparison_saves_what_the_plan_loses_with_the_others_choice(record: RunRecord, tmp_path: Path) -> None:
    record.save(tmp_path)
    found = compare(record, f"{tmp_path}#onnxruntime")
    assert found.regions or {part.target for part in record.plan.partitions} <= {"onnxruntime", HOST_TARGET}
    kept = {part.id: part for part in record.plan.partitions}
    for region in found.regions:
        given = {part.id for part in region.first}
        forced = [exactly(record, part.nodes, part.target) for id, part in kept.items() if id not in given]
        forced += [exactly(record, part.nodes, part.target) for part in region.second]
        assert region.saves_s == pytest.approx(total_s(record, *forced) - record.plan.total_s)
