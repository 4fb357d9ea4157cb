"""`greedy`: what TVM's partitioning does today: toolchain by toolchain in order of priority, each taking its largest sub-graphs.

Seeds: RFC 62 (0.81), "Motivation". It looks at no cost; it is the baseline that the search is compared with.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from .problem import SearchProblem
from .result import cycle, plan_total
from .searcher import QUIET, SearchResult, SearchRun


def greedy(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """The greedy plan over the candidates `usable`; ``chosen`` is empty when it does not cover every node."""
    began = time.perf_counter()

    def rank(index: int) -> tuple[int, int, tuple[int, ...]]:
        candidate = problem.candidates[index]
        return problem.priority(candidate.target), -len(candidate.inside), tuple(candidate.inside)

    covered, used, tried = 0, set[str](), 0
    chosen: list[int] = []
    for index in sorted(usable, key=rank):
        candidate = problem.candidates[index]
        tried += 1
        if candidate.bits & covered or _excluded(problem, candidate.target, used):
            continue
        if len(candidate.inside) > 1 and cycle(problem, [*chosen, index]):
            continue
        chosen.append(index)
        covered |= candidate.bits
        used.add(candidate.target)
    chosen.sort(key=lambda index: problem.candidates[index].inside.base)
    is_full = covered == (1 << problem.nodes) - 1 and cycle(problem, chosen) is None
    total = plan_total(problem, chosen) if is_full else 0
    return SearchResult("greedy", tuple(chosen) if is_full else (), total, False, 0, len(chosen), tried, time.perf_counter() - began)


def _excluded(problem: SearchProblem, target: str, used: set[str]) -> bool:
    return any(target in pair and (set(pair) - {target}) & used for pair in problem.exclusive)
