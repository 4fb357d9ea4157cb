"""How runs are timed, on a clock that the tests turn: batches, warm-up, when it is enough, and when it is given up.

`test_noise_filter` times on a disturbed machine.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, count, repeat

import numpy as np
import pytest

from collage_core.cost.database.records import Record
from collage_core.cost.measuring.intervals import confidence_interval
from collage_core.cost.measuring.repetitions import cost_of
from collage_core.cost.measuring.sampling import NoiseSigns
from collage_core.cost.measuring.timing import SHORT_LOOK, TimingLimits, time_runs

LIMITS = TimingLimits()


def no_waits() -> AbstractContextManager[Callable[[], list[int]]]:
    return nullcontext(list[int])


SIGNS = NoiseSigns(waits=no_waits)


class Machine:
    """A clock, and runs that take the given seconds on it, one after another; the last goes on for ever."""

    def __init__(self, *seconds: float, then: Iterable[float] = ()):
        self.now = 0.0
        self.runs = 0
        self._seconds: Iterator[float] = chain(seconds, then, repeat(seconds[-1] if seconds else 0.0))

    def run(self) -> None:
        self.runs += 1
        self.now += next(self._seconds)

    def clock(self) -> float:
        return self.now

    def samples(
        self, limits: TimingLimits = LIMITS, budget_s: float | None = None, enough_s: float | None = None
    ) -> tuple[tuple[float, ...], bool]:
        timed = time_runs(self.run, limits, budget_s, enough_s=enough_s, signs=SIGNS, clock=self.clock).result()
        assert timed.slowed_by == 0
        return timed.seconds, timed.stopped_early


def test_steady_kernel_needs_the_fewest_samples() -> None:
    samples, early = Machine(0.001).samples()
    assert samples == pytest.approx([0.001] * LIMITS.fewest)
    assert not early


def test_warm_up_is_not_counted() -> None:
    cold = [0.004, 0.004, 0.004]
    samples, _ = Machine(*cold, 0.001).samples()
    assert max(samples) == pytest.approx(0.001)


def test_short_kernel_is_run_in_batches_that_the_clock_can_tell() -> None:
    machine = Machine(2e-6)
    samples, _ = machine.samples()
    assert samples == pytest.approx([2e-6] * LIMITS.fewest)
    warm_up = round(LIMITS.warm_up_s / 2e-6)
    assert machine.runs - warm_up == pytest.approx(101 * LIMITS.fewest, abs=LIMITS.fewest + 2)


class SleepyMachine(Machine):
    """A machine on which the first run takes half as long again after signs of noise were read: the kernel's threads fell asleep."""

    def __init__(self, *seconds: float):
        super().__init__(*seconds)
        self._is_asleep = False

    def run(self) -> None:
        before = self.now
        super().run()
        self.now += (self.now - before) / 2 if self._is_asleep else 0.0
        self._is_asleep = False

    def reference(self, clock: Callable[[], float]) -> float:
        self._is_asleep = True
        return 25e-6

    def awake_samples(self, before_sample: Callable[[], None] | None = None) -> tuple[float, ...]:
        signs = NoiseSigns(waits=no_waits, reference_s=self.reference)
        return time_runs(self.run, LIMITS, before_sample=before_sample, signs=signs, clock=self.clock).result().seconds


@pytest.mark.parametrize("seconds", [0.0003, 0.004])
def test_short_runs_are_timed_with_the_kernel_s_threads_awake(seconds: float) -> None:
    assert SleepyMachine(seconds).awake_samples() == pytest.approx([seconds] * LIMITS.fewest)


def test_long_runs_are_not_repeated_to_wake_threads() -> None:
    machine = SleepyMachine(0.02)
    assert len(machine.awake_samples()) == machine.runs - 1  # The other one is the warm-up.


def test_flushed_caches_are_not_warmed_by_a_run_that_wakes_threads() -> None:
    flushes: list[int] = []
    machine = SleepyMachine(0.0003)
    samples = machine.awake_samples(lambda: flushes.append(machine.runs))
    assert np.diff(flushes).tolist() == [1] * (len(samples) - 1)


def test_unsteady_kernel_is_timed_until_the_median_is_known_or_time_is_up() -> None:
    rng = np.random.default_rng(0)
    mild, _ = Machine(0.001, then=rng.uniform(0.00095, 0.00105, 10_000)).samples()
    wild, _ = Machine(0.001, then=rng.uniform(0.0001, 0.0019, 10_000)).samples()
    assert LIMITS.fewest < len(mild) < len(wild) <= LIMITS.most
    low, high = confidence_interval(mild)
    assert (high - low) / 2 <= LIMITS.interval * np.median(mild)


def test_samples_are_bounded_however_unsteady() -> None:
    rng = np.random.default_rng(0)
    samples, _ = Machine(0.0003, then=rng.uniform(0.0003, 0.003, 10_000)).samples(TimingLimits(total_s=100, longest_s=100))
    assert len(samples) == LIMITS.most


