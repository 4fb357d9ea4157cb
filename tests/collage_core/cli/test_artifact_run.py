"""`collage run --profile`: what each partition takes inside the whole, beside what was predicted of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.cli.artifact_run import _timing
from collage_core.cli.plans import _print_profile
from collage_core.documents.plan import PlanPartition
from collage_core.model.samples.registry import SAMPLES
from collage_core.pipeline.inside.inside_times import plan_in, profile_row
from collage_core.pipeline.record.record import RunRecord
from collage_core.rewrite.plan import ShapePlan
from collage_core.rewrite.runtime.manifest import PartitionEntry
from tests.helpers.command import in_this_process
from tests.helpers.paths import RECORDED


def entry(id: str, *nodes: str) -> PartitionEntry:
    return PartitionEntry(id, "tvm", "1", nodes, (), ())


def placed(id: str, cost_s: float | None, interval_s: float | None = None) -> PlanPartition:
    return PlanPartition(
        id=id, target="tvm", nodes=(0,), names=("n",), ops=("Relu",), cost_s=cost_s, interval_s=interval_s, source="measured"
    )


def test_a_partition_is_told_beside_its_cost() -> None:
    row = profile_row([entry("p", "conv", "relu")], 3e-3, [placed("p", 2e-3, 1e-4)])
    assert (row.nodes, row.first, row.predicted_s, row.interval_s) == (2, "conv", 2e-3, 1e-4)
    assert row.difference_s == pytest.approx(1e-3)
    unknown = profile_row([entry("p", "conv")], 3e-3, [None])
    assert (unknown.predicted_s, unknown.interval_s, unknown.difference_s) == (None, None, None)


def test_functions_that_are_timed_together_are_told_together() -> None:
    row = profile_row([entry("p", "a"), entry("q", "b", "c")], 3e-3, [placed("p", 1e-3, 3e-4), placed("q", 1e-3, 4e-4)])
    assert (row.id, row.partitions, row.nodes, row.predicted_s) == ("p+q", 2, 3, 2e-3)
    assert row.interval_s == pytest.approx(5e-4)


def profile(**changes: Any) -> dict[str, Any]:
    part = {"id": "p", "target": "tvm", "nodes": 2, "first": "conv", "partitions": 1, "seconds": 3e-3, "predicted_s": 2e-3}
    rows = [{**part, "interval_s": 1e-4, "difference_s": 1e-3}]
    return {"whole_s": 4e-3, "rest_s": 1e-3, "predicted_s": 2.5e-3, "predicted_between_s": 5e-4, "partitions": rows, **changes}


def test_people_see_where_predicted_and_measured_part_ways(capsys: pytest.CaptureFixture[str]) -> None:
    _print_profile(profile())
    assert capsys.readouterr().out.splitlines() == [
        "      inside  share             predicted  difference",
        "        3 ms  75.0%         2 ms ± 100 µs       +1 ms  tvm, 2 nodes from 'conv'  [p]",
        "        1 ms  25.0%                500 µs     +500 µs  calls, and the time outside of kernels",
        "        4 ms 100.0%                2.5 ms     +1.5 ms  the whole",
        "predicted and measured differ most on tvm from 'conv': +1 ms",
    ]


def test_without_a_plan_nothing_is_said_of_predictions(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**profile()["partitions"][0], "predicted_s": None, "interval_s": None, "difference_s": None}]
    _print_profile(profile(predicted_s=None, predicted_between_s=None, partitions=rows))
    assert capsys.readouterr().out.splitlines() == [
        "      inside  share",
        "        3 ms  75.0%  tvm, 2 nodes from 'conv'  [p]",
        "        1 ms  25.0%  calls, and the time outside of kernels",
        "        4 ms 100.0%  the whole",
    ]


def test_of_several_shapes_the_plan_is_that_of_the_inputs(tmp_path: Path) -> None:
    assert "mini_mnist" in SAMPLES
    plan = RunRecord.load(RECORDED / "mini_mnist.json.gz").plan
    other = plan.model_copy(update={"total_s": 7.0, "options": {**plan.options, "shapes": {"x": [2, 1, 28, 28]}}})
    one = plan.model_copy(update={"options": {**plan.options, "shapes": {"x": [1, 1, 28, 28]}}})
    both = (ShapePlan(name="1", weight=0.5, plan=one), ShapePlan(name="2", weight=0.5, plan=other))
    plan.model_copy(update={"by_shape": both}).write(tmp_path / "plan.json")
    found = plan_in(tmp_path, {"x": np.zeros((2, 1, 28, 28), np.float32)})
    assert found is not None
    assert found.total_s == 7.0
    assert plan_in(tmp_path / "nothing", {}) is None


def test_what_was_fixed_or_assumed_when_it_was_built_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"notes": [], "fixed": {"sr": 8000}, "assumed": {"batch": 1}, "outputs": {}, "bench": None, "profile": None}
    monkeypatch.setattr("collage_core.cli.artifact_run.run_folder", lambda *_, **__: told)
    status, out, _ = in_this_process(capsys, "run", "somewhere")
    assert status == 0
    assert out.splitlines() == [
        "sr = 8000, fixed when the artifact was built",
        "batch is 1, since it was not given when the artifact was built",
    ]


def test_a_timed_artifact_tells_its_time_over_rounds_and_that_of_single_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter([0.010, 0.011, 0.014] * 20)
    bench = _timing(lambda: [next(seconds)])
    assert (bench["measured_s"], bench["rounds"], bench["samples"]) == (pytest.approx(0.0102), 6, 18)
    assert (bench["min_s"], bench["median_s"], bench["max_s"]) == (0.010, 0.011, 0.014)
    told = {"notes": [], "fixed": {}, "assumed": {}, "outputs": {}, "bench": bench, "profile": None}
    monkeypatch.setattr("collage_core.cli.artifact_run.run_folder", lambda *_, **__: told)
    status, out, _ = in_this_process(capsys, "run", "somewhere")
    assert status == 0
    assert out == "10.2 ms ± 0 ms over 6 rounds; single runs 10 ms to 14 ms, median 11 ms\n"
