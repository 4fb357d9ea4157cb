"""`StopRequest`: it sees the file soon, looks for it now and then, and does not forget it."""

from __future__ import annotations

from pathlib import Path

from collage_server.shared.run_files import STOP
from collage_server.worker.stop_request import LOOK_S, StopRequest


def test_it_looks_now_and_then_and_remembers(tmp_path: Path) -> None:
    now = [0.0]
    stop = StopRequest(tmp_path, lambda: now[0])
    assert not stop()
    (tmp_path / STOP).touch()
    assert not stop(), "not looked for again at once"
    now[0] += LOOK_S
    assert stop()
    (tmp_path / STOP).unlink()
    now[0] += LOOK_S
    assert stop()
