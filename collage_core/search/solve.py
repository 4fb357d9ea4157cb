"""The one way into phase 3: a problem and its constraints in, a plan or the reason why there is none out.

What each searcher is for stands in its own file. Plain data in, plain data out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import CollageError, InfeasibleError
from .best_first import EXACT, best_first
from .constraints import Constraint, minimal_conflict, uncovered
from .greedy import greedy
from .problem import SearchProblem
from .result import SearchReporter, SearchResult

SEARCHERS = (*EXACT, "greedy")
DEFAULT = "astar"


def solve(
    problem: SearchProblem,
    constraints: Sequence[Constraint] = (),
    search: str = DEFAULT,
    *,
    reporter: SearchReporter | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """A plan for `problem` that holds every constraint; with an exact searcher a best one.

    Raises:
        CollageError: `search` is no searcher.
        InfeasibleError: there is no plan; it names a minimal set of constraints that collide, or the nodes left uncovered.
    """
    if search not in SEARCHERS:
        raise CollageError(f"unknown search {search!r}", f"choose one of {', '.join(SEARCHERS)}", "unknown_search")
    allowed = allowed_indices(problem, constraints)
    if search == "greedy":
        result = greedy(problem, allowed)
    else:
        result = best_first(problem, allowed, guided=EXACT[search], reporter=reporter, should_stop=should_stop)
    if not result.is_feasible and not (should_stop is not None and should_stop()):
        raise infeasible(problem, constraints)
    return result


def allowed_indices(problem: SearchProblem, constraints: Sequence[Constraint]) -> list[int]:
    """Indices of the candidates that every constraint allows."""
    return [index for index, candidate in enumerate(problem.candidates) if all(constraint.allows(candidate) for constraint in constraints)]


def is_feasible(problem: SearchProblem, constraints: Sequence[Constraint]) -> bool:
    """Whether any plan holds `constraints`."""
    allowed = allowed_indices(problem, constraints)
    if uncovered(problem, [problem.candidates[index] for index in allowed]):
        return False
    return best_first(_unpriced(problem), allowed).is_feasible


def infeasible(problem: SearchProblem, constraints: Sequence[Constraint]) -> InfeasibleError:
    """Why there is no plan."""
    allowed = [problem.candidates[index] for index in allowed_indices(problem, constraints)]
    bare = uncovered(problem, allowed)
    conflict = minimal_conflict(constraints, lambda some: is_feasible(problem, some))
    if conflict:
        which = ", ".join(str(index) for index in conflict)
        return InfeasibleError(f"the constraints {which} cannot hold together", "drop one of them", conflict=conflict, uncovered=bare)
    if bare:
        names = ", ".join(problem.names[node] if problem.names else str(node) for node in bare[:5])
        more = f" and {len(bare) - 5} more" if len(bare) > 5 else ""
        return InfeasibleError(
            f"no target can take {names}{more}", "add a target that can; `collage candidates` says why each cannot", uncovered=bare
        )
    return InfeasibleError("the candidates cannot be put together to cover the model", "add a target, or allow deeper candidates")


def _unpriced(problem: SearchProblem) -> SearchProblem:
    """The same problem with nothing to pay: only whether it can be covered is asked."""
    free = tuple(replace(candidate, cost=0) for candidate in problem.candidates)
    return replace(problem, candidates=free, transitions={})


def regrets(problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult) -> list[int | None]:
    """For every candidate: the least total of a plan that holds it, less the least total, in femtoseconds.

    None for one that is in no plan. Exact: each is asked of a search in which it is pinned.
    """
    chosen = set(best.chosen)
    allowed = allowed_indices(problem, constraints)
    made: list[int | None] = [None] * len(problem.candidates)
    for index in allowed:
        if index in chosen:
            made[index] = 0
            continue
        bits = problem.candidates[index].bits
        rest = [other for other in allowed if other == index or not problem.candidates[other].bits & bits]
        held = best_first(problem, rest)
        made[index] = held.total - best.total if held.is_feasible else None
    return made


__all__ = ["DEFAULT", "SEARCHERS", "allowed_indices", "infeasible", "is_feasible", "regrets", "solve"]
