"""`solve`: search a problem under constraints for the fastest plan, or say why there is none.

`SEARCHERS` lists the searchers; the file of each says what it is for. `searcher_of` reads the one that a user names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..errors import CollageError, InfeasibleError
from .conflict import Feasibility, find_conflict
from .constraints.constraint_text import constraint_text
from .constraints.constraints import Constraint, allowed_indices, uncovered, violations, with_staying
from .decomposition.exact import astar, dijkstra
from .plan_properties import is_copied
from .problem import HOST_NAME, SearchProblem
from .searcher import QUIET, Searcher, SearchResult, SearchRun
from .searchers.evolutionary import evolutionary, evolve, parse_evolution
from .searchers.greedy import greedy
from .searchers.milp import milp
from .searchers.op_dp import op_dp
from .searchers.random_plan import random_plans

SEARCHERS: Mapping[str, Searcher] = {
    "astar": astar,
    "dijkstra": dijkstra,
    "milp": milp,
    "op_dp": op_dp,
    "evolutionary": evolutionary,
    "greedy": greedy,
    "random": random_plans,
}
DEFAULT = "astar"

CONFLICTS_NAMED = 6
"""How many of the constraints that collide a message names in words."""


def searcher_of(text: str) -> Searcher:
    """Return the searcher that `text` names; that of ``evolutionary:population=100,plans=50000`` has these settings (`parse_evolution`).

    Raises:
        CollageError: there is no such searcher, or it has no such setting.
    """
    name, colon, settings = text.partition(":")
    if name not in SEARCHERS:
        raise CollageError(f"unknown search {text!r}", f"choose one of {', '.join(SEARCHERS)}", "unknown_search")
    if not colon:
        return SEARCHERS[name]
    if name != "evolutionary":
        raise CollageError(f"the search {name!r} has no settings, and {text!r} gives some", "evolutionary has some", "unknown_search")
    return partial(evolve, settings=parse_evolution(settings))


def solve(
    problem: SearchProblem,
    constraints: Sequence[Constraint] = (),
    search: str = DEFAULT,
    run: SearchRun = QUIET,
) -> SearchResult:
    """Return a plan for `problem` that holds every constraint; with an exact searcher, a best one.

    Raises:
        CollageError: `search` names no searcher (`searcher_of`).
        InfeasibleError: there is no plan, or none was found; the message says which. When there is none, the error has a minimal
            set of colliding constraints, or the nodes that no candidate covers.
    """
    searcher, problem = searcher_of(search), with_staying(problem, constraints)
    allowed = _of_known_cost(problem, allowed_indices(problem, constraints))
    result = searcher(problem, allowed, run)
    if is_copied(problem, result.chosen):
        result = replace(result, chosen=(), total=0, optimal=False)
    if result.is_feasible:
        return result
    fallback = _quick(problem, allowed) if result.stopped else None
    if fallback is None:
        raise _not_found(search, result) if is_feasible(problem, constraints) else infeasible(problem, constraints)
    return replace(result, chosen=fallback.chosen, total=fallback.total)


def _not_found(search: str, result: SearchResult) -> InfeasibleError:
    if result.stopped:
        return InfeasibleError("the time was over before any plan was found, though there is one", "give it more with --time-limit")
    return InfeasibleError(f"the search {search!r} found no plan, though there is one", f"search with {DEFAULT}, which finds it")


def _of_known_cost(problem: SearchProblem, allowed: Sequence[int]) -> Sequence[int]:
    """Return those of known cost where they are seen to cover the model: a plan with nodes of unknown cost is behind any without."""
    known = [index for index in allowed if not problem.candidates[index].is_unknown]
    return known if len(known) == len(allowed) or _quick(problem, known) else allowed


def _quick(problem: SearchProblem, allowed: Sequence[int]) -> SearchResult | None:
    """Return the best of the greedy plans over all targets and over each target alone; None when none of them covers the model."""
    targets = dict.fromkeys(problem.candidates[index].target for index in allowed)
    pools = [allowed, *([i for i in allowed if problem.candidates[i].target in (target, HOST_NAME)] for target in targets)]
    plans = [plan for plan in (greedy(problem, pool) for pool in pools) if plan.is_feasible and not is_copied(problem, plan.chosen)]
    return min(plans, key=lambda plan: plan.total, default=None)


def is_feasible(problem: SearchProblem, constraints: Sequence[Constraint]) -> bool:
    """Return whether any plan holds `constraints`."""
    return Feasibility(problem, violations(problem, constraints), constraints).holds((1 << len(constraints)) - 1)


def infeasible(problem: SearchProblem, constraints: Sequence[Constraint]) -> InfeasibleError:
    """Return the error that says why there is no plan; constraints are named only when there is a plan without them."""
    conflict = find_conflict(problem, constraints)
    blamed = constraints if conflict else ()
    open_nodes = uncovered(problem, [problem.candidates[index] for index in allowed_indices(problem, blamed)])
    if conflict:
        return _colliding(problem, [(index, constraints[index]) for index in conflict], open_nodes)
    if open_nodes:
        names = ", ".join(" ".join(problem.names[node].split()) if problem.names else str(node) for node in open_nodes[:5])
        more = f" and {len(open_nodes) - 5} more" if len(open_nodes) > 5 else ""
        return InfeasibleError(
            f"no target can take {names}{more}", "add a target that can; `collage candidates` says why each cannot", uncovered=open_nodes
        )
    return InfeasibleError("the candidates cannot be put together to cover the model", "add a target, or allow deeper candidates")


def _colliding(problem: SearchProblem, conflict: Sequence[tuple[int, Constraint]], uncovered: list[int]) -> InfeasibleError:
    """The error that names constraints by their index among those given and in words, and targets that are switched off by their name."""
    listed = [(index, constraint) for index, constraint in conflict if not constraint.switches_off]
    off = [constraint.target for _, constraint in conflict if constraint.switches_off and constraint.target is not None]
    words = [f"{index} ({constraint_text(problem, constraint)})" for index, constraint in listed[:CONFLICTS_NAMED]]
    words += [f"{len(listed) - len(words)} more"] if len(listed) > len(words) else []
    what, targets = f"the {'constraint' if len(listed) == 1 else 'constraints'} {', '.join(words)}", ", ".join(map(repr, off))
    if not off:
        message, hint = (f"{what} cannot hold", "drop it") if len(listed) == 1 else (f"{what} cannot hold together", "drop one of them")
    elif listed:
        message, hint = f"{what} cannot hold with {targets} switched off", "drop one of them, or switch a target on"
    else:
        message, hint = f"no plan is left with {targets} switched off", "switch a target on"
    return InfeasibleError(message, hint, conflict=[index for index, _ in listed], switched_off=off, uncovered=uncovered)
