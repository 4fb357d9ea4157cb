"""Phase 4 and its proof: the plan assembled, run, compared with the reference, and timed beside its baselines.

Everything that touches a toolchain happens in worker processes; this file cuts the model, moves finished folders, and
writes down what came back.
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..base.isolation.errors import WorkerError
from ..base.isolation.scratch import scratch_folder
from ..base.isolation.worker import Pool
from ..errors import CollageError
from ..events import BaselineMeasured, Emit, Note, Verified
from ..graph.index_set import IndexSet
from ..model.accuracy import output_errors
from ..model.onnx_model import OnnxModel
from ..rewrite.assemble import assemble
from ..rewrite.partition_models import PartitionModel, run_order
from ..rewrite.plan import Plan
from ..rewrite.runtime.artifact_calls import bind_artifact, run_artifact
from ..toolchains.base import ToolchainError
from ..toolchains.reasons import one_line
from .discover import Phases

BUILD_TIMEOUT_S = 900.0
RUN_TIMEOUT_S = 300.0
_START_S = 60.0
ROUNDS = 5
"""How often each plan is timed, turn by turn, so that a machine that drifts is fair to all."""
ROUND_S = 1.0
"""No further inference of a plan after that long, in one turn."""
MOST_ROUNDS = 15
"""With those that do not count, because the core-to-core latency was high."""
_HIGH_LATENCY = (
    "the core-to-core latency of this machine was high all the while whole plans were timed ({:.1f} times the lowest): what was measured "
    "end to end may be too high, and another run may measure less"
)
CLEAR_MARGIN = 0.05
"""A baseline that is faster than the plan by this share is spoken of."""


@dataclass
class Built:
    """A verified artifact, and what is needed to build others beside it.

    Attributes:
        folder: The folder of the artifact for now.
        verify: The `verify` document.
    """

    model: OnnxModel
    plan: Plan
    inputs: Mapping[str, np.ndarray]
    folder: Path
    scratch: Path
    pool: Pool
    verify: dict[str, Any] = field(default_factory=dict)


@contextmanager
def build_and_verify(
    model: OnnxModel, plan: Plan, inputs: Mapping[str, np.ndarray], phases: Phases, emit: Emit, out: Path | None
) -> Iterator[Built]:
    """Assemble `plan`, run it and compare; on leaving, a right artifact is moved into `out`.

    Raises:
        CollageError: it cannot be built, or it failed when it ran; the toolchain's own words.
    """
    with _scratch() as scratch, Pool() as pool:
        built = Built(model, plan, inputs, scratch / "plan", scratch, pool)
        with phases("rewrite"):
            _assemble(built, plan, built.folder)
        with phases("verify"):
            built.verify = _verify(built)
            error = built.verify["max_rel_error"]
            emit(Verified(built.verify["measured_s"], error if math.isfinite(error) else None, plan.accuracy))
        yield built
        if out is not None and error <= plan.accuracy:
            _move(built.folder, out)


@contextmanager
def _scratch() -> Iterator[Path]:
    """Make a folder that is gone afterwards; if this process is killed, the next one removes it."""
    folder = scratch_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pieces_of(model: OnnxModel, plan: Plan) -> list[PartitionModel]:
    """The plan's partitions cut out of the model, in an order in which they can run."""
    pieces = [
        PartitionModel(target=partition.target, names=partition.names, model=model.cut(IndexSet(partition.nodes)), id=partition.id)
        for partition in plan.partitions
    ]
    return run_order(pieces)


def _assemble(built: Built, plan: Plan, folder: Path, timeout_s: float = BUILD_TIMEOUT_S) -> None:
    model = built.model
    about = {"model": {"name": model.name, "hash": model.hash}, "accuracy": plan.accuracy}
    threads = int(plan.options.get("threads", 1))
    graph = model.graph
    constants = {name: model.constant(name) for name in graph.outputs if name in graph.constants}
    arguments = (pieces_of(model, plan), graph.inputs, graph.outputs, folder, threads, about, constants, dict(built.inputs))
    _call(built.pool, "assemble", assemble, *arguments, timeout_s=timeout_s, what="assembling the plan")


