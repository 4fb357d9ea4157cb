"""Searches a problem file: the document of `collage search`.

A file and a `SearchRequest` enter; plain data leaves, as docs/files.md ("A problem") and docs/search.md describe it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..base.json_file import read_json
from ..documents.json_form import to_json
from ..errors import CollageError, InfeasibleError
from ..pipeline.placement import placement
from ..pipeline.plan_documents import result_document
from ..search.alternatives.pareto import pareto
from ..search.alternatives.regret import regret_intervals
from ..search.constraints.constraints import Constraint, allowed_indices, parse_constraints, with_staying
from ..search.objective_search import k_best_for, solve_for
from ..search.objectives import measures, parse_objective
from ..search.problem import FEMTOSECONDS, SearchProblem
from ..search.problem_json import problem_from_json
from ..search.prune import prune
from ..search.searcher import SearchResult, SearchRun
from ..search.solve import DEFAULT, solve
from ..search.source_lines import ProblemMistake

MOST_LISTED = 10_000
"""Most plans that ``--best`` lists."""


@dataclass(frozen=True)
class SearchRequest:
    """The options of `collage search`.

    Attributes:
        search: Name of the searcher.
        objective: Quantity that plans are chosen by, as text.
        regret: Whether to compute the regret of every candidate.
        pareto: Whether to list the plans of which no other is both faster and moves fewer bytes.
        best: Number of best plans to list.
        prune: Whether to search only the candidates that the pruning heuristic of the C++ original keeps, and to compute the loss.
        time_limit_s: Seconds after which the search returns its best plan so far; None for no limit.
        seed: Seed of the searchers evolutionary and random.
    """

    search: str = DEFAULT
    objective: str = "time"
    regret: bool = False
    pareto: bool = False
    best: int = 0
    prune: bool = False
    time_limit_s: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.best <= MOST_LISTED:
            raise CollageError(f"--best is {self.best}, it must be from 1 to {MOST_LISTED}", "", "bad_option")
        if self.time_limit_s is not None and not 0 < self.time_limit_s < float("inf"):
            raise CollageError(f"--time-limit is {self.time_limit_s:g}, it must be more than 0", "", "bad_option")
        if self.regret and not parse_objective(self.objective).is_time:
            raise CollageError("--regret is one of time, it cannot be combined with --objective", "leave one of them out", "bad_option")

    def run(self) -> SearchRun:
        """Return the settings of the search, whose time limit begins now."""
        return SearchRun(seed=self.seed) if self.time_limit_s is None else SearchRun.for_seconds(self.time_limit_s, self.seed)


def solve_file(path: Path, request: SearchRequest) -> dict[str, Any]:
    """Return the document of `collage search` for the problem file `path`; ``plan`` is None where there is no plan."""
    text, data = read_json(path, "bad_problem", "`collage partition --save-problem FILE` writes one")
    try:
        problem = problem_from_json(data)
        constraints = parse_constraints(data.get("constraints", []), problem)
    except ProblemMistake as error:
        raise error.in_file(path, text) from error
    document: dict[str, Any] = {
        "schema": 1,
        "objective": request.objective,
        "search": None,
        "plan": None,
        "measures": None,
        "regret": [],
        "regret_at_least": [],
        "regret_at_most": [],
        "regret_exact": None,
        "plans": [],
        "pareto": None,
        "prune": None,
        "conflict": [],
        "uncovered": [],
        "unknown": [index for index, candidate in enumerate(problem.candidates) if candidate.is_unknown],
        "error": None,
    }
    try:
        _solve_into(document, problem, constraints, request)
    except InfeasibleError as error:
        document["search"] = {"algorithm": request.search}
        document["conflict"], document["uncovered"], document["error"] = error.conflict, error.uncovered, error.message
    return document


def _solve_into(document: dict[str, Any], problem: SearchProblem, constraints: Sequence[Constraint], request: SearchRequest) -> None:
    objective, run = parse_objective(request.objective), request.run()
    best = solve_for(problem, objective, constraints, request.search, run)
    if request.prune:
        best, document["prune"] = _pruned(problem, constraints, request, run, best)
    document["search"] = to_json(result_document(best))
    document["plan"] = _plan(problem, best)
    document["measures"] = measures(problem, best.chosen).to_json()
    if request.regret:
        reference = best if best.optimal or request.time_limit_s else solve(problem, constraints)
        values = regret_intervals(problem, constraints, reference, run)
        document["regret_at_least"] = lows = [None if value is None else value.low / FEMTOSECONDS for value in values]
        is_unknown = [value is not None and value.rests_on_unknown for value in values]
        document["regret"] = [None if unknown else low for low, unknown in zip(lows, is_unknown, strict=True)]
        document["regret_at_most"] = [None if value is None or value.high is None else value.high / FEMTOSECONDS for value in values]
        document["regret_exact"] = all(value is None or value.is_exact for value in values)
    if request.best:
        plans = k_best_for(problem, objective, constraints, request.best, run)
        document["plans"] = [_listed(problem, plan.chosen) for plan in plans]
    if request.pareto:
        listed = pareto(with_staying(problem, constraints), allowed_indices(problem, constraints), run)
        document["pareto"] = {"complete": listed.is_complete, "plans": [_listed(problem, plan.chosen) for plan in listed.plans]}


def _plan(problem: SearchProblem, found: SearchResult) -> dict[str, Any]:
    """Return the plan as the document has it; where tensors are, and what they cost there, only if the problem has locations."""
    plan: dict[str, Any] = {"total_s": found.total / FEMTOSECONDS, "chosen": list(found.chosen)}
    if not problem.locations and not problem.target_locations:
        return plan
    placed = placement(problem, found.chosen)
    return {
        **plan,
        "copies": [to_json(copy) for copy in placed["copies"] or ()],
        "memory": {held.location: to_json(held) for held in placed["memory"]},
        "parallel": to_json(placed["parallel"]),
    }


def _pruned(
    problem: SearchProblem, constraints: Sequence[Constraint], request: SearchRequest, run: SearchRun, whole: SearchResult
) -> tuple[SearchResult, dict[str, Any]]:
    """Return the best plan of the kept candidates (of all, where those have none), and the loss against `whole`."""
    problem, usable = with_staying(problem, constraints), allowed_indices(problem, constraints)
    kept = prune(problem, usable)
    found = whole
    pruning: dict[str, Any] = {
        "candidates": len(usable),
        "kept": len(kept),
        "total_s": None,
        "unpruned_total_s": whole.total / FEMTOSECONDS,
    }
    try:
        smaller = problem.with_candidates([problem.candidates[index] for index in kept])
        part = solve_for(smaller, parse_objective(request.objective), (), request.search, run)
        found = replace(part, chosen=tuple(kept[index] for index in part.chosen))
        pruning["total_s"] = found.total / FEMTOSECONDS
    except InfeasibleError:
        pass  # The document says so: it has no total.
    pruning["loss_s"] = None if pruning["total_s"] is None else (found.total - whole.total) / FEMTOSECONDS
    return found, pruning


def _listed(problem: SearchProblem, chosen: Sequence[int]) -> dict[str, Any]:
    has = measures(problem, chosen)
    return {"total_s": has.time / FEMTOSECONDS, "chosen": list(chosen), "measures": has.to_json()}
