"""`RunTask`: the work of a run, to be done in a worker process; `failure`: what a run that failed says of its error."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVarTuple

from collage_core.base.isolation.worker_errors import WorkerDied, WorkerError, WorkerFailed
from collage_core.base.whole_file import FULL
from collage_core.errors import CollageError, InfeasibleError

from ..http.error_answers import DISK_FULL, api_error
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
        keeps_best: The function ends by itself, with the best plan so far, when the user wants that.
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
        keeps_best: bool = False,
    ):
        self.run = run
        self.function: Callable[..., Outcome] = function
        self.args: tuple[Any, ...] = args
        self.is_search = is_search
        self.builds = builds
        self.rest = rest
        self.before = before
        self.keeps_best = keeps_best
        self._had_artifact = run.snapshot.artifact

    @property
    def had_artifact(self) -> bool:
        """Return whether the run had an artifact before, and has it still when this fails."""
        return self._had_artifact

    @property
    def words(self) -> str:
        """Return the words for what other runs wait for, while this goes on."""
        return f"the {'run on' if self.before is None else 'export of'} {self.run.snapshot.model_name}"


def failure(error: Exception, folder: Path) -> dict[str, Any]:
    """Return what `LiveRun.change` is told of `error`; the details of a fault are written into `folder`."""
    if isinstance(error, InfeasibleError):
        return {"error": api_error(error), "conflict": error.conflict, "uncovered": error.uncovered}
    return {"error": _error_of(error, folder / LOG)}


def _error_of(error: Exception, log: Path) -> ApiError:
    if isinstance(error, CollageError):
        return api_error(error)
    if is_full(error):
        return DISK_FULL
    if isinstance(error, WorkerFailed):
        _keep(log, error.traceback)
        return ApiError("internal", f"the run failed: {error}", f"this is a fault of ours; the traceback is in {log}")
    if isinstance(error, WorkerError):
        _keep(log, error.output)
        is_killed = isinstance(error, WorkerDied) and error.exit_status == -9
        hint = "the system may have run out of memory" if is_killed else f"what it printed is in {log}"
        return ApiError("died", f"the run's process {error}", f"run it again: what was measured is stored; {hint}")
    return ApiError("internal", f"the run failed: {type(error).__name__}: {error}", "the server's log has the details")


def _keep(log: Path, text: str) -> None:
    with suppress(OSError):  # the run has failed for another reason, which is the one to tell
        log.write_text(text)


def is_full(error: Exception) -> bool:
    """Return whether a disk was full, here or in the run's process, which sends words and no error number."""
    if isinstance(error, OSError):
        return error.errno in FULL
    return isinstance(error, WorkerFailed) and error.kind == "OSError" and any(f"[Errno {number}]" in error.what for number in FULL)