def _errors(built: Built, name: str, folder: Path, timeout_s: float = RUN_TIMEOUT_S) -> dict[str, float]:
    """The error of each output of the artifact in `folder`, the larger one of two runs: the second may differ from the first."""
    want = built.model.reference(built.inputs)
    given = folder, dict(built.inputs)
    runs = [_call(built.pool, name, run_artifact, *given, timeout_s=timeout_s, what="running the artifact") for _ in range(2)]
    first, second = (output_errors(got, want) for got in runs)
    return {output: max(error, second[output]) for output, error in first.items()}


def _verify(built: Built) -> dict[str, Any]:
    errors = _errors(built, "plan", built.folder)
    seconds = _time(built.pool, "plan", built.folder, built.inputs)
    measured = statistics.median(seconds)
    return {
        "measured_s": measured,
        "additive_error_s": _additive_error_s(built.plan, measured),
        "max_rel_error": max(errors.values(), default=0.0),
        "errors": errors,
        "reference": f"onnxruntime {metadata.version('onnxruntime')}, optimisation off",
    }


def measure_side_by_side(
    built: Built, baselines: Mapping[str, Plan], document: dict[str, Any], emit: Emit, lowest_core_latency_s: float = math.inf
) -> None:
    """Build every baseline, then time all of them and the plan, turn by turn; fills in the `partition` document.

    Args:
        lowest_core_latency_s: As `rounds_at_low_latency` takes it.
    """
    rows = {row["name"]: row for row in document["baselines"]}
    folders: dict[tuple[str, ...], tuple[str, Path]] = {_identity(built.plan): ("plan", built.folder)}
    of_baseline: dict[str, tuple[str, ...]] = {}
    failed: dict[tuple[str, ...], str] = {}
    for name, plan in baselines.items():
        identity = of_baseline[name] = _identity(plan)
        if identity not in folders | failed:
            folder = built.scratch / f"baseline-{name}"
            failed[identity] = _failing(built, name, plan, folder)
            if not failed[identity]:
                folders[identity] = (name, folder)
        rows[name]["reason"] = failed.get(identity, "")
    samples, latency_ratio = _rounds(built, folders, rows, lowest_core_latency_s)
    if latency_ratio:
        emit(Note(_HIGH_LATENCY.format(latency_ratio)))
    for name, row in rows.items():
        seconds = samples.get(of_baseline.get(name, ()), [])
        row["measured_s"] = statistics.median(seconds) if seconds else None
        emit(BaselineMeasured(name, row["total_s"], row["measured_s"], row["reason"]))
    verify = document["verify"]
    verify["measured_s"] = statistics.median(samples[_identity(built.plan)])
    verify["additive_error_s"] = _additive_error_s(built.plan, verify["measured_s"])
    for name, row in rows.items():
        if (
            verify["additive_error_s"] is not None
            and row["measured_s"] is not None
            and row["measured_s"] < verify["measured_s"] * (1 - CLEAR_MARGIN)
        ):
            emit(Note(_beaten(name, row["measured_s"], verify["measured_s"], built.plan.total_s)))


def _failing(built: Built, name: str, plan: Plan, folder: Path) -> str:
    """Build the baseline `plan` in `folder` and run it; why that fails. Nobody may have tried its parts before."""
    from ..cost.measuring.trial import TrialLimits

    limits, count = TrialLimits.from_environment(), len(plan.partitions)
    try:
        _assemble(built, plan, folder, min(BUILD_TIMEOUT_S, limits.build_s * (count + 1)))
        errors = _errors(built, name, folder, min(RUN_TIMEOUT_S, _START_S + limits.run_s * count))
    except CollageError as error:
        return error.message
    worst = max(errors.values(), default=0.0)
    return "" if worst <= plan.accuracy else f"it errs by {worst:.3g}, {plan.accuracy:g} is allowed"


