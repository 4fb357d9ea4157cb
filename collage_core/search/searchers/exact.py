"""`astar` and `dijkstra`: the searchers that prove their plan by walking over states."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..decomposition.separators import find_separators
from ..decomposition.subproblem import TooManyWays
from ..decomposition.subproblem_search import SubproblemSearch
from ..problem import SearchProblem
from ..result import cycle, plan_total
from ..searcher import QUIET, SearchResult, SearchRun
from .best_first import walk_whole


def astar(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """A best plan, by costs that prices reduce, and part by part where the problem falls apart."""
    result = _by_parts(problem, usable, run) or walk_whole("astar", problem, usable, run, is_guided=True)
    run.reporter.end(result)
    return result


def dijkstra(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """A best plan, as the seeds find it: over the whole, and nothing is known of what is still to come."""
    result = walk_whole("dijkstra", problem, usable, run, is_guided=False)
    run.reporter.end(result)
    return result


def _by_parts(problem: SearchProblem, usable: Sequence[int], run: SearchRun) -> SearchResult | None:
    """A best plan, or None where the problem is better searched as a whole.

    That is where it does not fall apart; where one choice forbids another far away; where somebody wants to see every state;
    and where it was stopped, for then the whole has a plan to show.
    """
    used = {problem.candidates[index].target for index in usable}
    if run.reporter.traces or any(set(pair) <= used for pair in problem.exclusive):
        return None
    began = time.perf_counter()
    cuts = find_separators(problem, usable)
    if len(cuts.positions) < 3:
        return None
    search = SubproblemSearch(problem, usable, cuts, run)
    try:
        found = search.solve()
    except TooManyWays:
        return None
    if found is None or cycle(problem, found) is not None:
        return None
    total = plan_total(problem, found)
    run.reporter.better_plan(found, total)
    tally, seconds = search.tally, time.perf_counter() - began
    return SearchResult("astar", found, total, True, total, tally.states, tally.transitions, seconds)
