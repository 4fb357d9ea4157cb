"""Runs an artifact: the document of `collage run`."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np

from ..base.isolation.worker import Worker
from ..base.isolation.worker_errors import WorkerError
from ..cost.measuring.turns import Burst, timed_alone
from ..documents.json_form import to_json
from ..errors import CollageError
from ..pipeline.inside.inside_times import profile_document
from ..rewrite.runtime.arrays_file import read_arrays, write_arrays
from ..rewrite.runtime.artifact_calls import RUNS_ONLY, describe_artifact, notes_of, profile_artifact, run_artifact, time_artifact
from ..rewrite.runtime.fallback import folder_here
from ..rewrite.runtime.shaped_manifest import read_manifests

RUN_TIMEOUT_S = 600.0


def run_folder(
    folder: Path,
    inputs: Path | None,
    outputs: Path | None,
    bench: bool,
    profile: bool = False,
    other_versions: bool = False,
    fallback: bool = False,
) -> dict[str, Any]:
    """Return the document of `collage run`. The artifact runs in a worker process, since its toolchains may crash."""
    found, replaced = None, ""
    if fallback:
        folder, replaced = folder_here(folder)
    with Worker(environment=RUNS_ONLY) as worker:
        try:
            arrays = (
                read_arrays(inputs) if inputs is not None else worker.call(describe_artifact, folder, timeout_s=RUN_TIMEOUT_S)["seeded"]
            )
            got = worker.call(run_artifact, folder, arrays, other_versions, timeout_s=RUN_TIMEOUT_S)
            notes = worker.call(notes_of, folder, timeout_s=RUN_TIMEOUT_S)
            timing = _timing(lambda: worker.call(time_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S)) if bench else None
            if profile:
                found = worker.call(profile_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S)
        except WorkerError as error:
            raise CollageError(f"the artifact could not be run: {error}", "build it again with `collage apply`", "artifact") from error
    if outputs is not None:
        write_arrays(outputs, got)
    told = profile_document(folder, found, arrays) if found else None
    manifest = read_manifests(folder)[0]
    return {
        "schema": 1,
        "notes": [*([replaced] if replaced else []), *notes],
        "fixed": manifest.fixed,
        "assumed": manifest.assumed,
        "outputs": {name: _summary(value) for name, value in got.items()},
        "bench": timing,
        "profile": None if told is None else to_json(told),
    }


def _timing(burst: Burst) -> dict[str, Any]:
    """Return how long an inference takes: over rounds of bursts as a plan's `measured_s`, and what the single runs took."""
    time, seconds = timed_alone(burst)
    runs = {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds), "samples": len(seconds)}
    return {"measured_s": time.value, "interval_s": time.half, "rounds": time.rounds, **runs}


def _summary(value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        return {"shape": [0 if value is None else len(value)], "dtype": "nothing" if value is None else type(value).__name__, "mean": None}
    if value.dtype.kind in "OUSc":
        return {"shape": list(value.shape), "dtype": "string" if value.dtype.kind != "c" else str(value.dtype), "mean": None}
    mean = float(np.mean(value.astype(np.float64))) if value.size else 0.0
    return {"shape": list(value.shape), "dtype": str(value.dtype), "mean": mean if np.isfinite(mean) else None}
