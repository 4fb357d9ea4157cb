"""Trials of single candidates, with a stand-in for what measures them; real ones are in `tests/collage_core/pipeline/test_run.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from collage_core.cost.cost import Cost
from collage_core.cost.estimator import LazyEstimator
from collage_core.errors import Cancelled
from collage_core.graph.index_set import IndexSet
from collage_core.options import Options
from collage_core.pipeline.whole import trials_alone
from collage_core.pipeline.whole.trials_alone import TrialsAlone
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from tests.helpers.graphs import graph

GRAPH = graph(["a: Relu <- x", "b: Sigmoid <- a", "c: Relu <- b", "d: Sigmoid <- c"])
WRONG = Cost.invalid("numerics", "it is wrong")


def on(target: str, *nodes: int) -> CandidatePartition:
    return CandidatePartition(GRAPH, target, IndexSet(nodes), "test")


class Measuring(LazyEstimator):
    """On tvm whatever holds a Relu is wrong; the first candidates are tried until there is no time."""

    def __init__(self, tried: list[CandidatePartition], most: int):
        self.tried, self.most = tried, most

    def measure(self, candidates: Any, best_s: float | None = None) -> Iterator[Any]:
        for candidate in candidates:
            if len(self.tried) == self.most:
                raise Cancelled
            self.tried.append(candidate)
            ops = {GRAPH.nodes[index].op for index in candidate.inside}
            yield candidate, WRONG if candidate.target == "tvm" and "Relu" in ops else Cost(1e-3, "measured", error=1e-7), False

    def close(self) -> None: ...


Measuring.__abstractmethods__ = frozenset()


def trials(monkeypatch: pytest.MonkeyPatch, most: int = 100) -> tuple[TrialsAlone, list[CandidatePartition], list[Options]]:
    tried: list[CandidatePartition] = []
    asked: list[Options] = []

    def estimator_of(found: Any, inputs: Any, options: Options, *others: object) -> Measuring:
        asked.append(options)
        return Measuring(tried, most)

    monkeypatch.setattr(trials_alone, "estimator_of", estimator_of)
    found: Any = type("Found", (), {"graph": GRAPH})()
    return TrialsAlone(found, {}, Options(("tvm", "numpy"), costs="mock:costs.json"), lambda: False), tried, asked


def test_a_computation_is_tried_once_and_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, tried, asked = trials(monkeypatch)
    first, other, whole, host = on("tvm", 0), on("numpy", 0), on("tvm", 0, 1, 2, 3), on(HOST_TARGET, 3)
    found = alone.costs([first, other, whole, host])
    assert [found[one].is_invalid for one in (first, other, whole)] == [True, False, True]
    assert host not in found
    same = on("tvm", 2)
    assert alone.costs([same]) == {same: WRONG}
    assert tried == [first, other, whole]
    assert asked[0].costs == "measure"
    assert asked[0].costs_db is not None
    assert asked[0].costs_db.endswith("costs.sqlite")


def test_equal_nodes_fail_together(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, tried, _ = trials(monkeypatch)
    singles = [on("tvm", index) for index in range(4)]
    assert alone.failing_nodes(on("tvm", 0, 1), [*singles, on("tvm", 1, 2), on("numpy", 0)]) == [(IndexSet([0, 2]), WRONG)]
    assert tried == singles[:2]


def test_what_there_is_no_time_for_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, _, _ = trials(monkeypatch, most=1)
    first, second = on("tvm", 0), on("tvm", 1)
    assert alone.costs([first, second]) == {first: WRONG}
