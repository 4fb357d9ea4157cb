"""`run_at_shapes`: a run for each of several shapes, with the plans that serve them.

The shapes are planned one after another by runs of their own, which share the cost database. Then two answers are compared: the one
plan that is best over all of them, and one plan for each range. A `RunRecord` leaves: that of the shape of the largest weight, whose
document has ``shapes``, and whose plan has the plans of all (`Plan.by_shape`). With ``out`` the folder is one artifact for all shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...cost.estimators.function import CostFunction
from ...documents.shapes import OneBuild
from ...errors import Cancelled, InfeasibleError
from ...events import Emit, Event, Note
from ...model.sizes.planned_shapes import PlannedShape
from ...options import Options
from ...rewrite.plan import ShapePlan
from ...rewrite.shaped_folder import folder_of, forget_artifact
from ...rules.partitionings import ALL_SHAPES, OF_RANGE
from ..apply import make_folder
from ..record.record import RunRecord
from ..run import finish
from ..searched_run import SearchedRun
from .joint_plan import JointPlan, joint_plan, learn_from_each_other
from .ranges import BY_RANGE, ONE_PLAN, Crossover, assign, bisect, is_worth, weighted_total
from .serve_between import Between, serve_between, shape_with
from .shape_run import Parts, ShapeRun, parts_of_plan
from .shaped_build import build_shaped
from .shapes_document import Answer, ShapesFound, shapes_document
from .shapes_to_plan import ShapesToPlan, named, shapes_to_plan

MOST_CROSSOVERS = 4
"""Most pairs of neighbouring shapes between which a crossover is looked for."""


def run_at_shapes(
    source: str | Path, options: Options, emit: Emit, function: CostFunction | None, should_stop: Callable[[], bool]
) -> RunRecord:
    """Run all phases at each shape that the options give, as `run_once` does.

    Raises:
        Cancelled, CollageError, InfeasibleError, AccuracyError: as `run_once`; the message names the shape.
    """
    return _Shapes(source, options, emit, function, should_stop).planned()


@dataclass
class _Decision:
    """Which plan serves each shape, as far as sums of costs tell.

    Attributes:
        plans: Every plan that is the best of a shape, and the one for all shapes, each once.
        totals: Their seconds at each shape.
        by_range: The index of the plan of each shape where each range has its own; None where one is not known.
        joint: The one plan's index in `plans`; None where there is none.
    """

    plans: list[Parts]
    totals: list[list[float | None]]
    by_range: list[int]
    joint: int | None


class _Shapes:
    """The runs of several shapes, and what is decided over them."""

    def __init__(self, source: str | Path, options: Options, emit: Emit, function: CostFunction | None, should_stop: Callable[[], bool]):
        self.source, self.options, self.emit, self.function, self.should_stop = source, options, _once(emit), function, should_stop
        self.asked: ShapesToPlan = shapes_to_plan(source, options)
        self.runs: list[ShapeRun] = []

    def planned(self) -> RunRecord:
        for said in self.asked.notes:
            self.emit(Note(said))
        if self.options.out is not None:
            make_folder(self.options.out)
            forget_artifact(self.options.out)
        self._search()
        learn_from_each_other(self.runs)
        joint = joint_plan(self.runs)
        if joint.reason:
            self.emit(Note(f"there is no one plan for all shapes: {joint.reason}"))
        found = self._built(self._decide(joint), joint)
        self._compare_whole(found)
        return self._record(found)

    def _built(self, decision: _Decision, joint: JointPlan) -> ShapesFound:
        """Find the crossovers, choose one of the two answers by their predicted times, and build its plan at each shape."""
        crossovers = self._crossovers(decision)
        weights = [run.shape.weight for run in self.runs]
        one = [] if decision.joint is None else [decision.joint] * len(self.runs)
        one_s = weighted_total(decision.totals, weights, one) if one else None
        by_range_s = weighted_total(decision.totals, weights, decision.by_range)
        is_split = not one or (is_worth(by_range_s, one_s) and len(set(decision.by_range)) > 1)
        return ShapesFound(
            asked=self.asked,
            runs=self.runs,
            records=[self._finished(number, decision, plan) for number, plan in enumerate(decision.by_range if is_split else one)],
            plans=decision.plans,
            totals=decision.totals,
            one=Answer(one, one_s, joint.reason),
            by_range=Answer(decision.by_range, by_range_s),
            crossovers=crossovers,
            by_sum=decision.by_range,
            chosen=BY_RANGE if is_split else ONE_PLAN,
        )

    def _search(self) -> None:
        """Find the plan of the least sum at each shape."""
        for number, shape in enumerate(self.asked.shapes):
            if self.runs and self.should_stop():
                self._stop_after(number)
                return
            with named(shape):
                run = ShapeRun(shape, self._run(shape, number))
                self.emit(Note(f"shape {number + 1} of {len(self.asked.shapes)}: {run.shape.name}"))
                try:
                    run.search()
                except (Cancelled, InfeasibleError):
                    if not self.should_stop():
                        raise
                    if not self.runs:
                        raise Cancelled from None
                    self._stop_after(number)
                    return
            self.runs.append(run)
        self._leave_time()

    def _leave_time(self) -> None:
        """Let each run have the time that it reserved for its end: it comes after those of other shapes."""
        for run in self.runs:
            run.run.deadline.leave(run.run.reserved_s)

    def _stop_after(self, count: int) -> None:
        left = len(self.asked.shapes) - count
        self.emit(Note(f"the run was cancelled: {left} of {len(self.asked.shapes)} shapes have no plan"))
        total = sum(run.shape.weight for run in self.runs)
        for run in self.runs:
            run.shape = replace(run.shape, weight=run.shape.weight / total)

    def _run(self, shape: PlannedShape, number: int | None) -> SearchedRun:
        """Begin the run of one shape; of one between the planned ones where `number` is None."""
        out = None if self.options.out is None or number is None else self.options.out / folder_of(number)
        alone = self.asked.options_at(shape, self.options, out)
        if number is None:
            alone = replace(alone, tune_s=None)
        return SearchedRun(self.source, alone, self.emit, self.function, should_stop=self.should_stop)

    def _decide(self, joint: JointPlan) -> _Decision:
        owners: dict[Parts, ShapeRun] = {}
        for run in self.runs:
            owners.setdefault(run.own, run)
        if joint.parts is not None:
            owners.setdefault(joint.parts, self.runs[0])
        plans = list(owners)
        totals = [[self._total_s(plan, owners[plan], run) for run in self.runs] for plan in plans]
        by_range = assign(totals, [run.shape.weight for run in self.runs])
        if by_range is None:
            by_range = [plans.index(run.own) for run in self.runs]
        return _Decision(plans, totals, by_range, None if joint.parts is None else plans.index(joint.parts))

    def _total_s(self, plan: Parts, owner: ShapeRun, run: ShapeRun) -> float | None:
        return run.total_s(plan) if run.names == owner.names else None

    def _crossovers(self, decision: _Decision) -> list[Crossover]:
        """Look for the crossovers between neighbouring shapes of different plans, where a range has sizes between them."""
        found: list[Crossover] = []
        ranged = {dimension.name: dimension for dimension in self.asked.free if dimension.sizes.is_range}
        for number, (before, after) in enumerate(zip(decision.by_range, decision.by_range[1:], strict=False)):
            first, second = self.runs[number], self.runs[number + 1]
            differing = [name for name, size in first.shape.sizes.items() if second.shape.sizes[name] != size]
            is_between = len(differing) == 1 and differing[0] in ranged
            if before == after or not is_between or first.names != second.names or len(found) == MOST_CROSSOVERS or self.should_stop():
                continue
            name, plans = differing[0], (decision.plans[before], decision.plans[after])
            sizes = first.shape.sizes[name], second.shape.sizes[name]
            found.append(bisect(number, name, sizes, partial(self._between, first, name, plans)))
        return found

    def _between(self, run: ShapeRun, name: str, plans: tuple[Parts, Parts], size: int) -> tuple[float | None, float | None]:
        """Return what two plans take at a shape that is that of `run` but for one size."""
        shape = shape_with(self.asked.free, run.shape, name, size)
        with named(shape):
            between = ShapeRun(shape, self._run(shape, None))
            self.emit(Note(f"two plans at a size between planned ones: {between.shape.name}"))
            try:
                return (None, None) if between.names != run.names else (between.total_s(plans[0]), between.total_s(plans[1]))
            finally:
                between.run.close()

    def _finished(self, number: int, decision: _Decision, plan: int) -> RunRecord:
        """Make a plan that of a shape, and build and compare it as far as the options ask for that."""
        run = self.runs[number]
        parts, others = decision.plans[plan], {}
        if decision.joint is not None and decision.totals[decision.joint][number] is not None:
            others[ALL_SHAPES] = decision.plans[decision.joint]
        if parts not in (run.own, *others.values()):
            others[OF_RANGE] = parts
        run.run.deadline.leave(run.run.reserved_s)
        with named(run.shape):
            return finish(run.run, run.take(parts, others))

    def _compare_whole(self, found: ShapesFound) -> None:
        """Decide once more where all plans were timed end to end: one plan for all shapes, or the fastest of each."""
        found.decide_whole(self.options.objective == "time" and not self.options.constraints)
        for number, run in enumerate(self.runs):
            wanted = found.whole_parts(number)
            if wanted is not None and wanted != parts_of_plan(found.records[number].plan):
                with named(run.shape):
                    found.records[number] = run.rebuilt(run.take(wanted, {}), found.records[number])

        found.keep_final()

    def _record(self, found: ShapesFound) -> RunRecord:
        """Return the record of the shape of the largest weight, with what was found over all shapes; with ``out`` it is written."""
        main = max(range(len(self.runs)), key=lambda number: (self.runs[number].shape.weight, number))
        record = found.records[main]
        both = zip(self.runs, found.records, strict=True)
        plans = [ShapePlan(name=run.shape.name, weight=run.shape.weight, plan=one.plan) for run, one in both]
        is_built = self.options.out is not None and all(one.document.verify.max_rel_error is not None for one in found.records)
        between = serve_between(found, self._run) if is_built else Between()
        more = {"ranges": tuple(between.ranges), "other_shapes": self.options.other_shapes, "one_build": self.options.one_build}
        plan = record.plan.model_copy(update={"by_shape": (*plans, *between.filled), **more})
        one_build: Sequence[OneBuild] = ()
        if self.options.out is not None and is_built:
            shaped = build_shaped(self.source, plan, self.options.out)
            between.drop(shaped.unbuilt)
            one_build, plan = shaped.one_build, plan.model_copy(update={"ranges": tuple(between.ranges)})
        for said in between.unserved:
            self.emit(Note(said))
        document = replace(record.document, shapes=shapes_document(found, between.document, one_build))
        record = replace(record, plan=plan, document=document)
        if self.options.out is not None:
            record.save(self.options.out)
        return record


def _once(emit: Emit) -> Emit:
    """Return `emit` without notes that were told before: each run says the same of the toolchains, and of the machine."""
    told: set[str] = set()

    def tell(event: Event) -> None:
        if isinstance(event, Note):
            if event.text in told:
                return
            told.add(event.text)
        emit(event)

    return tell
