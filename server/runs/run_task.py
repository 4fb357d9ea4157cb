"""`RunTask`: what a run is to do, and `failure`: what is told when it did not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collage_core.base.isolation.errors import WorkerDied, WorkerError, WorkerFailed
from collage_core.errors import CollageError, InfeasibleError

from ..http.errors import api_error
from ..messages.live import ApiError, RunState
from ..worker import run_job
from .live_run import LiveRun

LOG = "error.log"


@dataclass(frozen=True)
class RunTask:
    """A function of `job` with its arguments after the pipeline's name.

    Attributes:
        is_search: Phase 3 alone.
        rest: The run's state when all went well.
        before: The state of a run that had a plan already, and has it still when this fails.
    """

    session: LiveRun
    function: Callable[..., Any]
    args: tuple[Any, ...]
    is_search: bool = False
    rest: RunState = "done"
    before: RunState | None = None

    @property
    def builds(self) -> bool:
        """It leaves an artifact."""
        return self.function in (run_job.partition, run_job.build)


def failure(error: Exception, folder: Path) -> dict[str, Any]:
    """What `LiveRun.change` is told of `error`; the details of a fault are written into `folder`."""
    if isinstance(error, InfeasibleError):
        return {"error": api_error(error), "conflict": error.conflict, "uncovered": error.uncovered}
    told: dict[str, list[int]] = {"conflict": [], "uncovered": []}
    if isinstance(error, CollageError):
        return {"error": api_error(error), **told}
    log = folder / LOG
    if isinstance(error, WorkerFailed):
        log.write_text(error.traceback)
        hint = f"this is a fault of ours; the traceback is in {log}"
        return {"error": ApiError("internal", f"the run failed: {error}", hint), **told}
    if isinstance(error, WorkerError):
        log.write_text(error.output)
        hint = "the system may have run out of memory" if _is_kill(error) else f"what it printed is in {log}"
        return {"error": ApiError("died", f"the run's process {error}", f"run it again: what was measured is known; {hint}"), **told}
    return {"error": ApiError("internal", f"the run failed: {type(error).__name__}: {error}", "the server's log has the details"), **told}


def _is_kill(error: WorkerError) -> bool:
    return isinstance(error, WorkerDied) and error.exit_status == -9
