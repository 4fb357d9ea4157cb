"""Phase 3: the cheapest well-formed plan, why, and what else there was. Plain data in, plain data out (see README.md)."""

from .constraints import Constraint, allowed_indices, parse_constraints
from .k_best import k_best, plans_in_order
from .merge import neighbours_as_one
from .problem import FEMTOSECONDS, HOST_NAME, FlowTensor, SearchCandidate, SearchProblem, Transition, femtoseconds, problem_from_json
from .regret import Regret, regret_intervals, regrets, regrets_of, regrets_within
from .result import cycle, plan_total, plan_transitions
from .searcher import Searcher, SearchReporter, SearchResult, SearchRun
from .solve import DEFAULT, SEARCHERS, infeasible, is_feasible, solve

__all__ = [
    "DEFAULT",
    "FEMTOSECONDS",
    "HOST_NAME",
    "SEARCHERS",
    "Constraint",
    "FlowTensor",
    "Regret",
    "SearchCandidate",
    "SearchProblem",
    "SearchReporter",
    "SearchResult",
    "SearchRun",
    "Searcher",
    "Transition",
    "allowed_indices",
    "cycle",
    "femtoseconds",
    "infeasible",
    "is_feasible",
    "k_best",
    "neighbours_as_one",
    "parse_constraints",
    "plan_total",
    "plan_transitions",
    "plans_in_order",
    "problem_from_json",
    "regret_intervals",
    "regrets",
    "regrets_of",
    "regrets_within",
    "solve",
]
