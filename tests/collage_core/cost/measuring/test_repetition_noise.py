"""The noise of a machine, learnt from repetitions, on recorded costs and made-up noise: whether two runs agree, within how much."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import pytest
from recorded_costs import MEASURED_WHOLLY

from collage_core.cost.measuring import repetition_noise
from collage_core.cost.measuring.repetition_noise import ASSUMED_CORRELATION, ASSUMED_NOISE, RepetitionNoise
from collage_core.pipeline.record.record import RunRecord

SAMPLES = ("mini_mnist", "squeezenet", "bert")
ONCE, FEW, MANY = 1, 3, 9
"""How often a candidate is timed: most once, what a plan rests on often."""

Rng = np.random.Generator
Noise = Callable[[Rng, float, int], np.ndarray]
"""(random numbers, cost in seconds, count) → as many factors, of successive repetitions."""


def deviation(cost_s: float) -> float:
    """As on the machine of docs/measuring.md: 8 % of a cost of 20 microseconds, 1.5 % of one of 5 milliseconds."""
    return math.hypot(0.015, min(0.08, 0.08 * math.sqrt(20e-6 / cost_s)))


def normal(rng: Rng, cost_s: float, count: int) -> np.ndarray:
    return 1 + deviation(cost_s) * rng.normal(size=count)


def steady(rng: Rng, cost_s: float, count: int) -> np.ndarray:
    return 1 + 0.01 * rng.normal(size=count)


def restless(rng: Rng, cost_s: float, count: int) -> np.ndarray:
    return 1 + 0.1 * rng.normal(size=count)


def sometimes_slow(rng: Rng, cost_s: float, count: int) -> np.ndarray:
    return normal(rng, cost_s, count) * np.where(rng.random(count) < 0.1, 1.3, 1.0)


def of_each_its_own(rng: Rng, cost_s: float, count: int) -> np.ndarray:
    return 1 + deviation(cost_s) * math.exp(rng.normal(0, 0.5)) * rng.normal(size=count)


def drifting(rng: Rng, cost_s: float, count: int) -> np.ndarray:
    """Each repetition is half like the one before it."""
    off = [rng.normal()]
    while len(off) < count:
        off.append(0.5 * off[-1] + math.sqrt(0.75) * rng.normal())
    return 1 + deviation(cost_s) * np.array(off)


def run(rng: Rng, costs_s: Sequence[float], counts: Sequence[int], noise: Noise) -> list[tuple[float, float]]:
    """Return the cost and half of its interval of each candidate, timed as often as `counts` says."""
    values = [list(cost_s * noise(rng, cost_s, count)) for cost_s, count in zip(costs_s, counts, strict=True)]
    learnt = RepetitionNoise.of(values)
    return [(median(one), learnt.half_interval_s(one)) for one in values]


def recorded_costs() -> list[list[float]]:
    records = [RunRecord.load(MEASURED_WHOLLY / f"{name}.json.gz") for name in SAMPLES]
    return [[item.cost.seconds for item in record.candidates if item.cost.source == "measured" and item.cost.seconds] for record in records]


@pytest.mark.parametrize("noise", [normal, steady, restless, sometimes_slow, of_each_its_own, drifting])
def test_two_runs_agree_within_what_they_state(noise: Noise) -> None:
    """In 19 of 20 tries; and the interval of a cost is about twice as wide as the median difference, where noise is normal."""
    rng = np.random.default_rng(7)
    agree: dict[int, list[bool]] = {ONCE: [], FEW: [], MANY: []}
    ratios: dict[int, list[tuple[float, float]]] = {ONCE: [], FEW: [], MANY: []}
    for costs_s in recorded_costs():
        for _ in range(20):
            picked = list(rng.choice(costs_s, 36, replace=False))
            counts = [(MANY, ONCE, FEW)[index % 3] for index in range(len(picked))]
            for count, cost_s, (one_s, one_half_s), (other_s, other_half_s) in zip(
                counts, picked, run(rng, picked, counts, noise), run(rng, picked, counts, noise), strict=True
            ):
                agree[count].append(abs(one_s - other_s) <= math.hypot(one_half_s, other_half_s))
                ratios[count].append((one_half_s / cost_s, abs(one_s - other_s) / cost_s))
    assert sum(map(sum, agree.values())) >= 0.95 * sum(map(len, agree.values()))
    for count, agreed in agree.items():
        assert sum(agreed) >= 0.92 * len(agreed), f"{count} repetitions"
        stated, difference = (median(values) for values in zip(*ratios[count], strict=True))
        assert noise is sometimes_slow or stated <= 3.3 * difference, f"{count} repetitions"


def test_nothing_seen_is_the_assumption_and_much_seen_displaces_it() -> None:
    assert ASSUMED_NOISE == RepetitionNoise.of([]) == RepetitionNoise.of([[1.0], [2.0]])
    assumed = ASSUMED_NOISE.half_interval_s([1.0])
    assert assumed == pytest.approx(0.195, abs=0.001)
    pair = RepetitionNoise.of([[1.0, 1.0]]).half_interval_s([1.0])
    many = RepetitionNoise.of([[1.0, 1.0]] * 6).half_interval_s([1.0])
    assert many == 0.0 < pair < assumed


def test_a_computation_tells_only_of_others_that_take_about_as_long() -> None:
    noise = RepetitionNoise.of([[1.0] * 7])
    assert noise.half_interval_s([5.0]) == noise.half_interval_s([0.2]) == 0.0
    assert noise.half_interval_s([5.1]) == pytest.approx(5.1 * ASSUMED_NOISE.half_interval_s([1.0]))
    assert noise.half_interval_s([0.19]) > 0


def test_a_noisy_neighbour_does_not_widen_what_was_repeated_enough() -> None:
    noise = RepetitionNoise.of([[1.0, 2.0] * 5])
    assert noise.half_interval_s([1.0] * 7) == 0.0
    assert noise.half_interval_s([1.0] * 6) > 0.0


def test_repetitions_that_follow_each_other_widen_the_interval() -> None:
    rising, alternating = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06], [1.0, 1.06, 1.01, 1.05, 1.02, 1.04, 1.03]
    followed, opposed = RepetitionNoise.of([rising] * 10), RepetitionNoise.of([alternating] * 10)
    assert opposed.correlation < ASSUMED_CORRELATION < followed.correlation
    assert opposed.half_interval_s(rising) < ASSUMED_NOISE.half_interval_s(rising) < followed.half_interval_s(rising)
    assert opposed.half_interval_s([1.0]) < followed.half_interval_s([1.0]), "alike ones hide how far others may be"


@pytest.mark.parametrize("few", [[1.0, 1.3], [1.0, 1.2, 1.3]])
def test_on_a_machine_that_drifts_a_few_repetitions_have_an_interval(few: Sequence[float]) -> None:
    rising = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06]
    noise = RepetitionNoise.of([*[rising] * 10, few])
    assert noise.correlation == repetition_noise._HIGHEST_CORRELATION
    assert 0.1 < noise.half_interval_s(few) < 0.5


def test_the_correlation_of_independent_repetitions_is_about_none() -> None:
    rng = np.random.default_rng(7)
    assert RepetitionNoise.of(rng.normal(1.0, 0.05, (200, 9)).tolist()).correlation == pytest.approx(0.0, abs=0.06)


def test_a_cost_of_nothing_is_certain() -> None:
    assert RepetitionNoise.of([[0.0, 0.0]]).half_interval_s([0.0]) == 0.0


@pytest.mark.parametrize(("degrees", "quantile"), [(4, 2.776), (6, 2.447), (10, 2.228), (30, 2.042), (1e9, 1.96)])
def test_quantile_of_students_distribution(degrees: float, quantile: float) -> None:
    assert repetition_noise._student_95(degrees) == pytest.approx(quantile, rel=0.02)
