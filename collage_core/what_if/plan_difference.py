"""`regions_of`: the difference between two plans of one model, by regions: sets of nodes that are whole partitions of both plans.

Partitions of two plans enter; plain data leaves. Nothing is searched, and costs are those that the plans say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..documents.plan import PlanPartition
from ..documents.statements import NOT_KNOWN

SAME, RECUT, MOVED = "same", "recut", "moved"
"""Kinds: one partition on one target in both plans; the same targets with other partitions; a node has another target."""
_RANK = {MOVED: 0, RECUT: 1, SAME: 2}
NOTHING_S = 0.5e-9
"""Costs less than this apart are equal."""


@dataclass(frozen=True)
class Region:
    """A smallest set of nodes that is whole partitions of both plans, so that its costs in both can be compared.

    Attributes:
        kind: `SAME`, `RECUT` or `MOVED`.
        nodes: Ascending.
        first, second: The partitions of both plans.
    """

    kind: str
    nodes: tuple[int, ...]
    first: tuple[PlanPartition, ...]
    second: tuple[PlanPartition, ...]

    @property
    def first_s(self) -> float | None:
        """Return the sum of the first plan's costs; None where one is not known."""
        return _sum(self.first)

    @property
    def second_s(self) -> float | None:
        """Return the sum of the second plan's costs; None where one is not known."""
        return _sum(self.second)

    @property
    def change_s(self) -> float | None:
        """Return the cost in the first plan less that in the second; None where one is not known."""
        first_s, second_s = self.first_s, self.second_s
        return None if first_s is None or second_s is None else first_s - second_s

    @property
    def is_change(self) -> bool:
        """Return whether its targets, its partitions or its cost differ."""
        return self.kind != SAME or abs(self.change_s or 0.0) >= NOTHING_S


def regions_of(first: Iterable[PlanPartition], second: Iterable[PlanPartition]) -> list[Region]:
    """Return the regions of two plans, the largest difference first."""
    mine, other = _holders(first), _holders(second)
    seen: set[int] = set()
    regions = []
    for start in sorted(mine.keys() | other.keys()):
        if start not in seen:
            region = _grown(start, mine, other)
            seen.update(region.nodes)
            regions.append(region)
    return sorted(regions, key=lambda one: (-_size(one), _RANK[one.kind], one.nodes[0]))


def moved_nodes(first: Iterable[PlanPartition], second: Iterable[PlanPartition]) -> list[int]:
    """Return the nodes whose targets in the two plans differ."""
    mine, other = _holders(first), _holders(second)
    return sorted(node for node, part in mine.items() if node not in other or other[node].target != part.target)


def _holders(partitions: Iterable[PlanPartition]) -> dict[int, PlanPartition]:
    return {node: part for part in partitions for node in part.nodes}


def _grown(start: int, mine: Mapping[int, PlanPartition], other: Mapping[int, PlanPartition]) -> Region:
    """Return the region around a node: it grows by every partition of either plan that holds one of its nodes."""
    nodes, waiting = {start}, [start]
    sides: tuple[dict[str, PlanPartition], dict[str, PlanPartition]] = ({}, {})
    while waiting:
        node = waiting.pop(0)
        for holders, kept in zip((mine, other), sides, strict=True):
            part = holders.get(node)
            if part is None or part.id in kept:
                continue
            kept[part.id] = part
            waiting += [more for more in part.nodes if more not in nodes]
            nodes.update(part.nodes)
    first, second = (tuple(kept.values()) for kept in sides)
    is_moved = any(node not in other or mine[node].target != other[node].target for node in nodes if node in mine)
    kind = MOVED if is_moved else SAME if len(first) == len(second) == 1 else RECUT
    return Region(kind, tuple(sorted(nodes)), first, second)


def _sum(parts: Sequence[PlanPartition]) -> float | None:
    costs = [None if part.source in NOT_KNOWN else part.cost_s for part in parts]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _size(region: Region) -> float:
    change_s = region.change_s
    return abs(change_s) if change_s is not None else 0.0 if region.kind == SAME else math.inf
