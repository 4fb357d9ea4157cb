"""`greedy`: what TVM's partitioning does today: toolchain by toolchain in order of priority, each taking its largest sub-graphs.

Seeds: RFC 62 (0.81), "Motivation". It looks at no cost; it is the baseline that the search is compared with. It takes
little more time than it takes to sort the candidates, so it is not asked to stop.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..constraints.exclusion import rivals_of
from ..problem import SearchProblem
from ..result import plan_total
from ..searcher import QUIET, SearchResult, SearchRun
from .contraction import Contraction


def greedy(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """The greedy plan over the candidates `usable`; ``chosen`` is empty when it does not cover every node."""
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
    rivals = rivals_of(problem, targets)

    def rank(index: int) -> tuple[int, int, int, int]:
        inside = candidates[index].inside
        return priority[candidates[index].target], -inside.rel.bit_count(), inside.base, inside.rel

    covered, left, excluded = 0, problem.nodes, set[str]()
    first_is_taken = bytearray(problem.nodes)
    plan = Contraction(problem)
    chosen: list[int] = []
    for index in sorted(usable, key=rank):
        inside, target = candidates[index].inside, candidates[index].target
        if first_is_taken[inside.base] or covered >> inside.base & inside.rel or target in excluded or not plan.admits(inside):
            continue
        plan.add(inside)
        chosen.append(index)
        covered |= inside.bits
        left -= len(inside)
        excluded |= rivals[target]
        for node in inside:
            first_is_taken[node] = 1
        if not left:
            break
    return () if left else tuple(sorted(chosen, key=lambda index: candidates[index].inside.base))
