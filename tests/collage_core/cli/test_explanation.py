"""`collage explain`: why a candidate is not in the plan, and from what cost it would be."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from collage_core.cli.explanation import show_explanation
from collage_core.cli.terms_text import show_terms
from collage_core.documents.candidates import NodeRejection
from collage_core.documents.cost import Tuned
from collage_core.documents.explain import ExplainedNode, Explanation, NodeTime
from collage_core.documents.json_form import from_json
from collage_core.documents.node_times import NodeGroupTime, PartitionNodeTimes
from collage_core.documents.plan import PlanInfo
from collage_core.documents.statement_text import effect_text
from collage_core.documents.statements import Statement
from collage_core.documents.what_if import Effect, ExplainedTerms
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RunRecord, read_record
from collage_core.search.problem import FEMTOSECONDS
from collage_core.search.solve import solve
from collage_core.what_if.explanation import explain
from tests.collage_core.cli.test_main import MOCK
from tests.helpers.command import document_of, in_this_process
from tests.helpers.documents import PART
from tests.helpers.paths import RECORDED


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunRecord, Path]:
    """A mini-MNIST searched over mock costs, and the folder that the run lies in."""
    folder = tmp_path_factory.mktemp("explained")
    (folder / "mock.json").write_text(json.dumps(MOCK))
    costs = f"mock:{folder / 'mock.json'}"
    record = partition("mini_mnist", Options(("tvm", "onnxruntime"), costs=costs, max_depth={"": 2}))
    record.save(folder)
    return record, folder


def test_people_read_what_tuning_brought(saved: tuple[RunRecord, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, _ = saved
    first = record.plan.partitions[0]
    tuned = Tuned("d1ce", 2e-3, 42.0, 64)
    changed = [CostedCandidate(item.held, replace(item.cost, tuned=tuned)) if item.id == first.id else item for item in record.candidates]
    replace(record, candidates=changed).save(tmp_path)
    document = document_of(capsys, "explain", tmp_path, "--node", first.nodes[0])
    show_explanation(from_json(Explanation, document))
    assert "tuned for 42 s (64 schedules): 2 ms with the default schedule" in capsys.readouterr().out
    assert [row["cost"]["tuned"] for row in document["nodes"][0]["candidates"] if row["chosen"]] == [asdict(tuned)]


def chosen_at(record: RunRecord, candidate: str, seconds: float) -> bool:
    """Return whether the best plan holds `candidate` where it costs so much."""
    problem = record.problem
    cost = round(seconds * FEMTOSECONDS)
    changed = [replace(one, cost=cost) if one.id == candidate else one for one in problem.candidates]
    return candidate in {problem.candidates[index].id for index in solve(problem.with_candidates(changed)).chosen}


def test_a_candidate_enters_the_plan_just_below_the_cost_that_is_told(
    saved: tuple[RunRecord, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    record, folder = saved
    told = {}
    for node in range(len(record.graph)):
        rows = document_of(capsys, "explain", folder, "--node", node)["nodes"][0]["candidates"]
        assert sum(row["chosen"] for row in rows) == 1, "one partition runs the node"
        told |= {row["id"]: row for row in rows}
    beaten = [row for row in told.values() if row["enters_below_s"]]
    assert len(beaten) > 5
    for row in beaten:
        assert row["regret_s"] > 0
        assert row["enters_below_s"] == pytest.approx(row["cost"]["seconds"] - row["regret_s"])
        assert chosen_at(record, row["id"], row["enters_below_s"] * (1 - 1e-6))
        assert not chosen_at(record, row["id"], row["enters_below_s"] * (1 + 1e-6))


def test_people_read_the_regret_the_cost_to_enter_and_why_others_cannot(
    saved: tuple[RunRecord, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    record, folder = saved
    pool = next(node.name for node in record.graph.nodes if node.op == "MaxPool")
    status, out, _ = in_this_process(capsys, "explain", folder, "--node", pool)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith(f"{pool} (MaxPool), node ")
    assert lines[1].startswith(" * onnxruntime ")
    assert any("  regret " in line and ", enters below " in line for line in lines)
    assert any(line.startswith("   tvm ") and "MaxPool" in line for line in lines), "TVM cannot take it, and the reason stands there"


def test_a_regret_that_rests_on_an_unknown_cost_is_told_as_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    record = read_record(RECORDED / "ssd300.json.gz")
    document = explain(record, node=str(len(record.graph) // 2))
    show_explanation(document)
    lines = {line.split("[")[1].split("]")[0]: line for line in capsys.readouterr().out.splitlines() if "  regret " in line}
    texts = [lines[row.id].split("  regret ")[1] for row in document.nodes[0].candidates if row.rests_on_unknown]
    assert "unknown" in texts
    assert all(text == "unknown" or text.startswith("≥ ") for text in texts)
    assert all(row.enters_below_s is None for row in document.nodes[0].candidates if row.rests_on_unknown)


def test_names_of_models_and_kernels_of_toolchains_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    groups = (NodeGroupTime((0,), 0.75, 3e-3, "conv\x1b[2J\u202e"), NodeGroupTime((1,), 0.25, 1e-3))
    time = NodeTime((0,), 0.75, 3e-3, groups[0].kernel, "profiler", {})
    node = ExplainedNode(0, "a\x1b[1m", "Conv", (), (NodeRejection("tvm", (0,), "build", "no \x1b]0;title\x07"),), time)
    times = PartitionNodeTimes("p", "profiler", groups, reason="later")
    show_explanation(Explanation(4e-3, "", (node,), (times,), (), ()))
    said, _ = capsys.readouterr()
    assert "conv\\x1b[2J\\u202e (0)" in said
    assert "scaled to the partition's cost (later):" in said
    assert all(line.isprintable() for line in said.splitlines())


def test_the_time_of_a_node_inside_its_partition_is_told(saved: tuple[RunRecord, Path], capsys: pytest.CaptureFixture[str]) -> None:
    record, folder = saved
    times = next(one for one in record.node_times if len(one.groups) > 1)
    assert times.source == "candidates", "costs from a file are not profiled"
    group = times.groups[0]
    told = document_of(capsys, "explain", folder, "--node", group.nodes[0])
    assert told["nodes"][0]["time"]["share"] == group.share
    alone_s = {target: cost for (node, target), cost in record.alone_s.items() if node == group.nodes[0]}
    assert told["nodes"][0]["time"]["alone_s"] == alone_s
    assert [one["partition"] for one in told["node_times"]] == [times.partition]
    _, out, _ = in_this_process(capsys, "explain", folder, "--node", group.nodes[0])
    assert f"   takes {group.share:.1%} of its partition: " in out
    assert "   the partition's time, shares by the costs of its nodes, each alone on the same target: nothing is fused in them:" in out


def test_the_total_of_other_terms_is_what_the_answer_says_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    changes = [Statement(basis="predicted", change_s=seconds) for seconds in (1e-3, 5e-4)]
    effects = (Effect(*changes, 1, effect_text(*changes, 1)),)
    plan = from_json(PlanInfo, {"total_s": 1.5e-3, "partitions": [PART]})
    brought = {
        "total_s": 1.7e-3,
        "change": None,
        "change_text": "-200 µs predicted",
        "predicted_text": "predicted at least 1.5 ms: 1 cost is not known",
        "kept_s": None,
        "typed": (),
        "targets": (),
        "regions": (),
    }
    found = {"measured_s": None, "plan": plan, "optimal": True, "untimed": 0, "keeps_plan": False, "accuracy": 1e-3}
    show_terms(ExplainedTerms(**brought, **found, constraints=({"kind": "veto"},), effects=effects))
    assert capsys.readouterr().out.splitlines() == [
        "-200 µs predicted against the plan of the run: predicted at least 1.5 ms: 1 cost is not known, 1 partition",
        '  {"kind": "veto"}: costs 1 ms predicted alone; taking it back saves 500 µs predicted',
    ]
    unknown = {**brought, "change": Statement(basis="unknown", unknown=1), "change_text": "not known: 1 cost is not known"}
    show_terms(ExplainedTerms(**unknown, **found, constraints=(), effects=()))
    assert capsys.readouterr().out == (
        "not comparable with the plan of the run: predicted at least 1.5 ms: 1 cost is not known, 1 partition\n"
    )


def test_a_drawing_without_graphviz_is_refused_before_the_run_is_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, err = in_this_process(capsys, "explain", tmp_path / "no-run", "--draw", tmp_path / "graph.svg")
    assert status == 2
    assert err.splitlines()[0] == "error: Graphviz's program `dot` is not installed"
    assert "apt install graphviz" in err
    status, _, err = in_this_process(capsys, "export", tmp_path / "no-run", "--as", "svg")
    assert status == 2
    note = "note: Graphviz's program `dot` is not installed, so the graph is drawn in plain layers: apt install graphviz"
    assert err.splitlines()[0].startswith(note)
