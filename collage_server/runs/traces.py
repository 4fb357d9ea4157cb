"""`TraceService`: has searches of runs traced when somebody asks for it, keeps a trace in the run's folder, and gives it chunk by chunk.

A trace is made in a process of its own, one at a time, and gives way to a run that measures: it would spoil its times.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from collage_core.errors import Cancelled, CollageError
from collage_core.trace.trace_file import FILE_NAME, PARTIAL_NAME, read_chunk, read_info

from ..config import ServerConfig
from ..http.error_answers import api_error, not_found, refused
from ..messages.kept import TraceFacts, TraceSearch, TraceState
from ..messages.live import ApiError
from ..process_pool import Events, ProcessPool
from ..shared.from_json import from_json
from ..worker import tasks
from . import run_store
from .queue import RunQueue
from .service import RunService

START_WAIT_S = 0.5
"""How long an answer waits for a trace: most are there by then."""

STOP_WAIT_S = 5.0
FAILURES_KEPT = 20
GAVE_WAY = ApiError("gave_way", "a run began to measure, and tracing would have spoilt its times", "trace the search when the run is over")

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Tracing:
    """The trace that is being made."""

    run: str
    folder: Path
    steps: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def count(self, reports: Events) -> None:
        self.steps = reports[-1]["steps"]


class TraceService:
    """All traces."""

    def __init__(self, config: ServerConfig, pool: ProcessPool, runs: RunService, queue: RunQueue):
        self._config = config
        self._pool = pool
        self._runs = runs
        self._queue = queue
        self._lock = threading.Lock()
        self._current: _Tracing | None = None
        self._failures: OrderedDict[str, ApiError] = OrderedDict()

    def state(self, run: str) -> TraceState:
        """Return whether there is a trace of `run`, and what is in it.

        Raises:
            Problem: there is no such run (404).
        """
        self._runs.get(run)
        path = run_store.run_folder(run) / FILE_NAME
        with self._lock:
            tracing, failed = self._current, self._failures.get(run)
        if tracing is not None and tracing.run == run:
            return TraceState(run, "tracing", tracing.steps)
        if failed is not None:
            return TraceState(run, "failed", error=failed)
        if not path.exists():
            return TraceState(run, "none")
        try:
            return TraceState(run, "ready", facts=_facts(path))
        except CollageError as error:
            return TraceState(run, "failed", error=api_error(error))

    def start(self, run: str) -> TraceState:
        """Trace the search of `run`; nothing happens where that is done or under way.

        Raises:
            Problem: there is no such run (404), it has no plan, another is being traced, or a run measures (409).
        """
        folder = self._runs.folder(run)
        known = self.state(run)
        if known.state in ("ready", "tracing"):
            return known
        if self._queue.is_measuring:
            raise refused("busy", "a run is measuring, and tracing would spoil its times", "trace the search when it is over")
        with self._lock:
            if self._current is not None:
                raise refused("busy", f"the search of the run {self._current.run!r} is being traced", "wait until it is done, or stop it")
            self._failures.pop(run, None)
            tracing = self._current = _Tracing(run, folder)
        threading.Thread(target=self._work, args=(tracing,), name=f"collage-trace-{run}", daemon=True).start()
        tracing.over.wait(START_WAIT_S)
        return self.state(run)

    def stop(self, run: str) -> None:
        """Stop tracing `run`, if that is under way."""
        with self._lock:
            tracing = self._current
        if tracing is not None and tracing.run == run:
            tracing.stop.set()
            tracing.over.wait(STOP_WAIT_S)

    def drop(self, run: str) -> None:
        """Stop tracing `run`, and remove the trace; nothing happens where there is none.

        Raises:
            Problem: there is no such run (404).
        """
        self._runs.get(run)
        self.stop(run)
        with self._lock:
            self._failures.pop(run, None)
        (run_store.run_folder(run) / FILE_NAME).unlink(missing_ok=True)

    def chunk(self, run: str, number: int) -> bytes:
        """Return chunk `number` of the trace of `run`, a `TraceChunk` as JSON text.

        Raises:
            Problem: there is no such run, trace or chunk (404).
            CollageError: the trace is damaged.
        """
        self._runs.get(run)
        path = run_store.run_folder(run) / FILE_NAME
        if not path.exists():
            raise not_found("no_trace", f"the search of the run {run!r} has not been traced", f"POST /api/v1/runs/{run}/trace")
        text = read_chunk(path, number)
        if text is None:
            raise not_found(
                "no_chunk", f"the trace has no chunk {number}", "chunks are numbered from 0; GET …/trace says how many steps there are"
            )
        return text

    def close(self) -> None:
        """Stop the trace that is being made."""
        with self._lock:
            tracing = self._current
        if tracing is not None:
            self.stop(tracing.run)

    def _work(self, tracing: _Tracing) -> None:
        """Make a trace: the body of its thread."""
        error: ApiError | None = None
        try:
            with suppress(Cancelled):
                self._pool.run(
                    tasks.trace,
                    self._config.engine,
                    str(tracing.folder),
                    on_events=tracing.count,
                    should_stop=lambda: tracing.stop.is_set() or self._queue.is_measuring,
                    is_reusable=True,
                )
            if not tracing.stop.is_set() and not (tracing.folder / FILE_NAME).exists():
                error = GAVE_WAY
        except CollageError as raised:
            error = api_error(raised)
        except Exception as raised:  # noqa: BLE001 - the border of the trace: its reason is kept and shown
            _log.exception("fault while tracing the run %s", tracing.run)
            error = ApiError("internal", f"tracing failed: {raised}", "the server's log has the details")
        tracing.folder.joinpath(PARTIAL_NAME).unlink(missing_ok=True)
        with self._lock:
            self._current = None
            if error is not None:
                self._failures[tracing.run] = error
                while len(self._failures) > FAILURES_KEPT:
                    self._failures.popitem(last=False)
        tracing.over.set()


def _facts(path: Path) -> TraceFacts:
    info = read_info(path)
    try:
        return TraceFacts(
            size_bytes=path.stat().st_size,
            searches=[from_json(TraceSearch, search) for search in info["searches"]],
            **{name: info[name] for name in ("steps", "chunk_steps", "bound_bytes", "is_thinned", "nodes", "seconds", "reasons")},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CollageError(f"cannot read the trace {str(path)!r}: {error}", "trace the search again", "bad_trace") from error
