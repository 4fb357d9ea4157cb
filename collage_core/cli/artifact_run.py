"""Runs an artifact: the document of `collage run`."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np

from ..base.isolation.errors import WorkerError
from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..rewrite.runtime.arrays_file import read_arrays
from ..rewrite.runtime.artifact_calls import describe_artifact, run_artifact, time_artifact

RUN_TIMEOUT_S = 600.0


def run_folder(folder: Path, inputs: Path | None, outputs: Path | None, bench: bool) -> dict[str, Any]:
    """Return the document of `collage run`. The artifact runs in a worker process, since its toolchains may crash."""
    with Worker() as worker:
        try:
            arrays = (
                read_arrays(inputs) if inputs is not None else worker.call(describe_artifact, folder, timeout_s=RUN_TIMEOUT_S)["seeded"]
            )
            got = worker.call(run_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S)
            seconds = worker.call(time_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S) if bench else []
        except WorkerError as error:
            raise CollageError(f"the artifact could not be run: {error}", "build it again with `collage apply`", "artifact") from error
    if outputs is not None:
        _save_arrays(outputs, got)
    timing = (
        {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds), "samples": len(seconds)} if seconds else None
    )
    return {"schema": 1, "outputs": {name: _summary(value) for name, value in got.items()}, "bench": timing}


def _summary(value: np.ndarray) -> dict[str, Any]:
    mean = float(np.mean(value, dtype=np.float64)) if value.size and value.dtype.kind in "fiub" else 0.0
    return {"shape": list(value.shape), "dtype": str(value.dtype), "mean": mean if np.isfinite(mean) else None}


def _save_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    try:
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise CollageError(f"cannot write the outputs {str(path)!r}: {error.strerror}", "give another file", "unwritable") from error
