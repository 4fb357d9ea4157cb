"""`Costing`: progress that a person can read, whatever the estimator counts by itself; what a run says of its inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.events import CandidateBuilding, CandidateCosted, Event, Note, PhaseEnded, PhaseStarted
from collage_core.options import Options
from collage_core.pipeline import Run, partition
from collage_core.terminal import Progress

from .models import model_of, write


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


def test_inputs_that_prove_little_are_told_where_something_is_compared(tmp_path: Path) -> None:
    model = model_of("g (float[8,8] x) => (float[8,8] y) { [zero] a = Mul(x, z) [add] y = Add(a, z) }", {"z": np.float32(0)})
    path, mine = write(tmp_path, model), tmp_path / "mine.npz"
    np.savez(mine, x=np.ones((8, 8), np.float32))

    def told(options: Options) -> list[Event]:
        events: list[Event] = []
        Run(path, options, events.append).close()
        return [event for event in events if isinstance(event, Note)]

    measured = {"costs_db": str(tmp_path / "costs.sqlite3"), "fold": False}
    said = "no inputs that were tried change the outputs: comparing with the reference proves little (--inputs FILE.npz brings your own)"
    assert told(Options(("onnxruntime",), **measured)) == [Note(said)]
    assert told(Options(("onnxruntime",), **measured, inputs=mine)) == told(Options(("onnxruntime",), costs="roofline", fold=False)) == []


def test_a_quiet_run_still_says_what_the_user_should_know(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(quiet=True) as progress:
        for event in (PhaseStarted("costs"), costed(1, 2), Note("[b]the limit[/b] was hit " * 20), PhaseEnded("costs", 5.0)):
            progress(event)
    assert capsys.readouterr() == ("", "note: " + "[b]the limit[/b] was hit " * 20 + "\n")
