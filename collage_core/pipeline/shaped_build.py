"""Makes one artifact of those of several shapes, and builds and verifies the model for ranges and for other shapes.

A plan with `by_shape`, whose artifacts lie in the folder already, enters. Toolchains run in a worker process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..base.isolation.errors import WorkerError
from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..model.accuracy import largest_error
from ..model.dynamic_model import dynamic_model
from ..model.onnx_model import OnnxModel
from ..model.samples.registry import resolve
from ..options import FALL_BACK
from ..rewrite.plan import Plan, ShapePlan
from ..rewrite.runtime.artifact_calls import run_artifact
from ..rewrite.runtime.manifest import PartitionEntry
from ..rewrite.runtime.shaped_artifact import run_dynamic
from ..rewrite.runtime.shaped_manifest import FALLBACK, RANGES, RangeEntry
from ..rewrite.shaped_folder import build_dynamic, write_shaped
from ..toolchains.reasons import one_line
from .apply import check_accuracy
from .assemble_and_verify import BUILD_TIMEOUT_S, RUN_TIMEOUT_S
from .discover import load_as_planned


def build_shaped(source: str | Path, plan: Plan, out: Path) -> None:
    """Make `out` an artifact that serves every shape and range of `plan`, and other shapes where it says so.

    Raises:
        CollageError: the model cannot be built for any shape on one of the targets that should take it so.
        AccuracyError: it computes something else there than the model.
    """
    threads = int(plan.options.get("threads", 1))
    own = load_as_planned(plan, source)
    with Worker() as worker:
        builder = _Builder(worker, source, plan, out, threads)
        try:
            ranges = []
            for number, one in enumerate(plan.ranges):
                models = [model for model in map(builder.model_of, plan.by_shape) if one.holds(_shapes_of(model))]
                entry = builder.build(one.target, f"{RANGES}/{number:03d}.bin", models or [own])
                ranges.append(RangeEntry(one.first, one.last, entry))
            fallback = builder.build(FALL_BACK, FALLBACK, [own]) if plan.other_shapes == FALL_BACK else None
            about = {"model": {"name": own.name, "fixed": own.fixed}, "accuracy": plan.accuracy}
            write_shaped(out, [(one.name, one.weight) for one in plan.by_shape], about, threads, ranges, fallback)
            worker.call(run_artifact, out, own.seeded_inputs(), timeout_s=RUN_TIMEOUT_S)
        except WorkerError as error:
            raise CollageError(f"the artifact for several shapes failed: {one_line(error)}", "", "toolchain") from error


class _Builder:
    """Builds the whole model for any shape, and compares it with the reference."""

    def __init__(self, worker: Worker, source: str | Path, plan: Plan, out: Path, threads: int):
        self._worker, self._source, self._plan, self._out, self._threads = worker, source, plan, out, threads
        self._models: dict[str, OnnxModel] = {}

    def model_of(self, one: ShapePlan) -> OnnxModel:
        """Return the model at a planned shape."""
        if one.name not in self._models:
            self._models[one.name] = load_as_planned(one.plan, self._source)
        return self._models[one.name]

    def build(self, target: str, package: str, models: Sequence[OnnxModel]) -> PartitionEntry:
        """Build the whole model on `target` as `package`, and compare it with the reference at the shapes of `models`."""
        whole = dynamic_model(resolve(str(self._source)), models[0], self._plan.model.fixed)
        out = str(self._out)
        entry: PartitionEntry = self._worker.call(build_dynamic, whole, target, self._threads, out, package, timeout_s=BUILD_TIMEOUT_S)
        for model in models:
            inputs = model.seeded_inputs()
            got = self._worker.call(run_dynamic, out, entry, self._threads, inputs, timeout_s=RUN_TIMEOUT_S)
            check_accuracy({"max_rel_error": largest_error(got, model.reference(inputs))}, self._plan.accuracy)
        return entry


def _shapes_of(model: OnnxModel) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tensor.type.shape for tensor in model.graph.inputs}
