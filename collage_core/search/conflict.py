"""Conflicts: minimal sets of constraints that cannot hold together, and whether any plan holds a set, whatever the costs.

A node that some candidate holds alone never prevents a plan: whatever the others do, that candidate can take it. So only the
candidates around the other nodes matter. They are placed along the nodes in their order; the state is the set of later nodes that
they cover. Each largest set of targets that do not exclude each other is tried by itself. When the cover that is found has a
cycle between its partitions, an exact search decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .constraints.constraints import Constraint, compatible_sets, exclusions_of, violations, with_staying
from .decomposition.exact import astar
from .plan_properties import cycle, may_loop
from .problem import FREE, SearchProblem

Layer = dict[int, tuple[int, int, int]]
"""Later nodes that are covered → (node, later nodes covered there, candidate placed there or -1) before the last step."""


def find_conflict(problem: SearchProblem, constraints: Sequence[Constraint]) -> list[int]:
    """Return indices of constraints that cannot hold together, although the rest can whichever one of them is dropped.

    Empty when all can hold, and when there is no plan even without constraints.
    """
    feasibility = Feasibility(problem, violations(problem, constraints), constraints)
    kept = (1 << len(constraints)) - 1
    if not feasibility.holds(0) or feasibility.holds(kept):
        return []
    for index in range(len(constraints)):
        without = kept & ~(1 << index)
        if not feasibility.holds(without):
            kept = without
    return [index for index in range(len(constraints)) if kept >> index & 1]


class Feasibility:
    """Tells whether a plan exists, for one problem and any subset of its constraints.

    Args:
        refused: Candidate → the constraints that refuse it, as bits; a candidate that none refuses may be absent.
        constraints: The constraints themselves, if some of them may make a tensor stay.
    """

    def __init__(self, problem: SearchProblem, refused: dict[int, int], constraints: Sequence[Constraint] = ()):
        self._problem = problem
        self._constraints = constraints
        self._refused = refused
        self._alone: list[list[int]] = [[] for _ in range(problem.nodes)]
        for index, candidate in enumerate(problem.candidates):
            if candidate.inside.rel == 1:
                self._alone[candidate.inside.base].append(index)
        self._holding: dict[int, set[int]] = {}

    def holds(self, constraints: int) -> bool:
        """Return whether some plan holds the constraints given as bits."""
        targets = list(dict.fromkeys(candidate.target for candidate in self._problem.candidates))
        has_exclusions = any(exclusions_of(self._problem, targets).values())
        if has_exclusions and not self._reaches(constraints, frozenset(targets)):
            return False  # There is none even without exclusions, and there may be very many compatible sets.
        if not any(self._reaches(constraints, together) for together in compatible_sets(self._problem, targets)):
            return False
        staying = with_staying(self._problem, [item for index, item in enumerate(self._constraints) if constraints >> index & 1])
        if staying is self._problem:
            return True
        allowed = [index for index in range(len(self._problem.candidates)) if not self._refused.get(index, 0) & constraints]
        return astar(replace(_without_costs(staying), exclusive=self._problem.exclusive), allowed).is_feasible

    def _allows(self, index: int, constraints: int, together: frozenset[str]) -> bool:
        return not self._refused.get(index, 0) & constraints and self._problem.candidates[index].target in together

    def _reaches(self, constraints: int, together: frozenset[str]) -> bool:
        """Return whether a plan holds the constraints and uses only the targets `together`, which do not exclude each other."""
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
        without_loops = self._cover(free, near - may_loop(self._problem, sorted(near)))
        if without_loops is not None and cycle(self._problem, without_loops) is None:
            return True
        # One candidate for each free node is enough: splitting other partitions of a plan into these makes no new cycle.
        return astar(_without_costs(self._problem), sorted(near.union(free.values()))).is_feasible

    def _look_up(self, nodes: Sequence[int]) -> None:
        """Add the candidates that hold `nodes` to `_holding`."""
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
        """Return a cover of all nodes by the candidates `near`, and by `free` for single nodes; None when there is none."""
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
        return _path_back(layers) if 0 in layers[-1] else None


def _path_back(layers: Sequence[Layer]) -> list[int]:
    chosen: list[int] = []
    node, ahead = len(layers) - 1, 0
    while node > 0:
        node, ahead, index = layers[node][ahead]
        if index >= 0:
            chosen.append(index)
    return chosen[::-1]


def _without_costs(problem: SearchProblem) -> SearchProblem:
    """Return the problem without costs, transitions, exclusions and limits: those who ask choose targets that exclude no other of them."""
    free = tuple(replace(candidate, cost=0) for candidate in problem.candidates)
    return replace(
        problem,
        candidates=free,
        transitions={},
        exclusive=(),
        copies=dict.fromkeys(problem.copies, FREE),
        locations=dict.fromkeys(problem.locations),
    )
