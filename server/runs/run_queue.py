"""`RunQueue`: one run measures at a time, the others wait in line; a run that only searches waits for nobody.

What enters is `RunTask`; its call is made in a process of its own, from a thread here that only listens. A run that dies has
failed, and says why.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from contextlib import suppress
from typing import Any

from collage_core.base.isolation.errors import WorkerError
from collage_core.errors import Cancelled, CollageError

from ..config import ServerConfig
from ..http.errors import Problem
from ..worker import run_job
from . import store as run_store
from .job_pool import JobPool
from .live_run import LiveRun
from .run_task import RunTask, failure

_log = logging.getLogger(__name__)


class RunQueue:
    """The work of all runs, waiting and under way."""

    def __init__(self, config: ServerConfig, pool: JobPool):
        self._config = config
        self._pool = pool
        self._lock = threading.RLock()
        self._waiting: deque[RunTask] = deque()
        self._measuring: RunTask | None = None
        self._threads: set[threading.Thread] = set()
        self._closed = False

    def submit(self, work: RunTask) -> None:
        """Begin with the work, or let it wait for its turn."""
        with self._lock:
            if work.is_search:
                self._start(work)
            else:
                self._waiting.append(work)
        self._pump()

    def withdraw(self, session: LiveRun) -> RunTask | None:
        """Take the work of the run out of those that wait; None where none does."""
        with self._lock:
            waiting = next((work for work in self._waiting if work.session is session), None)
            if waiting is not None:
                self._waiting.remove(waiting)
        return waiting

    def check_room(self) -> None:
        """Refuse one more.

        Raises:
            Problem: too many wait (429).
        """
        with self._lock:
            if len(self._waiting) >= self._config.waiting_runs:
                raise Problem(429, "too_many", f"{len(self._waiting)} runs wait already", "cancel some, or wait")

    @property
    def is_measuring(self) -> bool:
        """A run has the machine to itself."""
        with self._lock:
            return self._measuring is not None

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

    def _pump(self) -> None:
        """Let the next run measure, if none does."""
        with self._lock:
            if self._measuring is None and self._waiting and not self._closed:
                self._measuring = self._waiting.popleft()
                self._start(self._measuring)

    def _start(self, work: RunTask) -> None:
        thread = threading.Thread(target=self._work, args=(work,), name=f"collage-run-{work.session.snapshot.id}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self, work: RunTask) -> None:
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

    def _run(self, work: RunTask) -> None:
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

    def _stopped(self, work: RunTask) -> None:
        if work.session.cancel.is_set():
            work.session.change(work.before or "cancelled", document=self._salvaged(work))
        else:
            work.session.change(work.before or "failed", error=run_store.STOPPED)

    def _failed(self, work: RunTask, error: Exception) -> None:
        details = failure(error, work.session.folder)
        details["conflict"] = [index for index in details["conflict"] if index < len(work.session.snapshot.constraints)]
        work.session.change(work.before or "failed", document=self._salvaged(work), **details)

    def _salvaged(self, work: RunTask) -> dict[str, Any] | None:
        """What a run that did not get to its end had found: the plan stands where building it failed."""
        if run_job.record_file(work.session.folder) is None:
            return None
        with suppress(CollageError, WorkerError, Cancelled):
            return self._pool.look_up(run_job.outcome, str(work.session.folder))["document"]
        return None
