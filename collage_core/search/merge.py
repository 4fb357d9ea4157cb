"""Neighbours on one target, as one: the larger partitions that a plan suggests, valid as part of the whole plan.

Design, "Well-formed plan"; RFC 62 (0.7), `MaxCoalesce`. Nothing is said of their cost: that is asked of the estimator,
and they enter the search as candidates like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import HOST
from .problem import HOST_NAME, SearchProblem


def neighbours_as_one(problem: SearchProblem, chosen: Sequence[int]) -> list[tuple[str, int]]:
    """(target, nodes as bits) for every pair of neighbours on one target that can be one, and for the largest such groups.

    Two are neighbours when one reads what the other makes. They can be one when nothing that leaves them comes back in
    through another partition of the plan.
    """
    quotient = _Quotient(problem, chosen)
    made: dict[tuple[str, int], None] = {}
    for group in quotient.groups():
        made[quotient.target(group), quotient.nodes(group)] = None
    for upper, lower in quotient.pairs():
        made[quotient.target({upper}), quotient.nodes({upper, lower})] = None
    known = {(candidate.target, candidate.bits) for candidate in problem.candidates}
    return [key for key in made if key not in known]


class _Quotient:
    """The graph of a plan's partitions."""

    def __init__(self, problem: SearchProblem, chosen: Sequence[int]):
        self.problem = problem
        self.chosen = list(chosen)
        owner = {node: index for index in chosen for node in problem.candidates[index].inside}
        self.after: dict[int, set[int]] = {index: set() for index in chosen}
        for tensor in problem.tensors:
            if tensor.maker != HOST:
                maker = owner[tensor.maker]
                self.after[maker].update(owner[node] for node in tensor.readers if owner[node] != maker)

    def target(self, group: set[int]) -> str:
        return self.problem.candidates[next(iter(group))].target

    def nodes(self, group: set[int]) -> int:
        bits = 0
        for index in group:
            bits |= self.problem.candidates[index].bits
        return bits

    def pairs(self) -> list[tuple[int, int]]:
        """Neighbours on one target that can be one."""
        return [
            (upper, lower)
            for upper in self.chosen
            for lower in sorted(self.after[upper])
            if self._same_target(upper, lower) and self._closed({upper, lower})
        ]

    def groups(self) -> list[set[int]]:
        """The largest groups of neighbours on one target: pairs joined one after another as long as they can be one."""
        group_of = {index: {index} for index in self.chosen}
        for upper in self.chosen:
            for lower in sorted(self.after[upper]):
                joined = group_of[upper] | group_of[lower]
                if group_of[upper] is not group_of[lower] and self._same_target(upper, lower) and self._closed(joined):
                    for index in joined:
                        group_of[index] = joined
        distinct = {id(group): group for group in group_of.values()}
        return [group for group in distinct.values() if len(group) > 1]

    def _same_target(self, upper: int, lower: int) -> bool:
        target = self.problem.candidates[upper].target
        return target == self.problem.candidates[lower].target and target != HOST_NAME

    def _closed(self, group: set[int]) -> bool:
        """Whether no way leads out of `group` and back in."""
        waiting = [end for index in group for end in self.after[index] if end not in group]
        seen = set(waiting)
        while waiting:
            for end in self.after[waiting.pop()]:
                if end in group:
                    return False
                if end not in seen:
                    seen.add(end)
                    waiting.append(end)
        return True
