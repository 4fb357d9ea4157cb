"""Makes one artifact of those of several shapes, and builds and verifies the model for ranges and for other shapes.

A plan with `by_shape`, whose artifacts lie in the folder already, enters. Afterwards they share their weights as far as their toolchains
can. Toolchains run in a worker process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError
from ...cost.measuring.paired_rounds import low_s
from ...documents.shapes import OneBuild
from ...documents.verify import Verify
from ...errors import CollageError
from ...model.dynamic.dynamic_model import dynamic_model
from ...model.dynamic.dynamic_parts import dynamic_parts
from ...model.model import Arrays, SubModel
from ...model.onnx_model import OnnxModel
from ...model.samples.registry import resolve
from ...options import FALL_BACK
from ...rewrite.common_packages import put_back, put_packages
from ...rewrite.plan import Plan, RangePlan, ShapePlan
from ...rewrite.runtime.artifact_calls import describe_artifact, run_artifact, time_artifact
from ...rewrite.runtime.manifest import PartitionEntry
from ...rewrite.runtime.shaped_artifact import run_dynamic
from ...rewrite.runtime.shaped_manifest import FALLBACK, RANGES, RangeEntry
from ...rewrite.shaped_folder import build_dynamic, folder_of, write_shaped
from ...rewrite.shared_weights import share_weights
from ...toolchains.border import one_line
from ..apply import check_accuracy
from ..discover import load_as_planned
from ..whole.assemble_and_verify import BUILD_TIMEOUT_S, RUN_TIMEOUT_S
from ..whole.references import Reference, references_of
from .one_build import FIXED, of_one_plan, on_toolchains


@dataclass(frozen=True)
class Shaped:
    """The builds besides the artifacts of single shapes.

    Attributes:
        unbuilt: The ranges of several partitions that could not be built for any size, by index, and why: the artifact does not serve them.
        one_build: The shapes that may have builds in common; none unless the plan asks for that.
    """

    unbuilt: Mapping[int, str]
    one_build: Sequence[OneBuild] = ()


def build_shaped(source: str | Path, plan: Plan, out: Path) -> Shaped:
    """Make `out` an artifact that serves every shape and range of `plan`, and other shapes where it says so.

    Raises:
        CollageError: the model cannot be built for any shape on one of the targets that should take it as a whole.
        AccuracyError: it computes something else there than the model.
    """
    own = load_as_planned(plan, source)
    unbuilt: dict[int, str] = {}
    with Worker() as worker:
        builder = _Builder(worker, source, plan, out, own)
        try:
            ranges = []
            for number, one in enumerate(plan.ranges):
                try:
                    ranges.append(builder.build_range(number, one))
                except (CollageError, WorkerError) as error:
                    if not one.partitions:
                        raise
                    unbuilt[number] = one_line(error)
                    for left in (out / RANGES).glob(f"{number:03d}_*"):
                        left.unlink()
            fallback = builder.build(FALL_BACK, FALLBACK, [own]) if plan.other_shapes == FALL_BACK else None
            known = {"name": own.name, "fixed": own.fixed, "assumed": own.assumed}
            about = {"model": known, "accuracy": plan.accuracy, "value_policy": plan.value_policy}
            one_build = builder.build_once() if plan.one_build else []
            dynamic = [*(part for one in ranges for part in one.parts), *([fallback] if fallback else [])]
            is_changed = builder.share_weights(dynamic)
            write_shaped(out, [(one.name, one.weight) for one in plan.by_shape], about, builder.threads, ranges, fallback)
            worker.call(run_artifact, out, own.seeded_inputs(), timeout_s=RUN_TIMEOUT_S)
            for number in range(len(plan.by_shape)) if is_changed else ():
                builder.verify_shape(number)
        except WorkerError as error:
            raise CollageError(f"the artifact for several shapes failed: {one_line(error)}", "", "toolchain") from error
    return Shaped(unbuilt, one_build)


class _Builder:
    """Builds the model for any shape, whole or in parts, and compares it with the reference.

    Args:
        own: The model at the plan's own shape.
    """

    def __init__(self, worker: Worker, source: str | Path, plan: Plan, out: Path, own: OnnxModel):
        self._worker, self._source, self._plan, self._out, self._own = worker, source, plan, out, own
        self.threads = int(plan.options.get("threads", 1))
        self._models: dict[str, OnnxModel] = {}

    def _model_of(self, one: ShapePlan) -> OnnxModel:
        """Return the model at a planned shape."""
        if one.name not in self._models:
            self._models[one.name] = load_as_planned(one.plan, self._source)
        return self._models[one.name]

    def build_range(self, number: int, one: RangePlan) -> RangeEntry:
        """Build what serves a range, and compare it with the reference at each planned shape in it; of several partitions at its ends, too.

        Raises:
            CollageError, AccuracyError: as `build_shaped`.
        """
        models = [model for model in map(self._model_of, self._plan.by_shape) if one.holds(_shapes_of(model))] or [self._own]
        if not one.partitions:
            return RangeEntry.of_whole(one.first, one.last, self.build(one.target, f"{RANGES}/{number:03d}.bin", models))
        whole = self._dynamic(models[0])
        parts = []
        for index, part in dynamic_parts(whole, models[0], [placed.names for placed in one.partitions]):
            placed, package = one.partitions[index], f"{RANGES}/{number:03d}_{index:02d}.bin"
            parts.append(self._build_dynamic(part, placed.target, self._out, package, f"{number}.{index}", placed.names))
        entry = RangeEntry(one.first, one.last, tuple(parts), whole.inputs, tuple(tensor.name for tensor in whole.outputs))
        ends = [self._at(shapes) for shapes in (one.first, one.last) if all(_shapes_of(model) != shapes for model in models)]
        self._check(entry, [*models, *ends])
        return entry

    def build(self, target: str, package: str, models: Sequence[OnnxModel]) -> PartitionEntry:
        """Build the whole model on `target` as `package`, and compare it with the reference at the shapes of `models`."""
        entry = self._build_dynamic(self._dynamic(models[0]), target, self._out, package)
        self._check(entry, models)
        return entry

    def _build_dynamic(
        self, model: SubModel, target: str, folder: Path, package: str, id: str = "", nodes: Sequence[str] = ()
    ) -> PartitionEntry:
        """Build a model for any shape as `build_dynamic` does, in the worker."""
        given = model, target, self.threads, str(folder), package, id, nodes
        entry: PartitionEntry = self._worker.call(build_dynamic, *given, timeout_s=BUILD_TIMEOUT_S)
        return entry

    def _dynamic(self, at_one: OnnxModel) -> SubModel:
        return dynamic_model(resolve(str(self._source)), at_one, self._plan.model.fixed)

    def _at(self, shapes: Mapping[str, tuple[int, ...]]) -> OnnxModel:
        """Return the model at shapes that may have no plan."""
        options = {**self._plan.options, "shapes": {name: list(shape) for name, shape in shapes.items()}}
        return load_as_planned(self._plan.model_copy(update={"options": options}), self._source)

    def _check(self, built: PartitionEntry | RangeEntry, models: Sequence[OnnxModel]) -> None:
        for model in models:
            for reference in references_of(model, model.seeded_inputs(), self._plan.value_policy):
                given = str(self._out), built, self.threads, dict(reference.inputs)
                got = self._worker.call(run_dynamic, *given, timeout_s=RUN_TIMEOUT_S)
                _check(reference, got, self._plan)

    def build_once(self) -> list[OneBuild]:
        """Let shapes of one plan have one build of each partition whose toolchain takes any shape."""
        rows = []
        for group in of_one_plan(self._plan.by_shape):
            with tempfile.TemporaryDirectory(dir=self._out, prefix=".one-build-") as scratch:
                try:
                    built = self._built_for_all(self._plan.by_shape[group[0]], Path(scratch))
                except (CollageError, WorkerError) as error:
                    rows += [OneBuild(self._plan.by_shape[number].name, reason=one_line(error)) for number in group]
                else:
                    rows += [self._with_built(number, built, Path(scratch)) for number in group]
        return rows

    def _built_for_all(self, one: ShapePlan, scratch: Path) -> list[PartitionEntry]:
        """Build the partitions of a plan for any shape, as far as their toolchains do that, with their packages in `scratch`."""
        model, parts = self._model_of(one), on_toolchains(one.plan)
        whole, built = self._dynamic(model), list[PartitionEntry]()
        for index, part in [(0, whole)] if len(parts) == 1 else dynamic_parts(whole, model, [part.names for part in parts]):
            placed = parts[index]
            with suppress(CollageError, WorkerError):
                built.append(self._build_dynamic(part, placed.target, scratch, f"{index:03d}.bin", placed.id, placed.names))
        return built

    def _with_built(self, number: int, built: Sequence[PartitionEntry], scratch: Path) -> OneBuild:
        """Put what was built for all shapes into the artifact of one, if it computes the same there, and time it beside what was there."""
        name, folder, kept = self._plan.by_shape[number].name, self._out / folder_of(number), scratch / f"{number:03d}"
        kept.mkdir()
        inputs = self._seeded(folder)
        own_s = self._seconds(folder, inputs)
        try:
            put = put_packages(folder, built, scratch, kept)
        except OSError as error:
            return OneBuild(name, reason=error.strerror or str(error))
        if not put:
            return OneBuild(name, reason=FIXED)
        try:
            self.verify_shape(number)
            return OneBuild(name, tuple(put), own_s, self._seconds(folder, inputs))
        except (CollageError, WorkerError) as error:
            put_back(folder, put, kept)
            return OneBuild(name, reason=one_line(error))

    def _seconds(self, folder: Path, inputs: Mapping[str, np.ndarray]) -> float:
        """Return the seconds of an inference of the artifact of one shape."""
        return low_s(self._worker.call(time_artifact, folder, inputs, timeout_s=RUN_TIMEOUT_S))

    def _seeded(self, folder: Path) -> dict[str, np.ndarray]:
        """Return the inputs that the artifact of one shape keeps."""
        seeded: dict[str, np.ndarray] = self._worker.call(describe_artifact, folder, timeout_s=RUN_TIMEOUT_S)["seeded"]
        return seeded

    def share_weights(self, dynamic: Sequence[PartitionEntry]) -> bool:
        """Let the packages of all shapes, and of the whole model, share their weights; return whether they do."""
        folders = [self._out / folder_of(number) for number in range(len(self._plan.by_shape))]
        return bool(self._worker.call(share_weights, self._out, folders, dynamic, self.threads, timeout_s=BUILD_TIMEOUT_S))

    def verify_shape(self, number: int) -> None:
        """Compare the artifact of a planned shape with the reference once more, on the inputs that it keeps: its packages were changed."""
        plan, folder = self._plan.by_shape[number].plan, self._out / folder_of(number)
        inputs = self._seeded(folder)
        for reference in references_of(load_as_planned(plan, self._source, inputs), inputs, plan.value_policy):
            _check(reference, self._worker.call(run_artifact, folder, dict(reference.inputs), timeout_s=RUN_TIMEOUT_S), plan)


def _check(reference: Reference, got: Arrays, plan: Plan) -> None:
    """Raise AccuracyError where an artifact made something else than the model on one set of inputs."""
    errors = reference.errors(got, plan.value_policy)
    check_accuracy(Verify(max_rel_error=max(errors.values(), default=0.0)), plan.accuracy)


def _shapes_of(model: OnnxModel) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tensor.type.shape for tensor in model.graph.inputs}
