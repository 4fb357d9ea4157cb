"""`Costing`: progress that a person can read, whatever the estimator counts by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.events import CandidateBuilding, CandidateCosted, Event
from collage_core.options import Options
from collage_core.pipeline import partition
from collage_core.terminal import Progress


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """What a measured run of the mini-MNIST tells, on ONNX Runtime alone."""
    folder: Path = tmp_path_factory.mktemp("run")
    events: list[Event] = []
    partition("mini_mnist", Options(("onnxruntime",), costs_db=str(folder / "costs.sqlite3"), threads=1), events.append)
    return events


def test_progress_goes_up_and_never_past_its_end(told: list[Event]) -> None:
    costed = [event for event in told if isinstance(event, CandidateCosted)]
    assert len(costed) > 1
    assert [event.done for event in costed] == list(range(1, len(costed) + 1))
    assert all(event.done <= event.total for event in costed)
    building = [event for event in told if isinstance(event, CandidateBuilding)]
    assert [event.done for event in building] == sorted(event.done for event in building)
    assert all(event.done < event.total for event in building)
    assert len({event.total for event in building}) <= 3, "the end stays where it is while batches come and go"


def costed(done: int, total: int, *, from_cache: bool = False) -> CandidateCosted:
    return CandidateCosted("tvm", ("c",), "Conv", {"seconds": 1e-6}, from_cache, done, total)


def test_the_time_left_follows_from_the_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 101.0, 103.0, 106.0, 109.0])
    monkeypatch.setattr("collage_core.terminal.time.monotonic", lambda: next(clock))
    progress = Progress()
    assert progress._left(costed(1, 20, from_cache=True)) == ""
    assert progress._left(costed(2, 20, from_cache=True)) == ""
    assert progress._left(costed(3, 20)) == "  about 34 s left", "one trial took 2 s, 17 are left"
    assert progress._left(costed(4, 20)) == "  about 40 s left", "two took 5 s, 16 are left"
    assert progress._left(costed(20, 20)) == ""
