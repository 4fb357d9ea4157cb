"""`RunFactory`: makes a new run of a request (its folder, its snapshot and its task), or says why that cannot be.

There are five kinds: to measure a model, to search on the known costs of a base, to measure a candidate of a base again, to measure
what is undecided in one, and to measure a plan of the user's own beside that of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collage_core.cost.database.records import machine_id
from collage_core.documents.compare import AgainstRequest
from collage_core.what_if.questions import AGAINST
from collage_core.what_if.terms import Terms

from .. import descriptions
from ..config import ServerConfig
from ..http.error_answers import Problem, not_found
from ..http.request_checks import check_groups, check_positive, check_targets, switched_off
from ..http.validation import read
from ..messages.requests import OptionProblem, OptionProblems, RunOptions, RunRequest
from ..messages.runs import RunMarks, RunSnapshot, TargetCounts
from ..model_store import FixedInputs, ModelStore
from ..process_pool import ProcessPool
from ..worker import queries, tasks
from . import run_store
from .live_run import LiveRun
from .marks import NAME_CHARACTERS, change_marks
from .queue import RunQueue
from .service import RunService
from .state import Nodes
from .task import RunTask


class RunFactory:
    """Makes runs of requests.

    Args:
        queue: Refuses what would have to wait too long.
        wake: Called when a run has new events.
    """

    def __init__(
        self, config: ServerConfig, models: ModelStore, pool: ProcessPool, runs: RunService, queue: RunQueue, wake: Callable[[], None]
    ):
        self._config = config
        self._models = models
        self._pool = pool
        self._runs = runs
        self._queue = queue
        self._wake = wake

    def task_of(self, request: RunRequest) -> RunTask:
        """Make the task of a new run, which has not begun.

        Raises:
            CollageError: the request is not right, or there is no such model or base.
        """
        check_targets(request.targets)
        check_groups(request.groups, len(request.constraints))
        check_positive("accuracy", request.accuracy)
        check_positive("budget_s", request.budget_s)
        check_positive("tune_s", request.tune_s)
        check_positive("time_limit_s", request.time_limit_s)
        if request.costs and request.base is None:
            raise Problem(400, "invalid", "'costs' count in place of those of a base, and there is none", "give the 'base'")
        check_positive("decide_s", request.decide_s)
        if request.own_plan is not None:
            return self._measure_own(request, read(AgainstRequest, request.own_plan))
        if request.measure is not None or request.decide_s is not None:
            return self._measure_more(request)
        return self._search(request) if request.base is not None else self._partition(request)

    def option_problems(self, targets: list[str], options: RunOptions) -> OptionProblems:
        """Return everything that the engine says against the options of a run on `targets`."""
        given = options.given()
        rows = self._pool.call(queries.option_problems, self._config.engine, targets, given) if given and targets else []
        return OptionProblems([OptionProblem(**row) for row in rows])

    def model_file(self, model: str, name: str) -> tuple[Path, FixedInputs]:
        """Return the model's file, and what of its inputs was fixed.

        Raises:
            Problem: it is not open (404), or is shown as in its file, since it cannot be run as it was opened (400).
        """
        try:
            file, refusal = self._models.file(model), self._models.get(model).refusal
        except Problem as error:
            if error.status != 404:
                raise
            raise not_found("unknown_model", f"the model {name!r} is not open here", "open it first: POST /api/v1/models") from error
        if refusal is not None:
            raise Problem(400, refusal.error.code, refusal.error.message, refusal.error.hint)
        return file

    def _partition(self, request: RunRequest) -> RunTask:
        self._check_options(request)
        self.model_file(request.model, request.model)
        self._queue.check_room()
        name, nodes = self._models.get(request.model).name, self._models.nodes(request.model)
        described = descriptions.saved_among(request.targets)
        run = self._new_run(request, name, machine_id(), nodes, RunOptions(**request.given()), described)
        path, options = self.engine_options(request, run.folder)
        return RunTask(run, tasks.run_pipeline, self._config.engine, str(path), options, str(run.folder), builds=True, keeps_best=True)

    def engine_options(self, request: RunRequest, folder: Path) -> tuple[Path, dict[str, Any]]:
        """Return the model's file, and the options of a run as the engine takes them; described toolchains are written into `folder`.

        Raises:
            Problem: the model is not open (404), or cannot be run (400).
        """
        path, fixed = self.model_file(request.model, request.model)
        described = descriptions.saved_among(request.targets)
        files = [str(file) for file in descriptions.write(folder / descriptions.FOLDER, described)] if described else []
        given = {"targets": request.targets, "costs": "measure", "constraints": request.constraints, **fixed.to_json(), **request.given()}
        return path, {**given, "toolchain_files": files} if files else given

    def _search(self, request: RunRequest) -> RunTask:
        assert request.base is not None
        base = self._runs.get(request.base)
        if base.model != request.model:
            raise Problem(400, "other_model", f"the run {base.id!r} is one of the model {base.model_name!r}", "give the model of the base")
        given = [name for name in request.given() if name != "accuracy"]
        if given:
            message = f"{' and '.join(given)} cannot be set for a search on known costs"
            raise Problem(400, "invalid", message, "leave it out, or start a run without a base")
        tried = descriptions.texts_to_try(request, [counts.name for counts in base.counts], self._pool)
        off = switched_off(base, [name for name in request.targets if name not in tried])
        terms = Terms(request.constraints, request.accuracy, [name for name in off if name not in tried], request.costs)
        described = [*dict.fromkeys([*base.described, *tried])]
        costs, own = str(self._runs.costs_of(base)), str(run_store.run_folder(base.id))
        run = self._new_run(request, base.model_name, base.machine, (), base.options, described, base=base, has_own_costs=bool(tried))
        return RunTask(run, tasks.search, self._config.engine, costs, own, terms, tried, str(run.folder), is_search=True)

    def _measure_more(self, request: RunRequest) -> RunTask:
        """Make the task that measures a candidate of the base again, or what is undecided in it."""
        if request.base is None:
            what = "'measure' names a candidate" if request.measure is not None else "'decide_s' is about the choices"
            raise Problem(400, "invalid", f"{what} of a base, and there is none", "give the 'base' that it is of")
        base = self._runs.get(request.base)
        costs, (path, _) = self._runs.costs_of(base), self.model_file(base.model, base.model_name)
        self._queue.check_room()
        same = replace(request, model=base.model, targets=base.targets, accuracy=base.accuracy)
        typed = {id: seconds for id, seconds in base.costs.items() if id != request.measure}
        same = replace(same, constraints=base.constraints, groups=base.groups, costs=typed)
        nodes = self._models.nodes(base.model)
        run = self._new_run(
            same, base.model_name, base.machine, nodes, base.options, base.described, base=base, has_own_costs=request.measure is None
        )
        terms = Terms(base.constraints, base.accuracy, switched_off(base, base.targets), typed)
        engine, folder = self._config.engine, str(run.folder)
        if request.measure is None:
            return RunTask(run, tasks.decide, engine, str(costs), str(path), request.decide_s or 0.0, terms, folder)
        return RunTask(run, tasks.measure_again, engine, str(costs), str(path), request.measure, terms, folder)

    def _measure_own(self, request: RunRequest, given: AgainstRequest) -> RunTask:
        """Make the task that measures a plan of the user's own beside that of the base. Constraints of the base do not bind it."""
        if request.base is None:
            raise Problem(400, "invalid", "'own_plan' is measured beside the plan of a base, and there is none", "give the 'base'")
        base = self._runs.get(request.base)
        beside, (path, _) = str(self._runs.folder(base.id)), self.model_file(base.model, base.model_name)
        self._pool.call(queries.ask, self._config.engine, beside, AGAINST, given)  # refuses what is no plan before anything waits
        self._queue.check_room()
        same = replace(request, model=base.model, targets=base.targets, accuracy=base.accuracy, constraints=[], groups=[], costs={})
        nodes = self._models.nodes(base.model)
        run = self._new_run(same, base.model_name, base.machine, nodes, base.options, base.described, base=base, has_own_costs=True)
        change_marks(run.folder, RunMarks(name=f"your own plan, {given.name}"[:NAME_CHARACTERS]))
        return RunTask(run, tasks.measure_own, self._config.engine, beside, str(path), given, str(run.folder))

    def _check_options(self, request: RunRequest) -> None:
        """Refuse options that the engine would not take. Accuracy and times were checked already."""
        unchecked = replace(request, accuracy=None, budget_s=None, tune_s=None, time_limit_s=None)
        for problem in self.option_problems(request.targets, unchecked).problems:
            raise Problem(400, "bad_option", problem.message, problem.hint)

    def _new_run(
        self,
        request: RunRequest,
        model_name: str,
        machine: str,
        nodes: Nodes,
        options: RunOptions,
        described: Iterable[str],
        *,
        base: RunSnapshot | None = None,
        has_own_costs: bool = False,
    ) -> LiveRun:
        targets = list(dict.fromkeys([*request.targets, *described]))
        snapshot = RunSnapshot(
            id=run_store.new_run_id(),
            state="queued",
            seq=0,
            model=request.model,
            model_name=model_name,
            targets=targets,
            constraints=request.constraints,
            groups=request.groups,
            costs=request.costs,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            base=request.base,
            machine=machine,
            counts=_counts(targets, base if request.measure is None and request.decide_s is None and request.own_plan is None else None),
            remeasured=request.measure,
            recorded=base is not None and base.recorded,
            accuracy=request.accuracy,
            options=options,
            described=list(described),
            has_own_costs=has_own_costs,
        )
        folder = run_store.runs_folder() / snapshot.id
        folder.mkdir()
        return LiveRun(folder, snapshot, nodes, self._wake)


def _counts(targets: Iterable[str], base: RunSnapshot | None) -> list[TargetCounts]:
    """Return the counts with which a run begins: those of its base, whose costs a search only uses, else nothing."""
    known = {counts.name: counts for counts in base.counts} if base else {}
    return list({**known, **{target: known.get(target, TargetCounts(target)) for target in targets}}.values())
