"""What several repetitions say of one cost, and the rounds in which they are held."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.record_validation import cost_row
from collage_core.cost.database.records import CostKey, Record, fields_of
from collage_core.cost.measuring import repetition_rounds
from collage_core.cost.measuring.repetition_rounds import RepetitionRounds
from collage_core.cost.measuring.repetitions import (
    BETWEEN,
    FEWEST,
    MOST,
    MOST_TRIED,
    SURE,
    cost_of,
    half_interval_s,
    is_sure,
    repetition_count,
    repetition_values,
    slowed_down,
    with_repetition,
)
from collage_core.cost.measuring.trial import TrialTask
from collage_core.cost.measuring.trial_backend import TrialBackend
from collage_core.errors import Cancelled
from collage_core.model.base import SubModel

KEY, OTHER = (CostKey(name * 16, "tvm", "1", 1, "a machine") for name in ("ab", "cd"))
CALM = Record(samples=(1.0, 1.0, 1.1))


def sat(*values: float) -> Record:
    """One repetition of three samples for each value."""
    record = Record(samples=(values[0],) * 3)
    for value in values[1:]:
        record = with_repetition(record, Record(samples=(value,) * 3))
    return record


def half_s(record: Record) -> float:
    return half_interval_s(repetition_values(record, 50.0), record.samples, 50.0)


def test_each_sitting_counts_as_much_however_many_samples_it_has() -> None:
    record = with_repetition(with_repetition(Record(samples=(5.0,) * 100), Record(samples=(1.0,))), Record(samples=(1.0, 2.0, 3.0)))
    assert record.repetitions == (100, 1, 3)
    assert repetition_count(record) == 3
    assert repetition_values(record, 50.0) == [5.0, 1.0, 2.0]
    assert cost_of(record, 50.0, "measured").seconds == 2.0
    assert cost_of(record, 50.0, "measured").samples == 104
    assert repetition_values(record, 100.0) == [5.0, 1.0, 3.0]


def test_one_sitting_is_off_by_what_sittings_in_general_differ() -> None:
    assert half_s(Record(samples=(1.0,) * 200)) == pytest.approx(1.96 * BETWEEN)
    assert half_s(sat(1.0, 1.0, 1.0, 1.0)) == pytest.approx(1.96 * BETWEEN / 2)


def test_few_samples_are_off_by_as_much_as_they_reach() -> None:
    assert half_s(Record(samples=(1.0, 1.0, 3.0))) > 2.0


def test_enough_sittings_speak_for_themselves() -> None:
    assert half_s(sat(*[1.0] * FEWEST)) == 0.0
    assert half_s(sat(0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 2.0)) == pytest.approx(0.8)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Repetitions of a machine that is now and then much slower; the truth is their median."""
    draw = random.Random(7)

    def value() -> float:
        return draw.gauss(1.0, 0.05) * (2.0 if draw.random() < 0.15 else 1.0)

    truth = median(value() for _ in range(20_001))
    held = 0
    for _ in range(1000):
        record = sat(*(value() for _ in range(MOST)))
        held += abs(cost_of(record, 50.0, "measured").seconds - truth) <= half_s(record)  # type: ignore[operator]
    assert held >= 940


@pytest.mark.parametrize("deviation", [0.01, 0.02, 0.05])
def test_it_does_so_where_the_interval_itself_says_when_to_stop(deviation: float) -> None:
    draw, held = random.Random(7), 0
    for _ in range(1000):
        record = sat(draw.gauss(1.0, deviation))
        while not is_sure(record, 50.0, None):
            record = with_repetition(record, Record(samples=(draw.gauss(1.0, deviation),) * 3))
        held += abs(cost_of(record, 50.0, "measured").seconds - 1.0) <= half_s(record)  # type: ignore[operator]
    assert held >= 940


