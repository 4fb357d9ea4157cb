"""`RunTask`: the work of a run, to be done in a worker process; `failure`: what a run that failed says of its error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVarTuple

from collage_core.base.isolation.errors import WorkerDied, WorkerError, WorkerFailed
from collage_core.errors import CollageError, InfeasibleError

from ..http.errors import api_error
from ..messages.live import ApiError, RunState
from ..worker.engine import Outcome
from .live_run import LiveRun

LOG = "error.log"
Arguments = TypeVarTuple("Arguments")


class RunTask:
    """A function of `server.worker.tasks` with its arguments, and what its end means for the run.

    Args:
        is_search: Nothing is measured or built, so that it need not wait for its turn.
        builds: It leaves an artifact.
        rest: The run's state when all went well.
        before: The state of a run that had a plan already, and has it still when this fails.
    """

    def __init__(
        self,
        run: LiveRun,
        function: Callable[[*Arguments], Outcome],
        *args: *Arguments,
        is_search: bool = False,
        builds: bool = False,
        rest: RunState = "done",
        before: RunState | None = None,
    ):
        self.run = run
        self.function: Callable[..., Outcome] = function
        self.args: tuple[Any, ...] = args
        self.is_search = is_search
        self.builds = builds
        self.rest = rest
        self.before = before


def failure(error: Exception, folder: Path) -> dict[str, Any]:
    """Return what `LiveRun.change` is told of `error`; the details of a fault are written into `folder`."""
    if isinstance(error, InfeasibleError):
        return {"error": api_error(error), "conflict": error.conflict, "uncovered": error.uncovered}
    return {"error": _error_of(error, folder / LOG)}


def _error_of(error: Exception, log: Path) -> ApiError:
    if isinstance(error, CollageError):
        return api_error(error)
    if isinstance(error, WorkerFailed):
        log.write_text(error.traceback)
        return ApiError("internal", f"the run failed: {error}", f"this is a fault of ours; the traceback is in {log}")
    if isinstance(error, WorkerError):
        log.write_text(error.output)
        hint = "the system may have run out of memory" if _is_kill(error) else f"what it printed is in {log}"
        return ApiError("died", f"the run's process {error}", f"run it again: what was measured is known; {hint}")
    return ApiError("internal", f"the run failed: {type(error).__name__}: {error}", "the server's log has the details")


def _is_kill(error: WorkerError) -> bool:
    return isinstance(error, WorkerDied) and error.exit_status == -9
