"""The rules of a run, with what each gave and rejected. Called in a worker process, as `job` is.

In go a run's folder and the name of the pipeline; out come the fields of `RunSpec`s.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..base.json_files import plain
from .run_job import load_record


def specs_of(pipeline: str, folder: str) -> list[dict[str, Any]]:
    """Every spec of the run in `folder`."""
    from collage_core.pipeline.run_specs import run_specs

    return plain(run_specs(load_record(pipeline, Path(folder))))