def test_sure_is_what_matters_no_more() -> None:
    wide = sat(1.0, 1.0, 1.0, 1.05, 1.1, 1.1, 1.1)
    assert half_s(wide) > SURE
    assert not is_sure(wide, 50.0, None)
    assert is_sure(wide, 50.0, whole_s=100.0), "a small part of the plan"
    assert not is_sure(sat(1.0, 1.0, 1.0, 1.0), 50.0, whole_s=100.0), "too few"
    assert is_sure(sat(*[1.0, 2.0] * MOST), 50.0, None), "more would not help"
    assert is_sure(Record(stage="run", reason="no"), 50.0, None)
    assert is_sure(replace(CALM, stopped_early=True), 50.0, None)


def test_a_sitting_that_fails_takes_the_place_of_all() -> None:
    failed = Record(stage="numerics", reason="it errs by 3", error=3.0)
    assert with_repetition(CALM, failed) is failed


def test_sittings_while_the_cores_lay_apart_do_not_count() -> None:
    near, apart = Record(samples=(1.0,), core_latency_s=270e-9), Record(samples=(2.0,), core_latency_s=610e-9)
    assert with_repetition(near, apart) == replace(near, repetitions=(1, 0))
    assert with_repetition(with_repetition(apart, apart), near) == replace(near, repetitions=(0, 0, 1))
    both = with_repetition(near, replace(near, core_latency_s=300e-9))
    assert (both.repetitions, both.core_latency_s) == ((1, 1), 270e-9)
    assert with_repetition(apart, replace(apart, core_latency_s=None)).repetitions == (1, 1), "where nothing tells, both count"


def test_the_worst_error_is_kept() -> None:
    assert with_repetition(replace(CALM, error=1e-3), replace(CALM, error=1e-6)).error == 1e-3
    assert with_repetition(replace(CALM, error=None), replace(CALM, error=1e-6)).error == 1e-6


def test_a_disturbed_sitting_counts_only_without_another() -> None:
    slow = Record(samples=(9.0,), slowed_by=0.5)
    assert with_repetition(CALM, slow) == replace(CALM, repetitions=(3, 0))
    assert with_repetition(slow, CALM) == replace(CALM, repetitions=(0, 3))
    assert with_repetition(slow, slow).repetitions == (1, 1)


def test_what_was_slowed_down_all_the_time_may_be_too_high_by_as_much() -> None:
    cost = cost_of(Record(samples=(3.0,) * 200, slowed_by=0.5), 50.0, "measured")
    assert cost.seconds == 3.0
    assert cost.interval_s == pytest.approx(1.0)


def test_a_trial_is_slowed_down_where_others_of_its_machine_show_it() -> None:
    known = {
        "calm": Record(samples=(1.0,), reference_s=25e-6, core_latency_s=260e-9),
        "slow": Record(samples=(2.0,), reference_s=30e-6, core_latency_s=260e-9),
        "apart": Record(samples=(2.0,), reference_s=25e-6, core_latency_s=390e-9),
        "as good": Record(samples=(1.0,), reference_s=28e-6, core_latency_s=320e-9),
        "lost": Record(samples=(9.0,), reference_s=30e-6, stopped_early=True),
        "elsewhere": Record(samples=(1.0,), reference_s=60e-6, worker="another"),
        "failed": Record(stage="build", reason="no"),
    }
    found = slowed_down(known)
    assert list(found) == ["slow", "apart"]
    assert found["slow"] == replace(known["slow"], slowed_by=pytest.approx(0.2))
    assert all(with_repetition(record, known["calm"]).samples == (1.0,) for record in found.values())
    assert slowed_down({"slow": known["slow"]}) == {}, "nobody knows better"


def test_what_did_not_count_tells_nothing_and_was_tried() -> None:
    record = with_repetition(with_repetition(sat(1.0, 2.0), Record(samples=(9.0,), slowed_by=0.5)), Record(samples=(3.0,) * 3))
    assert repetition_count(record) == 4
    assert repetition_values(record, 50.0) == [1.0, 2.0, 3.0]
    kept = replace(record, created="2026-01-31T12:00:00+00:00")
    assert cost_row(fields_of(KEY, kept)) == (KEY, kept)


