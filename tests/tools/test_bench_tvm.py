"""`make bench-tvm`: the numbers of kernels, times in turns, and the table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bench_tvm
import pytest
from bench_tvm import Row, difference, text, times_in_turns

SECONDS = {"fuse_ops": 0.02, "fusion": 0.016, "tuned": 0.0125, "libraries": 0.01, "all": 0.008}
ROW = Row("bert", 0.5, SECONDS, (30, 24), (("A+B instead of A | B (nodes 3, 4)", 2e-5),), 0.25)


def test_times_are_multiples_of_the_first_in_the_same_rounds():
    """The machine becomes slower by half in the middle; the second is twice as slow at any time."""
    speed = iter([1.0, 1.0, 1.5] * 100)

    def artifact(seconds: float) -> Any:
        return SimpleNamespace(time=lambda arrays, repeat: [seconds * now[0]] * repeat)

    now = [1.0]
    first = artifact(1.0)
    first.time = lambda arrays, repeat: now.__setitem__(0, next(speed)) or [now[0]] * repeat
    found = times_in_turns([first, artifact(2.0)], {})
    assert found == [pytest.approx(1.0), pytest.approx(2.0)]


def test_the_row_shows_what_was_measured():
    assert text(ROW) == "| bert | 500 | 20 | 16 | 1.25 | 12.5 | 1.60 | 10 | 2.00 | 8 | 2.50 | 30 / 24 | 25% |"
    assert difference(ROW).splitlines() == [
        "bert: 30 kernels by FuseOps, 24 in fusion mode; they differ in 1 regions",
        "  saves 0.02 ms: A+B instead of A | B (nodes 3, 4)",
    ]


@pytest.mark.parametrize(("fusion_s", "status"), [(0.0201, 0), (0.021, 1)])
def test_fusion_mode_behind_fuse_ops_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fusion_s: float, status: int
):
    row = Row("gpt2", 0.5, {**SECONDS, "fusion": fusion_s}, (3, 2), (), 0.0)
    monkeypatch.setattr(bench_tvm, "measured", lambda name, budget_s, tune_s: row)
    monkeypatch.setattr("sys.argv", ["bench_tvm", "--only", "gpt2"])
    assert bench_tvm.main() == status
    assert ("FAIL: gpt2" if status else "PASS") in capsys.readouterr().out
