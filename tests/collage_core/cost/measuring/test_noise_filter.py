"""Which samples of a series are believed on a machine that drifts, is slowed down for a while, or gives the core to others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.cost.measuring import reference_kernel
from collage_core.cost.measuring.noise_filter import (
    REMEMBERED_S,
    UNKNOWN_SPEED,
    Sample,
    Speed,
    SpeedHistory,
    filter_samples,
    least_disturbed,
    undisturbed_samples,
)
from collage_core.cost.measuring.sampling import NoiseSigns
from collage_core.cost.measuring.timing import Samples, TimingLimits, time_runs

TRUTH_S = 1e-3
REFERENCE_S = 25e-6


def series(slowdowns: Sequence[float]) -> list[Sample]:
    """The samples of a kernel of `TRUTH_S` on a machine that is slowed down so at the references; between them, by the worse."""
    worse = [max(pair) for pair in pairwise(slowdowns)]
    return [Sample(TRUTH_S * factor, REFERENCE_S * factor) for factor in worse]


def median_s(samples: Sequence[Sample]) -> float:
    return float(np.median([sample.seconds for sample in samples]))


def test_steady_series_is_kept_whole() -> None:
    rng = np.random.default_rng(0)
    samples = series(rng.uniform(1, 1.1, 40).tolist())
    assert filter_samples(samples, 5) == (samples, 0.0)


def test_burst_in_the_middle_is_left_out_with_the_samples_at_its_edges() -> None:
    samples = series([1.0] * 10 + [1.4] * 8 + [1.0] * 10)
    assert filter_samples(samples, 5) == (samples[:9] + samples[18:], 0.0)


def test_slow_drift_is_kept_only_as_far_as_it_may_go() -> None:
    samples = series(np.linspace(1.0, 1.3, 31).tolist())
    believed, slowed_by = filter_samples(samples, 5)
    assert believed == samples[: len(believed)]
    assert len(believed) == 18
    assert slowed_by == 0


@pytest.mark.parametrize("slow", [2, 3, 10])
def test_machine_that_is_slow_half_of_the_time_is_measured_in_the_other_half(slow: float) -> None:
    samples = series([1.0, 1.0, slow, slow] * 10)
    believed, slowed_by = filter_samples(samples, 5)
    assert median_s(believed) == TRUTH_S
    assert len(believed) == 10
    assert slowed_by == 0
    assert median_s(samples) == pytest.approx(slow * TRUTH_S)


def test_three_undisturbed_samples_tell_the_speed_however_long_it_is_disturbed_after_them() -> None:
    samples = series([1.0] * 4 + [1.5] * 300)
    assert undisturbed_samples(samples) == samples[:3]
    believed, slowed_by = filter_samples(samples, 5)
    assert believed == samples
    assert slowed_by == pytest.approx(0.5)
    assert filter_samples(samples, 3) == (samples[:3], 0.0)


def test_steady_slowing_down_is_told_where_little_of_it_is_alike() -> None:
    samples = series(np.linspace(1, 3, 9).tolist())
    believed, slowed_by = filter_samples(samples, 5)
    assert believed == samples
    assert slowed_by > 0.3


def test_sample_that_lost_the_core_is_left_out_though_the_reference_did_not_notice() -> None:
    undisturbed, lost = Sample(TRUTH_S, REFERENCE_S, waited=0.05), Sample(2 * TRUTH_S, REFERENCE_S, waited=0.5)
    assert filter_samples([undisturbed, lost, undisturbed, undisturbed], 3) == ([undisturbed] * 3, 0.0)
    assert filter_samples([lost] * 4, 3) == ([lost] * 4, pytest.approx(1.0))


def test_sample_at_high_core_latency_is_left_out_though_each_core_was_as_fast_as_ever() -> None:
    low, noisy, high = (Sample(TRUTH_S, REFERENCE_S, core_latency_s=core_latency_s) for core_latency_s in (270e-9, 310e-9, 610e-9))
    assert filter_samples([low, high, noisy, high, low], 3) == ([low, noisy, low], 0.0)
    assert filter_samples([high] * 5, 3) == ([high] * 5, 0.0), "it was never lower"
    assert filter_samples([high] * 5, 3, Speed(core_latency_s=270e-9)) == ([high] * 5, pytest.approx(610 / 270 - 1))


def test_clock_that_cannot_tell_the_reference_disturbs_nothing() -> None:
    samples = [Sample(TRUTH_S, 0.0)] * 6
    assert filter_samples(samples, 5) == (samples, 0.0)


def test_least_disturbed_come_in_their_order() -> None:
    samples = series([1.0, 1.0, 3.0, 1.0, 1.0, 2.0, 2.0])
    assert least_disturbed(samples, 3) == [samples[0], samples[3], samples[4]]


@given(st.lists(st.floats(1, 20), min_size=2, max_size=60), st.integers(1, 10), st.sampled_from([Speed(REFERENCE_S), UNKNOWN_SPEED]))
def test_what_is_believed_is_never_further_from_the_truth_than_all_is(slowdowns: list[float], fewest: int, known: Speed) -> None:
    samples = series(slowdowns)
    believed, slowed_by = filter_samples(samples, fewest, known)
    assert TRUTH_S <= median_s(believed) <= median_s(samples)
    assert len(believed) >= min(fewest, len(samples))
    assert slowed_by >= 0
    if slowed_by == 0 and known != UNKNOWN_SPEED and len(believed) < len(samples):
        assert median_s(believed) <= 1.15 * TRUTH_S * (1 + 1e-9)


class Machine:
    """A clock on which everything takes as much longer as `slowdown` says of the time when it begins."""

    def __init__(self, slowdown: Callable[[float], float], kernel_s: float = TRUTH_S, waits_s: float = 0.0, every: int = 1):
        self.latency_s: Callable[[], float] | None = None
        self.now = 0.0
        self.runs = 0
        self.waited_ns = 0
        self._slowdown = slowdown
        self._kernel_s = kernel_s
        self._waits_s = waits_s
        self._every = every

    def run(self) -> None:
        self.runs += 1
        self._spend(self._kernel_s)
        if self.runs % self._every == 0:
            self.now += self._waits_s
            self.waited_ns += round(self._waits_s * 1e9)

    def reference(self) -> None:
        self._spend(REFERENCE_S)

    def timed(
        self,
        limits: TimingLimits,
        monkeypatch: pytest.MonkeyPatch,
        known: Speed = UNKNOWN_SPEED,
        budget_s: float | None = None,
    ) -> Samples:
        def waits() -> AbstractContextManager[Callable[[], list[int]]]:
            return nullcontext(lambda: [0, self.waited_ns])

        monkeypatch.setattr(reference_kernel, "_run", self.reference)
        signs = NoiseSigns(waits=waits, core_latency_s=self.latency_s)
        return time_runs(self.run, limits, budget_s, known=known, signs=signs, clock=self.clock).result()

    def clock(self) -> float:
        return self.now

    def _spend(self, seconds: float) -> None:
        self.now += seconds * self._slowdown(self.now)


def test_reference_is_kept_with_a_steady_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Machine(lambda now: 1.0).timed(TimingLimits(), monkeypatch)
    assert timed.reference_s == pytest.approx(REFERENCE_S)
    assert timed.seconds == pytest.approx([TRUTH_S] * 5)
    assert timed.slowed_by == 0


def test_burst_prolongs_the_timing_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 1.7 if 0.02 < now < 1.0 else 1.0)
    timed = machine.timed(TimingLimits(), monkeypatch)
    assert timed.seconds == pytest.approx([TRUTH_S] * 5)
    assert timed.slowed_by == 0
    assert 1.0 < machine.now < 1.1


def test_few_samples_from_before_a_burst_that_does_not_end_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 1.7 if now > 0.0175 else 1.0)
    timed = machine.timed(TimingLimits(longest_s=1.0), monkeypatch)
    assert timed.seconds == pytest.approx([TRUTH_S] * 3)
    assert timed.slowed_by == 0
    assert machine.now == pytest.approx(1.0, abs=0.05)


def test_machine_that_is_never_the_same_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 1 + 3 * now, kernel_s=0.1)
    timed = machine.timed(TimingLimits(longest_s=2.0), monkeypatch)
    assert 3 < len(timed.seconds) < 10
    assert timed.slowed_by > 0.5
    assert timed.reference_s > REFERENCE_S
    assert machine.now > 2.0


def test_no_more_samples_are_held_than_the_most_however_long_it_is_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 1.0, waits_s=TRUTH_S)
    limits = TimingLimits(most=20, longest_s=1.0)
    timed = machine.timed(limits, monkeypatch)
    assert machine.runs > 10 * limits.most
    assert limits.fewest < len(timed.seconds) < limits.most
    assert timed.slowed_by == pytest.approx(1.0)


def test_machine_that_was_faster_before_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 1.5 if 1.0 < now < 2.0 else 1.0)
    known = machine.timed(TimingLimits(), monkeypatch).speed
    machine.now = 1.5
    timed = machine.timed(TimingLimits(), monkeypatch, known)
    assert timed.seconds == pytest.approx([TRUTH_S] * 5)
    assert timed.slowed_by == 0
    assert machine.now > 2.0
    machine.now = 1.5
    assert machine.timed(TimingLimits(), monkeypatch).seconds == pytest.approx([1.5 * TRUTH_S] * 5)


def test_machine_that_stays_slower_than_it_was_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 1.5 if now > 1.0 else 1.0)
    known = machine.timed(TimingLimits(), monkeypatch).speed
    machine.now = 1.5
    timed = machine.timed(TimingLimits(), monkeypatch, known)
    assert timed.slowed_by == pytest.approx(0.5)
    assert machine.now == pytest.approx(1.5 + TimingLimits().longest_s, abs=0.05)
    assert timed.speed.reference_s == pytest.approx(1.5 * REFERENCE_S)


def test_nothing_is_given_up_on_a_run_of_a_machine_that_is_slowed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 3.0 if 1.0 < now < 2.0 else 1.0, kernel_s=0.02)
    first = machine.timed(TimingLimits(), monkeypatch, budget_s=0.03)
    assert not first.stopped_early
    machine.now = 1.5
    timed = machine.timed(TimingLimits(), monkeypatch, first.speed, budget_s=0.03)
    assert not timed.stopped_early
    assert timed.seconds == pytest.approx([0.02] * 5)
    machine.now = 1.5
    assert machine.timed(TimingLimits(), monkeypatch, budget_s=0.03).stopped_early


def test_history_tells_the_fastest_of_the_last_minute() -> None:
    now = 0.0
    history = SpeedHistory(lambda: now)
    assert history.fastest() == UNKNOWN_SPEED
    for speed in (Speed(3.0, 1.0), Speed(2.0, 5.0), Speed(4.0, 6.0)):
        history.add(speed)
        now += REMEMBERED_S / 2
    assert history.fastest() == Speed(2.0, 5.0)
    now += 1.0
    assert history.fastest() == Speed(4.0, 6.0)
    now += REMEMBERED_S
    assert history.fastest() == UNKNOWN_SPEED


def test_low_core_latency_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 1.0)
    machine.latency_s = lambda: 610e-9 if 1.0 < machine.now < 2.0 else 270e-9
    known = machine.timed(TimingLimits(), monkeypatch).speed
    assert known.core_latency_s == 270e-9
    machine.now = 1.5
    timed = machine.timed(TimingLimits(), monkeypatch, known)
    assert len(timed.seconds) >= 5
    assert timed.slowed_by == 0
    assert 2.0 < machine.now < 2.1
    machine.now = 1.5
    timed = machine.timed(TimingLimits(longest_s=0.2), monkeypatch, known)
    assert timed.slowed_by == pytest.approx(610 / 270 - 1)


def test_latency_that_takes_long_to_measure_is_measured_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, probes = Machine(lambda now: 1.0, waits_s=TRUTH_S), 0

    def latency_s() -> float:
        nonlocal probes
        probes += 1
        machine.now += 0.02
        return 270e-9

    machine.latency_s = latency_s
    machine.timed(TimingLimits(longest_s=2.0), monkeypatch)
    assert machine.now > 2.0
    assert 3 <= probes <= 8


def test_samples_after_which_the_core_latency_is_high_are_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 1.0)
    machine.latency_s = lambda: 610e-9 if 0.012 < machine.now < 0.5 else 270e-9
    timed = machine.timed(TimingLimits(), monkeypatch)
    assert len(timed.seconds) >= 5
    assert timed.slowed_by == 0
    assert machine.now > 0.5


def test_long_kernel_is_believed_with_half_of_the_fewest(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda now: 2.0 if 2.5 < now < 3.5 else 1.0, kernel_s=1.0)
    timed = machine.timed(TimingLimits(longest_s=6.0), monkeypatch)
    assert timed.seconds == pytest.approx([1.0] * 3)
    assert timed.slowed_by == 0


def test_runs_that_waited_for_a_core_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Machine(lambda now: 1.0, waits_s=0.003, every=3).timed(TimingLimits(), monkeypatch)
    assert timed.seconds == pytest.approx([TRUTH_S] * 5)
