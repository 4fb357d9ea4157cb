"""`greedy`: partitioning as TVM does it: target by target in the order of priority, each takes its largest sub-graphs first.

RFC 62 (Collage), "Motivation". It looks at no cost and is the baseline for the other searchers. It takes little more time than
sorting the candidates, so it never looks at the clock.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..constraints.exclusion import exclusions_of
from ..plan_properties import plan_total
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from .contraction import Contraction


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
