"""`mergeable_neighbours`: neighbouring partitions of a plan on one target that could be one partition.

A plan enters; sets of nodes leave, each a valid partition of that plan (RFC 62 (Collage), draft 0.7, `MaxCoalesce`). Their costs
are not added up here: they become candidates that are costed and searched like any other.

Partitions can be merged unless a path leaves them and comes back through another partition. Count for each partition of a target
how often, at most, a path to it returned to the target after leaving it. Along a path this count never falls, and it grows with
every return. So connected partitions with equal counts can be merged, and one pass over the plan finds all such groups; counts
from the end of the plan give others. Pairs are checked one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..graph.index_set import IndexSet
from .plan_properties import execution_order, partition_graph
from .problem import HOST_NAME, SearchProblem

Edges = list[set[int]]
"""For each partition, numbered in the order of execution, the partitions that read from it (or that it reads from)."""


def mergeable_neighbours(problem: SearchProblem, chosen: Sequence[int]) -> list[tuple[str, int]]:
    """Return (target, nodes as bits) for every mergeable pair of neighbours on one target, and for large mergeable groups.

    Two partitions are neighbours when one reads what the other makes. Sets that are candidates already are left out.

    Args:
        chosen: A plan without a cycle.
    """
    plan = _Plan(problem, chosen)
    found: dict[tuple[str, IndexSet], None] = {}
    for target in plan.targets():
        for group in plan.groups(target):
            found[target, plan.nodes(group)] = None
    for upper, lower in plan.pairs():
        found[plan.target(upper), plan.nodes((upper, lower))] = None
    known = {(candidate.target, candidate.inside) for candidate in problem.candidates}
    return [(target, inside.bits) for target, inside in found if (target, inside) not in known]


class _Plan:
    """The graph of a plan's partitions, numbered in the order of execution."""

    def __init__(self, problem: SearchProblem, chosen: Sequence[int]):
        order = execution_order(problem, chosen)
        readers = partition_graph(problem, chosen)
        number = {index: position for position, index in enumerate(order)}
        self._candidates = [problem.candidates[index] for index in order]
        self._after: Edges = [{number[reader] for reader in readers[index]} for index in order]
        self._before: Edges = [set() for _ in order]
        for partition, after in enumerate(self._after):
            for reader in after:
                self._before[reader].add(partition)

    def target(self, partition: int) -> str:
        return self._candidates[partition].target

    def targets(self) -> list[str]:
        """Return the targets of the plan, without the host."""
        return [target for target in dict.fromkeys(candidate.target for candidate in self._candidates) if target != HOST_NAME]

    def nodes(self, group: Iterable[int]) -> IndexSet:
        """Return the nodes of the partitions `group`."""
        return IndexSet(node for partition in group for node in self._candidates[partition].inside)

    def groups(self, target: str) -> Iterator[list[int]]:
        """Yield mergeable groups of partitions of `target`, by the counts from the beginning and from the end."""
        on_target = [candidate.target == target for candidate in self._candidates]
        order = range(len(on_target))
        for partitions, before in ((order, self._before), (reversed(order), self._after)):
            yield from _connected(self._after, on_target, _returns(partitions, before, on_target))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield mergeable pairs of neighbours on one target: no other path leads from one to the other.

        Each partition takes one sweep over the partitions that it reaches, up to the last neighbour on its target.
        """
        for upper, readers in enumerate(self._after):
            lowers = sorted(reader for reader in readers if self.target(reader) == self.target(upper) != HOST_NAME)
            if lowers:
                detours = self._reached(readers, lowers[-1])
                yield from ((upper, lower) for lower in lowers if lower not in detours)

    def _reached(self, begin: set[int], last: int) -> set[int]:
        """Return the partitions, up to `last`, that are one or more edges downstream of `begin`."""
        reached = set[int]()
        waiting = [partition for partition in begin if partition < last]
        while waiting:
            for reader in self._after[waiting.pop()]:
                if reader <= last and reader not in reached:
                    reached.add(reader)
                    waiting.append(reader)
        return reached


def _returns(order: Iterable[int], before: Edges, on_target: Sequence[bool]) -> list[int]:
    """Return for each partition how often, at most, a path to it returned to a target; -1 when no path to it met the target.

    Args:
        order: All partitions, each after those in its `before`.
        on_target: Whether each partition is on the target.
    """
    count = [-1] * len(before)
    for partition in order:
        if on_target[partition]:
            counts = (count[other] if on_target[other] or count[other] < 0 else count[other] + 1 for other in before[partition])
            count[partition] = max([0, *counts])
        else:
            count[partition] = max((count[other] for other in before[partition]), default=-1)
    return count


def _connected(after: Edges, on_target: Sequence[bool], count: Sequence[int]) -> Iterator[list[int]]:
    """Yield the groups of at least two partitions of the target that are connected by edges between equal counts."""
    group: dict[int, list[int]] = {}
    for partition, readers in enumerate(after):
        for reader in readers if on_target[partition] else ():
            if on_target[reader] and count[reader] == count[partition]:
                upper, lower = group.setdefault(partition, [partition]), group.setdefault(reader, [reader])
                if upper is not lower:
                    small, large = sorted((upper, lower), key=len)
                    large += small
                    group.update(dict.fromkeys(small, large))
    yield from {id(members): members for members in group.values()}.values()
