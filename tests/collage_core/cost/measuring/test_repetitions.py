"""One cost from several repetitions: its value, its interval, and the repetitions that count."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import median

import pytest

from collage_core.cost.database.record_validation import cost_row
from collage_core.cost.database.records import CostKey, Record, fields_of
from collage_core.cost.measuring.repetition_noise import RepetitionNoise
from collage_core.cost.measuring.repetitions import (
    FEWEST,
    MOST,
    PRECISE,
    cost_of,
    half_interval_s,
    is_precise,
    repetition_count,
    repetition_values,
    with_repetition,
)
from tests.helpers.repetitions import QUIET, repeated


def half_s(record: Record) -> float:
    return half_interval_s(repetition_values(record, 50.0), record.samples, 50.0)


def test_each_repetition_counts_as_much_however_many_samples_it_has() -> None:
    record = with_repetition(with_repetition(Record(samples=(5.0,) * 100), Record(samples=(1.0,))), Record(samples=(1.0, 2.0, 3.0)))
    assert record.repetitions == (100, 1, 3)
    assert repetition_count(record) == 3
    assert repetition_values(record, 50.0) == [5.0, 1.0, 2.0]
    assert cost_of(record, 50.0, "measured").seconds == 2.0
    assert cost_of(record, 50.0, "measured").samples == 104
    assert repetition_values(record, 100.0) == [5.0, 1.0, 3.0]


def test_one_repetition_is_off_by_what_repetitions_are_assumed_to_differ() -> None:
    assert half_s(Record(samples=(1.0,) * 200)) == pytest.approx(0.195, abs=0.001)
    assert half_s(repeated(1.0, 1.0, 1.0, 1.0)) == pytest.approx(0.098, abs=0.001)


def test_few_samples_are_off_by_as_much_as_they_reach() -> None:
    assert half_s(Record(samples=(1.0, 1.0, 3.0))) > 2.0


def test_enough_repetitions_speak_for_themselves() -> None:
    assert half_s(repeated(*[1.0] * FEWEST)) == 0.0
    assert half_s(repeated(0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 2.0)) == pytest.approx(0.558, abs=0.005)


def test_what_others_show_of_the_machine_narrows_the_interval_of_one_repetition() -> None:
    record, noise = Record(samples=(1.0,) * 200), RepetitionNoise.of([[0.99, 1.0, 1.01, 1.0, 0.99, 1.0, 1.01]] * 4)
    assert cost_of(record, 50.0, "measured", noise).interval_s == pytest.approx(0.017, abs=0.002)
    assert is_precise(repeated(*[1.0] * FEWEST), 50.0, None, noise)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Repetitions of a machine that is now and then much slower; the truth is their median."""
    draw = random.Random(7)

    def value() -> float:
        return draw.gauss(1.0, 0.05) * (2.0 if draw.random() < 0.15 else 1.0)

    truth = median(value() for _ in range(20_001))
    held = 0
    for _ in range(1000):
        record = repeated(*(value() for _ in range(MOST)))
        held += abs(cost_of(record, 50.0, "measured").seconds - truth) <= half_s(record)  # type: ignore[operator]
    assert held >= 940


@pytest.mark.long
@pytest.mark.parametrize("deviation", [0.01, 0.02, 0.05])
def test_it_does_so_where_the_interval_itself_says_when_to_stop(deviation: float) -> None:
    draw, held = random.Random(7), 0
    for _ in range(1000):
        record = repeated(draw.gauss(1.0, deviation))
        while not is_precise(record, 50.0, None):
            record = with_repetition(record, Record(samples=(draw.gauss(1.0, deviation),) * 3))
        held += abs(cost_of(record, 50.0, "measured").seconds - 1.0) <= half_s(record)  # type: ignore[operator]
    assert held >= 940


def test_precise_is_what_need_not_be_known_better() -> None:
    wide = repeated(1.0, 1.0, 1.0, 1.05, 1.1, 1.1, 1.1)
    assert half_s(wide) > PRECISE
    assert not is_precise(wide, 50.0, None)
    assert is_precise(wide, 50.0, plan_s=100.0), "a small part of the plan"
    assert not is_precise(repeated(1.0, 1.0, 1.0, 1.0), 50.0, plan_s=100.0), "too few"
    assert is_precise(repeated(*[1.0, 2.0] * MOST), 50.0, None), "more would not help"
    assert is_precise(Record(stage="run", reason="no"), 50.0, None)
    assert is_precise(replace(QUIET, stopped_early=True), 50.0, None)


def test_a_repetition_that_fails_replaces_all() -> None:
    failed = Record(stage="numerics", reason="it errs by 3", error=3.0)
    assert with_repetition(QUIET, failed) is failed


def test_repetitions_at_high_core_latency_do_not_count() -> None:
    low, high = Record(samples=(1.0,), core_latency_s=270e-9), Record(samples=(2.0,), core_latency_s=610e-9)
    assert with_repetition(low, high) == replace(low, repetitions=(1, 0))
    assert with_repetition(with_repetition(high, high), low) == replace(low, repetitions=(0, 0, 1))
    both = with_repetition(low, replace(low, core_latency_s=300e-9))
    assert (both.repetitions, both.core_latency_s) == ((1, 1), 270e-9)
    assert with_repetition(high, replace(high, core_latency_s=None)).repetitions == (1, 1), "where nothing tells, both count"


def test_the_worst_error_is_kept() -> None:
    assert with_repetition(replace(QUIET, error=1e-3), replace(QUIET, error=1e-6)).error == 1e-3
    assert with_repetition(replace(QUIET, error=None), replace(QUIET, error=1e-6)).error == 1e-6


def test_a_disturbed_repetition_counts_only_without_another() -> None:
    slow = Record(samples=(9.0,), slowed_by=0.5)
    assert with_repetition(QUIET, slow) == replace(QUIET, repetitions=(3, 0))
    assert with_repetition(slow, QUIET) == replace(QUIET, repetitions=(0, 3))
    assert with_repetition(slow, slow).repetitions == (1, 1)


def test_what_was_slowed_down_all_the_time_may_be_too_high_by_as_much() -> None:
    cost = cost_of(Record(samples=(3.0,) * 200, slowed_by=0.5), 50.0, "measured")
    assert cost.seconds == 3.0
    assert cost.interval_s == pytest.approx(1.0)


def test_what_did_not_count_tells_nothing_and_was_tried() -> None:
    record = with_repetition(with_repetition(repeated(1.0, 2.0), Record(samples=(9.0,), slowed_by=0.5)), Record(samples=(3.0,) * 3))
    assert repetition_count(record) == 4
    assert repetition_values(record, 50.0) == [1.0, 2.0, 3.0]
    key, kept = CostKey("ab" * 16, "tvm", "1", 1, "a machine"), replace(record, created="2026-01-31T12:00:00+00:00")
    assert cost_row(fields_of(key, kept)) == (key, kept)
