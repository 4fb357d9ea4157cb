"""`RunService`: everything that can be done with runs: start, look at, list, cancel, delete, build an artifact.

Each run is a call in a process of its own, made from a thread here that only listens. One run measures at a time, the
others wait in line; a run that only searches waits for nobody. A run that dies has failed, and says why.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collage_core.cost.records import machine_id
from collage_core.errors import Cancelled, CollageError
from collage_core.isolation import WorkerError

from . import candidate_table, descriptions, job, run_options, run_rules, run_store
from .config import ServerConfig
from .errors import Problem, not_found, refused
from .follower import follow
from .jobs import JobPool
from .journal import newest_decisions
from .model_store import ModelStore
from .protocol import (
    BaselinePlan,
    CandidateRegret,
    OptionProblem,
    OptionProblems,
    RunLog,
    RunMarks,
    RunOptions,
    RunRegrets,
    RunRequest,
    RunRules,
    RunSnapshot,
    RunSpec,
    RunState,
    RunSummary,
    TargetCounts,
)
from .recorded import Recorded
from .run_marks import change_marks
from .run_state import ACTIVE, Nodes, plan_info
from .session import Session
from .terms import check_positive, check_targets, vetoes
from .work import Work, failure

SEARCH_WAIT_S = 0.5
"""How long an answer waits for a run that only searches."""

CANCEL_WAIT_S = 2.0
LOG_ITEMS = 5000
MOST_REGRETS = 200
SESSIONS_KEPT = 8
"""Ended runs whose newest events stay in memory."""

_log = logging.getLogger(__name__)


class RunService:
    """All runs.

    Args:
        wake: Called when a run has new events.
    """

    def __init__(self, config: ServerConfig, models: ModelStore, pool: JobPool, recorded: Recorded, wake: Callable[[], None]):
        self._config = config
        self._models = models
        self._pool = pool
        self._recorded = recorded
        self._wake = wake
        self._lock = threading.RLock()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._waiting: deque[Work] = deque()
        self._measuring: Work | None = None
        self._threads: set[threading.Thread] = set()
        self._closed = False

    def create(self, request: RunRequest) -> RunSnapshot:
        """Start a run; one that only searches is mostly over when this returns.

        Raises:
            CollageError: the request is not right, or there is no such model or base.
        """
        check_targets(request.targets)
        check_positive("accuracy", request.accuracy)
        check_positive("time_limit_s", request.time_limit_s)
        work = self._work_of(request)
        self._remember(work.session)
        work.session.change("queued")
        self._submit(work)
        if work.is_search:
            work.session.wait(SEARCH_WAIT_S)
        return work.session.snapshot

    def get(self, run: str) -> RunSnapshot:
        """The run's snapshot.

        Raises:
            Problem: there is no such run (404).
        """
        with self._lock:
            session = self._sessions.get(run)
        if session is not None:
            return session.snapshot
        self._recorded.unpack(run)
        return run_store.load(run)

    def opened(self, run: str) -> RunSnapshot:
        """The run's snapshot, for someone who will look closer: a spare process reads its record."""
        snapshot = self.get(run)
        if snapshot.state not in ACTIVE:
            self._pool.warm(str(run_store.run_folder(run)))
        return snapshot

    def session(self, run: str) -> Session:
        """The run in memory, brought there where it was not.

        Raises:
            Problem: there is no such run (404).
        """
        with self._lock:
            session = self._sessions.get(run)
        if session is None:
            snapshot = self.get(run)
            with self._lock:
                is_new = run not in self._sessions
                session = self._sessions.setdefault(run, Session(run_store.run_folder(run), snapshot, (), self._wake))
                self._trim()
            if is_new and snapshot.state in ACTIVE:
                session.is_followed = True
                follow(session, lambda: self._closed, lambda: self._forget(run))
        return session

    def _forget(self, run: str) -> None:
        with self._lock:
            self._sessions.pop(run, None)

    def all(self) -> list[RunSummary]:
        """Every run, newest first."""
        for run in self._recorded.ids():
            with suppress(CollageError, WorkerError):
                self._recorded.unpack(run)
        return sorted(run_store.summaries(), key=lambda summary: summary.created, reverse=True)

    def folder(self, run: str) -> Path:
        """The run's folder, with a record in it.

        Raises:
            Problem: there is no such run (404), or it has no plan (409).
        """
        self.get(run)
        folder = run_store.run_folder(run)
        if job.record_file(folder) is None:
            raise refused("no_record", f"the run {run!r} has no plan", "wait until it is done, or run it again")
        return folder

    def costs_of(self, run: RunSnapshot) -> Path:
        """The folder of the run that found out what `run` rests on: a search that left candidates out has forgotten their costs.

        Raises:
            Problem: it has no plan (409).
        """
        while run.base is not None and run.remeasured is None and not run.has_own_costs:
            try:
                base = self.get(run.base)
                self.folder(base.id)
            except Problem:
                break
            run = base
        return self.folder(run.id)

    def candidates(self, run: str, node: int) -> dict[str, Any]:
        """What could run `node`, and what could not.

        Raises:
            CollageError: there is no such run or node, or it has no plan.
        """
        return self._pool.look_up(job.node_candidates, str(self.folder(run)), node)

    def regrets(self, run: str, candidates: list[str]) -> RunRegrets:
        """What insisting on each of these candidates costs.

        Raises:
            CollageError: there is no such run, it has no plan, or too many are asked for.
        """
        if len(candidates) > MOST_REGRETS:
            raise Problem(400, "invalid", f"{len(candidates)} candidates were named, {MOST_REGRETS} are accepted", "ask for some at a time")
        found = self._pool.look_up(job.regrets, str(self.folder(run)), candidates)
        return RunRegrets(run, [CandidateRegret(**item) for item in found])

    def candidate_table(self, run: str) -> Path:
        """The file that holds the run's `RunCandidates`.

        Raises:
            CollageError: there is no such run, or it has no plan.
        """
        return Path(self._pool.look_up(candidate_table.write_table, str(self.folder(run)), run))

    def rules(self, run: str) -> RunRules:
        """The specs of the run, and what each of their rules gave and rejected.

        Raises:
            CollageError: there is no such run, or it has no plan.
        """
        return RunRules(run, [RunSpec(**spec) for spec in self._pool.look_up(run_rules.specs_of, str(self.folder(run)))])

    def baseline_plan(self, run: str, name: str) -> BaselinePlan:
        """How the baseline `name` of the run cuts the model.

        Raises:
            CollageError: there is no such run or baseline, it has no plan, or the baseline cannot take the model.
        """
        folder = self.folder(run)
        known = [baseline.name for baseline in self.get(run).baselines]
        if name not in known:
            raise not_found("unknown_baseline", f"the run {run!r} has no baseline {name!r}", f"it has {', '.join(known) or 'none'}")
        return BaselinePlan(run, name, plan_info(self._pool.look_up(candidate_table.baseline_plan, str(folder), name)))

    def document(self, run: str) -> Path:
        """The file that holds the run's document.

        Raises:
            CollageError: there is no such run, or it has no plan.
        """
        folder = self.folder(run)
        if not (folder / job.DOCUMENT).exists():
            self._pool.look_up(job.outcome, str(folder))
        return folder / job.DOCUMENT

    def cancel(self, run: str) -> RunSnapshot:
        """Stop the run; nothing happens to one that has ended.

        Raises:
            Problem: there is no such run (404), or another server carries it out (409).
        """
        session = self.session(run)
        with self._lock:
            waiting = next((work for work in self._waiting if work.session is session), None)
            if waiting is not None:
                self._waiting.remove(waiting)
        if waiting is not None:
            session.change(waiting.before or "cancelled")
        elif session.snapshot.state in ACTIVE:
            if session.is_followed:
                message = f"the run {run!r} is carried out by another explorer, which uses the same folder"
                raise refused("other_server", message, "cancel it on that one's page")
            session.cancel.set()
            session.wait(CANCEL_WAIT_S)
        return session.snapshot

    def mark(self, run: str, change: RunMarks) -> RunSummary:
        """Give the run a name, a note or a star.

        Raises:
            Problem: there is no such run (404), or a text is not right (400).
        """
        snapshot = self.get(run)
        folder = run_store.run_folder(run)
        change_marks(folder, change)
        return run_store.with_marks(folder, run_store.summary(snapshot))

    def log(self, run: str) -> RunLog:
        """What the run has told so far.

        Raises:
            Problem: there is no such run (404).
        """
        self.get(run)
        with self._lock:
            session = self._sessions.get(run)
        if session is not None:
            session.write()
        items, is_cut = newest_decisions(run_store.run_folder(run), LOG_ITEMS)
        return RunLog(run, items, is_cut)

    def delete(self, run: str) -> None:
        """Remove the run and its files.

        Raises:
            Problem: there is no such run (404); it goes on, or comes with a sample (409).
        """
        snapshot = self.get(run)
        if snapshot.state in ACTIVE:
            raise refused("busy", f"the run {run!r} is {snapshot.state}", "cancel it first")
        if run in self._recorded.ids():
            raise refused("recorded", f"the run {run!r} comes with its sample and cannot be deleted", "")
        with self._lock:
            self._sessions.pop(run, None)
        run_store.delete(run)

    def uses(self, model: str) -> bool:
        """Whether a run on `model` is waiting or under way."""
        with self._lock:
            sessions = list(self._sessions.values())
        return any(session.snapshot.model == model and session.snapshot.state in ACTIVE for session in sessions)

    @property
    def is_measuring(self) -> bool:
        """A run has the machine to itself."""
        with self._lock:
            return self._measuring is not None

    def build(self, run: str) -> tuple[RunSnapshot, bool]:
        """Build and verify the artifact of the run's plan; says too whether that was needed.

        Raises:
            CollageError: there is no such run, it has no plan, or its model is not open.
        """
        folder = self.folder(run)
        session = self.session(run)
        snapshot = session.snapshot
        if snapshot.artifact or snapshot.state in ACTIVE:
            return snapshot, False
        path, _ = self._model_file(snapshot.model, snapshot.model_name)
        rest: RunState = "recorded" if run.startswith(run_store.RECORDED) else "done"
        work = Work(session, job.build, (str(path), str(folder)), rest=rest, before=snapshot.state)
        session.cancel.clear()
        session.change("queued")
        self._submit(work)
        return session.snapshot, True

    def close(self) -> None:
        """Stop everything; what was under way has failed because the server was stopped."""
        with self._lock:
            self._closed = True
            waiting, threads = list(self._waiting), list(self._threads)
            self._waiting.clear()
        for work in waiting:
            work.session.change("failed", error=run_store.STOPPED)
        self._pool.close()
        for thread in threads:
            thread.join()

    def _work_of(self, request: RunRequest) -> Work:
        if request.measure is not None:
            return self._measure_again(request)
        return self._search(request) if request.base is not None else self._measurement(request)

    def _search(self, request: RunRequest) -> Work:
        assert request.base is not None
        base = self.get(request.base)
        if base.model != request.model:
            raise Problem(400, "other_model", f"the run {base.id!r} is one of the model {base.model_name!r}", "give the model of the base")
        given = [name for name in request.given() if name != "accuracy"]
        if given:
            message = f"{' and '.join(given)} cannot be set for a search on known costs"
            raise Problem(400, "invalid", message, "leave it out, or start a run without a base")
        tried = descriptions.tried(request, [counts.name for counts in base.counts], self._pool.look_up)
        off = [one for one in vetoes(base, [name for name in request.targets if name not in tried]) if one["target"] not in tried]
        described = [*dict.fromkeys([*base.described, *tried])]
        session = self._new_session(
            request, base.model_name, base.machine, (), base.options, described, base=base, has_own_costs=bool(tried)
        )
        args = (str(self.costs_of(base)), [*request.constraints, *off], request.accuracy, str(session.folder))
        return Work(session, job.search_with if tried else job.search, (*args, tried) if tried else args, is_search=True)

    def _measurement(self, request: RunRequest) -> Work:
        self._check_options(request)
        path, shapes = self._model_file(request.model, request.model)
        self._check_waiting()
        name, nodes = self._models.get(request.model).name, self._models.nodes(request.model)
        described = descriptions.among(request.targets)
        session = self._new_session(request, name, machine_id(), nodes, RunOptions(**request.given()), described)
        options: dict[str, Any] = {
            "targets": tuple(request.targets),
            "costs": "measure",
            "constraints": tuple(request.constraints),
            "shapes": {name: tuple(shape) for name, shape in shapes.items()},
            "accuracy": None,
            "time_limit_s": None,
            **run_options.for_engine(request),
        }
        if described:
            options["toolchain_files"] = descriptions.write(session.folder / descriptions.FOLDER, described)
        return Work(session, job.partition, (str(path), options, str(session.folder)))

    def _measure_again(self, request: RunRequest) -> Work:
        if request.base is None or request.measure is None:
            raise Problem(400, "invalid", "'measure' names a candidate of a base, and there is none", "give the 'base' that it is of")
        base = self.get(request.base)
        costs, (path, _) = self.costs_of(base), self._model_file(base.model, base.model_name)
        self._check_waiting()
        same = replace(request, model=base.model, targets=base.targets, constraints=base.constraints, accuracy=base.accuracy)
        session = self._new_session(
            same, base.model_name, base.machine, self._models.nodes(base.model), base.options, base.described, base=base
        )
        constraints = [*base.constraints, *vetoes(base, base.targets)]
        args = (str(costs), str(path), request.measure, constraints, base.accuracy, str(session.folder))
        return Work(session, job.measure_again, args)

    def _check_waiting(self) -> None:
        with self._lock:
            if len(self._waiting) >= self._config.waiting_runs:
                raise Problem(429, "too_many", f"{len(self._waiting)} runs wait already", "cancel some, or wait")

    def option_problems(self, targets: list[str], options: RunOptions) -> OptionProblems:
        """Everything that the engine says against the options of a run on `targets`."""
        given = run_options.for_engine(options)
        rows = self._pool.look_up(run_options.problems, targets, given) if given and targets else []
        return OptionProblems([OptionProblem(**row) for row in rows])

    def _check_options(self, request: RunRequest) -> None:
        """Refuse what the engine would not take. Accuracy and time limit were looked at already."""
        for problem in self.option_problems(request.targets, replace(request, accuracy=None, time_limit_s=None)).problems:
            raise Problem(400, "bad_option", problem.message, problem.hint)

    def _model_file(self, model: str, name: str) -> tuple[Path, dict[str, list[int]]]:
        try:
            return self._models.file(model)
        except Problem as error:
            if error.status != 404:
                raise
            raise not_found("unknown_model", f"the model {name!r} is not open here", "open it first: POST /api/v1/models") from error

    def _new_session(
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
    ) -> Session:
        targets = list(dict.fromkeys([*request.targets, *described]))
        snapshot = RunSnapshot(
            id=run_store.new_run_id(),
            state="queued",
            seq=0,
            model=request.model,
            model_name=model_name,
            targets=targets,
            constraints=request.constraints,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            base=request.base,
            machine=machine,
            phase=None,
            done=0,
            total=0,
            counts=[TargetCounts(target) for target in targets],
            lower_bound_s=None,
            best_s=None,
            optimal=None,
            plan=None,
            baselines=[],
            verify=None,
            notes=[],
            remeasured=request.measure,
            recorded=base is not None and base.recorded,
            accuracy=request.accuracy,
            options=options,
            described=list(described),
            has_own_costs=has_own_costs,
        )
        folder = run_store.runs_folder() / snapshot.id
        folder.mkdir()
        return Session(folder, snapshot, nodes, self._wake)

    def _remember(self, session: Session) -> None:
        with self._lock:
            self._sessions[session.snapshot.id] = session
            self._trim()

    def _trim(self) -> None:
        """Let go of the sessions that ended longest ago."""
        ended = [run for run, session in self._sessions.items() if session.snapshot.state not in ACTIVE]
        for run in ended[: max(0, len(ended) - SESSIONS_KEPT)]:
            del self._sessions[run]

    def _submit(self, work: Work) -> None:
        with self._lock:
            if work.is_search:
                self._start(work)
            else:
                self._waiting.append(work)
        self._pump()

    def _pump(self) -> None:
        """Let the next run measure, if none does."""
        with self._lock:
            if self._measuring is None and self._waiting and not self._closed:
                self._measuring = self._waiting.popleft()
                self._start(self._measuring)

    def _start(self, work: Work) -> None:
        thread = threading.Thread(target=self._work, args=(work,), name=f"collage-run-{work.session.snapshot.id}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self, work: Work) -> None:
        """The thread of a run: from running to whatever it ends in."""
        try:
            self._run(work)
        except Exception as error:  # noqa: BLE001 - the border of the run: its reason is kept and shown
            _log.exception("fault in the run %s", work.session.snapshot.id)
            work.session.change(work.before or "failed", **failure(error, work.session.folder))
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())
                if self._measuring is work:
                    self._measuring = None
            self._pump()

    def _run(self, work: Work) -> None:
        session = work.session
        session.change("running")
        try:
            outcome = self._pool.run(
                work.function, *work.args, on_events=session.add, should_stop=session.cancel.is_set, again=work.is_search
            )
        except Cancelled:
            self._stopped(work)
        except (CollageError, WorkerError) as error:
            self._failed(work, error)
        else:
            session.change(work.rest, document=outcome["document"], machine=outcome["machine"], artifact=work.builds)
            self._pool.warm(str(session.folder))

    def _stopped(self, work: Work) -> None:
        if work.session.cancel.is_set():
            work.session.change(work.before or "cancelled", document=self._salvaged(work))
        else:
            work.session.change(work.before or "failed", error=run_store.STOPPED)

    def _failed(self, work: Work, error: Exception) -> None:
        details = failure(error, work.session.folder)
        details["conflict"] = [index for index in details["conflict"] if index < len(work.session.snapshot.constraints)]
        work.session.change(work.before or "failed", document=self._salvaged(work), **details)

    def _salvaged(self, work: Work) -> dict[str, Any] | None:
        """What a run that did not get to its end had found: the plan stands where building it failed."""
        if job.record_file(work.session.folder) is None:
            return None
        with suppress(CollageError, WorkerError, Cancelled):
            return self._pool.look_up(job.outcome, str(work.session.folder))["document"]
        return None
