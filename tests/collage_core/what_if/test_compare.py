"""Two plans compared: totals, regions and what each decision is worth, against sums by hand; and what cannot be compared."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError
from collage_core.events import ignore
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import FEMTOSECONDS
from collage_core.what_if.compare import compare, side_of
from tests.helpers.command import document_of, in_this_process
from tests.helpers.paths import RECORDED

COSTS = {
    "targets": {"onnxruntime": {"op_s": 3, "ops": {"Conv": 1}}, "tvm": {"op_s": 2, "ops": {"Conv": 9}}},
    "transitions": {"onnxruntime->tvm": {"fixed_s": 0.5, "per_byte_s": 0}},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of mini-MNIST: the convolution on ONNX Runtime, the rest on TVM."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "costs.json").write_text(json.dumps(COSTS))
    options = Options(("onnxruntime", "tvm"), costs=f"mock:{folder / 'costs.json'}", max_depth={"": 1})
    (folder / "out").mkdir()
    partition("mini_mnist", options).save(folder / "out")
    return folder / "out"


def total_s(record: RunRecord, ids: set[str]) -> float:
    chosen = [index for index, item in enumerate(record.problem.candidates) if item.id in ids]
    return plan_total(record.problem, chosen) / FEMTOSECONDS


def test_a_run_and_its_baseline_differ_where_a_target_does(run: Path) -> None:
    found = compare(run, f"{run}#onnxruntime")
    first, second = found.first, found.second
    assert found.predicted.change_s == pytest.approx(first.total_s - second.total_s)
    assert found.predicted.change_s < 0
    assert list(second.targets) == ["onnxruntime"]
    sums = sum(region.change_s for region in found.regions) + first.transitions_s - second.transitions_s
    assert sums == pytest.approx(found.predicted.change_s)
    assert {row.second for row in found.moved} == {"onnxruntime"}
    assert {row.first for row in found.moved} == {"tvm"}


def test_a_decision_is_worth_what_the_plan_loses_without_it_transitions_included(run: Path) -> None:
    record = RunRecord.load(run)
    found = compare(record, f"{run}#onnxruntime")
    plan = {part.id for part in record.plan.partitions}
    assert found.costs_of == "this run"
    for region in found.regions:
        swapped = plan - {part.id for part in region.first} | {part.id for part in region.second}
        assert region.saves_s == pytest.approx(total_s(record, swapped) - total_s(record, plan))


def test_a_plan_file_alone_is_compared_by_its_own_costs(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / "plan.json", tmp_path / "mine.json")
    alone = compare(tmp_path / "mine.json", tmp_path / "mine.json")
    assert (alone.regions, alone.moved, alone.costs_of) == ((), (), None)
    assert alone.predicted.change_s == 0
    beside = compare(tmp_path / "mine.json", f"{run}#greedy")
    assert beside.costs_of == f"{run}#greedy", "the run whose costs are known judges"


def test_the_plan_file_of_a_run_brings_what_the_run_knows(run: Path) -> None:
    assert side_of(run / "plan.json").record is not None
    assert side_of(run / "run.json.gz").plan == side_of(run).plan


def test_of_one_run_what_both_plans_have_is_off_by_the_same() -> None:
    """The recorded run has measured costs with intervals, and plans that were timed whole."""
    path = RECORDED / "mini_mnist.json.gz"
    record = RunRecord.load(path)
    same = compare(path, path)
    assert (same.predicted.change_s, same.predicted.interval_s, same.regions) == (0, 0, ())
    name = next(row.name for row in record.document.baselines if row.total_s is not None and row.measured_s is not None)
    found = compare(path, f"{path}#{name}")
    assert found.second.measured_s is not None
    intervals = [region.interval_s for region in found.regions]
    if None not in intervals:
        assert found.predicted.interval_s == pytest.approx(math.hypot(*intervals), rel=0.5)
    other = replace(record, created="another time")
    apart = compare(record, other).predicted.interval_s
    assert apart is None or apart > 0, "two runs of the same costs are off by their own"


def test_every_baseline_of_a_recorded_run_has_a_plan_of_its_total() -> None:
    path = RECORDED / "lstm.json.gz"
    record = RunRecord.load(path)
    rows = [row for row in record.document.baselines if row.total_s is not None]
    assert rows
    for row in rows:
        assert side_of(f"{path}#{row.name}").plan.total_s == pytest.approx(row.total_s), row.name


def test_what_cannot_be_compared_is_said_in_one_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = in_this_process(capsys, "compare", run, RECORDED / "lstm.json.gz")
    assert status == 2
    assert err.splitlines()[0].startswith(f"error: {run} is a plan of the model 'mini_mnist' (")
    assert err.splitlines()[1] == "hint: compare plans of one model, with the same shapes and fixed values"
    with pytest.raises(CollageError, match="the run has no baseline 'slow'") as caught:
        compare(run, f"{run}#slow")
    assert "onnxruntime" in caught.value.hint
    shutil.copy(run / "plan.json", tmp_path / "mine.json")
    with pytest.raises(CollageError, match="is a plan without its run, so it has no baseline 'greedy'"):
        compare(run, f"{tmp_path / 'mine.json'}#greedy")
    with pytest.raises(CollageError, match="cannot read the plan"):
        compare(run, tmp_path / "nothing.json")


def test_the_command_says_the_same(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compare(run, f"{run}#onnxruntime")
    assert document_of(capsys, "compare", run, f"{run}#onnxruntime") == {"schema": 1, **to_json(found)}
    status, out, _ = in_this_process(capsys, "compare", run, f"{run}#onnxruntime", "--nodes")
    assert status == 0
    lines = out.splitlines()
    assert lines[:2] == [f"first: {run}", f"second: {run}#onnxruntime"]
    assert lines[2].startswith(f"predicted {found.first.total_s:g} s and {found.second.total_s:g} s: -")
    assert any("another target: " in line and "on tvm instead of " in line for line in lines)
    moved = found.moved[0]
    assert f"{moved.node:>7} {moved.name} ({moved.op}): tvm, in the second onnxruntime" in lines


def test_a_partitioning_from_elsewhere_has_the_plan_that_the_run_wrote_down(
    chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is not that of a target, and no rule finds exactly its groups."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "collage_test_toolchains:Partitions")
    monkeypatch.setenv("COLLAGE_TEST_GROUPS", "relu+add sigmoid+mul")
    cost = {(0,): 1.0, (1,): 1.0, (0, 1): 3.0, (2, 3): 0.5}
    record = partition(
        chain, Options(("partitions",), costs="function:get"), ignore, lambda candidate: cost.get(tuple(candidate.inside), 9.0)
    )
    record.save(tmp_path)
    found = compare(tmp_path, f"{tmp_path}#partitions:everything")
    assert (found.first.total_s, found.second.total_s) == (2.5, 3.5)
    (region,) = found.regions
    assert [[part.nodes for part in side] for side in (region.first, region.second)] == [[(0,), (1,)], [(0, 1)]]
    assert (region.kind, region.change_s, region.saves_s) == ("recut", -1.0, 1.0)
