"""`Job`: a request that any worker may answer, with how its answer is read. Trials and calls enter, requests leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...toolchains.border import with_weights_inside
from ...toolchains.toolchain import ToolchainError
from ..database.records import Record
from ..measuring.trial import TrialLimits, TrialTask
from .protocol import Description, InvalidAnswer, description_from_json, error_from_json, record_from_json

_MOST_SHARING = 3
"""A request may wait for so many times its own limits, since other runs may use the same workers."""
_SLACK_S = 60.0


class WorkerLost(Exception):
    """Raised where a worker cannot be used any more.

    Attributes:
        is_fault: It misbehaves, and is not used again in this run; a worker that vanished may come back.
    """

    def __init__(self, reason: str, *, is_fault: bool):
        super().__init__(reason)
        self.is_fault = is_fault


@dataclass(eq=False)
class Job:
    """A request that any worker may answer.

    Attributes:
        words: Name of the request, and its arguments.
        limit_s: Seconds within which it must be answered.
        read: Returns the result of an answer to it, which came after so many seconds. Raises `InvalidAnswer`, `WorkerLost`, or what
            the request raised.
        files: Files that it reads.
        try_elsewhere: Returns whether a result is this worker's own trouble, so that another worker is worth a try.
        only: Name of the worker that must do it, while it is there.
        lost: Number of workers that were lost over it.
        avoid: Addresses of the workers that had it already.
        done_by: Name of the worker that gave the result.
        error: Why there is no result.
    """

    words: tuple[Any, ...]
    limit_s: float
    read: Callable[[dict[str, Any], float], Any]
    files: Sequence[Path] = ()
    try_elsewhere: Callable[[Any], bool] = lambda result: False
    only: str | None = None
    lost: int = 0
    avoid: set[str] = field(default_factory=set)
    is_done: bool = False
    done_by: str = ""
    result: Any = None
    error: Exception | None = None


def trial_job(limits: TrialLimits, task: TrialTask) -> Job:
    """Return the job of a trial; it is done already where the model cannot be sent."""
    longest_s = _longest_s(limits, len(task.further))
    job = Job((), _MOST_SHARING * longest_s, _record_of, task.files, lambda record: record.stage == "device")
    try:
        job.words = ("trial", replace(task, model=with_weights_inside(task.model)))  # The model's files are not there.
    except ToolchainError as error:
        job.result, job.is_done = Record(stage="import", reason=error.message), True
    return job


def call_job(function: Callable[..., Any], arguments: tuple[Any, ...], timeout_s: float, only: str | None) -> Job:
    """Return the job of a call of a module-level function."""
    words = ("call", function.__module__, function.__qualname__, arguments, timeout_s)
    return Job(words, _MOST_SHARING * (timeout_s + _SLACK_S), _value_of, only=only)


def described(answer: dict[str, Any]) -> Description:
    """Return a worker's description from what it says of itself. Raises `InvalidAnswer` or `WorkerLost`."""
    return description_from_json(_without_error(answer).get("description"))


def _record_of(answer: dict[str, Any], took_s: float) -> Record:
    return record_from_json(_without_error(answer).get("record"), took_s)


def _value_of(answer: dict[str, Any], took_s: float) -> Any:
    if "error" in answer:
        raise error_from_json(answer["error"])
    if "value" not in answer:
        raise InvalidAnswer("its answer holds nothing that was asked for")
    return answer["value"]


def _without_error(answer: dict[str, Any]) -> dict[str, Any]:
    """Raise `WorkerLost` for an error of the worker itself; one of a toolchain would be in a record."""
    if "error" in answer:
        raise WorkerLost(f"it cannot measure: {error_from_json(answer['error'])}", is_fault=True)
    return answer


def _longest_s(limits: TrialLimits, checks: int) -> float:
    """Return the seconds after which no trial that keeps its limits is still running: it may be tried twice.

    Args:
        checks: On how many further inputs it is checked.
    """
    timing_s = limits.run_s + limits.timing.longest_s + (4 + checks) * limits.run_s
    return 2 * (limits.start_s + limits.build_s + limits.run_s + timing_s) + _SLACK_S
