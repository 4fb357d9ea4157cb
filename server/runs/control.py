"""`RunControl`: runs are started and cancelled, and the artifact of a plan is built."""

from __future__ import annotations

from ..http.errors import refused
from ..messages.live import RunState
from ..messages.requests import RunRequest
from ..messages.runs import RunSnapshot
from ..worker import run_job
from . import store as run_store
from .run_factory import RunFactory
from .run_queue import RunQueue
from .run_task import RunTask
from .service import RunService
from .state import ACTIVE

SEARCH_WAIT_S = 0.5
"""How long an answer waits for a run that only searches."""

CANCEL_WAIT_S = 2.0


class RunControl:
    """Begins and ends what runs do."""

    def __init__(self, runs: RunService, orders: RunFactory, line: RunQueue):
        self._runs = runs
        self._orders = orders
        self._line = line

    def create(self, request: RunRequest) -> RunSnapshot:
        """Start a run; one that only searches is mostly over when this returns.

        Raises:
            CollageError: the request is not right, or there is no such model or base.
        """
        work = self._orders.work_of(request)
        self._runs.remember(work.session)
        work.session.change("queued")
        self._line.submit(work)
        if work.is_search:
            work.session.wait(SEARCH_WAIT_S)
        return work.session.snapshot

    def cancel(self, run: str) -> RunSnapshot:
        """Stop the run; nothing happens to one that has ended.

        Raises:
            Problem: there is no such run (404), or another server carries it out (409).
        """
        session = self._runs.session(run)
        waiting = self._line.withdraw(session)
        if waiting is not None:
            session.change(waiting.before or "cancelled")
        elif session.snapshot.state in ACTIVE:
            if session.is_followed:
                message = f"the run {run!r} is carried out by another explorer, which uses the same folder"
                raise refused("other_server", message, "cancel it on that one's page")
            session.cancel.set()
            session.wait(CANCEL_WAIT_S)
        return session.snapshot

    def build(self, run: str) -> tuple[RunSnapshot, bool]:
        """Build and verify the artifact of the run's plan; says too whether that was needed.

        Raises:
            CollageError: there is no such run, it has no plan, or its model is not open.
        """
        folder = self._runs.folder(run)
        session = self._runs.session(run)
        snapshot = session.snapshot
        if snapshot.artifact or snapshot.state in ACTIVE:
            return snapshot, False
        path, _ = self._orders.model_file(snapshot.model, snapshot.model_name)
        rest: RunState = "recorded" if run.startswith(run_store.RECORDED) else "done"
        work = RunTask(session, run_job.build, (str(path), str(folder)), rest=rest, before=snapshot.state)
        session.cancel.clear()
        session.change("queued")
        self._line.submit(work)
        return session.snapshot, True
