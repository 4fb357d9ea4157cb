"""`write_trace`: what the process that traces a run's search does. Called in a worker process, never in the server's."""

from __future__ import annotations

import importlib
from pathlib import Path

from collage_core.base.isolation.report import report
from collage_core.trace.trace_file import FILE_NAME

from .run_job import load_record


def write_trace(pipeline: str, folder: str) -> None:
    """Search again what the run in `folder` is of, and leave the trace there; reports how many steps there are so far."""
    record = load_record(pipeline, Path(folder))
    importlib.import_module(pipeline).trace(record, Path(folder) / FILE_NAME, lambda steps: report([{"steps": steps}]))
