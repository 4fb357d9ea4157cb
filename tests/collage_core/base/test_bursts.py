"""A burst of runs, on a clock that the runs move on."""

from __future__ import annotations

import gc

import pytest

from collage_core.base.bursts import BURST_S, FEWEST_RUNS, WARM_UP_S, burst


class Runs:
    """Runs that take so many seconds, the first one longer."""

    def __init__(self, seconds: float, first_s: float = 0.0):
        self.now_s = 0.0
        self.count = 0
        self._seconds, self._first_s = seconds, first_s
        self.collected = False

    def __call__(self) -> None:
        self.now_s += self._seconds if self.count else self._first_s or self._seconds
        self.count += 1
        self.collected |= gc.isenabled()


def of(runs: Runs, **changes: float) -> list[float]:
    return burst(runs, clock=lambda: runs.now_s, **changes)  # type: ignore[arg-type]


def test_the_runs_after_the_warm_up_count_for_a_tenth_of_a_second() -> None:
    runs = Runs(1e-3, first_s=5e-3)
    taken = of(runs)
    assert taken == pytest.approx([1e-3] * len(taken))
    assert sum(taken) == pytest.approx(BURST_S, abs=2e-3)
    assert runs.now_s == pytest.approx(WARM_UP_S + BURST_S, abs=3e-3)
    assert not runs.collected


def test_of_a_run_that_takes_long_a_few_are_enough() -> None:
    assert of(Runs(0.08)) == pytest.approx([0.08] * FEWEST_RUNS)
    runs = Runs(2.0)
    assert of(runs) == [2.0]
    assert runs.count == 1, "it needs no warm-up"


def test_so_many_runs_as_are_asked_for() -> None:
    assert len(of(Runs(2.0), seconds=0.0, fewest=5)) == 5
