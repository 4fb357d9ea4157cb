"""Phase 3: the cheapest well-formed plan, why, and what else there was. Plain data in, plain data out (see README.md)."""

from .constraints import Constraint, parse_constraints
from .problem import FEMTOSECONDS, HOST_NAME, FlowTensor, SearchCandidate, SearchProblem, Transition, femtoseconds, problem_from_json
from .result import SearchReporter, SearchResult, cycle, plan_total, plan_transitions
from .solve import DEFAULT, SEARCHERS, allowed_indices, infeasible, is_feasible, regrets, solve

__all__ = [
    "DEFAULT",
    "FEMTOSECONDS",
    "HOST_NAME",
    "SEARCHERS",
    "Constraint",
    "FlowTensor",
    "SearchCandidate",
    "SearchProblem",
    "SearchReporter",
    "SearchResult",
    "Transition",
    "allowed_indices",
    "cycle",
    "femtoseconds",
    "infeasible",
    "is_feasible",
    "parse_constraints",
    "plan_total",
    "plan_transitions",
    "problem_from_json",
    "regrets",
    "solve",
]
