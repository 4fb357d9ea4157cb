"""`RunQueue`: lets one run measure at a time, while the others wait for their turn; a run that only searches waits for nobody.

`RunTask`s enter; each is called in a process of its own, from a thread here that only listens. A run whose process dies has
failed, and says why.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from contextlib import suppress

from collage_core.base.counted import counted
from collage_core.base.isolation.worker_errors import WorkerError
from collage_core.documents.run import RunDocument
from collage_core.errors import Cancelled, CollageError

from ..config import ServerConfig
from ..http.error_answers import Problem
from ..process_pool import ProcessPool
from ..shared.run_files import record_file
from ..worker import queries
from . import run_store
from .live_run import LiveRun
from .task import RunTask, failure

_log = logging.getLogger(__name__)


class RunQueue:
    """The tasks of all runs, waiting and under way."""

    def __init__(self, config: ServerConfig, pool: ProcessPool):
        self._config = config
        self._pool = pool
        self._lock = threading.RLock()
        self._waiting: deque[RunTask] = deque()
        self._measuring: RunTask | None = None
        self._threads: set[threading.Thread] = set()
        self._closed = False

    def submit(self, task: RunTask) -> None:
        """Start the task, or let it wait for its turn.

        Raises:
            Problem: too many wait (429).
            OSError: the run's files cannot be written.
        """
        with self._lock:  # from the check on, so that many at once keep to the limit
            if not task.is_search:
                self.check_room()
            task.run.change("queued", artifact=task.had_artifact)
            if task.is_search:
                self._start(task)
            else:
                self._waiting.append(task)
        self._start_next()
        self._tell_waiting()

    def withdraw(self, run: LiveRun) -> RunTask | None:
        """Take the task of the run out of those that wait; None where it is not among them."""
        with self._lock:
            waiting = next((task for task in self._waiting if task.run is run), None)
            if waiting is not None:
                self._waiting.remove(waiting)
        self._tell_waiting()
        return waiting

    def request_stop(self, run: LiveRun) -> None:
        """Have the run under way end, with the best plan so far where its task can."""
        with self._lock:
            task = self._measuring if self._measuring and self._measuring.run is run else None
        run.request_stop(keeps_best=task is not None and task.keeps_best)

    def check_room(self) -> None:
        """Refuse one more task where too many wait.

        Raises:
            Problem: too many wait (429).
        """
        with self._lock:
            if len(self._waiting) >= self._config.waiting_runs:
                raise Problem(429, "too_many", f"the queue is full: {counted(len(self._waiting), 'run')}", "cancel some, or wait")

    @property
    def is_measuring(self) -> bool:
        """Return whether a run measures, and so has the machine to itself."""
        with self._lock:
            return self._measuring is not None

    def close(self) -> None:
        """Stop everything; runs under way fail because the server was stopped."""
        with self._lock:
            self._closed = True
            waiting, threads = list(self._waiting), list(self._threads)
            self._waiting.clear()
        for task in waiting:
            self._stopped(task)
        self._pool.close()
        for thread in threads:
            thread.join()

    def _start_next(self) -> None:
        """Start the next run that measures, if none does."""
        with self._lock:
            if self._measuring is None and self._waiting and not self._closed:
                self._measuring = self._waiting.popleft()
                self._start(self._measuring)

    def _tell_waiting(self) -> None:
        """Say to each run that waits what for: the run that measures, and how many come first."""
        with self._lock:
            if self._measuring is None:
                return
            for ahead, task in enumerate(self._waiting):
                words = f"{self._measuring.words}{f' and {ahead} more' if ahead else ''}"
                if task.run.snapshot.waits_for != words:
                    task.run.change("queued", artifact=task.had_artifact, waits_for=words)

    def _start(self, task: RunTask) -> None:
        thread = threading.Thread(target=self._carry_out, args=(task,), name=f"collage-run-{task.run.snapshot.id}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _carry_out(self, task: RunTask) -> None:
        """Carry a run out, from running to whatever it ends in: the body of its thread."""
        try:
            self._run(task)
        except Exception as error:  # noqa: BLE001 - the border of the run: its reason is kept and shown
            _log.exception("fault in the run %s", task.run.snapshot.id)
            task.run.change(task.before or "failed", artifact=task.had_artifact, **failure(error, task.run.folder))
        finally:
            task.run.clear_stop()
            with self._lock:
                self._threads.discard(threading.current_thread())
                if self._measuring is task:
                    self._measuring = None
            self._start_next()
            self._tell_waiting()

    def _run(self, task: RunTask) -> None:
        run = task.run
        run.change("running", artifact=task.had_artifact)
        try:
            outcome = self._pool.run(
                task.function,
                *task.args,
                on_events=run.add,
                should_stop=run.must_end,
                is_reusable=task.is_search,
                ends_itself=run.cancel.is_set,
            )
        except Cancelled:
            self._stopped(task)
        except (CollageError, WorkerError) as error:
            run.change(task.before or "failed", document=self._salvaged(run), artifact=task.had_artifact, **failure(error, run.folder))
        else:
            was_cancelled = outcome.document.cancelled is not None
            artifact = task.builds and not (was_cancelled and outcome.document.verify.max_rel_error is None)
            state = "cancelled" if was_cancelled else task.rest
            run.change(state, document=outcome.document, machine=outcome.machine, artifact=artifact)
            self._pool.warm(str(run.folder))

    def _stopped(self, task: RunTask) -> None:
        if task.run.cancel.is_set():
            task.run.change(task.before or "cancelled", document=self._salvaged(task.run), artifact=task.had_artifact)
        else:
            task.run.change(task.before or "failed", error=run_store.STOPPED, artifact=task.had_artifact)

    def _salvaged(self, run: LiveRun) -> RunDocument | None:
        """Return the document of a run that did not get to its end, where it has a plan: that stands where building it failed."""
        if record_file(run.folder) is None:
            return None
        with suppress(CollageError, WorkerError, Cancelled):
            return self._pool.call(queries.outcome, self._config.engine, str(run.folder)).document
        return None
