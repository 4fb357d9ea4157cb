"""`make acceptance`: which baselines it exports, and what it calls wrong in a document and in measured times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import acceptance
import pytest
from acceptance import baseline_artifacts, document_faults, speed_faults
from fresh_process import ALONE, MIX, Rounds
from partitioned import baseline_plans
from suite import NETWORKS, suite

from collage_core.documents.plan import PlanPartition
from collage_core.rewrite.plan import Plan, PlannedModel


def document(nodes: list[list[int]], error: float | None) -> dict[str, Any]:
    return {"plan": {"partitions": [{"nodes": part} for part in nodes]}, "verify": {"max_rel_error": error}}


def test_every_node_is_covered_once_and_the_error_is_allowed() -> None:
    assert document_faults(document([[0, 2], [1]], 1e-4), 3, 1e-3) == []
    assert document_faults(document([[0, 1], [1, 2]], 1e-4), 3, 1e-3) == ["not every node is in exactly one partition"]
    assert document_faults(document([[0, 1, 2]], 2e-3), 3, 1e-3) == ["error 0.002 over 0.001"]
    assert document_faults(document([[0, 1, 2]], None), 3, 1e-3) == ["error None over 0.001"]


def test_a_plan_is_behind_no_baseline() -> None:
    rounds = Rounds({MIX: [1.0] * 5, "openvino": [0.995] * 5, "ncnn": [3.0] * 5, "ncnn+host": [1.0] * 5})
    assert speed_faults(rounds) == []
    rounds.seconds["openvino"] = [0.98] * 5
    rounds.seconds["greedy"] = [0.9] * 5
    assert speed_faults(rounds) == ["openvino takes 0.98 [0.98–0.98] of its time", "greedy takes 0.90 [0.90–0.90] of its time"]
    noisy = Rounds({MIX: [1.0] * 5, "openvino": [0.9, 0.95, 0.97, 1.0, 1.1]})
    assert speed_faults(noisy) == [], "five such rounds leave open which is faster"
    assert speed_faults(Rounds({}, {MIX: "it crashed"})) == ["the artifact does not run: it crashed"]


def part(target: str, *nodes: int) -> dict[str, Any]:
    return {"id": f"{target}{nodes}", "target": target, "nodes": list(nodes)}


def alternative(name: str, *parts: dict[str, Any], reason: str = "", is_plan: bool = False, kind: str = "baseline") -> dict[str, Any]:
    return {"name": name, "kind": kind, "total_s": None, "reason": reason, "is_plan": is_plan, "partitions": list(parts)}


PLAN = Plan(
    model=PlannedModel(name="m", hash="h"),
    targets=(),
    total_s=1.0,
    options={"threads": 2},
    partitions=(
        PlanPartition(id="1", target="a", nodes=(0, 2), names=("x", "z"), ops=("Conv", "Add"), cost_s=1.0, source="measured"),
        PlanPartition(id="2", target="b", nodes=(1,), names=("y",), ops=("Relu",), cost_s=1.0, source="measured"),
    ),
)
WHOLE, SPLIT = part("tvm", 0, 1, 2), (part("ncnn", 0, 1), part("openvino", 2))
RUN = {
    "alternatives": [
        alternative("openvino", part("openvino", 0, 1, 2)),
        alternative("tvm", WHOLE),
        alternative("ncnn+host", *SPLIT),
        alternative("greedy", *SPLIT),
        alternative("onnxruntime", part("onnxruntime", 0, 1, 2), is_plan=True),
        alternative("rival 1", part("ncnn", 0, 1, 2), kind="rival"),
    ]
}


def test_the_plans_of_baselines_are_those_of_the_run_each_once() -> None:
    made = baseline_plans(RUN, PLAN)
    assert list(made) == ["openvino", "tvm", "ncnn+host"]
    assert [(one.target, one.names, one.ops) for one in made["ncnn+host"].partitions] == [
        ("ncnn", ("x", "y"), ("Conv", "Relu")),
        ("openvino", ("z",), ("Add",)),
    ]
    assert (made["tvm"].options, made["tvm"].model) == (PLAN.options, PLAN.model)


def test_what_only_this_program_runs_is_exported_and_what_fails_is_told_unless_it_did_in_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def apply(plan: Plan, source: str, out: Path) -> str:
        asked.append(out.name)
        return "no" if plan.partitions[0].target == "tvm" else ""

    monkeypatch.setattr(acceptance, "apply", apply)
    assert baseline_artifacts(RUN, PLAN, "m", tmp_path) == ({"ncnn+host": tmp_path / "baseline-ncnn+host"}, ["the baseline tvm: no"])
    assert asked == ["baseline-tvm", "baseline-ncnn+host"]
    erred = {"alternatives": [alternative("tvm", WHOLE, reason="it errs by 1, 0.001 is allowed")]}
    assert baseline_artifacts(erred, PLAN, "m", tmp_path) == ({}, [])


def test_some_networks_are_among_the_cases_and_a_toolchain_alone_is_what_its_users_run() -> None:
    quick = {case.name for case in suite() if case.is_quick}
    assert len(quick & {case.name for case in NETWORKS}) >= 2
    assert set(ALONE) < set(acceptance.TARGETS.split(","))
