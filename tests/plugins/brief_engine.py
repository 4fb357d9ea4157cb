"""`BriefEngine`: the engine, whose runs measure briefly (`brief_runs`): `ServerConfig.engine` names it in tests that need real runs."""

from __future__ import annotations

from typing import Any

from brief_runs import set_existing, shorten

from collage_core.pipeline.record.record import RunRecord
from collage_server.worker.engine import CollageEngine


class BriefEngine(CollageEngine):
    """Shortens the measuring of the worker process that it is called in, and of no other process."""

    def partition(self, *arguments: Any) -> RunRecord:
        shorten(set_existing)
        return super().partition(*arguments)

    def measure_again(self, *arguments: Any) -> RunRecord:
        shorten(set_existing)
        return super().measure_again(*arguments)
