"""How a plan differs from a partitioning that came from elsewhere: regions, what each saves, and the apparent loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.cli.explanation import show_explanation
from collage_core.events import ignore
from collage_core.options import Options
from collage_core.pipeline.loop.cost_table import TOO_LATE
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.whole.differences import differences, region_text
from collage_core.rules.candidate import CandidatePartition
from collage_core.what_if.explanation import explain

SECONDS = {("relu",): 1.0, ("add",): 1.0, ("relu", "add"): 3.0, ("sigmoid", "mul"): 0.5}
"""Other candidates take 9 s."""


def seconds(candidate: CandidatePartition) -> float:
    return SECONDS.get(tuple(candidate.graph.nodes[index].name for index in candidate.inside), 9.0)


@pytest.fixture
def record(chain: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    """A run whose toolchain would make two kernels of two nodes; the first of them is better apart."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "collage_test_toolchains:Partitions")
    monkeypatch.setenv("COLLAGE_TEST_GROUPS", "relu+add sigmoid+mul")
    return partition(chain, Options(("partitions",), costs="function:seconds"), ignore, seconds)


def test_the_regions_that_differ_are_told_with_what_they_save(record: RunRecord) -> None:
    (found,) = differences(record)
    assert (found.name, found.partitions, found.plan_partitions) == ("partitions:everything", 2, 3)
    assert (found.total_s, found.apparent_loss_s) == (3.5, -1.0)
    assert (found.is_measured, found.is_estimate) == (False, True)
    (region,) = found.regions
    assert [[item.nodes for item in side] for side in (region.plan, region.instead)] == [[(0,), (1,)], [(0, 1)]]
    assert region.saves_s == 1.0
    assert region_text(region.plan, region.instead) == "Relu | Add instead of Relu+Add (nodes 0, 1)"


def test_the_apparent_loss_is_that_of_the_measured_times_where_there_are_some(record: RunRecord) -> None:
    rows = tuple(replace(row, measured_s=1.5) if row.name == "partitions:everything" else row for row in record.document.baselines)
    record.document = replace(record.document, baselines=rows, verify=replace(record.document.verify, measured_s=2.0))
    (found,) = differences(record)
    assert (found.apparent_loss_s, found.is_measured) == (0.5, True)


def test_a_region_with_a_cost_that_nobody_knows_saves_nothing_that_is_known(record: RunRecord) -> None:
    item = next(item for item in record.candidates if tuple(item.inside) == (0, 1))
    item.cost = TOO_LATE
    (found,) = differences(record)
    assert [region.saves_s for region in found.regions] == [None]


def test_the_explanation_of_a_plan_tells_them(record: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.save(tmp_path)
    show_explanation(explain(RunRecord.load(tmp_path)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "partitions:everything: 2 partitions, the plan has 3",
        "   predicted 3.5 s, an estimate; the plan is 1 s faster than partitions:everything by the sums of the costs",
        "   saves        1 s  Relu | Add instead of Relu+Add (nodes 0, 1)",
    ]
    assert explain(RunRecord.load(tmp_path), "relu").partitionings == ()
