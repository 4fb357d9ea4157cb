"""`astar` and `dijkstra`: the searchers that prove their plan by best-first search."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from ..plan_properties import cycle, plan_total
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from ..searchers.best_first import search_whole
from .separators import find_separators
from .subproblem import TooManyLeavings
from .subproblem_search import SubproblemSearch, TooDear

DEAR = 4
"""Subproblems that weigh so many times the problem's candidates are dear: in those of most models no candidate counts more than twice."""
STATES_OF_A_TRY = 10_000
"""States in which the whole is tried where subproblems are dear; where one toolchain is best for all, a tenth of them are enough."""


def astar(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """Return a best plan, found with weights reduced by dual prices, and by subproblems where the problem can be decomposed."""
    try:
        decomposed = _decomposed(problem, usable, run)
    except TooManyLeavings:
        decomposed = None
    result = decomposed or search_whole("astar", problem, usable, run, is_guided=True)
    run.reporter.end(result)
    return result


def dijkstra(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """Return a best plan as RFC 62 describes it: over the whole problem, and without any bound for what is still to come."""
    result = search_whole("dijkstra", problem, usable, run, is_guided=False)
    run.reporter.end(result)
    return result


def _decomposed(problem: SearchProblem, usable: Sequence[int], run: SearchRun) -> SearchResult | None:
    """Return a best plan found by subproblems, or None when the problem has to be searched as a whole.

    The whole is searched when there is no separator; when targets exclude each other, since a choice then forbids others far
    away; when a tensor has to stay; when the reporter traces every state; and when this search was stopped, because the whole then
    has a plan to show. It is tried before the rest of subproblems that are dear.

    Raises:
        TooManyLeavings: the whole has to be searched, too.
    """
    used = {problem.candidates[index].target for index in usable}
    if run.reporter.traces or problem.staying or any(set(pair) <= used for pair in problem.exclusive):
        return None
    began = time.perf_counter()
    separators = find_separators(problem, usable)
    if len(separators.positions) < 3:
        return None
    search = SubproblemSearch(problem, usable, separators, run)
    try:
        found = search.solve(DEAR * len(usable))
    except TooDear:
        tried = _tried_whole(problem, usable, run)
        if tried.optimal:
            return tried
        found = search.solve()
    if found is None or cycle(problem, found) is not None:
        return None
    total = plan_total(problem, found)
    run.reporter.better_plan(found, total)
    tally, seconds = search.tally, time.perf_counter() - began
    return SearchResult("astar", found, total, True, total, tally.states, tally.moves, seconds)


def _tried_whole(problem: SearchProblem, usable: Sequence[int], run: SearchRun) -> SearchResult:
    most_states = STATES_OF_A_TRY if run.most_states is None else min(STATES_OF_A_TRY, run.most_states)
    return search_whole("astar", problem, usable, replace(run, most_states=most_states), is_guided=True)
