"""`greedy`: partitioning as TVM does it: target by target in the order of priority, each takes its largest sub-graphs first.

RFC 62 (Collage), "Motivation". It looks at no cost and is the baseline for the other searchers. It takes little more time than
sorting the candidates, so it never looks at the clock.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...graph.index_set import IndexSet
from ..boundaries import boundaries_of
from ..constraints.constraints import exclusions_of
from ..plan_properties import plan_total
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun


def greedy(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """Return the greedy plan over the candidates `usable`; ``chosen`` is empty when it does not cover every node."""
    began = time.perf_counter()
    chosen = _take_largest(problem, usable)
    total = plan_total(problem, chosen) if chosen else 0
    if chosen:
        run.reporter.better_plan(chosen, total)
    seconds = time.perf_counter() - began
    result = SearchResult("greedy", chosen, total, False, 0, len(chosen), len(usable), seconds)
    run.reporter.end(result)
    return result


def _take_largest(problem: SearchProblem, usable: Sequence[int]) -> tuple[int, ...]:
    candidates = problem.candidates
    targets = list(dict.fromkeys(candidates[index].target for index in usable))
    priority = {target: problem.priority(target) for target in targets}
    excluded_by = exclusions_of(problem, targets)

    def rank(index: int) -> tuple[int, int, int, int]:
        inside = candidates[index].inside
        return priority[candidates[index].target], -inside.rel.bit_count(), inside.base, inside.rel

    covered, left, excluded = 0, problem.nodes, set[str]()
    is_covered = bytearray(problem.nodes)
    plan = Contraction(problem)
    chosen: list[int] = []
    for index in sorted(usable, key=rank):
        inside, target = candidates[index].inside, candidates[index].target
        if is_covered[inside.base] or covered >> inside.base & inside.rel or target in excluded or not plan.admits(inside):
            continue
        plan.add(inside)
        chosen.append(index)
        covered |= inside.bits
        left -= len(inside)
        excluded |= excluded_by[target]
        for node in inside:
            is_covered[node] = 1
        if not left:
            break
    return () if left else tuple(sorted(chosen, key=lambda index: candidates[index].inside.base))


class Contraction:
    """A partial plan whose partitions can at every moment run one after another: no cycle leads through several of them.

    Nodes without a partition count as partitions of one node. Only a partition with several exits can be on a cycle
    (`plan_properties.may_loop`), so nothing is checked before there is one.
    """

    def __init__(self, problem: SearchProblem):
        self._boundaries = boundaries_of(problem)
        self._partition: dict[int, IndexSet] = {}
        self._several_exits: list[tuple[int, int]] = []
        """(least rank, greatest rank) of the nodes of each partition with several exits."""
        self._ranks: list[int] = []

    def admits(self, inside: IndexSet) -> bool:
        """Return whether the free nodes `inside` can be joined without a path that leaves them and comes back."""
        if inside.rel == 1 or (not self._several_exits and not self._boundaries.has_several_exits(inside)):
            return True
        return not self._returns(inside)

    def add(self, inside: IndexSet) -> None:
        """Join the nodes `inside`, which `admits` allowed."""
        if inside.rel == 1:
            return
        self._partition.update(dict.fromkeys(inside, inside))
        if self._boundaries.has_several_exits(inside):
            ranks = [self._rank(node) for node in inside]
            self._several_exits.append((min(ranks), max(ranks)))

    def _rank(self, node: int) -> int:
        """Return the position of `node` in a topological order."""
        if not self._ranks:
            self._ranks = [0] * self._boundaries.nodes
            for rank, ordered in enumerate(self._boundaries.order):
                self._ranks[ordered] = rank
        return self._ranks[node]

    def _limit(self, inside: IndexSet) -> int:
        """Return the rank past which no path leads back: only partitions with several exits lead to a node of lower rank."""
        limit = max(self._rank(node) for node in inside)
        grew = True
        while grew:
            grew = False
            for low, high in self._several_exits:
                if low < limit < high:
                    limit, grew = high, True
        return limit

    def _returns(self, inside: IndexSet) -> bool:
        """Return whether a path leaves the nodes `inside` and comes back to them."""
        boundaries, limit = self._boundaries, self._limit(inside)
        seen = set(inside)
        waiting = list(inside)
        while waiting:
            node = waiting.pop()
            is_outside = node not in inside
            for tensor in boundaries.makes[node]:
                for reader in boundaries.readers[tensor]:
                    if is_outside and reader in inside:
                        return True
                    if reader in seen or self._rank(reader) > limit:
                        continue
                    partition = self._partition.get(reader, (reader,))
                    seen.update(partition)
                    waiting.extend(partition)
        return False
