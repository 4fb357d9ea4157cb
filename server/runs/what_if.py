"""`WhatIfService`: the best plan on a run's costs under other terms, and what each of the terms costs. Nothing of it is kept.

What enters is a request of the page; what leaves are answers of the engine, found in a spare process that knows the record.
"""

from __future__ import annotations

from typing import Any

from collage_core.errors import InfeasibleError

from ..http.errors import Problem, api_error
from ..http.request_checks import check_positive, check_targets, vetoes
from ..messages.candidates import Effect, Effects, WhatIf
from ..messages.requests import WhatIfRequest
from ..worker import what_if
from .job_pool import JobPool
from .service import RunService
from .state import plan_info


class WhatIfService:
    """Answers what would be."""

    def __init__(self, runs: RunService, pool: JobPool):
        self._runs = runs
        self._pool = pool

    def plan(self, run: str, request: WhatIfRequest) -> WhatIf:
        """The best plan under other terms, or why there is none.

        Raises:
            CollageError: there is no such run, it has no plan, or the terms are malformed.
        """
        folder, off = self._terms(run, request)
        try:
            found = self._pool.look_up(what_if.best_plan, folder, [*request.constraints, *off], request.accuracy)
        except InfeasibleError as error:
            count = len(request.constraints)
            mine = [index for index in error.conflict if index < count]
            others = [off[index - count]["target"] for index in error.conflict if index >= count]
            return WhatIf(run, None, error=api_error(error), conflict=mine, off=others, uncovered=error.uncovered)
        return WhatIf(run, plan_info(found["plan"]), found["optimal"], found["untimed"])

    def effects(self, run: str, request: WhatIfRequest) -> Effects:
        """What each group of constraints does, each target that is switched off, and the accuracy.

        Raises:
            CollageError: as `plan`; a group names a constraint that there is not.
        """
        folder, off = self._terms(run, request)
        count, asked = len(request.constraints), len(request.groups)
        if any(not 0 <= index < count for group in request.groups for index in group):
            raise Problem(400, "invalid", f"'groups' names a constraint that there is not: {count} were given", "they are numbered from 0")
        groups = [*request.groups, *([count + place] for place in range(len(off)))]
        answers = self._pool.look_up(what_if.effects, folder, [*request.constraints, *off], request.accuracy, groups)
        found = [Effect(**item) for item in answers]
        of_targets = {item["target"]: effect for item, effect in zip(off, found[asked:], strict=False)}
        return Effects(run, found[:asked], of_targets, found[len(groups)] if len(found) > len(groups) else None)

    def _terms(self, run: str, request: WhatIfRequest) -> tuple[str, list[dict[str, Any]]]:
        """The folder with the run's costs, and the targets that are switched off, as constraints."""
        check_targets(request.targets)
        check_positive("accuracy", request.accuracy)
        snapshot = self._runs.get(run)
        off = vetoes(snapshot, request.targets)
        return str(self._runs.costs_of(snapshot)), off
