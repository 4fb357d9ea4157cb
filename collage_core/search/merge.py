"""Neighbours on one target, as one: the larger partitions that a plan suggests, valid as part of the whole plan.

Design, "Well-formed plan"; RFC 62 (0.7), `MaxCoalesce`. What enters is a plan; what leaves are sets of nodes. Nothing is
said of their cost: that is asked of the estimator, and they enter the search as candidates like any other.

Partitions can be one when nothing that leaves them comes back in through another partition. Count for each partition of a
target how often, at most, a way to it came back to the target after leaving it: along a way the count never falls, and with
every return it grows. So partitions of equal counts that hang together can be one, and one pass over the plan finds them
all; counted from the plan's end they are others. Pairs are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..graph.dataflow_graph import HOST
from ..graph.index_set import IndexSet
from .problem import HOST_NAME, SearchProblem
from .running_order import running_order

Flow = list[set[int]]
"""For each partition of a plan, numbered in the order in which they run, those that read from it."""


def neighbours_as_one(problem: SearchProblem, chosen: Sequence[int]) -> list[tuple[str, int]]:
    """(target, nodes as bits) for every pair of neighbours on one target that can be one, and for large groups of such.

    Two are neighbours when one reads what the other makes. What is a candidate already is left out. The plan must be one
    without a cycle.
    """
    plan = _Plan(problem, chosen)
    made: dict[tuple[str, IndexSet], None] = {}
    for target in plan.targets():
        for group in plan.groups(target):
            made[target, plan.nodes(group)] = None
    for upper, lower in plan.pairs():
        made[plan.target(upper), plan.nodes((upper, lower))] = None
    known = {(candidate.target, candidate.inside) for candidate in problem.candidates}
    return [(target, inside.bits) for target, inside in made if (target, inside) not in known]


class _Plan:
    """The graph of a plan's partitions."""

    def __init__(self, problem: SearchProblem, chosen: Sequence[int]):
        self._candidates = [problem.candidates[index] for index in running_order(problem, chosen)]
        owner = {node: place for place, candidate in enumerate(self._candidates) for node in candidate.inside}
        self._after: Flow = [set() for _ in self._candidates]
        self._before: Flow = [set() for _ in self._candidates]
        for tensor in problem.tensors:
            for node in tensor.readers if tensor.maker != HOST else ():
                maker, reader = owner[tensor.maker], owner[node]
                if maker != reader:
                    self._after[maker].add(reader)
                    self._before[reader].add(maker)

    def target(self, place: int) -> str:
        return self._candidates[place].target

    def targets(self) -> list[str]:
        """Those of the plan, but for the host."""
        return [target for target in dict.fromkeys(candidate.target for candidate in self._candidates) if target != HOST_NAME]

    def nodes(self, group: Iterable[int]) -> IndexSet:
        """The nodes of the partitions `group`."""
        return IndexSet(node for place in group for node in self._candidates[place].inside)

    def groups(self, target: str) -> Iterator[list[int]]:
        """Partitions of `target` that can be one, by their counts from the beginning and from the end."""
        is_mine = [candidate.target == target for candidate in self._candidates]
        order = range(len(is_mine))
        for places, back in ((order, self._before), (reversed(order), self._after)):
            yield from _together(self._after, is_mine, _returns(places, back, is_mine))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Neighbours on one target that can be one: no other way leads from one to the other.

        For each partition one sweep over those that it reaches, no further than the last neighbour that it may join.
        """
        for upper, readers in enumerate(self._after):
            lowers = sorted(place for place in readers if self.target(place) == self.target(upper) != HOST_NAME)
            if lowers:
                detours = self._reached(readers, lowers[-1])
                yield from ((upper, lower) for lower in lowers if lower not in detours)

    def _reached(self, begin: set[int], last: int) -> set[int]:
        """What is reached from `begin` in one step or more, up to the partition `last`."""
        reached = set[int]()
        waiting = [place for place in begin if place < last]
        while waiting:
            for place in self._after[waiting.pop()]:
                if place <= last and place not in reached:
                    reached.add(place)
                    waiting.append(place)
        return reached


def _returns(order: Iterable[int], before: Flow, is_mine: Sequence[bool]) -> list[int]:
    """For each partition how often a way to it came back to a target, at most; -1 where no way to it met the target.

    Args:
        order: Each partition after those in its `before`.
        is_mine: Whether a partition is on the target.
    """
    count = [-1] * len(before)
    for place in order:
        if is_mine[place]:
            came = (count[other] if is_mine[other] or count[other] < 0 else count[other] + 1 for other in before[place])
            count[place] = max([0, *came])
        else:
            count[place] = max((count[other] for other in before[place]), default=-1)
    return count


def _together(after: Flow, is_mine: Sequence[bool], count: Sequence[int]) -> Iterator[list[int]]:
    """The partitions of the target that hang together by edges between equal counts, where they are several."""
    group: dict[int, list[int]] = {}
    for place, readers in enumerate(after):
        for reader in readers if is_mine[place] else ():
            if is_mine[reader] and count[reader] == count[place]:
                upper, lower = group.setdefault(place, [place]), group.setdefault(reader, [reader])
                if upper is not lower:
                    small, large = sorted((upper, lower), key=len)
                    large += small
                    group.update(dict.fromkeys(small, large))
    yield from {id(places): places for places in group.values()}.values()
