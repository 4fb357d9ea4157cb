"""`RunService`: finds, lists, marks and deletes runs.

A run is in memory while it goes on and for some time after, and always in its folder. Runs of other servers on the same
folder are followed; recorded runs are unpacked when somebody asks for them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from collage_core.base.isolation.worker_errors import WorkerError
from collage_core.errors import CollageError

from ..http.error_answers import Problem, refused
from ..messages.runs import PlanResult, RunLog, RunMarks, RunSnapshot, RunSummary
from ..process_pool import ProcessPool
from ..shared.run_files import record_file
from . import run_store
from .follower import follow
from .journal import newest_decisions
from .live_run import LiveRun
from .marks import change_marks
from .recorded import Recorded
from .state import ACTIVE

LOG_ITEMS = 5000
ENDED_KEPT = 8
"""Ended runs whose newest events stay in memory."""


class RunService:
    """All runs.

    Args:
        wake: Called when a run has new events.
    """

    def __init__(self, pool: ProcessPool, recorded: Recorded, wake: Callable[[], None]):
        self._pool = pool
        self._recorded = recorded
        self._wake = wake
        self._lock = threading.RLock()
        self._live: OrderedDict[str, LiveRun] = OrderedDict()
        self._closed = False

    def get(self, run: str) -> RunSnapshot:
        """Return the run's snapshot.

        Raises:
            Problem: there is no such run (404).
        """
        with self._lock:
            live = self._live.get(run)
        if live is not None:
            return live.snapshot
        self._recorded.unpack(run)
        return run_store.load(run)

    def opened(self, run: str) -> RunSnapshot:
        """Return the run's snapshot, for a page that will ask more: a worker process reads the record meanwhile."""
        snapshot = self.get(run)
        if snapshot.state not in ACTIVE:
            self._pool.warm(str(run_store.run_folder(run)))
        return snapshot

    def live_run(self, run: str) -> LiveRun:
        """Return the run in memory, brought there where it was not.

        Raises:
            Problem: there is no such run (404).
        """
        with self._lock:
            live = self._live.get(run)
        if live is None:
            snapshot = self.get(run)
            with self._lock:
                is_new = run not in self._live
                live = self._live.setdefault(run, LiveRun(run_store.run_folder(run), snapshot, (), self._wake))
                self._trim()
            if is_new and snapshot.state in ACTIVE:
                live.is_followed = True
                follow(live, lambda: self._closed, lambda: self._forget(run))
        return live

    def all(self) -> list[RunSummary]:
        """List every run, newest first."""
        for run in self._recorded.ids():
            with suppress(CollageError, WorkerError, OSError):  # the others are listed also where the disk is full
                self._recorded.unpack(run)
        return sorted(run_store.summaries(), key=lambda summary: summary.created, reverse=True)

    def results(self) -> dict[str, PlanResult]:
        """Return for each model the fastest result of the runs on disk; a measured one goes before all that are predicted."""
        best: dict[str, PlanResult] = {}
        for row in run_store.summaries():
            if row.result and (row.model not in best or _rank(row.result) < _rank(best[row.model])):
                best[row.model] = row.result
        return best

    def folder(self, run: str) -> Path:
        """Return the run's folder, with a record in it.

        Raises:
            Problem: there is no such run (404), or it has no plan (409).
        """
        self.get(run)
        folder = run_store.run_folder(run)
        if record_file(folder) is None:
            raise refused("no_record", f"the run {run!r} has no plan", "wait until it is done, or run it again")
        return folder

    def costs_of(self, run: RunSnapshot) -> Path:
        """Return the folder of the run that measured what `run` rests on: a search that left candidates out has forgotten their costs.

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
        """Return what the run has told so far.

        Raises:
            Problem: there is no such run (404).
        """
        self.get(run)
        with self._lock:
            live = self._live.get(run)
        if live is not None:
            live.flush()
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
            self._live.pop(run, None)
        run_store.delete(run)

    def uses(self, model: str) -> bool:
        """Return whether a run on `model` is waiting or under way."""
        with self._lock:
            known = list(self._live.values())
        return any(live.snapshot.model == model and live.snapshot.state in ACTIVE for live in known)

    def remember(self, live: LiveRun) -> None:
        """Keep a new run in memory."""
        with self._lock:
            self._live[live.snapshot.id] = live
            self._trim()

    def drop(self, live: LiveRun) -> None:
        """Forget a run that could not be begun, and remove its files."""
        self._forget(live.snapshot.id)
        run_store.discard(live.folder)

    def close(self) -> None:
        """Stop following runs."""
        self._closed = True

    def _forget(self, run: str) -> None:
        with self._lock:
            self._live.pop(run, None)

    def _trim(self) -> None:
        """Let go of the runs that ended longest ago."""
        ended = [run for run, live in self._live.items() if live.snapshot.state not in ACTIVE]
        for run in ended[: max(0, len(ended) - ENDED_KEPT)]:
            del self._live[run]


def _rank(result: PlanResult) -> tuple[bool, float]:
    """Order results of which some are predicted: their totals do not compare with measured ones."""
    return not result.is_measured, result.total_s
