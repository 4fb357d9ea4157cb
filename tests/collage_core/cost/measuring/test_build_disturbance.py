"""A build beside a kernel may slow it down: that is found out once for each machine and number of threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.cost.measuring import build_disturbance
from collage_core.cost.measuring.build_disturbance import builds_disturb, probe, ratio


@pytest.fixture
def ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The ratios that probes find from now on, on a machine of four cores; each is found once."""
    told: list[float] = []
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(build_disturbance, "usable_cores", lambda: 4)
    monkeypatch.setattr(build_disturbance, "probe", lambda threads: told.pop(0))
    return told


def test_bursts_of_noise_are_no_disturbance() -> None:
    alone = [1.0, 1.01, 1.0, 3.0, 1.02] * 4
    assert ratio(alone, [1.0, 4.0, 1.02, 3.0, 1.01] * 4) < build_disturbance.MOST
    assert ratio(alone, [1.4, 1.41, 1.5, 1.4, 2.0] * 4) > 1.3


def test_what_was_found_is_kept_for_each_number_of_threads(ratios: list[float]) -> None:
    ratios += [1.0, 1.6]
    assert [builds_disturb(1), builds_disturb(1), builds_disturb(2)] == [False, False, True]
    assert ratios == []


def test_other_work_during_a_probe_does_not_count_for_ever(ratios: list[float]) -> None:
    ratios += [1.6, 1.01]
    assert [builds_disturb(1), builds_disturb(1), builds_disturb(1)] == [True, False, False]


def test_kernels_on_all_cores_are_disturbed(ratios: list[float]) -> None:
    assert builds_disturb(4)


def test_a_file_that_is_broken_is_measured_again(ratios: list[float], tmp_path: Path) -> None:
    ratios += [1.0, 1.0]
    assert not builds_disturb(1)
    (file,) = (tmp_path / "home").iterdir()
    for text in ("", "[]", '{"other": 1}'):
        file.write_text(text)
        ratios[:] = [1.0]
        assert not builds_disturb(1)
        assert ratios == []


def test_the_probe_ends_its_processes() -> None:
    assert probe(1) > 0
