"""A plan of the user's own on the costs of a run: its total against sums by hand, what is not known of it, and what is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from brief_runs import shorten

from collage_core.cost.cost import Cost
from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from collage_core.rewrite.plan import read_plan
from collage_core.what_if.apparent_loss import apparent_loss, largest_pieces, own_plan
from collage_core.what_if.compare import compare
from tests.helpers.command import document_of, in_this_process
from tests.helpers.graphs import graph as graph_of
from tests.helpers.searched_runs import searched_run

COSTS = {
    "targets": {"onnxruntime": {"op_s": 3, "ops": {"Conv": 1}}, "tvm": {"op_s": 2, "ops": {"Conv": 9}}},
    "transitions": {"onnxruntime->tvm": {"fixed_s": 0.5}, "tvm->onnxruntime": {"fixed_s": 0.25}},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of mini-MNIST over single nodes and what merging made of them."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "costs.json").write_text(json.dumps(COSTS))
    options = Options(("onnxruntime", "tvm"), costs=f"mock:{folder / 'costs.json'}", max_depth={"": 1})
    (folder / "out").mkdir()
    partition("mini_mnist", options).save(folder / "out")
    return folder / "out"


@pytest.fixture
def record(run: Path) -> RunRecord:
    return RunRecord.load(run)


def without(record: RunRecord, cost: Cost, target: str, *ops: str) -> RunRecord:
    """Return `record` with `cost` for every candidate of `target` that holds one of these operators."""
    held = [any(record.graph.nodes[node].op in ops for node in item.inside) and item.target == target for item in record.candidates]
    costed = [CostedCandidate(item.held, cost) if is_held else item for item, is_held in zip(record.candidates, held, strict=True)]
    return replace(record, candidates=costed, problem=record.problem.with_candidates(search_candidates(costed)))


def test_one_target_for_all_costs_what_its_baseline_does(record: RunRecord, run: Path) -> None:
    for target in ("onnxruntime", "tvm"):
        found = apparent_loss(run, {"*": target})
        alone = next(row for row in record.document.baselines if row.name == target)
        assert found.second.total_s == pytest.approx(alone.total_s)
        assert found.apparent_loss_s == pytest.approx(record.plan.total_s - alone.total_s)
        assert found.apparent_loss_s <= 0
        assert (found.unknown, found.ignored) == ((), ())


def test_the_plan_itself_has_no_loss_and_no_difference(run: Path, record: RunRecord) -> None:
    found = apparent_loss(run, run / "plan.json")
    assert found.apparent_loss_s == 0
    assert (found.regions, found.moved) == ((), ())
    assigned = {name: part.target for part in record.plan.partitions for name in part.names if part.target != "host"}
    assert apparent_loss(record, assigned).apparent_loss_s == pytest.approx(0)


def test_the_nodes_that_differ_are_told_with_what_the_plan_saves_there(record: RunRecord) -> None:
    conv = next(node.name for node in record.graph.nodes if node.op == "Conv")
    found = apparent_loss(record, {"*": "tvm", conv: "CPU"}, {"CPU": "tvm"})
    assert conv in [row.name for row in found.moved]
    assert sum(region.saves_s for region in found.regions) > 0
    assert found.predicted.change_s == found.apparent_loss_s


def test_partitions_that_the_run_does_not_know_are_told_and_have_no_total(record: RunRecord, tmp_path: Path) -> None:
    names = [node.name for node in record.graph.nodes]
    given = [{"target": "tvm", "nodes": names[:2]}, {"target": "onnxruntime", "nodes": names[2:]}]
    known = {(item.target, tuple(item.inside)) for item in record.candidates}
    unknown = [one for one in given if (one["target"], tuple(names.index(name) for name in one["nodes"])) not in known]
    own = own_plan(record, written(given, tmp_path), {})
    assert len(own.unknown) == len(unknown)
    assert all(item.cost.seconds is None for item in own.unknown)
    assert {part.target for part in own.plan.partitions} - {"host"} == {"tvm", "onnxruntime"}


def written(given: object, folder: Path) -> Path:
    path = folder / "given.json"
    path.write_text(json.dumps(given))
    return path


def test_what_a_target_cannot_take_is_unknown_with_its_reason(record: RunRecord) -> None:
    broken = without(record, Cost.invalid("build", "no such kernel"), "tvm", "MatMul")
    found = apparent_loss(broken, {"*": "tvm"})
    assert found.apparent_loss_s is None
    assert found.second.total_s is None
    assert any("MatMul" in "+".join(broken.graph.nodes[node].op for node in row.nodes) for row in found.unknown)
    reasons = {row.reason for row in found.unknown}
    assert reasons <= {"build: no such kernel", "the run has no such candidate: it was not measured"}


def test_a_trial_that_was_ended_early_makes_an_estimate(record: RunRecord) -> None:
    early = without(record, Cost(7.0, "measured", stopped_early=True), "tvm", "MatMul")
    found = apparent_loss(early, {"*": "tvm"})
    assert found.apparent_loss_s is not None
    assert {row.reason for row in found.unknown} == {"its trial was ended early"}


def test_a_node_without_a_place_is_named(record: RunRecord) -> None:
    with pytest.raises(CollageError, match=r"the given plan has no place for '.*' and .* more; 1 of its names are not nodes of the model"):
        apparent_loss(record, {record.graph.nodes[0].name: "tvm", "folded": "tvm"})


def test_a_plan_of_another_model_and_a_plan_without_its_run_are_refused(run: Path, tmp_path: Path) -> None:
    plan = json.loads((run / "plan.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**plan, "model": {**plan["model"], "hash": "f" * 16}}))
    with pytest.raises(CollageError, match=r"other\.json is a plan of another model than 'mini_mnist'"):
        apparent_loss(run, tmp_path / "other.json")
    (tmp_path / "alone.json").write_text(json.dumps(plan))
    with pytest.raises(CollageError, match=r"alone\.json is a plan without its run, which has the costs"):
        apparent_loss(tmp_path / "alone.json", run / "plan.json")


def test_partitions_that_wait_for_each_other_are_refused(record: RunRecord, tmp_path: Path) -> None:
    names = [node.name for node in record.graph.nodes]
    given = [{"target": "tvm", "nodes": [names[0], *names[2:]]}, {"target": "onnxruntime", "nodes": names[1:2]}]
    with pytest.raises(CollageError, match="cannot run one after another"):
        apparent_loss(record, written(given, tmp_path))


PIECES: list[tuple[list[str], Mapping[int, str], list[tuple[str, list[int]]]]] = [
    (["a: Relu <- x", "b: Relu <- a", "c: Relu <- b"], {0: "t", 1: "t", 2: "o"}, [("t", [0, 1]), ("o", [2])]),
    (["a: Relu <- x", "b: Relu <- a", "c: Relu <- b"], {0: "t", 1: "o", 2: "t"}, [("t", [0]), ("o", [1]), ("t", [2])]),
    (["a: Relu <- x", "b: Relu <- x", "c: Add <- a, b"], {0: "t", 1: "t", 2: "t"}, [("t", [0, 1, 2])]),
    (["a: Relu <- x", "b: Relu <- a", "c: Add <- a, b"], {0: "t", 1: "o", 2: "t"}, [("t", [0]), ("o", [1]), ("t", [2])]),
    (["a: Relu <- x", "b: Relu <- x", "c: Add <- a, b", "d: Add <- b, a"], {0: "t", 1: "o", 2: "t", 3: "o"},
     [("t", [0]), ("o", [1]), ("t", [2]), ("o", [3])]),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "target_of", "wanted"), PIECES)
def test_nodes_of_one_target_are_one_piece_unless_pieces_would_wait_for_each_other(
    lines: list[str], target_of: Mapping[int, str], wanted: list[tuple[str, list[int]]]
) -> None:
    assert largest_pieces(graph_of(lines), target_of) == [(target, IndexSet(nodes)) for target, nodes in wanted]


def test_the_command_tells_the_same_and_writes_a_plan_file(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("*=CPU\n")
    arguments = ("explain", run, "--against", tmp_path / "mine.txt", "--as", "CPU=onnxruntime", "--save", tmp_path / "mine.json")
    found = document_of(capsys, *arguments)
    assert found == {"schema": 1, **to_json(apparent_loss(run, tmp_path / "mine.txt", {"CPU": "onnxruntime"}))}
    plan = read_plan(tmp_path / "mine.json")
    plan.check_covers(tuple(node.name for node in RunRecord.load(run).graph.nodes))
    assert compare(run, tmp_path / "mine.json").predicted.change_s == found["apparent_loss_s"]
    status, out, _ = in_this_process(capsys, *arguments[:-2])
    assert status == 0
    loss_s = -found["apparent_loss_s"]
    assert out.splitlines()[0] == f"the plan is {loss_s:.4g} s faster than yours by the sums of the costs"


def test_one_node_is_explained_with_its_region_and_its_candidates(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("*=onnxruntime\n")
    name = next(node.name for node in RunRecord.load(run).graph.nodes if node.op == "MatMul")
    found = document_of(capsys, "explain", run, "--against", tmp_path / "mine.txt", "--node", name)
    assert len(found["regions"]) == 1
    assert (found["node"]["name"], found["node"]["node"] in found["regions"][0]["nodes"]) == (name, True)
    status, out, _ = in_this_process(capsys, "explain", run, "--against", tmp_path / "mine.txt", "--node", name)
    assert status == 0
    assert f"{name} (MatMul), node {found['node']['node']}" in out.splitlines()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--as", "CPU=tvm"), "--as says nothing without --against"),
        (("--measure", "mini_mnist"), "--measure says nothing without --against, --what-if or --undecided"),
        (("--against", "x", "--by-targets"), "--against and --by-targets are different questions"),
        (("--against", "x", "--as", "CPU"), "--as is 'CPU', it must be DEVICE=TARGET"),
        (("--for", "20s"), "--for says nothing without --undecided and --measure"),
    ],
)
def test_an_option_without_its_question_is_refused(
    run: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = in_this_process(capsys, "explain", run, *options)
    assert status == 2
    assert err.startswith(f"error: {said}")


@pytest.mark.long
def test_what_a_run_does_not_know_of_it_is_measured(chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece of the given plan is built, checked and timed as the run does it."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "collage_test_toolchains:Numpy,collage_test_toolchains:Partitions")
    shorten(monkeypatch.setattr)
    cut = {"kind": "cut", "between": ["relu", "add"]}
    record = searched_run(chain, Options(("numpy", "partitions"), max_depth={"": 1}, constraints=(cut,), budget_s=30.0))
    # Merging may have tried the piece across the cut, as the plans came that it merged.
    known = [item for item in record.candidates if (item.target, tuple(item.inside)) != ("numpy", (0, 1, 2))]
    record = replace(record, candidates=known, problem=record.problem.with_candidates(search_candidates(known, record.problem.lowered)))
    given = [{"target": "numpy", "nodes": ["relu", "add", "sigmoid"]}, {"target": "partitions", "nodes": ["mul"]}]
    path = written(given, tmp_path)
    assert [0, 1, 2] in [list(item.inside) for item in own_plan(record, path, {}).unknown]
    own = own_plan(record, path, {}, chain)
    assert own.unknown == []
    assert [(part.target, part.nodes, part.source) for part in own.plan.partitions] == [
        ("numpy", (0, 1, 2), "measured"),
        ("partitions", (3,), "measured"),
    ]
    found = apparent_loss(record, path, model=chain)
    assert (found.apparent_loss_s is not None, found.unknown) == (True, ())
