"""`ShapesFound`: the plans of several shapes, which of the two answers is worth it where whole plans were measured, and the document.

The runs and records of all shapes enter, with the plans and their totals; plain data leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ...documents.plan import Baseline
from ...documents.shapes import (
    BetweenShapes,
    OneBuild,
    OnePlan,
    PlanAtShapes,
    PlansByRange,
    ShapeInfo,
    ShapePartition,
    ShapeRange,
    ShapesInfo,
    SizedDimension,
    TriedCrossover,
    TriedSize,
)
from ...graph.index_set import IndexSet
from ...model.sizes.planned_shapes import FreeDimension
from ...rules.partitionings import ALL_SHAPES, is_alone
from ..record.record import RunRecord
from ..whole.finalists import BASELINE
from .ranges import BY_RANGE, ONE_PLAN, Crossover, is_worth, losses, weighted_total
from .shape_run import Parts, ShapeRun, parts_of_plan
from .shapes_to_plan import ShapesToPlan


class _Whole(NamedTuple):
    """A plan that was timed end to end at one shape."""

    measured_s: float
    total_s: float | None
    parts: Parts


@dataclass
class Answer:
    """One plan for all shapes, or one for each range.

    Attributes:
        plans: The index of the plan of each shape; empty where there is no such answer.
        total_s: Its predicted time, as the weighted mean over the shapes.
        reason: Why there is no such answer.
        measured_s: The same, timed end to end.
        name: Of one plan: the name by which it was timed end to end.
    """

    plans: Sequence[int]
    total_s: float | None
    reason: str = ""
    measured_s: float | None = None
    name: str = ""


@dataclass
class ShapesFound:
    """All that is known of several shapes.

    Attributes:
        records: The record of each shape, with the plan that it has in the end.
        plans: Every plan that is the best of a shape, and the one for all shapes, each once; and what was faster, timed end to end.
        totals: Their predicted seconds at each shape.
        crossovers: Between the plans that `by_sum` has for neighbouring shapes: those of `by_range` before whole plans were measured.
        chosen: `ONE_PLAN` or `BY_RANGE`.
        decided_by: ``sum`` or ``whole``.
    """

    asked: ShapesToPlan
    runs: list[ShapeRun]
    records: list[RunRecord]
    plans: list[Parts]
    totals: list[list[float | None]]
    one: Answer
    by_range: Answer
    crossovers: Sequence[Crossover]
    by_sum: Sequence[int] = ()
    chosen: Literal["one_plan", "by_range"] = ONE_PLAN
    decided_by: Literal["sum", "whole"] = "sum"
    _whole: list[dict[str, _Whole]] = field(default_factory=list)

    @property
    def final(self) -> list[int]:
        """The index of the plan that each shape has now; `keep_final` has put each into `plans`."""
        return [self.plans.index(parts_of_plan(record.plan)) for record in self.records]

    @property
    def final_crossovers(self) -> list[Crossover]:
        """The crossovers between the plans that the shapes have now."""
        final = self.final
        return [one for one in self.crossovers if [*self.by_sum[one.shape : one.shape + 2]] == final[one.shape : one.shape + 2]]

    def keep_final(self) -> None:
        """Take the plans into `plans` that shapes have since they were the fastest, timed end to end."""
        for owner, record in zip(self.runs, self.records, strict=True):
            parts = parts_of_plan(record.plan)
            if parts not in self.plans:
                self.plans.append(parts)
                self.totals.append([run.total_s(parts) if run.names == owner.names else None for run in self.runs])
        if self.decided_by == "whole" and self.chosen == BY_RANGE:
            self.by_range.plans = self.final
            self.by_range.total_s = weighted_total(self.totals, self.weights, self.final)

    @property
    def weights(self) -> list[float]:
        return [run.shape.weight for run in self.runs]

    def decide_whole(self, may_take_baselines: bool) -> None:
        """Decide by the times of whole plans, where all shapes have some.

        Args:
            may_take_baselines: Whether a target alone may be the one plan.
        """
        measured = [record.document.verify.measured_s for record in self.records]
        known = [seconds for seconds in measured if seconds is not None]
        if len(known) < len(measured) or not all(record.document.alternatives for record in self.records):
            return
        self._whole = [self._measured(number) for number in range(len(self.runs))]
        self.decided_by = "whole"
        self.by_range.measured_s = self._weighted(known)
        names = [name for name in self._whole[0] if all(name in times for times in self._whole)]
        ones = [name for name in names if name == ALL_SHAPES or (may_take_baselines and is_alone(name))]
        if ones:
            sums = {name: self._weighted([times[name].measured_s for times in self._whole]) for name in ones}
            name = min(ones, key=lambda name: (sums[name], name != ALL_SHAPES))
            totals = [times[name].total_s for times in self._whole]
            parts = self._whole[0][name].parts
            plans = [self.plans.index(parts)] * len(self.runs) if parts in self.plans else []
            total_s = None if None in totals else self._weighted([seconds or 0.0 for seconds in totals])
            self.one = Answer(plans, total_s, "", sums[name], name)
        self.chosen = BY_RANGE if is_worth(self.by_range.measured_s, self.one.measured_s) else ONE_PLAN

    def whole_parts(self, number: int) -> Parts | None:
        """Return the plan that a shape has after `decide_whole`; None where it stays what it is."""
        if self.decided_by != "whole" or self.chosen != ONE_PLAN:
            return None
        return self._whole[number][self.one.name].parts

    def _measured(self, number: int) -> dict[str, _Whole]:
        """Return by name what was timed end to end at a shape, and could be the one plan."""
        record = self.records[number]
        found: dict[str, _Whole] = {}
        for row in record.document.alternatives:
            if row.kind == BASELINE and row.measured_s is not None and not row.reason:
                parts = frozenset((part.target, IndexSet(part.nodes)) for part in row.partitions)
                found[row.name] = _Whole(row.measured_s, row.total_s, parts)
        plan, measured_s = parts_of_plan(record.plan), record.document.verify.measured_s
        if self.one.plans and plan == self.plans[self.one.plans[0]] and measured_s is not None:
            found[ALL_SHAPES] = _Whole(measured_s, record.plan.total_s, plan)
        return found

    def _weighted(self, seconds: Sequence[float]) -> float:
        return sum(weight * value for weight, value in zip(self.weights, seconds, strict=True))


def shapes_document(found: ShapesFound, between: BetweenShapes, one_build: Sequence[OneBuild]) -> ShapesInfo:
    """Return what the document of a run says of its shapes."""
    one, by_range = found.one, found.by_range
    return ShapesInfo(
        dimensions=tuple(_dimension(dimension) for dimension in found.asked.free),
        planned=tuple(_planned(found, number) for number in range(len(found.runs))),
        plans=_plans(found),
        one_plan=OnePlan(
            plan=one.plans[0] if one.plans else None,
            total_s=one.total_s,
            measured_s=one.measured_s,
            name=one.name or ALL_SHAPES,
            reason=one.reason,
        ),
        by_range=PlansByRange(
            plans=tuple(by_range.plans), ranges=_ranges(by_range.plans), total_s=by_range.total_s, measured_s=by_range.measured_s
        ),
        crossovers=tuple(_crossover(crossover) for crossover in found.crossovers),
        chosen=found.chosen,
        decided_by=found.decided_by,
        between=between,
        one_build=tuple(one_build),
    )


def _dimension(one: FreeDimension) -> SizedDimension:
    return SizedDimension(one.name, tuple(one.ends), str(one.sizes), one.sizes.is_range, tuple(one.sampled))


def _crossover(one: Crossover) -> TriedCrossover:
    tried = tuple(TriedSize(size, *seconds) for size, seconds in one.tried.items())
    return TriedCrossover(one.shape, one.dimension, one.below, one.above, tried)


def _plans(found: ShapesFound) -> tuple[PlanAtShapes, ...]:
    """Return the plans with what they take at each shape, and how much more that is than the best plan there takes."""
    shapes = range(len(found.runs))
    known = [[row[shape] for row in found.totals if row[shape] is not None] for shape in shapes]
    lost = losses(found.totals, [min((seconds for seconds in column if seconds is not None), default=None) for column in known])
    return tuple(
        PlanAtShapes(
            partitions=tuple(ShapePartition(target, tuple(inside)) for target, inside in _in_order(plan)),
            totals_s=tuple(found.totals[index]),
            loses_s=tuple(lost[index]),
            total_s=weighted_total(found.totals, found.weights, [index] * len(shapes)),
        )
        for index, plan in enumerate(found.plans)
    )


def _planned(found: ShapesFound, number: int) -> ShapeInfo:
    run, record = found.runs[number], found.records[number]
    verify = record.document.verify
    return ShapeInfo(
        name=run.shape.name,
        sizes=dict(run.shape.sizes),
        inputs={tensor.name: tensor.type.shape for tensor in run.run.found.graph.inputs},
        weight=run.shape.weight,
        best=found.plans.index(run.own) if run.own in found.plans else None,
        total_s=record.plan.total_s,
        measured_s=verify.measured_s,
        max_rel_error=verify.max_rel_error,
        partitions=tuple(ShapePartition(part.target, part.nodes) for part in record.plan.partitions),
        baselines=tuple(Baseline(row.name, row.total_s, row.measured_s, row.reason) for row in record.document.baselines),
    )


def _in_order(plan: Parts) -> list[tuple[str, IndexSet]]:
    return sorted(plan, key=lambda part: (part[1].first(), part[0]))


def _ranges(plans: Sequence[int]) -> tuple[ShapeRange, ...]:
    """Return the stretches of shapes that one plan serves."""
    made: list[ShapeRange] = []
    for shape, plan in enumerate(plans):
        if made and made[-1].plan == plan:
            made[-1] = replace(made[-1], last=shape)
        else:
            made.append(ShapeRange(shape, shape, plan))
    return tuple(made)
