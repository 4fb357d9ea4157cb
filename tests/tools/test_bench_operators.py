"""`make bench-operators`: the least time of some nodes, their share of a plan, and what could be saved of it."""

from __future__ import annotations

import sys

import bench_operators
import pytest
from bench_operators import RECORDED, gelus, inside, least_s, most_gain, profiled_s

from collage_core.documents.node_times import NodeGroupTime, PartitionNodeTimes
from collage_core.pipeline.record.node_times import PROFILER
from collage_core.pipeline.record.record import read_record


def sets(*pairs: tuple[tuple[int, ...], float]) -> dict[frozenset[int], float]:
    return {frozenset(nodes): seconds for nodes, seconds in pairs}


def test_the_gain_is_the_share_times_what_is_saved_of_it():
    assert most_gain(0.2, 2.0) == pytest.approx(0.1)
    assert most_gain(0.2, float("inf")) == 0.2
    assert most_gain(0.2, 1.0) == 0


def test_the_least_time_covers_each_node_once():
    group = frozenset({3, 4, 5})
    singles = sets(((3,), 1.0), ((4,), 2.0), ((5,), 4.0))
    assert least_s(group, singles) == 7.0
    assert least_s(group, singles | sets(((3, 4), 2.5))) == 6.5
    assert least_s(group, singles | sets(((3, 4), 2.5), ((4, 5), 0.5))) == 1.5
    assert least_s(group, sets(((3, 4), 1.0), ((4, 5), 1.0))) is None


def test_a_profiled_kernel_counts_whole_and_once():
    times = [
        PartitionNodeTimes(
            "p0", PROFILER, (NodeGroupTime((0, 1), 0.5, 2.0), NodeGroupTime((2,), 0.25, 1.0), NodeGroupTime((3,), 0.25, None))
        )
    ]
    assert profiled_s(frozenset({1}), times) == 2.0
    assert profiled_s(frozenset({0, 1, 2}), times) == 3.0
    assert profiled_s(frozenset({2, 3}), times) is None


def test_gelus_of_the_samples_are_found_whole():
    bert, gpt2 = (read_record(RECORDED / f"{name}.json.gz") for name in ("bert", "gpt2"))
    found = [sorted(bert.graph.nodes[node].op for node in group) for group in gelus(bert.graph)]
    assert found == [["Add", "Div", "Erf", "Mul", "Mul"]] * 2
    (group,) = gelus(gpt2.graph)
    assert sorted(gpt2.graph.nodes[node].op for node in group) == ["Add", "Add", "Mul", "Mul", "Mul", "Mul", "Pow", "Tanh"]
    assert all(nodes <= group for nodes in inside(gpt2, group))


def test_it_prints_a_row_for_each_sample_with_such_operators(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench_operators", "--only", "GELU"])
    assert bench_operators.main() == 0
    assert [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines()[2:]] == ["| bert", "| gpt2"]
