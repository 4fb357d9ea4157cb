"""`make acceptance`: what it calls wrong in a document and in measured times."""

from __future__ import annotations

from typing import Any

from acceptance import document_faults, speed_faults
from fresh_process import MIX, Rounds

FACTS: dict[str, Any] = {
    "measured_s": 0.010,
    "baselines": [{"name": "tvm", "measured_s": 0.1}, {"name": "greedy", "measured_s": None}, {"name": "ncnn", "measured_s": 0.001}],
}


def document(nodes: list[list[int]], error: float | None) -> dict[str, Any]:
    return {"plan": {"partitions": [{"nodes": part} for part in nodes]}, "verify": {"max_rel_error": error}}


def test_every_node_is_covered_once_and_the_error_is_allowed() -> None:
    assert document_faults(document([[0, 2], [1]], 1e-4), 3, 1e-3) == []
    assert document_faults(document([[0, 1], [1, 2]], 1e-4), 3, 1e-3) == ["not every node is in exactly one partition"]
    assert document_faults(document([[0, 1, 2]], 2e-3), 3, 1e-3) == ["error 0.002 over 0.001"]
    assert document_faults(document([[0, 1, 2]], None), 3, 1e-3) == ["error None over 0.001"]


def test_a_plan_is_behind_no_toolchain_alone() -> None:
    rounds = Rounds({MIX: [1.0] * 5, "openvino": [0.995] * 5, "ncnn": [3.0] * 5})
    assert speed_faults(FACTS, rounds) == []
    rounds.seconds["openvino"] = [0.98] * 5
    assert speed_faults(FACTS, rounds) == ["openvino alone takes 0.98 [0.98–0.98] of its time"]
    assert speed_faults(FACTS, Rounds({}, {MIX: "it crashed"})) == ["the artifact does not run: it crashed"]


def test_a_plan_is_behind_no_baseline_that_was_measured_beside_it() -> None:
    rounds = Rounds({MIX: [1.0] * 5, "openvino": [1.0] * 5})
    rows = [{"name": "greedy", "measured_s": 0.0098}, {"name": "tvm", "measured_s": 0.00995}]
    assert speed_faults({**FACTS, "baselines": rows}, rounds) == ["measured beside it, greedy takes 0.0098 s and the plan 0.01 s"]