class Played:
    """A place where trials come to what was written down for them; a None is a target that cannot be used now."""

    def __init__(self, *records: Record | None):
        self.records = list(records)
        self.rounds = 0

    def run_all(self, tasks: Iterable[TrialTask]) -> Iterator[tuple[TrialTask, Record]]:
        self.rounds += 1
        for task in tasks:
            yield task, self.records.pop(0) or Record(stage="device", reason="gone")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[CostDatabase]:
    with CostDatabase(tmp_path / "costs.sqlite3") as opened:
        yield opened


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetition_rounds, "APART_S", 0.0)


def rounds(
    place: object, database: CostDatabase, known: dict[CostKey, Record], should_stop: object = None, left_s: float = math.inf
) -> dict[CostKey, Record]:
    task = TrialTask("tvm", SubModel(b"", (), ()), (), (), None)
    assert isinstance(place, Played)
    held: TrialBackend = place  # type: ignore[assignment]
    asked = RepetitionRounds[str](held, database, lambda name, repetition: replace(task), 50.0, None, should_stop, left_s)  # type: ignore[arg-type]
    return dict(asked.rounds(dict.fromkeys(known, "a computation"), known))


def test_rounds_go_on_until_each_is_sure(database: CostDatabase) -> None:
    shaky = [Record(samples=(value,)) for value in (1.0, 1.5) * MOST]
    place = Played(*(record for pair in zip([CALM] * (FEWEST - 1), shaky, strict=False) for record in pair), *shaky)
    found = rounds(place, database, {KEY: CALM, OTHER: CALM})
    assert repetition_count(found[KEY]) == FEWEST
    assert repetition_count(found[OTHER]) == MOST
    assert database.get([KEY, OTHER])[OTHER].samples == found[OTHER].samples


def test_what_is_sure_is_not_tried(database: CostDatabase) -> None:
    place = Played()
    assert rounds(place, database, {KEY: sat(*[1.0] * FEWEST)}) == {}
    assert place.rounds == 0


def test_what_cannot_be_tried_keeps_what_was_known(database: CostDatabase) -> None:
    assert rounds(Played(CALM, None), database, {KEY: CALM}) == {KEY: with_repetition(CALM, CALM)}


def test_a_failure_ends_it_and_is_kept(database: CostDatabase) -> None:
    failed = Record(stage="run", reason="crashed with SIGSEGV while running", crashed=True)
    assert rounds(Played(CALM, failed), database, {KEY: CALM}) == {KEY: failed}
    assert database.get([KEY])[KEY].stage == "run"


def test_a_machine_that_is_never_calm_ends_it_too(database: CostDatabase) -> None:
    place = Played(*[Record(samples=(9.0,), slowed_by=0.5)] * MOST_TRIED)
    found = rounds(place, database, {KEY: CALM})
    assert found[KEY].samples == CALM.samples
    assert repetition_count(found[KEY]) == MOST_TRIED
    assert rounds(place, database, found) == {}, "a run that is started again need not try it again"


def test_the_time_ends_it_with_what_was_measured(database: CostDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter((0.0, 0.0, 0.1, 0.2, 0.9, 1.2))
    monkeypatch.setattr(repetition_rounds.time, "monotonic", lambda: next(now, 2.0))
    assert rounds(Played(CALM, CALM), database, {KEY: CALM, OTHER: CALM}, left_s=1.0) == {KEY: with_repetition(CALM, CALM), OTHER: CALM}


def test_what_was_measured_before_it_is_stopped_is_kept(database: CostDatabase) -> None:
    place = Played(CALM, CALM, CALM)
    with pytest.raises(Cancelled):
        rounds(place, database, {KEY: CALM}, should_stop=lambda: place.rounds > 2)
    assert repetition_count(database.get([KEY])[KEY]) == 3
