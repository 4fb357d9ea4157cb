"""Makes one artifact of those of several shapes, and builds and verifies the model for other shapes where that was asked for.

A plan with `by_shape`, whose artifacts lie in the folder already, enters. Toolchains run in a worker process.
"""

from __future__ import annotations

from pathlib import Path

from ..base.isolation.errors import WorkerError
from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..model.accuracy import largest_error
from ..model.dynamic_model import dynamic_model
from ..model.onnx_model import OnnxModel
from ..model.samples.registry import resolve
from ..options import FALL_BACK
from ..rewrite.plan import Plan
from ..rewrite.runtime.artifact_calls import run_artifact
from ..rewrite.runtime.manifest import PartitionEntry
from ..rewrite.runtime.shaped_artifact import run_fallback
from ..rewrite.shaped_folder import build_fallback, write_shaped
from ..toolchains.reasons import one_line
from .apply import check_accuracy
from .assemble_and_verify import BUILD_TIMEOUT_S, RUN_TIMEOUT_S


def build_shaped(source: str | Path, plan: Plan, model: OnnxModel, out: Path) -> None:
    """Make `out` an artifact that serves every shape of `plan`.

    Args:
        model: The model at the shape of the plan itself.

    Raises:
        CollageError: the model for other shapes cannot be built.
        AccuracyError: it computes something else than the model.
    """
    threads = int(plan.options.get("threads", 1))
    fallback = None
    with Worker() as worker:
        try:
            if plan.other_shapes == FALL_BACK:
                fallback = _fallback(worker, source, plan, model, out, threads)
            about = {"model": {"name": model.name, "fixed": model.fixed}, "accuracy": plan.accuracy}
            write_shaped(out, [(one.name, one.weight) for one in plan.by_shape], about, threads, fallback)
            worker.call(run_artifact, out, model.seeded_inputs(), timeout_s=RUN_TIMEOUT_S)
        except WorkerError as error:
            raise CollageError(f"the artifact for several shapes failed: {one_line(error)}", "", "toolchain") from error


def _fallback(worker: Worker, source: str | Path, plan: Plan, model: OnnxModel, out: Path, threads: int) -> PartitionEntry:
    """Build the model for other shapes, and compare it with the reference at the shape of `model`."""
    whole = dynamic_model(resolve(str(source)), model, plan.model.fixed)
    entry: PartitionEntry = worker.call(build_fallback, whole, FALL_BACK, threads, str(out), timeout_s=BUILD_TIMEOUT_S)
    inputs = model.seeded_inputs()
    got = worker.call(run_fallback, str(out), entry, threads, inputs, timeout_s=RUN_TIMEOUT_S)
    check_accuracy({"max_rel_error": largest_error(got, model.reference(inputs))}, plan.accuracy)
    return entry
