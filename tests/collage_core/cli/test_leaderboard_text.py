"""The leaderboard as lines of text."""

from __future__ import annotations

import pytest

from collage_core.cli.leaderboard_text import leader_lines
from collage_core.cli.terminal import Progress
from collage_core.documents.leaderboard import MIX, Leader
from collage_core.events import CandidateBuilding, CandidatesFound, PhaseStarted, StepStarted, TargetAlone


def test_each_row_says_what_is_known() -> None:
    rows = [
        Leader(MIX, 1e-3, nodes=9, of=9, targets=("tvm", "ncnn"), partitions=3),
        Leader("tvm", 3e-3, 1e-4, nodes=9, of=9),
        Leader("onnxruntime", 3e-3, measured_s=2e-3, nodes=9, of=9),
        Leader("ncnn", 1e-4, nodes=2, of=9),
        Leader("openvino"),
        Leader("npx", reason="no converter for Relu"),
    ]
    assert leader_lines(rows) == [
        "  best mix           1 ms predicted, 3 partitions on tvm and ncnn",
        "  tvm alone          3 ms ± 100 µs",
        "  onnxruntime alone  2 ms end to end",
        "  ncnn alone         100 µs for 2 of 9 nodes",
        "  openvino alone     not timed yet",
        "  npx alone          no converter for Relu",
    ]
    assert leader_lines([]) == []


def test_the_terminal_shows_what_is_done_now_the_time_left_and_the_leaderboard(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    for event in (
        PhaseStarted("costs"),
        StepStarted("largest first", 25.4),
        CandidatesFound("tvm", 3, 3, 0),
        CandidatesFound("ncnn", 3, 3, 0),
    ):
        progress(event)
    progress(TargetAlone("tvm", 9, 9, 3e-3, 1e-4))
    progress(CandidateBuilding("ncnn", "c", "Conv", (0, 1), 1, 4))
    assert progress.shown().plain.splitlines() == [
        "costing candidates, largest first 1/4  ncnn Conv, about 25 s left",
        "  tvm alone   3 ms ± 100 µs",
        "  ncnn alone  not timed yet",
    ]
    assert "tvm alone: 3 ms ± 100 µs\n" in capsys.readouterr().err, "where lines stay, each toolchain has one"
