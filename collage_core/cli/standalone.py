"""What single commands do without a run: search a problem file, run an artifact, list the toolchains. Documents out."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.isolation.errors import WorkerError
from ..base.isolation.worker import Worker
from ..base.json_file import read_json
from ..errors import CollageError, InfeasibleError
from ..pipeline.plan_documents import result_document
from ..search.alternatives.pareto import pareto
from ..search.alternatives.regret import regret_intervals
from ..search.constraints.constraints import Constraint, allowed_indices, parse_constraints
from ..search.objectives import measures, parse_objective
from ..search.problem import FEMTOSECONDS, SearchProblem, problem_from_json
from ..search.problem_lines import ProblemMistake
from ..search.prune import prune
from ..search.searcher import SearchResult, SearchRun
from ..search.searchers.objective_search import k_best_for, solve_for
from ..search.solve import DEFAULT, solve
from ..toolchains.base import shown_rules
from ..toolchains.registry import all_toolchains

RUN_TIMEOUT_S = 600.0
MOST_LISTED = 10_000
"""Of the best plans, the most that are listed."""


@dataclass(frozen=True)
class SearchRequest:
    """What `collage search` was asked for, beside the problem.

    Attributes:
        search: Name of the searcher.
        objective: What plans are chosen by, as text.
        regret: The regret of every candidate too.
        pareto: The plans too of which no other is both faster and moves fewer bytes.
        best: How many of the best plans to list; 0 for none.
        prune: Search what upstream's heuristic leaves, and the whole to say what that loses.
        time_limit_s: Seconds after which the search gives its best; None for none.
        seed: For searchers that draw lots.
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
            raise CollageError("--regret is one of time, it has no meaning beside --objective", "leave one of them out", "bad_option")

    def run(self) -> SearchRun:
        """Return how the search is run: the time limit begins now."""
        return SearchRun(seed=self.seed) if self.time_limit_s is None else SearchRun.for_seconds(self.time_limit_s, self.seed)


def solve_file(path: Path, request: SearchRequest) -> dict[str, Any]:
    """Return the document of `collage search`; ``plan`` is None where there is none."""
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
        "regret_at_most": [],
        "regret_exact": None,
        "plans": [],
        "pareto": None,
        "prune": None,
        "conflict": [],
        "uncovered": [],
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
    document["search"] = result_document(best)
    document["plan"] = {"total_s": best.total / FEMTOSECONDS, "chosen": list(best.chosen)}
    document["measures"] = measures(problem, best.chosen).to_json()
    if request.regret:
        reference = best if best.optimal or request.time_limit_s else solve(problem, constraints)
        values = regret_intervals(problem, constraints, reference, run)
        document["regret"] = [None if value is None else value.low / FEMTOSECONDS for value in values]
        document["regret_at_most"] = [None if value is None or value.high is None else value.high / FEMTOSECONDS for value in values]
        document["regret_exact"] = all(value is None or value.is_exact for value in values)
    if request.best:
        plans = k_best_for(problem, objective, constraints, request.best, run)
        document["plans"] = [_listed(problem, plan.chosen) for plan in plans]
    if request.pareto:
        listed = pareto(problem, allowed_indices(problem, constraints), run)
        document["pareto"] = {"complete": listed.is_complete, "plans": [_listed(problem, plan.chosen) for plan in listed.plans]}


def _pruned(
    problem: SearchProblem, constraints: Sequence[Constraint], request: SearchRequest, run: SearchRun, whole: SearchResult
) -> tuple[SearchResult, dict[str, Any]]:
    """Return the plan over what the heuristic keeps (over all, where that has none), and what it loses against all."""
    usable = allowed_indices(problem, constraints)
    kept = prune(problem, usable)
    found = whole
    told: dict[str, Any] = {"candidates": len(usable), "kept": len(kept), "total_s": None, "unpruned_total_s": whole.total / FEMTOSECONDS}
    try:
        smaller = problem.with_candidates([problem.candidates[index] for index in kept])
        part = solve_for(smaller, parse_objective(request.objective), (), request.search, run)
        found = replace(part, chosen=tuple(kept[place] for place in part.chosen))
        told["total_s"] = found.total / FEMTOSECONDS
    except InfeasibleError:
        pass  # The document says so: no total.
    told["loss_s"] = None if told["total_s"] is None else (found.total - whole.total) / FEMTOSECONDS
    return found, told


def _listed(problem: SearchProblem, chosen: Sequence[int]) -> dict[str, Any]:
    has = measures(problem, chosen)
    return {"total_s": has.time / FEMTOSECONDS, "chosen": list(chosen), "measures": has.to_json()}


def run_folder(folder: Path, inputs: Path | None, outputs: Path | None, bench: bool) -> dict[str, Any]:
    """Return the document of `collage run`. The artifact runs in a worker process, which its toolchains may crash."""
    from ..rewrite.runtime.artifact_calls import describe_artifact, run_artifact, time_artifact

    with Worker() as worker:
        try:
            arrays = (
                _load_arrays(inputs) if inputs is not None else worker.call(describe_artifact, folder, timeout_s=RUN_TIMEOUT_S)["seeded"]
            )
            got = worker.call(run_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S)
            seconds = worker.call(time_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S) if bench else []
        except WorkerError as error:
            raise CollageError(f"the artifact could not be run: {error}", "build it again with `collage apply`", "artifact") from error
    if outputs is not None:
        _save_arrays(outputs, got)
    timing = (
        {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds), "samples": len(seconds)} if seconds else None
    )
    return {"schema": 1, "outputs": {name: _summary(value) for name, value in got.items()}, "bench": timing}


def _summary(value: np.ndarray) -> dict[str, Any]:
    mean = float(np.mean(value, dtype=np.float64)) if value.size and value.dtype.kind in "fiub" else 0.0
    return {"shape": list(value.shape), "dtype": str(value.dtype), "mean": mean if np.isfinite(mean) else None}


def _load_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as data:
            return dict(data)
    except (OSError, ValueError) as error:
        raise CollageError(
            f"cannot read the inputs {str(path)!r}: {error}", "give an .npz with one array for each input", "bad_inputs"
        ) from error


def _save_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    try:
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise CollageError(f"cannot write the outputs {str(path)!r}: {error.strerror}", "give another file", "unwritable") from error


def toolchain_documents() -> list[dict[str, Any]]:
    """Return what `collage toolchains --json` and the page list."""
    made = []
    for toolchain in all_toolchains():
        found = toolchain.availability()
        made.append(
            {
                "name": toolchain.name,
                "letter": toolchain.letter,
                "style": toolchain.style,
                "usable": found.usable,
                "version": found.version,
                "reason": found.reason,
                "hint": found.hint,
                "device": found.device,
                "precision": found.precision,
                "rules": shown_rules(toolchain),
            }
        )
    return made
