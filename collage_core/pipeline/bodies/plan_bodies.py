"""`plan_bodies`: the bodies of `If`, `Loop` and `Scan` searched like models of their own, and what each node costs where the host runs it.

The model of a run and the counted runs of its bodies enter, with a function that searches a body; a `PlannedNode` for each such node
leaves. With measured costs the node is built with its bodies as planned, compared with the reference and timed; else its cost is the
sum of its bodies' costs, each as often as the body ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cost.cost import Cost
from ...errors import CollageError
from ...graph.index_set import IndexSet
from ...graph.value_policy import FINITE
from ...model.body_runs import BodyRuns, NodeRuns
from ...model.onnx_model import OnnxModel
from ...model.reference.accuracy import largest_error
from ...rewrite.plan import PlannedBody, PlannedTensor
from ...rules.spec import HOST_TARGET
from ...toolchains.border import availability_of
from ..record.record import RunRecord

if TYPE_CHECKING:
    from ...cost.measuring.trial import TrialLimits

SearchBody = Callable[[str, BodyRuns], RunRecord]
"""Searches a body, called by its attribute and its node's name, for the best plan of one run."""
MeasureNode = Callable[[int, Mapping[str, PlannedBody]], Cost | None]
"""Measures what a node takes on the host, its bodies by their plans; None where no time is left."""

NEVER_RAN = "its bodies never ran with these inputs, so what it costs on the host is not known"


@dataclass(frozen=True)
class PlannedNode:
    """A node with bodies.

    Attributes:
        records: Attribute → the search over that body; none where the host cannot run the node.
        cost: Of the node where the host runs it.
        predicted_s: The costs of its bodies' plans, each as often as the body ran; None where one is not known.
    """

    runs: NodeRuns
    cost: Cost
    records: Mapping[str, RunRecord] = field(default_factory=dict)
    predicted_s: float | None = None

    @property
    def bodies(self) -> dict[str, PlannedBody]:
        """The plans of its bodies, as a plan of the model keeps them."""
        return {attribute: planned_body(self.runs.bodies[attribute], record) for attribute, record in self.records.items()}


def planned_body(body: BodyRuns, record: RunRecord) -> PlannedBody:
    """Return the plan of a body as a plan of the model around it keeps it."""
    tensors = [PlannedTensor(name=one.name, shape=one.type.shape, dtype=one.type.dtype) for one in body.model.graph.inputs]
    return PlannedBody(runs=body.runs, inputs=tuple(tensors), plan=record.plan)


def plan_bodies(
    model: OnnxModel, runs: Mapping[int, NodeRuns], search: SearchBody, measure: MeasureNode | None, times: int = 1
) -> dict[int, PlannedNode]:
    """Return each node with bodies that the host could run, with the plans of its bodies and its cost, by index.

    Those whose bodies run most often come first: there may be no time for all.

    Args:
        measure: None where nothing is measured.
        times: How often the model ran while the runs were counted: once, or as often as the body that it is.
    """
    order = sorted(runs, key=lambda index: -runs[index].runs)
    made = {index: _planned(model, index, runs[index], search, measure, times) for index in order}
    return {index: made[index] for index in runs}


def _planned(model: OnnxModel, index: int, node: NodeRuns, search: SearchBody, measure: MeasureNode | None, times: int) -> PlannedNode:
    if node.reason:
        return PlannedNode(node, Cost.invalid("predicate", f"the host cannot run it: {node.reason}"))
    name, records = model.graph.nodes[index].name, dict[str, RunRecord]()
    for attribute in (name for name in node.flow.bodies if name in node.bodies):
        try:
            records[attribute] = search(f"{attribute} of {name}", node.bodies[attribute])
        except CollageError as error:
            return PlannedNode(node, Cost.invalid("predicate", f"its {attribute} has no plan: {error.message}"))
    if not node.runs:
        return PlannedNode(node, Cost.invalid("run", NEVER_RAN), records)
    predicted = _predicted(node, records, times)
    planned = PlannedNode(node, predicted, records, predicted.seconds)
    if measure is None or not _can_be_built(records.values()):
        return planned
    return replace(planned, cost=measure(index, planned.bodies) or predicted)


