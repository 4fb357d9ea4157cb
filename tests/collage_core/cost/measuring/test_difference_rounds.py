"""Rounds that compare two things: which differences count, and which rounds, on a clock that the tests turn."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from collage_core.cost.measuring import reference_kernel
from collage_core.cost.measuring.difference_rounds import LONGEST_S, significant_difference, undisturbed_rounds
from collage_core.cost.measuring.noise_filter import Speed, SpeedHistory
from collage_core.cost.measuring.sampling import NoiseSigns


def test_difference_counts_only_where_its_interval_is_above_zero() -> None:
    rng = np.random.default_rng(0)
    noise = list(rng.normal(0, 1e-6, 9))
    assert significant_difference(noise) == 0.0
    assert significant_difference([value + 1e-5 for value in noise]) == pytest.approx(1e-5, rel=0.2)
    assert significant_difference([value - 1e-5 for value in noise]) == 0.0


class Machine:
    """A clock on which a round takes 10 ms, and its difference and the reference half as much again while the machine is slow."""

    def __init__(self, *slow: tuple[float, float]):
        self.now = 0.0
        self._slow = slow

    def factor(self) -> float:
        return 1.5 if any(start < self.now < end for start, end in self._slow) else 1.0

    def one_round(self) -> float:
        factor = self.factor()
        self.now += 0.01
        return 1e-6 * factor

    def reference(self) -> None:
        self.now += 25e-6 * self.factor()

    def rounds(self, count: int, history: SpeedHistory) -> list[float]:
        signs = NoiseSigns(waits=lambda: nullcontext(list[int]))
        return undisturbed_rounds(self.one_round, count, history, signs, lambda: self.now)


def test_disturbed_rounds_are_left_out_and_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine((0.035, 0.095), (1.0, 1.5))
    monkeypatch.setattr(reference_kernel, "_run", machine.reference)
    history = SpeedHistory(lambda: machine.now)
    assert machine.rounds(9, history) == [1e-6] * 9
    assert machine.now > 0.15
    machine.now = 1.1
    assert machine.rounds(9, history) == [1e-6] * 9
    assert machine.now > 1.5


def test_rounds_end_on_a_machine_that_stays_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine((0.0, 100.0))
    monkeypatch.setattr(reference_kernel, "_run", machine.reference)
    history = SpeedHistory(lambda: machine.now)
    history.add(Speed(25e-6))
    machine.now = 1e-9
    found = machine.rounds(9, history)
    assert set(found) == {1.5e-6}
    assert machine.now == pytest.approx(LONGEST_S, abs=0.05)
