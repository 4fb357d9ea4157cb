"""`collage search`: what is printed of regrets that rest on unknown costs, and a saved problem that gives the plan of its run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import document_of, in_this_process


def candidate(*nodes: int, target: str = "a", cost_s: float | None = None) -> dict[str, Any]:
    return {"nodes": list(nodes), "target": target, "cost_s": cost_s}


def searched(capsys: pytest.CaptureFixture[str], folder: Path, *candidates: dict[str, Any]) -> dict[str, Any]:
    problem = {"schema": 1, "nodes": 3, "edges": [[0, 1, 4], [1, 2, 4]], "candidates": candidates}
    (folder / "problem.json").write_text(json.dumps(problem))
    return document_of(capsys, "search", folder / "problem.json", "--regret")


def test_an_unknown_cost_counts_as_no_regret(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The second plan takes at least 0 s and the third at least 8 s, whatever the two unknown costs are."""
    unknown, dear = candidate(1), candidate(2, cost_s=8.0)
    found = searched(capsys, tmp_path, candidate(0, 1, 2, cost_s=5.0), candidate(0, cost_s=0.0), unknown, candidate(2, target="b"), dear)
    assert found["plan"] == {"total_s": 5.0, "chosen": [0]}
    assert found["regret"] == [0.0, None, None, None, None]
    assert found["regret_at_least"] == [0.0, 0.0, 0.0, 0.0, 3.0]
    assert found["regret_at_most"] == [0.0, None, None, None, None]
    assert found["regret_exact"] is False
    _, out, _ = in_this_process(capsys, "search", tmp_path / "problem.json", "--regret")
    assert [line for line in out.splitlines() if line.startswith("regret")] == [
        "regret of candidate 0: 0 µs",
        *(f"regret of candidate {index}: at least {least}" for index, least in enumerate(["0 µs"] * 3 + ["3 s"], 1)),
    ]


def test_a_plan_that_rests_on_an_unknown_cost_has_no_regret(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = searched(capsys, tmp_path, candidate(0, 1), candidate(2, cost_s=1.0), candidate(0, 1, 2), candidate(1, 2, cost_s=1.0))
    assert found["plan"] == {"total_s": 1.0, "chosen": [0, 1]}
    assert found["regret"] == [None] * 4
    assert found["regret_at_least"] == [0.0, 0.0, 0.0, None], "the last one is in no plan"
    assert found["regret_exact"] is False


def test_a_saved_problem_holds_the_constraints_of_its_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """TVM would take everything: the constraints keep the convolutions and the first Relu from it, in each way to address them."""
    mock = {"targets": {"onnxruntime": {"op_s": 2}, "tvm": {"op_s": 1}}}
    (tmp_path / "mock.json").write_text(json.dumps(mock))
    given = ("partition", "mini_mnist", "--targets", "tvm,onnxruntime", "--costs", f"mock:{tmp_path / 'mock.json'}")
    free = document_of(capsys, *given, "--save-problem", tmp_path / "free.json")
    listed = json.loads((tmp_path / "free.json").read_text())
    assert listed["constraints"] == []
    relu, whole = listed["names"][listed["ops"].index("Relu")], free["plan"]["partitions"][0]["id"]
    constraints = [
        {"kind": "veto", "op": "Conv", "target": "tvm"},
        {"kind": "pin", "nodes": [relu], "target": "onnxruntime", "together": True, "exact": True},
        {"kind": "veto", "candidate": whole},
    ]
    (tmp_path / "constraints.json").write_text(json.dumps({"constraints": constraints}))
    run = document_of(capsys, *given, "--constraints", tmp_path / "constraints.json", "--save-problem", tmp_path / "problem.json")
    assert run["plan"]["total_s"] > free["plan"]["total_s"]
    found = document_of(capsys, "search", tmp_path / "problem.json")
    ids = [item["id"] for item in json.loads((tmp_path / "problem.json").read_text())["candidates"]]
    assert [ids[index] for index in found["plan"]["chosen"]] == [part["id"] for part in run["plan"]["partitions"]]
    assert found["plan"]["total_s"] == run["plan"]["total_s"]
