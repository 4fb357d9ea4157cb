"""Runs an artifact: the document of `collage run`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.isolation.errors import WorkerError
from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..pipeline.discover import planned_shapes
from ..rewrite.plan import PlacedPartition, Plan, read_plan
from ..rewrite.runtime.arrays_file import read_arrays, write_arrays
from ..rewrite.runtime.artifact import Profile
from ..rewrite.runtime.artifact_calls import describe_artifact, notes_of, profile_artifact, run_artifact, time_artifact
from ..rewrite.runtime.manifest import PartitionEntry
from ..rewrite.runtime.shaped_manifest import read_manifests

RUN_TIMEOUT_S = 600.0


def run_folder(
    folder: Path, inputs: Path | None, outputs: Path | None, bench: bool, profile: bool = False, other_versions: bool = False
) -> dict[str, Any]:
    """Return the document of `collage run`. The artifact runs in a worker process, since its toolchains may crash."""
    found = None
    with Worker() as worker:
        try:
            arrays = (
                read_arrays(inputs) if inputs is not None else worker.call(describe_artifact, folder, timeout_s=RUN_TIMEOUT_S)["seeded"]
            )
            got = worker.call(run_artifact, folder, arrays, other_versions, timeout_s=RUN_TIMEOUT_S)
            notes = worker.call(notes_of, folder, timeout_s=RUN_TIMEOUT_S)
            seconds = worker.call(time_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S) if bench else []
            if profile:
                found = worker.call(profile_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S)
        except WorkerError as error:
            raise CollageError(f"the artifact could not be run: {error}", "build it again with `collage apply`", "artifact") from error
    if outputs is not None:
        write_arrays(outputs, got)
    timing = (
        {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds), "samples": len(seconds)} if seconds else None
    )
    told = _profile_document(folder, found, arrays) if found else None
    fixed = read_manifests(folder)[0].fixed
    return {
        "schema": 1,
        "notes": list(notes),
        "fixed": fixed,
        "outputs": {name: _summary(value) for name, value in got.items()},
        "bench": timing,
        "profile": told,
    }


def _profile_document(folder: Path, found: Profile, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the times of the partitions inside the whole, with what the plan in the folder predicted of them."""
    known = {entry.id: entry for manifest in read_manifests(folder) for entry in manifest.partitions}
    plan = _plan_of(folder, arrays)
    placed = {} if plan is None else {part.id: part for part in plan.partitions}
    timed = {(id,): seconds for id, seconds in found.partitions.items() if id in known} | dict(found.functions)
    rows = [_profile_row([known[id] for id in ids], seconds, [placed.get(id) for id in ids]) for ids, seconds in timed.items()]
    between_s = None if plan is None else sum(one.cost_s for one in plan.transitions)
    return {
        "whole_s": found.whole_s,
        "rest_s": max(found.rest_s - sum(found.functions.values()), 0.0),
        "predicted_s": None if plan is None or None in (part.cost_s for part in plan.partitions) else plan.total_s,
        "predicted_between_s": between_s,
        "partitions": rows,
    }


def _plan_of(folder: Path, arrays: Mapping[str, np.ndarray]) -> Plan | None:
    """Return the plan that lies in the folder, for the shapes of `arrays`; None where there is none that can be read."""
    try:
        plan = read_plan(folder)
    except CollageError:
        return None
    shapes = {name: tuple(np.shape(array)) for name, array in arrays.items()}
    fitting = (one.plan for one in plan.by_shape if all(shapes.get(name) == shape for name, shape in planned_shapes(one.plan).items()))
    return next(fitting, plan)


def _profile_row(entries: Sequence[PartitionEntry], seconds: float, placed: Sequence[PlacedPartition | None]) -> dict[str, Any]:
    """Return the row of a partition, or of several functions of the module in a row, which are timed together."""
    costs = [None if part is None else part.cost_s for part in placed]
    intervals = [None if part is None else part.interval_s for part in placed]
    predicted_s = None if None in costs else sum(cost or 0.0 for cost in costs)
    return {
        "id": "+".join(entry.id for entry in entries),
        "target": entries[0].target,
        "nodes": sum(len(entry.nodes) for entry in entries),
        "first": entries[0].nodes[0],
        "partitions": len(entries),
        "seconds": seconds,
        "predicted_s": predicted_s,
        "interval_s": None if None in intervals else math.hypot(*(interval or 0.0 for interval in intervals)),
        "difference_s": None if predicted_s is None else seconds - predicted_s,
    }


def _summary(value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        return {"shape": [0 if value is None else len(value)], "dtype": "nothing" if value is None else type(value).__name__, "mean": None}
    if value.dtype.kind in "OUSc":
        return {"shape": list(value.shape), "dtype": "string" if value.dtype.kind != "c" else str(value.dtype), "mean": None}
    mean = float(np.mean(value.astype(np.float64))) if value.size else 0.0
    return {"shape": list(value.shape), "dtype": str(value.dtype), "mean": mean if np.isfinite(mean) else None}
