"""`RunQueries`: what is asked about the candidates and plans of a run that has a plan.

What enters are ids; what leaves are resources, found in a spare process that knows the run's record. Nothing of a run changes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..http.errors import Problem, not_found
from ..messages.candidates import BaselinePlan, CandidateRegret, RunRegrets, RunRules, RunSpec
from ..worker import candidate_table, rule_reports, run_job
from .job_pool import JobPool
from .service import RunService
from .state import plan_info

MOST_REGRETS = 200


class RunQueries:
    """Answers what a run's record knows."""

    def __init__(self, runs: RunService, pool: JobPool):
        self._runs = runs
        self._pool = pool

    def candidates(self, run: str, node: int) -> dict[str, Any]:
        """What could run `node`, and what could not.

        Raises:
            CollageError: there is no such run or node, or it has no plan.
        """
        return self._pool.look_up(run_job.node_candidates, str(self._runs.folder(run)), node)

    def regrets(self, run: str, candidates: list[str]) -> RunRegrets:
        """What insisting on each of these candidates costs.

        Raises:
            CollageError: there is no such run, it has no plan, or too many are asked for.
        """
        if len(candidates) > MOST_REGRETS:
            raise Problem(400, "invalid", f"{len(candidates)} candidates were named, {MOST_REGRETS} are accepted", "ask for some at a time")
        found = self._pool.look_up(run_job.regrets, str(self._runs.folder(run)), candidates)
        return RunRegrets(run, [CandidateRegret(**item) for item in found])

    def candidate_table(self, run: str) -> Path:
        """The file that holds the run's `RunCandidates`.

        Raises:
            CollageError: there is no such run, or it has no plan.
        """
        return Path(self._pool.look_up(candidate_table.write_table, str(self._runs.folder(run)), run))

    def estimates(self, run: str) -> Path:
        """The file that holds the run's `RunEstimates`.

        Raises:
            CollageError: there is no such run, it has no plan, or the machine's speed cannot be measured.
        """
        return Path(self._pool.look_up(candidate_table.write_estimates, str(self._runs.folder(run)), run))

    def rules(self, run: str) -> RunRules:
        """The specs of the run, and what each of their rules gave and rejected.

        Raises:
            CollageError: there is no such run, or it has no plan.
        """
        return RunRules(run, [RunSpec(**spec) for spec in self._pool.look_up(rule_reports.specs_of, str(self._runs.folder(run)))])

    def baseline_plan(self, run: str, name: str) -> BaselinePlan:
        """How the baseline `name` of the run cuts the model.

        Raises:
            CollageError: there is no such run or baseline, it has no plan, or the baseline cannot take the model.
        """
        folder = self._runs.folder(run)
        known = [baseline.name for baseline in self._runs.get(run).baselines]
        if name not in known:
            raise not_found("unknown_baseline", f"the run {run!r} has no baseline {name!r}", f"it has {', '.join(known) or 'none'}")
        return BaselinePlan(run, name, plan_info(self._pool.look_up(candidate_table.baseline_plan, str(folder), name)))

    def document(self, run: str) -> Path:
        """The file that holds the run's document.

        Raises:
            CollageError: there is no such run, or it has no plan.
        """
        folder = self._runs.folder(run)
        if not (folder / run_job.DOCUMENT).exists():
            self._pool.look_up(run_job.outcome, str(folder))
        return folder / run_job.DOCUMENT
