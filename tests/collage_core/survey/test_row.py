"""The row of a run: times alone, the plan, the gain by what both times are, and why the plan gains no more."""

from __future__ import annotations

from typing import Any

import pytest

from collage_core.documents.run import RunDocument
from collage_core.documents.survey import Gain
from collage_core.pipeline.record.record import read_record
from collage_core.rules.partitionings import is_alone
from collage_core.survey.row import MEASURED, PREDICTED, planned_row
from collage_core.survey.tables import gain_text, sentence
from tests.helpers.documents import PART, alternative, run_document
from tests.helpers.paths import RECORDED


def document(*parts: str, alternatives: list[dict[str, Any]], source: str = "measured", **verify: Any) -> RunDocument:
    baselines = [
        {key: row[key] for key in ("name", "total_s", "measured_s", "reason")} for row in alternatives if row["kind"] == "baseline"
    ]
    placed = [{**PART, "target": target, "source": source} for target in parts]
    plan = {"total_s": 2.0, "partitions": placed}
    counts = {"candidates": 1, "unique": 1, "invalid": 0, "measured": 1, "cache_hits": 0}
    targets = [{"name": row["name"], **counts} for row in baselines if is_alone(row["name"])]
    return run_document(
        targets=targets, plan=plan, baselines=baselines, alternatives=alternatives, verify={"max_rel_error": 1e-6, **verify}
    )


def other(name: str, measured_s: float | None, interval_s: float | None = None, **more: Any) -> dict[str, Any]:
    known = {"measured_s": measured_s, "interval_s": interval_s, "total_s": 4.0, "partitions": on(*name.split("+"))}
    return alternative(name, **{**known, **more})


def on(*targets: str) -> list[dict[str, Any]]:
    return [{"id": target, "target": target, "nodes": [0]} for target in targets]


def gain_of(found: RunDocument) -> Gain | None:
    return planned_row("m", "m.onnx", found, 1.0).gain


def test_times_measured_in_turns_are_compared_with_each_other() -> None:
    rows = [other("a", 3.0, 0.2), other("b", 5.0, 0.5), other("a+host", 2.0, 0.1), other("greedy", 1.0)]
    row = planned_row("m", "m.onnx", document("a", "host", "b", alternatives=rows, measured_s=2.0), 1.0)
    assert row.best_alone == "a"
    assert row.gain == Gain(1.5, pytest.approx(1.4), pytest.approx(1.6), MEASURED)
    assert row.gain.is_decided
    assert [one.target for one in row.alone] == ["a", "b"]
    assert row.plan is not None
    assert row.plan.targets == ("a", "b")
    assert row.why_not == ()


def test_an_interval_around_one_decides_nothing() -> None:
    close = gain_of(document("a", "b", alternatives=[other("a", 2.1, 0.2)], measured_s=2.0))
    few = gain_of(document("a", "b", alternatives=[other("a", 9.0)], measured_s=2.0))
    assert close is not None
    assert few is not None
    assert not close.is_decided
    assert (few.low, few.high, few.is_decided) == (None, None, False)


def test_a_measured_time_is_never_compared_with_a_predicted_one() -> None:
    rows = [other("a", None, reason="no time was left to compare it"), other("b", None, total_s=None)]
    measured = document("a", "b", alternatives=rows, measured_s=1.5)
    assert gain_of(measured) == Gain(2.0, None, None, PREDICTED)
    assert planned_row("m", "m", measured, 1.0).why_not == ("a alone was not measured: no time was left to compare it",)
    unknown = document("a", "b", alternatives=rows, source="unknown", measured_s=1.5)
    assert gain_of(unknown) is None
    assert planned_row("m", "m", unknown, 1.0).best_alone == "a"


def test_where_one_target_takes_all_the_nearest_mix_is_told() -> None:
    mix = on("a", "b")
    rows = [other("a", 2.0, 0.1, is_plan=True), other("a+host", 2.5), other("search", 2.2, kind="search", partitions=mix), other("b", 2.1)]
    alone = planned_row("m", "m", document("a", alternatives=rows, measured_s=2.0), 1.0)
    assert alone.why_not == ("a alone is the plan: the nearest mix is 10.0% slower, timed end to end",)
    assert alone.gain == Gain(1.0, 1.0, 1.0, MEASURED)
    none = planned_row("m", "m", document("a", alternatives=rows[:1], measured_s=2.0), 1.0)
    assert none.why_not == ("a alone is the plan: no mix was timed end to end",)


def test_a_recorded_run_has_a_row() -> None:
    record = read_record(RECORDED / "crnn.json.gz")
    row = planned_row("crnn", "crnn", record.document, 41.0)
    assert row.nodes == len(record.graph)
    assert row.plan is not None
    assert set(row.plan.targets) == set(record.plan.used_targets) - {"host"}
    assert row.gain is not None
    assert row.gain.basis == MEASURED
    assert row.gain.ratio == pytest.approx(min(one.measured_s for one in row.alone if one.measured_s) / row.plan.measured_s)


def test_a_target_that_has_every_partition_is_not_called_alone() -> None:
    """Greedy comes to the target alone here, which is no mix."""
    rows = [other("a", 2.1, 0.3), other("greedy", 2.1, 0.3, partitions=on("a")), other("b", 2.3)]
    divided = planned_row("m", "m", document("a", "a", alternatives=rows, measured_s=2.0), 1.0)
    assert divided.why_not == ("a has all 2 partitions of the plan: no mix was timed end to end",)
    assert divided.gain == Gain(1.05, pytest.approx(0.9), pytest.approx(1.2), MEASURED)
    assert gain_text(divided) == "1.05× (0.90 to 1.20)"
    between = "it takes 0.90 to 1.20 times as long"
    assert sentence(divided) == f"m: 2000 ms on a: not decided against a alone ({between}): measure again"
