"""A plan file: read back it is the same plan, and whatever is wrong with one is told by its field."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.documents.plan import PlanPartition, PlanTransition
from collage_core.errors import CollageError
from collage_core.rewrite.plan import Plan, PlannedModel, PlannedTarget, read_plan

PLAN = Plan(
    model=PlannedModel(name="tiny", hash="c0ffee"),
    targets=(PlannedTarget(name="tvm", version="0.27"), PlannedTarget(name="onnxruntime")),
    options={"costs": "measure", "threads": 2},
    constraints=({"kind": "veto", "op": "Conv", "target": "tvm"},),
    machine="a machine",
    accuracy=1e-2,
    total_s=0.30000000000000004,
    total_interval_s=1e-3,
    partitions=(
        PlanPartition(
            id="p0", target="onnxruntime", nodes=(0, 2), names=("conv", "add"), ops=("Conv", "Add"),
            cost_s=0.1, spread_s=1e-3, interval_s=2e-3, samples=9, source="measured", stability=0.75,
        ),
        PlanPartition(
            id="p1", target="tvm", nodes=(1,), names=("relu",), ops=("Relu",), cost_s=None, source="unknown", decided_by="priority"
        ),
    ),
    transitions=(PlanTransition(maker="onnxruntime", reader="tvm", tensor="t", bytes=4096, cost_s=1e-6),),
)  # fmt: skip
NAMES = ("conv", "relu", "add")


def test_a_plan_that_is_written_and_read_is_the_same(tmp_path: Path) -> None:
    PLAN.write(tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json") == PLAN
    assert read_plan(tmp_path) == PLAN, "the folder of a run stands for the plan in it"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_finite_values_count_unless_the_plan_says_more() -> None:
    strict = PLAN.model_copy(update={"options": {**PLAN.options, "value_policy": "any"}})
    assert (PLAN.value_policy, strict.value_policy) == ("finite", "any")


def test_the_file_says_which_target_runs_each_node(tmp_path: Path) -> None:
    PLAN.write(tmp_path / "plan.json")
    data = json.loads((tmp_path / "plan.json").read_text())
    assert (data["schema"], data["model"]) == (1, {"name": "tiny", "hash": "c0ffee", "fixed": {}, "assumed": {}})
    placed = {name: part["target"] for part in data["partitions"] for name in part["names"]}
    assert placed == {"conv": "onnxruntime", "relu": "tvm", "add": "onnxruntime"}


def spoilt(**changed: Any) -> dict[str, Any]:
    return {**PLAN.to_json(), **changed}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (spoilt(schema=2), "has schema 2, this version reads 1"),
        (spoilt(total_s=-1.0), "is not a plan: total_s: Input should be greater than or equal to 0"),
        (spoilt(model={"name": "tiny"}), "is not a plan: model.hash: Field required"),
        (spoilt(partitions=[{**PLAN.to_json()["partitions"][0], "nodes": []}]), "is not a plan: partitions.0.nodes: "),
        ([], "is not a plan: the whole: "),
    ],
)
def test_what_is_no_plan_is_told_by_its_first_wrong_field(data: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(data))
    with pytest.raises(CollageError) as caught:
        read_plan(tmp_path / "plan.json")
    assert message in caught.value.message
    assert caught.value.code == "bad_plan"


def test_a_file_that_is_not_there_or_no_json_is_told(tmp_path: Path) -> None:
    with pytest.raises(CollageError, match=r"cannot read the plan .*: No such file or directory"):
        read_plan(tmp_path)
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(CollageError, match="is not JSON"):
        read_plan(tmp_path)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("conv", "sigmoid", "add"), "partition p1 holds node 1 'relu', which the model does not have there"),
        ((*NAMES, "more"), "node 3 'more' is in no partition"),
    ],
)
def test_a_plan_for_other_nodes_is_refused(names: tuple[str, ...], message: str) -> None:
    PLAN.check_covers(NAMES)
    with pytest.raises(CollageError) as caught:
        PLAN.check_covers(names)
    assert caught.value.message == f"the plan is broken: {message}"


def test_a_node_in_two_partitions_is_refused() -> None:
    twice = PLAN.model_copy(update={"partitions": (*PLAN.partitions, replace(PLAN.partitions[1], id="p2"))})
    with pytest.raises(CollageError, match="node 1 'relu' is in the partitions p1 and p2"):
        twice.check_covers(NAMES)
