"""`DryRuns`: says what a run would build and about how long that takes, before it is started. Nothing is measured, nothing is kept.

A `RunRequest` enters; a `DryRunAnswer` leaves. One dry run goes on at a time, and the newest wins; a run that measures ends it, since it
would disturb what is measured.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

from collage_core.base.isolation.worker_errors import WorkerError
from collage_core.documents.dry_run import DryRun
from collage_core.errors import Cancelled, CollageError

from ..config import ServerConfig
from ..messages.requests import DryRunAnswer, RunRequest
from ..process_pool import ProcessPool
from ..worker import queries
from .factory import RunFactory
from .queue import RunQueue

LONGEST_S = 60.0
"""A dry run that takes longer is stopped: it is asked for unasked, as soon as a model is open."""
_MEASURES = "a run measures: it has the machine for itself"


class DryRuns:
    """Answers one request after another, in worker processes."""

    def __init__(self, config: ServerConfig, pool: ProcessPool, factory: RunFactory, queue: RunQueue):
        self._config = config
        self._pool = pool
        self._factory = factory
        self._queue = queue
        self._lock = threading.Lock()
        self._going: threading.Event | None = None
        """Set to end the dry run that goes on; None where none does."""

    def answer(self, request: RunRequest) -> DryRunAnswer:
        """Estimate the builds and the time of a run.

        Raises:
            CollageError: there is no such model.
        """
        self._factory.model_file(request.model, request.model)
        if self._queue.is_measuring:
            return DryRunAnswer(None, _MEASURES)
        stop = threading.Event()
        with self._lock:
            before, self._going = self._going, stop
        if before is not None:
            before.set()
        timer = threading.Timer(LONGEST_S, stop.set)
        timer.daemon = True
        timer.start()
        try:
            return DryRunAnswer(self._estimate(request, stop))
        except Cancelled:
            return DryRunAnswer(None, _MEASURES if self._queue.is_measuring else "it was not finished")
        except CollageError as error:
            return DryRunAnswer(None, error.message)
        except WorkerError as error:
            return DryRunAnswer(None, str(error))
        finally:
            timer.cancel()
            with self._lock:
                if self._going is stop:
                    self._going = None

    def stop(self) -> None:
        """End the dry run that goes on."""
        with self._lock:
            if self._going is not None:
                self._going.set()

    def _estimate(self, request: RunRequest, stop: threading.Event) -> DryRun:
        with tempfile.TemporaryDirectory(prefix="collage-dry-run-") as folder:
            path, options = self._factory.engine_options(request, Path(folder))
            arguments = self._config.engine, str(path), options
            return self._pool.run(queries.dry_run, *arguments, on_events=_ignore, should_stop=stop.is_set, is_reusable=True)


def _ignore(events: object) -> None:
    """Take no notice: a dry run tells no progress."""
