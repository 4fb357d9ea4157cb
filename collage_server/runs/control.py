"""`RunControl`: starts and cancels runs, and has the artifact of a plan built."""

from __future__ import annotations

from threading import Lock

from ..config import ServerConfig
from ..http.error_answers import Problem, refused
from ..messages.live import RunState
from ..messages.requests import RunRequest
from ..messages.runs import AskedForm, RunSnapshot
from ..worker import tasks
from . import run_store
from .dry_runs import DryRuns
from .factory import RunFactory
from .forms import form_asked, has_form
from .queue import RunQueue
from .service import RunService
from .state import ACTIVE
from .task import RunTask

SEARCH_WAIT_S = 0.5
"""How long an answer waits for a run that only searches."""

CANCEL_WAIT_S = 2.0


class RunControl:
    """Begins and ends what runs do."""

    def __init__(self, config: ServerConfig, runs: RunService, factory: RunFactory, queue: RunQueue, dry_runs: DryRuns):
        self._config = config
        self._runs = runs
        self._factory = factory
        self._queue = queue
        self._dry_runs = dry_runs
        self._exporting = Lock()
        self._under_way: dict[str, AskedForm] = {}

    def create(self, request: RunRequest) -> RunSnapshot:
        """Start a run; one that only searches is mostly over when this returns.

        Raises:
            CollageError: the request is not right, or there is no such model or base; or too many runs wait (429).
            OSError: the disk is full; nothing is left of the run.
        """
        task = self._factory.task_of(request)
        if not task.is_search:
            self._dry_runs.stop()
        self._runs.remember(task.run)
        try:
            self._queue.submit(task)
        except (Problem, OSError):
            self._runs.drop(task.run)
            raise
        if task.is_search:
            task.run.wait(SEARCH_WAIT_S)
        return task.run.snapshot

    def cancel(self, run: str) -> RunSnapshot:
        """Stop the run, which keeps its best plan so far; nothing happens to one that has ended.

        Raises:
            Problem: there is no such run (404), or another server carries it out (409).
        """
        live = self._runs.live_run(run)
        waiting = self._queue.withdraw(live)
        if waiting is not None:
            live.change(waiting.before or "cancelled", artifact=waiting.had_artifact)
        elif live.snapshot.state in ACTIVE:
            if live.is_followed:
                message = f"the run {run!r} is carried out by another explorer, which uses the same folder"
                raise refused("other_server", message, "cancel it on that one's page")
            self._queue.request_stop(live)
            live.wait(CANCEL_WAIT_S)
        return live.snapshot

    def build(self, run: str, asked: AskedForm | None = None, is_again: bool = False) -> tuple[RunSnapshot, bool]:
        """Build, verify and time the artifact of the run's plan; the flag says whether that was needed.

        Args:
            asked: The form; None for that of the artifact that is there, or is being built.
            is_again: Build and time it once more where there is one.

        Raises:
            CollageError: there is no such run, it has no plan, its model is not open, or another form is being built.
        """
        folder = self._runs.folder(run)
        live = self._runs.live_run(run)
        with self._exporting:  # a second click at once must find the run queued
            snapshot = live.snapshot
            if snapshot.state in ACTIVE:
                self._check_same_form(run, asked)
                return snapshot, False
            if snapshot.artifact and not is_again and (asked is None or has_form(folder, asked)):
                return snapshot, False
            form = asked or form_asked(folder)
            path, _ = self._factory.model_file(snapshot.model, snapshot.model_name)
            rest: RunState = "recorded" if run.startswith(run_store.RECORDED) else "done"
            engine, before = self._config.engine, snapshot.state
            task = RunTask(live, tasks.build, engine, str(path), form, str(folder), builds=True, rest=rest, before=before)
            try:
                self._queue.submit(task)
            except OSError:
                live.change(before, artifact=task.had_artifact)
                raise
            self._under_way[run] = form
            return live.snapshot, True

    def _check_same_form(self, run: str, asked: AskedForm | None) -> None:
        """Raise Problem where the artifact of the run is being built in another form than `asked`, or by another server."""
        form = self._under_way.get(run)
        if asked not in (None, form):
            message = f"the artifact of the run {run!r} is being built{f' as {form!r}' if form else ''}"
            raise refused("busy", message, f"wait for it, or stop it, then ask for {asked!r}")
