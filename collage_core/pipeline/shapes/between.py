"""The sizes of a range between those that are planned for: which plan serves them.

The free dimensions, the planned sizes with the plan of each, and the crossovers enter; stretches of sizes leave, each with its plan. Plain
data: nothing is built here. Only one dimension may be a range; with more of them, planned shapes are served and no others.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...model.sizes.planned_shapes import FreeDimension
from .ranges import Crossover


@dataclass(frozen=True)
class Stretch:
    """Neighbouring sizes of the dimension that is a range, which one plan serves.

    Attributes:
        shapes: Indices of the planned shapes in it, ascending.
        first, last: Its ends.
        plan: Index of the plan.
    """

    dimension: str
    shapes: tuple[int, ...]
    first: int
    last: int
    plan: int

    @property
    def size(self) -> int:
        """How many sizes there are in it."""
        return self.last - self.first + 1


def stretches(
    free: Sequence[FreeDimension], sizes: Sequence[Mapping[str, int]], plans: Sequence[int], crossovers: Sequence[Crossover]
) -> list[Stretch]:
    """Return the stretches of the dimension that is a range, for each combination of sizes of the others.

    Args:
        sizes: Of each planned shape, by dimension.
        plans: The index of the plan of each planned shape.
        crossovers: Where they were looked for; elsewhere a plan reaches halfway to the next shape.
    """
    ranged = [dimension.name for dimension in free if dimension.sizes.is_range]
    if len(ranged) != 1:
        return []
    name, groups = ranged[0], dict[tuple[tuple[str, int], ...], list[int]]()
    for index, one in enumerate(sizes):
        groups.setdefault(tuple(sorted((key, size) for key, size in one.items() if key != name)), []).append(index)
    ends = {crossover.shape: (crossover.below, crossover.above) for crossover in crossovers if crossover.dimension == name}
    made = []
    for group in groups.values():
        made += _of_group(name, sorted(group, key=lambda index: sizes[index][name]), sizes, plans, ends)
    return made


def _of_group(
    name: str, group: Sequence[int], sizes: Sequence[Mapping[str, int]], plans: Sequence[int], ends: Mapping[int, tuple[int, int]]
) -> list[Stretch]:
    made: list[Stretch] = []
    shapes, first = [group[0]], sizes[group[0]][name]
    for before, after in itertools.pairwise(group):
        if plans[before] != plans[after]:
            below, above = ends.get(before, (sizes[before][name], sizes[after][name]))
            last = (below + above - 1) // 2
            made.append(Stretch(name, tuple(shapes), first, last, plans[before]))
            shapes, first = [], last + 1
        shapes.append(after)
    made.append(Stretch(name, tuple(shapes), first, sizes[group[-1]][name], plans[group[-1]]))
    return made
