"""`random`: the best of many random plans, against which the other heuristics are measured.

At the first uncovered node each candidate that fits is equally likely. The same seed gives the same plan.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import partial

from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from .candidate_pool import CandidatePool, Value

PLANS = 1000
"""Number of random plans."""


def random_plans(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """Return the best of `PLANS` random plans over the candidates `usable`; ``chosen`` is empty when no attempt gave a plan."""
    began = time.perf_counter()
    pool, draw = CandidatePool(problem, usable), random.Random(run.seed)
    best: tuple[int, ...] = ()
    least: Value | None = None
    tried, stopped = 0, False
    while tried < PLANS and not stopped:
        tried += 1
        plan = pool.complete((), draw.choice)
        if plan is not None:
            value = pool.value(plan)
            if least is None or value < least:
                best, least = plan, value
                run.reporter.better_plan(plan, value[1])
        run.reporter.progress(tried, tried, 0, problem.nodes, 0, least[1] if least else None, partial(tuple, plan or ()))
        stopped = run.should_stop()
    total = least[1] if least else 0
    result = SearchResult("random", best, total, False, 0, tried, tried, time.perf_counter() - began, stopped)
    run.reporter.end(result)
    return result
