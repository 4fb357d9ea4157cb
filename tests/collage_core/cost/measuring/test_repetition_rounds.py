"""The rounds in which repetitions are done: when they end, and which records are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import CostKey, Record
from collage_core.cost.measuring import repetition_rounds
from collage_core.cost.measuring.repetition_rounds import RepetitionRounds
from collage_core.cost.measuring.repetitions import FEWEST, MOST, MOST_TRIED, repetition_count, with_repetition
from collage_core.cost.measuring.trial import TrialTask
from collage_core.cost.measuring.trial_backend import TrialBackend
from collage_core.errors import Cancelled
from collage_core.model.base import SubModel
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


def rounds(
    backend: object, database: CostDatabase, known: dict[CostKey, Record], should_stop: object = None, left_s: float = math.inf
) -> dict[CostKey, Record]:
    task = TrialTask("tvm", SubModel(b"", (), ()), (), (), None)
    assert isinstance(backend, Played)
    played: TrialBackend = backend  # type: ignore[assignment]
    asked = RepetitionRounds[str](played, database, lambda name, repetition: replace(task), 50.0, None, should_stop, left_s)  # type: ignore[arg-type]
    return dict(asked.rounds(dict.fromkeys(known, "a computation"), known))


def test_rounds_go_on_until_each_is_precise(database: CostDatabase) -> None:
    noisy = [Record(samples=(value,)) for value in (1.0, 1.5) * MOST]
    backend = Played(*(record for pair in zip([QUIET] * (FEWEST - 1), noisy, strict=False) for record in pair), *noisy)
    found = rounds(backend, database, {KEY: QUIET, OTHER: QUIET})
    assert repetition_count(found[KEY]) == FEWEST
    assert repetition_count(found[OTHER]) == MOST
    assert database.get([KEY, OTHER])[OTHER].samples == found[OTHER].samples


def test_what_is_precise_is_not_tried(database: CostDatabase) -> None:
    backend = Played()
    assert rounds(backend, database, {KEY: repeated(*[1.0] * FEWEST)}) == {}
    assert backend.rounds == 0


def test_what_cannot_be_tried_keeps_what_was_known(database: CostDatabase) -> None:
    assert rounds(Played(QUIET, None), database, {KEY: QUIET}) == {KEY: with_repetition(QUIET, QUIET)}


def test_a_failure_ends_it_and_is_kept(database: CostDatabase) -> None:
    failed = Record(stage="run", reason="crashed with SIGSEGV while running", crashed=True)
    assert rounds(Played(QUIET, failed), database, {KEY: QUIET}) == {KEY: failed}
    assert database.get([KEY])[KEY].stage == "run"


def test_a_machine_that_is_always_disturbed_ends_it_too(database: CostDatabase) -> None:
    backend = Played(*[Record(samples=(9.0,), slowed_by=0.5)] * MOST_TRIED)
    found = rounds(backend, database, {KEY: QUIET})
    assert found[KEY].samples == QUIET.samples
    assert repetition_count(found[KEY]) == MOST_TRIED
    assert rounds(backend, database, found) == {}, "a run that is started again need not try it again"


def test_the_time_ends_it_with_what_was_measured(database: CostDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter((0.0, 0.0, 0.1, 0.2, 0.9, 1.2))
    monkeypatch.setattr(repetition_rounds.time, "monotonic", lambda: next(now, 2.0))
    assert rounds(Played(QUIET, QUIET), database, {KEY: QUIET, OTHER: QUIET}, left_s=1.0) == {
        KEY: with_repetition(QUIET, QUIET),
        OTHER: QUIET,
    }


def test_what_was_measured_before_it_is_stopped_is_kept(database: CostDatabase) -> None:
    backend = Played(QUIET, QUIET, QUIET)
    with pytest.raises(Cancelled):
        rounds(backend, database, {KEY: QUIET}, should_stop=lambda: backend.rounds > 2)
    assert repetition_count(database.get([KEY])[KEY]) == 3
