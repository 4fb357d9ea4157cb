"""Calls of partitions in an assembled module: they are measured and kept, and a note says when they cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from collage_core.base.isolation.worker_errors import WorkerDied
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import TransitionKey
from collage_core.cost.measuring.call_meter import CALL, CallMeter
from collage_core.cost.measuring.trial import TrialLimits
from collage_core.errors import CollageError
from collage_core.events import Event, Note
from collage_core.toolchains.toolchain import Availability

ROUNDS = {"steady": [2e-6, 2.1e-6, 2.2e-6], "noisy": [-1e-6, 1e-6] * 8, "cheaper": [-5e-7] * 15}
TOLD = {
    "refuses": "calls of refuses in an assembled module cannot be measured and count as free: no converter for Relu",
    "dies": "calls of dies in an assembled module cannot be measured and count as free: crashed with SIGSEGV",
}


@contextmanager
def call_rounds(target: str, threads: int) -> Iterator[Callable[[], float]]:
    if target == "refuses":
        raise CollageError("no converter for Relu")
    if target == "dies":
        raise WorkerDied("crashed with SIGSEGV", -11, "")
    values = cycle(ROUNDS[target])
    yield lambda: threads * next(values)


class Elsewhere:
    """A backend whose calls are made in this process, and counted."""

    machine = "a machine, 4 cores"
    limits = TrialLimits()

    def __init__(self, tvm: Availability):
        self.tvm = tvm
        self.called: list[str] = []
        self.closed = False

    def availability(self, target: str) -> Availability:
        assert target == "tvm"
        return self.tvm

    def caller(self) -> Elsewhere:
        return self

    def call(self, function: Callable[..., Any], *args: Any, timeout_s: float, should_stop: Callable[[], bool] | None = None) -> Any:
        self.called.append(args[1])
        return function(*args)

    def run_all(self, tasks: Any) -> Any:
        raise AssertionError("a call is no trial")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def database(tmp_path: Path) -> CostDatabase:
    return CostDatabase(tmp_path / "costs.sqlite3")


@pytest.fixture
def backend() -> Elsewhere:
    return Elsewhere(Availability(True, "9"))


def meter(database: CostDatabase, backend: Elsewhere, events: list[Event]) -> CallMeter:
    return CallMeter(threads=2, database=database, backend=backend, emit=events.append, call_rounds=call_rounds)


def test_calls_are_measured_once_and_kept(database: CostDatabase, backend: Elsewhere) -> None:
    events: list[Event] = []
    found = meter(database, backend, events).measure({"steady": "1", "noisy": "1"})
    assert found == {"steady": pytest.approx(2 * 2.1e-6, rel=0.05), "noisy": 0.0}
    again = meter(database, backend, events)
    assert again.recall({"steady": "1", "cheaper": "1"}) == {"steady": found["steady"]}
    assert again.measure({"steady": "1", "noisy": "1"}) == again.measure({"steady": "1", "noisy": "1"}) == found
    assert backend.called == ["steady", "noisy"]
    assert events == []
    kept = database.get_transition(TransitionKey(CALL, "steady", "9", "1", 2, backend.machine))
    assert kept is not None
    assert (kept.fixed_s, kept.per_byte_s) == (found["steady"], 0.0)


def test_another_version_is_measured_anew(database: CostDatabase, backend: Elsewhere) -> None:
    meter(database, backend, []).measure({"steady": "1"})
    meter(database, backend, []).measure({"steady": "2"})
    backend.tvm = Availability(True, "10")
    meter(database, backend, []).measure({"steady": "2"})
    assert backend.called == ["steady"] * 3


def test_cheaper_call_is_not_credited(database: CostDatabase, backend: Elsewhere) -> None:
    assert meter(database, backend, []).measure({"cheaper": "1"}) == {"cheaper": 0.0}


@pytest.mark.parametrize("target", TOLD)
def test_target_that_cannot_be_measured_is_free_and_named_once_a_run(database: CostDatabase, backend: Elsewhere, target: str) -> None:
    for _ in range(2):
        events: list[Event] = []
        calls = meter(database, backend, events)
        for _ in range(2):
            assert calls.measure({target: "1", "steady": "1"})[target] == 0.0
        assert events == [Note(TOLD[target])]
    assert backend.called.count(target) == 1


def test_without_tvm_nothing_is_called_and_nothing_kept(database: CostDatabase, backend: Elsewhere) -> None:
    backend.tvm = Availability(False, reason="the package apache-tvm is not installed")
    events: list[Event] = []
    calls = meter(database, backend, events)
    assert calls.measure({"steady": "1"}) == calls.measure({"steady": "1"}) == {"steady": 0.0}
    said = "without tvm nothing can be assembled (the package apache-tvm is not installed): calls of partitions count as free"
    assert events == [Note(said)]
    assert backend.called == []
    calls.close()
    assert backend.closed
