"""Profiles the nodes inside the partitions of a built plan, each with its toolchain's own profiler, in a worker process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError, WorkerTimeout
from ...cost.database.records import machine_id
from ...cost.measuring.activations import ActivationStore
from ...cost.measuring.profile_worker import profile_nodes
from ...documents.node_times import PartitionNodeTimes
from ...documents.plan import PlanPartition
from ...errors import CollageError
from ...graph.index_set import IndexSet
from ...model.model import Arrays, Model
from ...rewrite.plan import Plan
from ...rules.spec import HOST_TARGET
from ...toolchains import registry
from ...toolchains.border import one_line
from ..record.node_times import NONE, scaled

ALL_S = 15.0
"""No further partition is profiled after so many seconds, or fewer where the run has less time; the dearest are first."""
ONE_S = 60.0
"""Longest that profiling one partition may take, its build included, where the run has the time."""

NO_PROFILER = "{} has no profiler"
OUT_OF_TIME = "no time was left to profile it"
ELSEWHERE = "its cost is that of another machine ({}), and a profile would be that of this one"


def profiled_times(
    model: Model,
    plan: Plan,
    inputs: Arrays,
    worker: Worker,
    clock: Callable[[], float] = time.monotonic,
    limit_s: float = math.inf,
) -> list[PartitionNodeTimes]:
    """Profile the partitions of `plan` in `worker`, the dearest first; a partition that cannot be profiled gets the reason.

    None is where another machine measured: a fleet's worker may have other caches and instructions, so other shares.

    Args:
        inputs: The model's inputs; the partitions get what arrives at them then.
        limit_s: Seconds that the run has left.
    """
    if plan.machine not in ("", machine_id()):
        reason = ELSEWHERE.format(plan.machine)
        return [PartitionNodeTimes(partition.id, NONE, reason=reason) for partition in _of_several_nodes(plan)]
    store, began = ActivationStore(model, inputs), clock()
    threads = int(plan.options.get("threads", 1))
    made = {}
    try:
        for partition in sorted(_of_several_nodes(plan), key=lambda one: -(one.cost_s or 0.0)):
            spent_s = clock() - began
            if spent_s >= min(ALL_S, limit_s):
                made[partition.id] = PartitionNodeTimes(partition.id, NONE, reason=OUT_OF_TIME)
            else:
                made[partition.id] = _profiled(model, partition, store, worker, threads, min(ONE_S, limit_s - spent_s))
    finally:
        store.close()
    return [made[partition.id] for partition in plan.partitions if partition.id in made]


def _of_several_nodes(plan: Plan) -> list[PlanPartition]:
    return [partition for partition in plan.partitions if len(partition.nodes) > 1 and partition.target != HOST_TARGET]


def _profiled(
    model: Model, partition: PlanPartition, store: ActivationStore, worker: Worker, threads: int, limit_s: float
) -> PartitionNodeTimes:
    try:
        inside = model.cut(IndexSet(partition.nodes))
        store.fetch(tensor.name for tensor in inside.inputs)
        given = [store.file(tensor.name) for tensor in inside.inputs]
        found = worker.call(profile_nodes, registry.get, partition.target, inside, given, threads, timeout_s=limit_s)
    except (CollageError, WorkerError) as error:
        is_late = isinstance(error, WorkerTimeout) and limit_s < ONE_S
        return PartitionNodeTimes(partition.id, NONE, reason=OUT_OF_TIME if is_late else f"the profile failed: {one_line(error)}")
    if found is None:
        return PartitionNodeTimes(partition.id, NONE, reason=NO_PROFILER.format(partition.target))
    return scaled(partition, found)
