"""`RunService`: every run that there is: look at, list, mark, delete.

A run is in memory while it goes on and for some time after, and always in its folder. Runs of other servers on the same
folder are followed, recorded ones are unpacked when they are asked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from collage_core.base.isolation.errors import WorkerError
from collage_core.errors import CollageError

from ..http.errors import Problem, refused
from ..messages.runs import RunLog, RunMarks, RunSnapshot, RunSummary
from ..worker import run_job
from . import store as run_store
from .follower import follow
from .job_pool import JobPool
from .journal import newest_decisions
from .live_run import LiveRun
from .marks import change_marks
from .recorded import Recorded
from .state import ACTIVE

LOG_ITEMS = 5000
SESSIONS_KEPT = 8
"""Ended runs whose newest events stay in memory."""


class RunService:
    """All runs.

    Args:
        wake: Called when a run has new events.
    """

    def __init__(self, pool: JobPool, recorded: Recorded, wake: Callable[[], None]):
        self._pool = pool
        self._recorded = recorded
        self._wake = wake
        self._lock = threading.RLock()
        self._sessions: OrderedDict[str, LiveRun] = OrderedDict()
        self._closed = False

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

    def session(self, run: str) -> LiveRun:
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
                session = self._sessions.setdefault(run, LiveRun(run_store.run_folder(run), snapshot, (), self._wake))
                self._trim()
            if is_new and snapshot.state in ACTIVE:
                session.is_followed = True
                follow(session, lambda: self._closed, lambda: self._forget(run))
        return session

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
        if run_job.record_file(folder) is None:
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

    def mark(self, run: str, change: RunMarks) -> RunSummary:
        """Give the run a name, a note or a star.

        Raises:
            Problem: there is no such run (404), or a text is not right (400).
        """
        snapshot = self.get(run)
        folder = run_store.run_folder(run)
        change_marks(folder, change)
        return run_store.with_marks(folder, run_store.summary(snapshot))

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

    def remember(self, session: LiveRun) -> None:
        """Keep a new run in memory."""
        with self._lock:
            self._sessions[session.snapshot.id] = session
            self._trim()

    def close(self) -> None:
        """Follow no run any more."""
        self._closed = True

    def _forget(self, run: str) -> None:
        with self._lock:
            self._sessions.pop(run, None)

    def _trim(self) -> None:
        """Let go of the sessions that ended longest ago."""
        ended = [run for run, session in self._sessions.items() if session.snapshot.state not in ACTIVE]
        for run in ended[: max(0, len(ended) - SESSIONS_KEPT)]:
            del self._sessions[run]
