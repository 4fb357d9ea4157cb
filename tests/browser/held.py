"""`held_explorer`: an explorer in this process, whose runs happen on a clock that whoever uses it sets (`RecordedEngine`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from recorded_engine import HeldClock, RecordedEngine

from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.runs.live_run import LiveRun
from tests.helpers.live import TOKEN, Live, serve


@dataclass(frozen=True)
class HeldExplorer:
    live: Live
    clock: HeldClock


@contextmanager
def held_explorer(home: Path) -> Iterator[HeldExplorer]:
    """Serve the app with all of its files in `home`; runs and the server go by one clock, which stands at 0."""
    clock = HeldClock(home / "clock")
    clock.set(0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLLAGE_HOME", str(home))
        patch.setattr(LiveRun, "_now_s", lambda run: max(run._snapshot.now_s, clock.seconds()))
        app, _ = create_app(ServerConfig(engine=RecordedEngine(clock), token=TOKEN))
        for live in serve(app):
            yield HeldExplorer(live, clock)
        app.extensions["collage"].close()
