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
    assert found["unknown"] == [0, 2]
    assert found["regret"] == [None] * 4
    assert found["regret_at_least"] == [0.0, 0.0, 0.0, None], "the last one is in no plan"
    assert found["regret_exact"] is False


def test_the_total_of_a_greedy_plan_of_unknown_costs_is_a_bound(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nobody knows the cost of the candidate that alone takes the first two nodes."""
    searched(capsys, tmp_path, candidate(0, 1), candidate(2, cost_s=3.0))
    _, out, _ = in_this_process(capsys, "search", tmp_path / "problem.json", "--search", "greedy", "--best", 1)
    assert out.splitlines()[0] == "total at least 3 s (1 cost not known), candidates [0, 1]"
    assert "best 1: at least 3 s (1 cost not known), 0 bytes, candidates [0, 1]" in out


def located(folder: Path, bytes_at_g: int) -> Path:
    """Write a problem in which two nodes that read one tensor are faster at g, where they need an initializer that they share."""
    weights = {"weight_bytes": {"w": 100}}
    problem = {
        "schema": 2,
        "nodes": 4,
        "edges": [[-1, 0, 8, "x"], [0, 1, 16, "t"], [0, 2, 16, "t"], [1, 3, 4, "u"], [2, 3, 4, "v"], [3, -1, 4, "y"]],
        "candidates": [
            *(candidate(node, cost_s=cost) for node, cost in enumerate((1.0, 9.0, 9.0, 1.0))),
            *({**candidate(node, target="b", cost_s=2.0), **weights} for node in (1, 2)),
        ],
        "locations": {"host": {}, "g": {"bytes": bytes_at_g}},
        "targets": {"b": {"location": "g"}},
        "copies": {"host->g": {"fixed_s": 1, "per_byte_s": 0.125}, "g->host": {"fixed_s": 1}},
    }
    (folder / "problem.json").write_text(json.dumps(problem))
    return folder / "problem.json"


def test_a_plan_over_locations_has_copies_memory_and_what_parallel_running_could_gain(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = located(tmp_path, 1000)
    found = document_of(capsys, "search", path)["plan"]
    assert (found["total_s"], found["chosen"]) == (11.0, [0, 4, 5, 3])
    slow, free = "stated, not measured: 1 s, then 8 bytes/s", "stated, not measured: 1 s"
    assert found["copies"] == [
        {"tensor": "t", "from": "host", "to": "g", "bytes": 16, "cost_s": 3.0, "basis": slow},
        {"tensor": "u", "from": "g", "to": "host", "bytes": 4, "cost_s": 1.0, "basis": free},
        {"tensor": "v", "from": "g", "to": "host", "bytes": 4, "cost_s": 1.0, "basis": free},
    ]
    assert found["memory"] == {
        "host": {"location": "host", "weights": 0, "peak": 24, "limit": None, "at_node": 0, "node": "0"},
        "g": {"location": "g", "weights": 100, "peak": 124, "limit": 1000, "at_node": 2, "node": "2"},
    }
    gain = "running partitions at the same time can gain at most 27 % here: g works for 4 s, host->g works for 3 s"
    assert found["parallel"] == {
        "total_s": 11.0,
        "critical_path_s": 8.0,
        "work_s": {"host": 2.0, "g": 4.0, "host->g": 3.0, "g->host": 2.0},
        "least_s": 8.0,
        "gain_at_most": pytest.approx(3 / 11),
        "text": f"{gain}, host works for 2 s, g->host works for 2 s",
    }
    _, out, _ = in_this_process(capsys, "search", path)
    assert out.splitlines()[2:] == [
        f"copy of t from host to g: 16 bytes, 3 s ({slow})",
        f"copy of u from g to host: 4 bytes, 1 s ({free})",
        f"copy of v from g to host: 4 bytes, 1 s ({free})",
        "host holds 24 bytes at most, while the partition of '0' runs",
        "g holds 124 bytes of 1 kB at most, while the partition of '2' runs; 100 bytes are weights",
        f"{gain}, host works for 2 s, g->host works for 2 s",
    ]


def test_where_a_location_is_too_small_the_plan_goes_elsewhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert document_of(capsys, "search", located(tmp_path, 124))["plan"]["chosen"] == [0, 4, 5, 3]
    assert document_of(capsys, "search", located(tmp_path, 123))["plan"]["chosen"] != [0, 4, 5, 3]
    small = document_of(capsys, "search", located(tmp_path, 99))
    assert small["plan"]["chosen"] == [0, 1, 2, 3]
    assert (small["plan"]["copies"], small["search"]["optimal"]) == ([], True)


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