def test_long_kernel_has_the_fewest_samples_and_a_very_long_one_less() -> None:
    assert len(Machine(0.5).samples()[0]) == LIMITS.fewest
    assert len(Machine(3.0).samples()[0]) == 2


@pytest.mark.parametrize(
    ("run_s", "runs", "most_s"),
    [(1e-3, 48, 0.11), (0.04, 5, 0.25), (0.3, 4, 1.6), (2.0, 1, 2.0)],
)
def test_a_short_look_is_a_tenth_of_a_second_or_five_runs_however_disturbed(run_s: float, runs: int, most_s: float) -> None:
    """Every run here waits for a core for half of its time; with the other limits timing would go on for 5 s."""
    machine = Machine(run_s)
    halves = count(step=round(run_s * 5e8))
    signs = NoiseSigns(waits=lambda: nullcontext(lambda: [next(halves)]))
    timed = time_runs(machine.run, SHORT_LOOK, signs=signs, clock=machine.clock).result()
    assert timed.slowed_by > 0
    assert len(timed.seconds) == pytest.approx(runs, abs=6 if runs > 5 else 0)
    assert machine.now <= most_s + 1e-9


def test_slow_kernel_is_given_up_after_one_run_over_the_budget() -> None:
    machine = Machine(0.5)
    assert machine.samples(budget_s=0.1) == ((0.5,), True)
    assert machine.runs == 1


def test_kernel_within_the_budget_is_timed_whole() -> None:
    samples, early = Machine(0.001).samples(budget_s=0.0011)
    assert (len(samples), early) == (LIMITS.fewest, False)


def test_short_kernel_is_given_up_only_on_samples_that_the_clock_can_tell() -> None:
    samples, early = Machine(20e-6).samples(budget_s=10e-6)
    assert early
    assert len(samples) == LIMITS.fewest
    assert samples == pytest.approx([20e-6] * LIMITS.fewest)


def test_cold_runs_over_the_budget_are_no_reason_to_give_up() -> None:
    _, early = Machine(0.004, 0.004, 0.001).samples(budget_s=0.002)
    assert not early


def test_kernel_that_takes_no_time_at_all_ends() -> None:
    limits = TimingLimits(warm_up_s=0.0)
    samples, _ = Machine(0.0).samples(limits)
    assert samples == (0.0,) * LIMITS.fewest


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_collection_is_off_while_timing_and_as_before_after_it(was_on: bool) -> None:
    seen = []
    machine = Machine(0.001)

    def run() -> None:
        machine.run()
        seen.append(gc.isenabled())

    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        time_runs(run, LIMITS, signs=SIGNS, clock=machine.clock)
        assert gc.isenabled() == was_on
    finally:
        (gc.enable if before else gc.disable)()
    assert set(seen) == {False}


def test_high_percentile_takes_as_many_samples_as_bound_it() -> None:
    samples, _ = Machine(0.0005).samples(TimingLimits(percentile=95))
    assert LIMITS.fewest < len(samples) < LIMITS.most
    assert confidence_interval(samples, 95)[1] < np.inf
    assert confidence_interval(samples[:-1], 95)[1] == np.inf


def unsteady_machine() -> Machine:
    return Machine(0.001, then=np.random.default_rng(0).uniform(0.0008, 0.0012, 10_000))


def test_timing_ends_where_more_of_it_cannot_change_the_plan() -> None:
    whole, _ = unsteady_machine().samples()
    cheap, early = unsteady_machine().samples(enough_s=0.0013)
    assert (len(cheap), early) == (LIMITS.fewest, False)
    close, early = unsteady_machine().samples(enough_s=0.00101)
    assert LIMITS.fewest < len(close) <= len(whole)
    assert not early


def test_timing_ends_when_the_interval_is_over_the_budget_though_a_run_was_not() -> None:
    machine = Machine(*[0.0008] * 16, then=repeat(0.001))
    samples, early = machine.samples(budget_s=0.0009)
    assert early
    assert min(samples) < 0.0009 < confidence_interval(samples)[0]


def test_record_becomes_a_cost_of_its_percentile_and_spread() -> None:
    cost = cost_of(Record(samples=(1.0, 2.0, 3.0, 4.0, 5.0), error=1e-6), 50, "measured")
    assert (cost.seconds, cost.spread_s, cost.samples, cost.error, cost.source) == (3.0, 1.0, 5, 1e-6, "measured")
    assert cost_of(Record(samples=(1.0, 2.0, 3.0)), 100, "recorded").seconds == 3.0


def test_failed_record_becomes_an_invalid_cost() -> None:
    cost = cost_of(Record(stage="numerics", reason="it errs", error=0.5), 50, "measured")
    assert (cost.source, cost.stage, cost.reason, cost.seconds, cost.error) == ("invalid", "numerics", "it errs", None, 0.5)
