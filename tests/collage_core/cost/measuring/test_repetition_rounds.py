"""Rounds of repetitions: who takes part, how far they are apart, and which records are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import CostKey, Record
from collage_core.cost.measuring import repetition_rounds
from collage_core.cost.measuring.repetition_rounds import RepetitionRounds
from collage_core.cost.measuring.repetitions import FEWEST, MOST, MOST_TRIED, repetition_count
from collage_core.cost.measuring.trial import TrialTask
from collage_core.cost.measuring.trial_backend import TrialBackend
from collage_core.errors import Cancelled
from collage_core.model.model import SubModel
from tests.helpers.repetitions import QUIET, repeated

KEY, OTHER = (CostKey(name * 16, "tvm", "1", 1, "a machine") for name in ("ab", "cd"))


class Played:
    """A backend whose trials give the records that were written down for them; a None is a target that cannot be used now."""

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
    monkeypatch.setattr(repetition_rounds, "ROUND_EVERY_S", 0.0)


def rounds(backend: Played, database: CostDatabase, should_stop: Callable[[], bool] | None = None) -> RepetitionRounds[str]:
    task = TrialTask("tvm", SubModel(b"", (), ()), (), (), None)
    played: TrialBackend = backend  # type: ignore[assignment]
    return RepetitionRounds(played, database, lambda name, repetition: replace(task), 50.0, should_stop)


def one_round(backend: Played, database: CostDatabase, known: dict[CostKey, Record], plan_s: float | None = None) -> dict[CostKey, Record]:
    return dict(rounds(backend, database).one_round(dict.fromkeys(known, "a computation"), known, plan_s))


def test_a_round_is_one_repetition_of_each_and_is_kept(database: CostDatabase) -> None:
    found = one_round(Played(QUIET, QUIET), database, {KEY: QUIET, OTHER: repeated(1.0, 2.0)})
    assert {key: repetition_count(record) for key, record in found.items()} == {KEY: 2, OTHER: 3}
    assert database.get([KEY, OTHER])[OTHER].samples == found[OTHER].samples


def test_what_is_precise_is_not_tried(database: CostDatabase) -> None:
    backend = Played()
    assert one_round(backend, database, {KEY: repeated(*[1.0] * FEWEST), OTHER: repeated(*[1.0, 2.0] * MOST)}) == {}
    assert backend.rounds == 0


def test_what_cannot_be_tried_is_left_out(database: CostDatabase) -> None:
    assert one_round(Played(None), database, {KEY: QUIET}) == {}


def test_a_failure_ends_it_and_is_kept(database: CostDatabase) -> None:
    failed = Record(stage="run", reason="crashed with SIGSEGV while running", crashed=True)
    found = one_round(Played(failed), database, {KEY: QUIET})
    assert found == {KEY: failed}
    assert database.get([KEY])[KEY].stage == "run"
    assert one_round(Played(), database, found) == {}


def test_a_machine_that_is_always_disturbed_ends_it_too(database: CostDatabase) -> None:
    known = {KEY: QUIET}
    for _ in range(1, MOST_TRIED):
        known = one_round(Played(Record(samples=(9.0,), slowed_by=0.5)), database, known)
    assert known[KEY].samples == QUIET.samples
    assert one_round(Played(QUIET), database, known) == {}, "a run that is started again need not try it again"


def test_rounds_keep_their_distance(database: CostDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual machine changes its speed for some tenths of a second: repetitions in a row would all be alike."""
    now_s, waited = [0.0], []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        now_s[0] += seconds

    monkeypatch.setattr(repetition_rounds, "ROUND_EVERY_S", 0.3)
    monkeypatch.setattr(repetition_rounds.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(repetition_rounds.time, "sleep", sleep)
    several = rounds(Played(QUIET, QUIET), database)
    assert list(several.one_round({KEY: "one"}, {KEY: QUIET}, None))
    assert not waited
    assert list(several.one_round({KEY: "one"}, {KEY: QUIET}, None))
    assert sum(waited) == pytest.approx(0.3)


def test_what_was_measured_before_it_is_stopped_is_kept(database: CostDatabase) -> None:
    backend, asked = Played(QUIET, QUIET), iter((False, True))
    wanted = dict.fromkeys((KEY, OTHER), "a computation")
    with pytest.raises(Cancelled):
        list(rounds(backend, database, lambda: next(asked)).one_round(wanted, dict.fromkeys(wanted, QUIET), None))
    assert repetition_count(database.get([KEY])[KEY]) == 2