def _predicted(node: NodeRuns, records: Mapping[str, RunRecord], times: int) -> Cost:
    """Return the costs of the bodies' plans, each as often as the body ran in one run of the model."""
    ran = {attribute: body.runs for attribute, body in node.bodies.items() if body.runs}
    parts = [part for attribute in ran for part in records[attribute].plan.partitions]
    if any(part.cost_s is None for part in parts):
        return Cost.invalid("run", "a cost in the plan of one of its bodies is not known")
    sources = {part.source for part in parts if part.target != HOST_TARGET}
    seconds = sum(count / times * records[attribute].plan.total_s for attribute, count in ran.items())
    said = ", ".join(f"{attribute} {count / times:g} times" for attribute, count in ran.items())
    return Cost(
        seconds, sources.pop() if len(sources) == 1 and "measured" not in sources else "estimate", reason=f"{said}, without the loop"
    )


def _can_be_built(records: Iterable[RunRecord]) -> bool:
    """Return whether every partition of the bodies can be built here."""
    from ...toolchains.registry import get, names

    used = {target for record in records for target in record.plan.used_targets}
    return all(target in names() and availability_of(get(target)).usable for target in used)


@dataclass
class NodeMeter:
    """Measures nodes whose bodies the host runs.

    Args:
        inputs: The model's inputs.
        call: Calls a function in a worker process; takes ``timeout_s``.
        folder: Folder for the artifacts.
        value_policy: How NaN and infinities of the reference are compared.
    """

    model: OnnxModel
    inputs: Mapping[str, np.ndarray]
    threads: int
    accuracy: float
    percentile: float
    flushed_bytes: int
    call: Callable[..., Any]
    folder: Path
    value_policy: str = FINITE

    def __call__(self, index: int, planned: Mapping[str, PlannedBody]) -> Cost:
        """Build the node by the plans of its bodies, compare it with the reference, and time it."""
        from ...cost.measuring.trial import TrialLimits
        from ...rewrite.assemble import assemble
        from ...rewrite.partition_models import PartitionModel
        from ..whole.assemble_and_verify import pieces_of
        from ..whole.planned_bodies import bodies_of_node

        limits = TrialLimits.from_environment().of_percentile(self.percentile)
        cut, name = self.model.cut(IndexSet((index,))), self.model.graph.nodes[index].name
        ends = [tensor.name for tensor in cut.inputs], [tensor.name for tensor in cut.outputs]
        values = self.model.activations(self.inputs, [*ends[0], *ends[1]])
        given, out = {key: values[key] for key in ends[0]}, self.folder / str(index)
        try:
            piece = PartitionModel(HOST_TARGET, (name,), cut, "node", bodies_of_node(self.model, index, planned, pieces_of))
            parts = 1 + sum(len(body.plan.partitions) for body in planned.values())
            self.call(assemble, [piece], cut.inputs, ends[1], out, self.threads, timeout_s=limits.build_s * parts)
            made, seconds = self.call(time_node, out, given, self.flushed_bytes, limits, timeout_s=limits.start_s + limits.run_s)
        except CollageError as failed:
            return Cost.invalid("build", f"the host cannot run it: {failed.message}")
        return self._cost(seconds, largest_error(made, {key: values[key] for key in ends[1]}, self.value_policy))

    def _cost(self, seconds: tuple[float, ...], error: float) -> Cost:
        from ...cost.measuring.intervals import half_interval

        middle, quarter, three = (float(np.percentile(seconds, share)) for share in (self.percentile, 25, 75))
        interval_s = half_interval(seconds, self.percentile, middle)
        cost = Cost(middle, "measured", (three - quarter) / 2, len(seconds), error=error, interval_s=interval_s)
        return cost.judged(self.accuracy)


def time_node(
    folder: Path, arrays: Mapping[str, np.ndarray], flushed_bytes: int, limits: TrialLimits
) -> tuple[dict[str, np.ndarray], tuple[float, ...]]:
    """Return, in the worker, what the artifact in `folder` makes of `arrays`, and the seconds of undisturbed runs of it."""
    from ...cost.measuring.timing import time_runs
    from ...rewrite.runtime.artifact_calls import bind_artifact, run_artifact

    flushed = np.ones(flushed_bytes // 8)

    def flush() -> None:
        flushed.sum()

    made, run = run_artifact(folder, arrays), bind_artifact(folder, arrays)
    return made, time_runs(run, limits.timing, before_sample=flush if flushed_bytes else None).result().seconds
