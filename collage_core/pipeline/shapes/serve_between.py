"""Serves the sizes of a range that were not planned for: with builds of their own where they are few, else with one build for any size.

What was found over the planned shapes enters. Of few sizes each is built with the plan of its neighbours and verified. Of many, those are
served whose plan has toolchains alone that take any shape; it is built later (`shaped_build`). Others are not served.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...base.isolation.worker import Pool
from ...documents.shapes import BetweenShapes, BuiltShape
from ...errors import CollageError
from ...model.sizes.planned_shapes import FreeDimension, PlannedShape
from ...rewrite.plan import RangePartition, RangePlan, ShapePlan
from ...rules.spec import HOST_TARGET
from ...toolchains.abilities import takes_open_shapes
from ...toolchains.described import DescribedToolchain
from ..searched_run import SearchedRun
from .between import Stretch, stretches
from .shape_run import Parts, ShapeRun
from .shapes_document import ShapesFound

MOST_BUILT = 16
"""Most sizes in all, planned ones included, of which each gets a build of its own."""

MakeRun = Callable[[PlannedShape, int], SearchedRun]
"""Begins the run of a shape, of which the artifact has this number."""


@dataclass
class Between:
    """The builds that serve sizes between planned ones.

    Attributes:
        filled: Shapes with builds of their own.
        rows: The same for the document.
        ranges: Ranges that one build serves.
        unserved: Sizes that are not served, and why, one line each.
    """

    filled: list[ShapePlan] = field(default_factory=list)
    rows: list[BuiltShape] = field(default_factory=list)
    ranges: list[RangePlan] = field(default_factory=list)
    unserved: list[str] = field(default_factory=list)

    def drop(self, unbuilt: Mapping[int, str]) -> None:
        """Let the ranges of these indices be unserved, for the reasons given."""
        for index, why_not in unbuilt.items():
            one = self.ranges[index]
            sizes = ", ".join(
                f"{name} {list(shape)} to {list(one.last[name])}" for name, shape in one.first.items() if shape != one.last[name]
            )
            self.unserved.append(_only_planned(sizes, why_not))
        self.ranges = [one for index, one in enumerate(self.ranges) if index not in unbuilt]

    @property
    def document(self) -> BetweenShapes:
        """The same for the document of the run."""
        ranges = tuple(one.model_dump(mode="json") for one in self.ranges)
        return BetweenShapes(tuple(self.rows), ranges, tuple(self.unserved))


def serve_between(found: ShapesFound, make_run: MakeRun) -> Between:
    """Build what `found` says for few sizes between the planned ones, and say what serves many."""
    made = Between()
    parts = stretches(found.asked.free, [run.shape.sizes for run in found.runs], found.final, found.final_crossovers)
    between = [one for one in parts if one.size > len(one.shapes)]
    if sum(one.size for one in parts) <= MOST_BUILT:
        with Pool() as pool:
            for stretch in between:
                _fill(found, stretch, make_run, pool, made)
        return made
    for stretch in between:
        partitions, why_not = _any_size(found, stretch)
        if why_not:
            made.unserved.append(_only_planned(f"{stretch.dimension} from {stretch.first} to {stretch.last}", why_not))
            continue
        ends = {"first": _shapes_at(found, stretch, stretch.first), "last": _shapes_at(found, stretch, stretch.last)}
        made.ranges.append(
            RangePlan(target=partitions[0].target, **ends) if len(partitions) == 1 else RangePlan(partitions=partitions, **ends)
        )
    return made


def _only_planned(sizes: str, why_not: str) -> str:
    return f"of {sizes} only the planned sizes are served: {why_not}"


def _fill(found: ShapesFound, stretch: Stretch, make_run: MakeRun, pool: Pool, made: Between) -> None:
    """Build the sizes of a stretch that were not planned for, each by itself."""
    planned = {found.runs[index].shape.sizes[stretch.dimension] for index in stretch.shapes}
    base, parts = found.runs[stretch.shapes[0]], found.plans[stretch.plan]
    for size in range(stretch.first, stretch.last + 1):
        if size in planned or base.run.is_stopped():
            continue
        shape = shape_with(found.asked.free, base.shape, stretch.dimension, size)
        try:
            number = len(found.runs) + len(made.filled)
            row = _built(ShapeRun(shape, make_run(shape, number)), parts, base, pool, made)
        except CollageError as error:
            made.unserved.append(f"{shape.name} is not served: {error.message}")
            continue
        made.rows.append(row)


def _built(run: ShapeRun, parts: Parts, base: ShapeRun, pool: Pool, made: Between) -> BuiltShape:
    shape = run.shape
    run.run.close()  # nothing is measured at this shape
    if run.names != base.names:
        raise CollageError("the model has other nodes there than at the next planned shape")
    plan, verify = run.build(parts, pool)
    made.filled.append(ShapePlan(name=shape.name, weight=0.0, plan=plan))
    return BuiltShape(
        name=shape.name,
        sizes=dict(shape.sizes),
        inputs={tensor.name: tensor.type.shape for tensor in run.run.found.graph.inputs},
        measured_s=verify.measured_s,
        max_rel_error=verify.max_rel_error,
    )


def _any_size(found: ShapesFound, stretch: Stretch) -> tuple[tuple[RangePartition, ...], str]:
    """Return the partitions of the plan of a stretch, or why they cannot be built for any size of it."""
    run, plan = found.runs[stretch.shapes[0]], sorted(found.plans[stretch.plan], key=lambda part: tuple(part[1]))
    placed = [part for part in plan if part[0] != HOST_TARGET]
    for target, _ in placed:
        toolchain = run.run.found.toolchains[target]
        if isinstance(toolchain, DescribedToolchain) or not takes_open_shapes(toolchain):
            return (), f"{target} is built for fixed shapes"
    hosted = [index for target, inside in plan if target == HOST_TARGET for index in inside]
    controlled = next((index for index in hosted if index in run.run.found.model.controls), None)
    if controlled is not None and len(placed) != 1:
        return (), f"the host runs {run.names[controlled]!r}, whose bodies are built for fixed shapes"
    made = tuple(RangePartition(target=target, names=tuple(run.names[index] for index in inside)) for target, inside in placed)
    return made, "" if made else "their plan has no partitions"


def shape_with(free: Sequence[FreeDimension], shape: PlannedShape, dimension: str, size: int) -> PlannedShape:
    """Return `shape` with another size of a dimension; it stands for no calls."""
    ends = next(one.ends for one in free if one.name == dimension)
    shapes = {name: tuple(size if (name, axis) in ends else old for axis, old in enumerate(one)) for name, one in shape.shapes.items()}
    return replace(shape, shapes=shapes, sizes={**shape.sizes, dimension: size}, weight=0.0)


def _shapes_at(found: ShapesFound, stretch: Stretch, size: int) -> Mapping[str, Sequence[int]]:
    """Return the shapes of all inputs where the dimension of a stretch has this size; inputs that share its symbol follow."""
    free = next(one for one in found.asked.free if one.name == stretch.dimension)
    kinds = found.asked.dimensions
    made = {}
    for tensor in found.runs[stretch.shapes[0]].run.found.graph.inputs:
        named = kinds.get(tensor.name, [""] * len(tensor.type.shape))
        follows = [(tensor.name, axis) in free.ends or (free.symbol and kind == free.symbol) for axis, kind in enumerate(named)]
        made[tensor.name] = tuple(size if is_free else old for is_free, old in zip(follows, tensor.type.shape, strict=True))
    return made
