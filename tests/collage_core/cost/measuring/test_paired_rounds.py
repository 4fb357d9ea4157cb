"""The verdict on rounds of contenders: on given seconds, and on a machine with recorded noise, where the truth is known."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from collage_core.cost.measuring.paired_rounds import (
    FEWEST_ROUNDS,
    MOST_ROUNDS,
    Round,
    beats,
    fastest,
    is_tie,
    low_s,
    median_of,
    ratio_of,
    slower,
    time_of,
    undecided,
)
from collage_core.cost.measuring.turns import Turns
from tests.helpers.noisy_machine import NoisyMachine


def rounds(*times: list[float]) -> list[Round]:
    """The rounds in which each contender took its `times`."""
    return [dict(enumerate(seconds)) for seconds in zip(*times, strict=True)]


def verdict(seed: int, run_s: float, factor: float, drift: float) -> str:
    """Return how a contender that takes `factor` times `run_s` did against one that takes `run_s`, after at most ten rounds."""
    machine = NoisyMachine(seed, drift)
    bursts = {0: partial(machine.burst, factor * run_s), 1: partial(machine.burst, run_s)}
    timed = Turns(bursts, clock=lambda: machine.now_s).all_rounds()
    assert len(timed) <= MOST_ROUNDS
    if beats(timed, 0, 1):
        return "faster"
    return "slower" if beats(timed, 1, 0) else "not apart"


@pytest.mark.parametrize("drift", [0.0, 0.4])
def test_something_compared_with_itself_is_neither_faster_nor_slower(drift: float) -> None:
    verdicts = Counter(verdict(seed, (1e-3, 5e-3, 20e-3)[seed % 3], 1.0, drift) for seed in range(200))
    assert verdicts["faster"] + verdicts["slower"] <= 2, verdicts


@pytest.mark.parametrize("drift", [0.0, 0.4])
def test_a_difference_of_five_per_cent_is_found(drift: float) -> None:
    verdicts = Counter(verdict(1000 + seed, (1e-3, 5e-3, 20e-3)[seed % 3], 0.95, drift) for seed in range(100))
    assert verdicts["faster"] >= 95, verdicts
    assert verdicts["slower"] == 0, verdicts


def test_a_contender_is_judged_by_low_quantiles_since_noise_only_slows_down() -> None:
    noisy = [10.0, 10.0, 10.0, 17.0, 25.0, 11.0]
    assert low_s([1.0, *[2.0] * 9, 3.0]) == 2.0
    time = time_of(rounds(noisy), 0)
    assert time is not None
    assert (time.value, time.low, time.rounds) == (10.0, 10.0, 6)
    assert 10.0 <= time.high <= 17.0
    assert time_of(rounds(noisy), 1) is None


def test_one_round_says_nothing_of_how_far_off_it_is() -> None:
    ratio = ratio_of(rounds([9.0], [10.0]), 0, 1)
    assert ratio is not None
    assert ratio.value == 0.9
    assert ratio.half is None


def test_both_are_compared_in_the_rounds_that_timed_both() -> None:
    timed: list[Round] = [{0: 10.0, 1: 20.0}, {0: 10.0, 1: 20.0}, {0: 1.0}]
    assert slower(timed, 1, 0) == 2.0
    assert slower(timed, 2, 0) == 0.0
    assert ratio_of(timed, 2, 0) is None


def test_a_machine_that_becomes_slower_slows_both_alike() -> None:
    drift = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    ratio = ratio_of(rounds([9.5 * one for one in drift], [10 * one for one in drift]), 0, 1)
    assert ratio is not None
    assert (ratio.low, ratio.high) == (pytest.approx(0.95), pytest.approx(0.95))


def test_it_takes_rounds_and_more_than_a_hundredth_to_be_faster() -> None:
    few, enough = FEWEST_ROUNDS - 1, FEWEST_ROUNDS
    assert beats(rounds([9.0] * enough, [10.0] * enough), 0, 1)
    assert not beats(rounds([9.0] * enough, [10.0] * enough), 1, 0)
    assert not beats(rounds([9.0] * few, [10.0] * few), 0, 1)
    assert not beats(rounds([9.92] * enough, [10.0] * enough), 0, 1)
    assert beats(rounds([6.0] * 3, [10.0] * 3), 0, 1), "far ahead in each of three"
    assert not beats(rounds([6.0, 6.0, 9.9], [10.0] * 3), 0, 1)
    assert not beats([], 0, 1)
    assert is_tie(rounds([9.92] * enough, [10.0] * enough), 0, 1)
    assert not is_tie(rounds([9.92] * few, [10.0] * few), 0, 1)
    assert not is_tie(rounds([9.5] * enough, [10.0] * enough), 0, 1)


def test_only_those_that_are_neither_apart_nor_a_tie_are_timed_again() -> None:
    may, many = [True] * 4, FEWEST_ROUNDS
    assert undecided(rounds([10.0], [10.0], [99.0], [10.0]), may) == [0, 1, 2, 3], "one round tells nothing"
    assert undecided(rounds([10.0] * 3, [10.5] * 3, [16.0] * 3, [10.0] * 3), may) == [0, 1, 3]
    some = rounds([10.0] * many, [10.5] * many, [10.0, 10.4, 10.6, 10.3, 10.5, 10.6], [10.05] * many)
    assert undecided(some, may) == [0, 2], "the second is slower, the last one a tie"
    apart = rounds([9.0] * many, [10.0] * many, [10.0, 10.4, 10.6, 10.3, 10.5, 10.6])
    assert undecided(apart, [False, True, True]) == [1, 2], "the first is faster, and may not win"


def test_the_fastest_is_one_of_those_in_most_rounds() -> None:
    timed: list[Round] = [{0: 10.0, 1: 9.0, 2: 8.0}, {0: 10.0, 1: 9.0}]
    assert fastest(timed, [0, 1, 2]) == 1


def test_a_difference_is_a_median_with_an_interval() -> None:
    found = median_of([1.0, 1.1, 0.9, 1.0, 5.0, 1.0, 1.05])
    assert found.value == 1.0
    assert 0.9 <= found.low <= found.value <= found.high <= 1.1
