"""The time of a partition is told as shares of its cost, also where no profiler told any."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from collage_core.documents.json_form import from_json, to_json
from collage_core.documents.node_times import PartitionNodeTimes
from collage_core.documents.plan import PlanPartition
from collage_core.errors import CollageError
from collage_core.pipeline.record.node_times import scaled, times_of_plan
from collage_core.rewrite.plan import Plan, PlannedModel
from collage_core.toolchains.profiling import NodeTime


def partition(*nodes: int, id: str = "p", target: str = "a", cost_s: float | None = 1.0) -> PlanPartition:
    names = tuple(f"n{node}" for node in nodes)
    return PlanPartition(id=id, target=target, nodes=nodes, names=names, ops=("Relu",) * len(nodes), cost_s=cost_s, source="measured")


def plan(*partitions: PlanPartition) -> Plan:
    return Plan(
        model=PlannedModel(name="tiny", hash="c0ffee"), targets=(), options={}, constraints=(), machine="", accuracy=1e-3, total_s=1.0,
        partitions=partitions, transitions=(),
    )  # fmt: skip


def seconds_of(times: PartitionNodeTimes) -> list[tuple[Sequence[int], float | None]]:
    return [(group.nodes, group.seconds) for group in times.groups]


def test_a_profile_is_scaled_to_the_cost_of_the_partition():
    found = scaled(partition(4, 6, 9), [NodeTime((0, 2), 3.0, "FusedConv"), NodeTime((1,), 1.0, "Softmax")])
    assert (found.source, found.profiled_s, found.rest_share) == ("profiler", 4.0, 0.0)
    assert seconds_of(found) == [((4, 9), 0.75), ((6,), 0.25)]
    assert [group.kernel for group in found.groups] == ["FusedConv", "Softmax"]


def test_what_belongs_to_no_node_keeps_its_share():
    found = scaled(partition(4), [NodeTime((0,), 3.0, "Conv"), NodeTime((), 1.0, "")])
    assert (found.rest_share, seconds_of(found)) == (0.25, [((4,), 0.75)])


def test_shares_are_known_where_the_cost_is_not():
    found = scaled(partition(0, 1, cost_s=None), [NodeTime((0,), 3.0, "Conv"), NodeTime((1,), 1.0, "Relu")])
    assert [(group.share, group.seconds) for group in found.groups] == [(0.75, None), (0.25, None)]


@pytest.mark.parametrize("seconds", [0.0, float("nan"), float("inf")])
def test_a_profile_without_times_is_none(seconds: float):
    found = scaled(partition(0), [NodeTime((0,), seconds, "Conv")])
    assert (found.source, found.groups, found.reason) == ("none", (), "the profile has no times")


def test_nodes_alone_stand_in_for_a_profile_and_say_why():
    known = PartitionNodeTimes("p", "none", reason="a has no profiler")
    [found] = times_of_plan(plan(partition(0, 1)), [known], {(0, "a"): 3.0, (1, "a"): 1.0, (1, "b"): 9.0})
    assert (found.source, found.reason, found.profiled_s) == ("candidates", "a has no profiler", 4.0)
    assert seconds_of(found) == [((0,), 0.75), ((1,), 0.25)]


def test_where_a_node_has_no_cost_alone_nobody_knows():
    [found] = times_of_plan(plan(partition(0, 1)), [], {(0, "a"): 3.0, (1, "b"): 1.0})
    assert (found.source, found.groups) == ("none", ())
    assert found.reason == "it was not profiled, and 1 of its 2 nodes have no cost alone on a"


def test_a_partition_of_one_node_needs_no_profile():
    [found] = times_of_plan(plan(partition(3)), [], {})
    assert (found.source, seconds_of(found)) == ("cost", [((3,), 1.0)])


def test_a_profile_goes_before_anything_else_and_is_read_back_as_it_was():
    profiled = scaled(partition(0, 1), [NodeTime((0, 1), 2.0, "FusedConv")])
    assert times_of_plan(plan(partition(0, 1)), [profiled], {(0, "a"): 3.0, (1, "a"): 1.0}) == [profiled]
    assert from_json(PartitionNodeTimes, json.loads(json.dumps(to_json(profiled)))) == profiled


GROUP = {"nodes": [0], "share": 1.0, "seconds": 1.0, "kernel": ""}
TIMES: dict[str, Any] = {"partition": "p", "source": "profiler", "groups": [GROUP], "rest_share": 0.0, "profiled_s": 1.0, "reason": ""}


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "magic"},
        {"groups": [{**GROUP, "share": 7}]},
        {"groups": [{**GROUP, "seconds": float("nan")}]},
        {"groups": [{"nodes": [0]}]},
    ],
)
def test_times_that_cannot_be_are_refused(changes: dict[str, Any]):
    assert from_json(PartitionNodeTimes, TIMES).source == "profiler"
    with pytest.raises(CollageError, match="the JSON is not that of PartitionNodeTimes"):
        from_json(PartitionNodeTimes, {**TIMES, **changes})
