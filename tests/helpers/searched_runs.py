"""A run up to its plan, on costs that are measured: nothing is built whole, which would take most of its time."""

from __future__ import annotations

from pathlib import Path

from collage_core.events import ignore
from collage_core.options import Options
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.searched_run import SearchedRun


def searched_run(source: Path, options: Options) -> RunRecord:
    run = SearchedRun(source, options, ignore)
    try:
        return run.record(run.search(run.cost()))
    finally:
        run.close()