def _additive_error_s(plan: Plan, measured_s: float) -> float | None:
    """Return the time of the whole less that of its parts; None if the cost of a part is unknown."""
    return None if any(partition.source == "unknown" for partition in plan.partitions) else measured_s - plan.total_s


def _beaten(name: str, baseline_s: float, plan_s: float, total_s: float) -> str:
    """Return the warning that a baseline is faster end to end than the plan, although its parts are not."""
    return (
        f"measured end to end, {name} takes {baseline_s * 1e3:.3g} ms and this plan {plan_s * 1e3:.3g} ms, although the plan's parts "
        f"add up to {total_s * 1e3:.3g} ms: parts are measured alone, and transitions between them in pairs"
    )


def _rounds(
    built: Built, folders: Mapping[tuple[str, ...], tuple[str, Path]], rows: Mapping[str, dict[str, Any]], lowest_core_latency_s: float
) -> tuple[dict[tuple[str, ...], list[float]], float]:
    """Time inferences of each plan, turn by turn, while the core-to-core latency is low.

    Returns:
        The seconds of each plan's inferences; and 0, or how many times as high as the lowest the latency was, where it was never low.
    """
    from ..cost.measuring.core_latency import CoreLatencyProbe, rounds_at_low_latency

    failed: set[tuple[str, ...]] = set()

    def one_round() -> dict[tuple[str, ...], list[float]]:
        seconds = {}
        for identity, (name, folder) in folders.items():
            if identity in failed:
                continue
            try:
                seconds[identity] = _time(built.pool, name, folder, built.inputs)
            except CollageError as error:
                failed.add(identity)
                if name in rows:
                    rows[name]["reason"] = error.message
        return seconds

    is_single_threaded = built.plan.options.get("threads") == 1
    with closing(CoreLatencyProbe()) as probe:
        latency_s = (lambda: 0.0) if is_single_threaded else probe.round_trip_s
        rounds, latency_ratio = rounds_at_low_latency(one_round, ROUNDS, MOST_ROUNDS, latency_s, lowest_core_latency_s)
    return {identity: [one for seconds in rounds for one in seconds.get(identity, ())] for identity in folders}, latency_ratio


def _identity(plan: Plan) -> tuple[str, ...]:
    return tuple(partition.id for partition in plan.partitions)


def _time(pool: Pool, name: str, folder: Path, inputs: Mapping[str, np.ndarray]) -> list[float]:
    """Return the seconds of some inferences, in the process that already holds the artifact."""
    return _call(pool, name, time_undisturbed, folder, dict(inputs), timeout_s=RUN_TIMEOUT_S, what="timing the artifact")


def time_undisturbed(folder: Path, arrays: Mapping[str, np.ndarray]) -> list[float]:
    """Return, in the worker, the seconds of those inferences of the artifact that nothing disturbed."""
    from ..cost.measuring.timing import TimingLimits, time_runs

    run = bind_artifact(folder, arrays)
    return list(time_runs(run, TimingLimits(interval=0.01, longest_s=ROUND_S)).result().seconds)


def _call(pool: Pool, name: str, function: Any, *arguments: Any, timeout_s: float, what: str) -> Any:
    try:
        return pool.worker(name).call(function, *arguments, timeout_s=timeout_s)
    except (WorkerError, ToolchainError) as error:
        hint = "veto the target that fails, or leave it out of --targets"
        raise CollageError(f"{what} failed: {one_line(error)}", hint, "toolchain") from error


def _move(folder: Path, out: Path) -> None:
    """Move what is in `folder` into `out`, over what an earlier run left there."""
    for entry in sorted(folder.iterdir()):
        target = out / entry.name
        if target.is_dir():
            shutil.rmtree(target)
        shutil.move(os.fspath(entry), target)
