"""Phase 3: the cheapest well-formed plan, why, and what else there was. Plain data in, plain data out (see README.md)."""

from .conflict import find_conflict
from .constraints import Constraint, allowed_indices, parse_constraints
from .k_best import k_best, plans_in_order
from .lines import ProblemMistake
from .merge import neighbours_as_one
from .objective_search import k_best_for, solve_for
from .objectives import Objective, PlanMeasures, measures, parse_objective
from .pareto import ParetoList, pareto
from .problem import FEMTOSECONDS, HOST_NAME, FlowTensor, SearchCandidate, SearchProblem, Transition, femtoseconds, problem_from_json
from .prune import prune
from .regret import Regret, Regrets, regret_intervals, regrets, regrets_within
from .result import cycle, plan_total, plan_transitions
from .searcher import Searcher, SearchReporter, SearchResult, SearchRun, after, never
from .solve import DEFAULT, SEARCHERS, infeasible, is_feasible, solve

__all__ = [
    "DEFAULT",
    "FEMTOSECONDS",
    "HOST_NAME",
    "SEARCHERS",
    "Constraint",
    "FlowTensor",
    "Objective",
    "ParetoList",
    "PlanMeasures",
    "ProblemMistake",
    "Regret",
    "Regrets",
    "SearchCandidate",
    "SearchProblem",
    "SearchReporter",
    "SearchResult",
    "SearchRun",
    "Searcher",
    "Transition",
    "after",
    "allowed_indices",
    "cycle",
    "femtoseconds",
    "find_conflict",
    "infeasible",
    "is_feasible",
    "k_best",
    "k_best_for",
    "measures",
    "neighbours_as_one",
    "never",
    "pareto",
    "parse_constraints",
    "parse_objective",
    "plan_total",
    "plan_transitions",
    "plans_in_order",
    "problem_from_json",
    "prune",
    "regret_intervals",
    "regrets",
    "regrets_within",
    "solve",
    "solve_for",
]
