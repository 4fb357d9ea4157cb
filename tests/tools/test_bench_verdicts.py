"""`make bench-verdicts`: what runs say of plans on recorded noise, and of plans that were made beside a load."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import bench_verdicts
import pytest
from fresh_process import MIX, Measurement

FEW = 30


def test_a_plan_is_not_called_faster_than_itself_and_five_per_cent_are_found() -> None:
    """A part of what the command does; without the margin of a hundredth, 2 of the first 30 pairs end with a difference."""
    assert Counter(bench_verdicts.said(seed, 1.0, 0.4) for seed in range(FEW)) == {"undecided": FEW}
    planted = Counter(bench_verdicts.said(1000 + seed, bench_verdicts.PLANTED, 0.0) for seed in range(FEW))
    assert planted["faster"] >= FEW - 2, planted


def test_a_goal_that_is_missed_is_the_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bench_verdicts, "said", lambda seed, factor, drift: "faster" if seed < 3 else "undecided")
    assert bench_verdicts.main([]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "FAIL  3 of 200 comparisons of a plan with itself end with a difference, at most 2 may",
        "FAIL  a difference of 5 % is found in 0 of 100 comparisons, 95 wanted",
    ]


@pytest.mark.parametrize(("alone_s", "status"), [(1.1, 0), (0.98, 0), (0.9, 1)])
def test_what_was_announced_as_faster_beside_a_load_is_measured_without_it(
    alone_s: float, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loads: list[Any] = []
    seconds = {MIX: 1.0, "openvino": alone_s}

    class Subject:
        case = None

        def contenders(self, folder: Path, artifact: Path, threads: int) -> dict[str, Any]:
            assert [load.poll() is None for load in loads] == [False], "the load has ended"
            return {name: lambda took_s=took_s: Measurement(took_s) for name, took_s in seconds.items()}

    def partition(case: Any, out: Path, options: Any) -> tuple[dict[str, Any], float, str]:
        assert [load.poll() is None for load in loads] == [True], "the load runs"
        kind = "faster" if out.name.endswith("-1") else "undecided"
        return {"verdict": {"kind": kind, "text": f"it is {kind}"}}, 2.0, ""

    started = bench_verdicts.subprocess.Popen

    def popen(*arguments: Any, **options: Any) -> Any:
        loads.append(started(*arguments, **options))
        return loads[-1]

    monkeypatch.setattr(bench_verdicts.subprocess, "Popen", popen)
    monkeypatch.setattr(bench_verdicts, "prepare", lambda case, folder: Subject())
    monkeypatch.setattr(bench_verdicts, "partition", partition)
    assert bench_verdicts.main(["--load", "--only", "mini_mnist", "--times", "2"]) == status
    printed = capsys.readouterr().out.splitlines()
    assert printed[1] == "mini_mnist 2 of 2, 2 s: it is faster"
    assert printed[2].startswith("mini_mnist-1: it is faster; quiet: the best target alone takes ")
    assert any(line.startswith("FAIL") for line in printed) == bool(status)
