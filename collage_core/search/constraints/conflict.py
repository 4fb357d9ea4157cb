"""Which constraints cannot hold together: a smallest set, and whether a set can be held at all, without asking for costs.

Design, "Constraints". Whether a plan exists is a question of reach, not of cost. A node that some candidate takes alone never
stands in the way: whatever the others do, it is left to that one. So only candidates around the other nodes are looked at,
along the nodes in their order, with what they cover ahead as the state. Targets that exclude each other are asked set by set.
Only where the cover that comes out has a cycle between its partitions an exact search is asked, which knows of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..problem import SearchProblem
from ..result import cycle, may_loop
from ..searchers.exact import astar
from .constraints import Constraint, violations
from .exclusion import compatible_sets, rivals_of

Layer = dict[int, tuple[int, int, int]]
"""Nodes covered ahead → (node, nodes covered ahead there, candidate placed there or -1) from which that is reached."""


def find_conflict(problem: SearchProblem, constraints: Sequence[Constraint]) -> list[int]:
    """Indices of constraints that cannot hold together, while without any one of them the rest can.

    Empty where all of them can be held, and where there is no plan even without any.
    """
    feasibility = Feasibility(problem, violations(problem, constraints))
    kept = (1 << len(constraints)) - 1
    if not feasibility.holds(0) or feasibility.holds(kept):
        return []
    for place in range(len(constraints)):
        without = kept & ~(1 << place)
        if not feasibility.holds(without):
            kept = without
    return [place for place in range(len(constraints)) if kept >> place & 1]


class Feasibility:
    """Answers whether a plan exists, for one problem and any of its constraints.

    Args:
        refused: Candidate → the constraints that refuse it, as bits; candidates that none refuses may be absent.
    """

    def __init__(self, problem: SearchProblem, refused: dict[int, int]):
        self._problem = problem
        self._refused = refused
        self._alone: list[list[int]] = [[] for _ in range(problem.nodes)]
        for index, candidate in enumerate(problem.candidates):
            if candidate.inside.rel == 1:
                self._alone[candidate.inside.base].append(index)
        self._holding: dict[int, set[int]] = {}

    def holds(self, constraints: int) -> bool:
        """Whether a plan exists that holds the constraints given as bits."""
        targets = list(dict.fromkeys(candidate.target for candidate in self._problem.candidates))
        excludes = any(rivals_of(self._problem, targets).values())
        if excludes and not self._reaches(constraints, frozenset(targets)):
            return False  # Not even if they did not exclude each other; of compatible sets there may be very many.
        return any(self._reaches(constraints, together) for together in compatible_sets(self._problem, targets))

    def _allows(self, index: int, constraints: int, together: frozenset[str]) -> bool:
        return not self._refused.get(index, 0) & constraints and self._problem.candidates[index].target in together

    def _reaches(self, constraints: int, together: frozenset[str]) -> bool:
        free: dict[int, int] = {}
        for node, row in enumerate(self._alone):
            index = next((index for index in row if self._allows(index, constraints, together)), None)
            if index is not None:
                free[node] = index
        hard = [node for node in range(self._problem.nodes) if node not in free]
        if not hard:
            return True
        self._look_up(hard)
        near = {index for node in hard for index in self._holding[node] if self._allows(index, constraints, together)}
        chosen = self._cover(free, near)
        if chosen is None:
            return False
        if cycle(self._problem, chosen) is None:
            return True
        tame = self._cover(free, near - may_loop(self._problem, sorted(near)))
        if tame is not None and cycle(self._problem, tame) is None:
            return True
        # One candidate for each free node is enough: a plan whose other partitions are split into these has no new cycle.
        return astar(_unpriced(self._problem), sorted(near.union(free.values()))).is_feasible

    def _look_up(self, nodes: Sequence[int]) -> None:
        """Know the candidates that hold `nodes`."""
        new = [node for node in nodes if node not in self._holding]
        self._holding.update((node, set()) for node in new)
        bits = sum(1 << node for node in new)
        for index, candidate in enumerate(self._problem.candidates if new else ()):
            inside = candidate.inside
            touched = bits >> inside.base & inside.rel
            while touched:
                low = touched & -touched
                self._holding[inside.base + low.bit_length() - 1].add(index)
                touched ^= low

    def _cover(self, free: dict[int, int], near: set[int]) -> list[int] | None:
        """A cover of all nodes by the candidates `near`, and by those that take a node alone; None where there is none."""
        beginning: dict[int, list[int]] = {}
        for index in sorted(near):
            beginning.setdefault(self._problem.candidates[index].inside.base, []).append(index)
        layers: list[Layer] = [{0: (-1, 0, -1)}]
        for node in range(self._problem.nodes):
            after: Layer = {}
            for ahead in layers[node]:
                if ahead & 1:
                    after.setdefault(ahead >> 1, (node, ahead, -1))
                    continue
                if node in free:
                    after.setdefault(ahead >> 1, (node, ahead, free[node]))
                for index in beginning.get(node, ()):
                    rel = self._problem.candidates[index].inside.rel
                    if not ahead & rel:
                        after.setdefault((ahead | rel) >> 1, (node, ahead, index))
            layers.append(after)
        return _way_back(layers) if 0 in layers[-1] else None


def _way_back(layers: Sequence[Layer]) -> list[int]:
    chosen: list[int] = []
    node, ahead = len(layers) - 1, 0
    while node > 0:
        node, ahead, index = layers[node][ahead]
        if index >= 0:
            chosen.append(index)
    return chosen[::-1]


def _unpriced(problem: SearchProblem) -> SearchProblem:
    """The same problem with nothing to pay."""
    free = tuple(replace(candidate, cost=0) for candidate in problem.candidates)
    return replace(problem, candidates=free, transitions={})
