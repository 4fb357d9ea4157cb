"""`make bench`: its networks have the sizes that it promises, and its tables and budgets say what was measured."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import bench
import bench_measure
import bench_models
import onnx
import pytest

from collage_core.model.onnx_model import load_model

# Nodes in the file, nodes that are searched, and what the searched network must have of the operators that make it what it is.
PROMISED = {
    "googlenet": (139, 139, {"Conv": 57, "Concat": 9, "MaxPool": 13, "Gemm": 1}),
    "densenet121": (427, 368, {"Conv": 120, "BatchNormalization": 62, "Concat": 58, "AveragePool": 3}),
    "densenet121_listed": (427, 368, {"Conv": 120, "BatchNormalization": 62, "Concat": 58, "AveragePool": 3}),
    "gpt2": (660, 660, {"Gemm": 48, "MatMul": 25, "Softmax": 12, "Split": 12, "Tanh": 12, "ReduceMean": 50}),
    "transformer500": (500, 500, {"Gemm": 36, "Softmax": 9, "ReduceMean": 36}),
}


@pytest.mark.parametrize("name", PROMISED)
def test_a_network_has_the_nodes_that_are_promised(name: str, tmp_path: Path) -> None:
    model = bench_models.build(name)
    onnx.checker.check_model(model, full_check=True)
    path = tmp_path / f"{name}.onnx"
    onnx.save(model, path)
    graph = load_model(path, fold=bench_models.is_folded(name)).graph
    in_file, searched, ops = PROMISED[name]
    assert (len(model.graph.node), len(graph)) == (in_file, searched)
    found = Counter(node.op for node in graph.nodes)
    assert {op: found[op] for op in ops} == ops


def test_the_two_densenets_differ_in_how_many_features_a_join_reads() -> None:
    joined, listed = (
        max(len(node.input) for node in bench_models.build(name).graph.node if node.op_type == "Concat")
        for name in ("densenet121", "densenet121_listed")
    )
    assert (joined, listed) == (2, 25)


@pytest.mark.parametrize("nodes", [1, 53, 54, 55, 2_000, 10_000])
def test_a_transformer_has_exactly_as_many_nodes_as_asked_for(nodes: int) -> None:
    assert len(bench_models.build(f"transformer{nodes}").graph.node) == nodes


def test_a_model_is_the_same_every_time() -> None:
    first, second = (bench_models.build("gpt2").SerializeToString(deterministic=True) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("count", [2, 3, 4])
def test_no_target_is_the_best_for_all_operators(count: int) -> None:
    targets = bench_measure.TARGETS[:count]
    ops = ["Add", "Conv", "Gemm", "MatMul", "Mul", "Relu", "Softmax", "Tanh"]
    costs = bench_measure.mock_costs(ops, targets)
    best = {min(targets, key=lambda target: costs["targets"][target]["ops"][op]) for op in ops}
    assert best == set(targets)
    assert all(pair["fixed_s"] > 0 and pair["per_byte_s"] > 0 for pair in costs["transitions"].values())
    assert len(costs["transitions"]) == count * (count - 1)


SMALL = bench.Case("transformer54", 2, 2, ("merge", "constraints", "searchers"))


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> bench.Figures:
    """One layer, measured in a process of its own as every case is."""
    return bench.measured(SMALL, tmp_path_factory.mktemp("bench"))


@pytest.mark.long
def test_a_small_case_is_measured_whole(figures: bench.Figures) -> None:
    assert figures["status"] == ""
    assert figures["nodes"] == sum(figures["placed"].values()) == bench_models.LAYER_NODES
    assert list(figures["candidates"]) == ["left", "right"]
    assert min(figures["candidates"].values()) >= bench_models.LAYER_NODES
    assert figures["optimal"]
    assert not figures["cut_off"]
    assert figures["repeats"] == bench_measure.REPEATS
    seconds = figures["seconds"]
    assert seconds["sum"] == pytest.approx(seconds["find"] + seconds["costs"] + seconds["search"])
    assert figures["merged_total_s"] <= figures["total_s"]
    assert {kind: found["tried"] for kind, found in figures["constraints"].items()} == {"veto": 21, "pin": 21}
    for name in ("astar", "dijkstra"):
        assert figures[f"searcher:{name}"]["total_s"] == figures["total_s"]
        assert figures[f"searcher:{name}"]["optimal"]
    assert list(bench.faults({"small": figures})) == []


@pytest.mark.long
def test_the_tables_show_what_was_measured(figures: bench.Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench.TABLES, "original", (SMALL,))
    monkeypatch.setitem(bench.ORIGINAL_S, SMALL.label, 1e9)
    text = bench.report({SMALL.label: figures})
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[0].split(" | ")[1].strip() == "nodes"
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    shown = dict(zip(bench.HEADER, cells, strict=True))
    assert (shown["case"], shown["nodes"], shown["C++ s"]) == ("transformer54 d2 t2", "54", "1000000000")
    assert shown["candidates"] == " / ".join(str(count) for count in figures["candidates"].values())
    reached = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [cells[-2:] for cells in reached if cells[1] == "astar"] == [["1.0000", "optimal"]]
    assert any("| veto |" in line for line in lines)


def test_the_report_names_the_source_of_the_original_figures_where_it_shows_any() -> None:
    def shown(label: str) -> str:
        return bench.report({label: {"status": "ended after 100 s", "nodes": 122}})

    named = ("relay.collage of TVM v0.12", "mock", "GPT-2 with 12 layers 1,222", "not quite like for like")
    assert all(words in shown("resnet50 d8 t2") for words in named)
    assert "relay.collage" not in shown("transformer500 d4 t3")


def test_a_case_that_fails_says_why(tmp_path: Path) -> None:
    figures = bench.measured(bench.Case("no_such_model", 2), tmp_path)
    assert figures["status"].startswith("failed: ValueError: invalid literal")
    assert list(bench.faults({"it": figures})) == [f"it {figures['status']}"]


def results(**changed: object) -> dict[str, bench.Figures]:
    """Figures of a ResNet-50 that keeps its budgets, but for what is `changed`."""
    figures = {
        "status": "",
        "nodes": 122,
        "candidates": {"left": 1, "right": 1},
        "placed": {"left": 100, "right": 22},
        "partitions": 2,
        "optimal": True,
        "cut_off": False,
        "total_s": 1.0,
        "peak_bytes": 2**20,
        "seconds": {"find": 0.01, "costs": 0.01, "search": 0.01, "sum": 0.03},
        "constraints": {"veto": {"median_s": 0.01, "worst_s": 0.02, "tried": 21}},
    }
    return {"resnet50 d8 t2": {**figures, **changed}}


def test_budgets_that_are_kept_pass(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    assert bench.judge(results(), file) == 0
    out = capsys.readouterr().out
    assert "PASS  resnet50 d8 t2, phases 1 to 3: 0.03 s, to be below 0.12 s" in out
    assert "PASS  resnet50 d8 t2, new optimum after a veto (worst of 21): 0.02 s, to be below 0.05 s" in out
    assert "FAIL" not in out
    written = json.loads(file.read_text())
    assert written["cases"]["resnet50 d8 t2"]["nodes"] == 122
    assert [check["holds"] for check in written["checks"]] == [True, True]


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (
            {"seconds": {"find": 0.1, "costs": 0.01, "search": 0.01, "sum": 0.12}},
            "FAIL  resnet50 d8 t2, phases 1 to 3: 0.12 s, to be below 0.12 s",
        ),
        ({"status": "ended after 120 s", "seconds": {}}, "FAIL  resnet50 d8 t2, phases 1 to 3: no figure, to be below 0.12 s"),
        ({"cut_off": True}, "FAIL  resnet50 d8 t2: candidates were cut off at a bound, so the set is not complete"),
        ({"optimal": False}, "FAIL  resnet50 d8 t2: the plan is not proven to be a best one"),
        ({"placed": {"left": 122}}, "FAIL  resnet50 d8 t2: one target takes every node"),
    ],
)
def test_what_is_not_as_promised_fails(changed: dict[str, object], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.judge(results(**changed), None) == 1
    assert line in capsys.readouterr().out.splitlines()


def test_memory_and_time_of_the_large_one_are_judged() -> None:
    figures = {"seconds": {"sum": 9.9}, "peak_bytes": 2**30}
    judged = bench.checks({bench.LARGE: figures})
    assert [(check.value, check.holds) for check in judged] == [(9.9, True), (1.0, False)]


def test_a_case_of_two_tables_is_measured_once_with_all_its_extras() -> None:
    cases = bench.wanted_cases(None)
    assert len(cases) == len({case.label for listed in bench.TABLES.values() for case in listed})
    assert set(bench.ORIGINAL_S) | {bench.LARGE} <= set(cases)
    assert bench.wanted_cases("depth")["resnet50 d8 t2"].extras == ("merge", "constraints", "searchers")
    assert {case.model for case in bench.wanted_cases("gpt2").values()} == {"gpt2"}


def test_a_name_that_is_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["--only", "resnet"])
    assert "--only 'resnet' is neither a table nor a model; the models are resnet50, googlenet" in capsys.readouterr().err
