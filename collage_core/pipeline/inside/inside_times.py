"""`profile_document`: how long each partition of an artifact takes inside the whole, beside what its plan predicted.

An artifact's folder and a `Profile` enter, or with `profile_folder` the folder alone; plain data leaves. Only `profile_folder` runs it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError
from ...documents.node_times import InsideTime, InsideTimes
from ...documents.plan import PlanPartition
from ...errors import CollageError
from ...rewrite.plan import Plan, read_plan
from ...rewrite.runtime.artifact import Profile
from ...rewrite.runtime.artifact_calls import MODULE_IMPORTS, RUNS_ONLY, describe_artifact, profile_artifact
from ...rewrite.runtime.manifest import PartitionEntry
from ...rewrite.runtime.shaped_manifest import read_manifests
from ..discover import planned_shapes

LONGEST_S = 120.0
"""Longest that opening and profiling an artifact may take."""


def profile_folder(folder: Path) -> InsideTimes:
    """Return `profile_document` of the artifact in `folder` on seeded inputs; it runs in a worker process, since it may crash.

    Raises:
        CollageError: it cannot be run.
    """
    with Worker(environment=RUNS_ONLY, imports=MODULE_IMPORTS) as worker:
        try:
            arrays = worker.call(describe_artifact, folder, timeout_s=LONGEST_S)["seeded"]
            return profile_document(folder, worker.call(profile_artifact, folder, arrays, timeout_s=LONGEST_S), arrays)
        except WorkerError as error:
            raise CollageError(f"the artifact could not be run: {error}", "build it again", "artifact") from error


def profile_document(folder: Path, found: Profile, arrays: Mapping[str, np.ndarray]) -> InsideTimes:
    """Return the times of the partitions inside the whole, with what the plan in the folder predicted of them."""
    known = {entry.id: entry for manifest in read_manifests(folder) for entry in manifest.partitions}
    plan = plan_in(folder, arrays)
    placed = {} if plan is None else {part.id: part for part in plan.partitions}
    timed = {(id,): seconds for id, seconds in found.partitions.items() if id in known} | dict(found.functions)
    rows = [profile_row([known[id] for id in ids], seconds, [placed.get(id) for id in ids]) for ids, seconds in timed.items()]
    between_s = None if plan is None else sum(one.cost_s for one in plan.transitions)
    return InsideTimes(
        whole_s=found.whole_s,
        rest_s=max(found.rest_s - sum(found.functions.values()), 0.0),
        predicted_s=None if plan is None or None in (part.cost_s for part in plan.partitions) else plan.total_s,
        predicted_between_s=between_s,
        partitions=tuple(rows),
    )


def plan_in(folder: Path, arrays: Mapping[str, np.ndarray]) -> Plan | None:
    """Return the plan that lies in the folder, for the shapes of `arrays`; None where there is none that can be read."""
    try:
        plan = read_plan(folder)
    except CollageError:
        return None
    shapes = {name: tuple(np.shape(array)) for name, array in arrays.items()}
    fitting = (one.plan for one in plan.by_shape if all(shapes.get(name) == shape for name, shape in planned_shapes(one.plan).items()))
    return next(fitting, plan)


def profile_row(entries: Sequence[PartitionEntry], seconds: float, placed: Sequence[PlanPartition | None]) -> InsideTime:
    """Return the row of a partition, or of several functions of the module in a row, which are timed together."""
    costs = [None if part is None else part.cost_s for part in placed]
    intervals = [None if part is None else part.interval_s for part in placed]
    predicted_s = None if None in costs else sum(cost or 0.0 for cost in costs)
    return InsideTime(
        id="+".join(entry.id for entry in entries),
        target=entries[0].target,
        nodes=sum(len(entry.nodes) for entry in entries),
        first=entries[0].nodes[0],
        partitions=len(entries),
        seconds=seconds,
        predicted_s=predicted_s,
        interval_s=None if None in intervals else math.hypot(*(interval or 0.0 for interval in intervals)),
        difference_s=None if predicted_s is None else seconds - predicted_s,
    )
