"""`Deadline`: a moment by which something should be over, and when that is for a run and for its comparison of whole plans.

`Options`, seconds and a clock enter; seconds leave. A deadline ends nothing by itself: whoever begins something long asks it first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ...base.durations import duration
from ...options import Options
from .budget import budget_s

RUN_S = 135.0
"""A run that measures nothing is over about so long after its start."""
LEAST = 0.5
"""If loading and the search for candidates took long, a run still has that share of its time left, unless the user gives a budget."""
GRACE = 0.1
"""Share of its time by which a run may be late so that the plan is compared at least with the best single toolchain."""
LATE = 0.2
"""A run that is late by more than that share of its time says why."""
MOST_COMPARING_S = 300.0
"""Comparing whole plans takes no longer than that, also in a run without a limit."""


class Deadline:
    """A moment on a clock that only goes up.

    Args:
        limit_s: Seconds from now; infinite for a deadline that never comes.
    """

    def __init__(self, limit_s: float = math.inf, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._at = clock() + limit_s

    @property
    def left_s(self) -> float:
        """Seconds that are left; 0 once it has come."""
        return max(0.0, self._at - self._clock())

    def is_over(self) -> bool:
        return self.left_s <= 0

    def extend(self, seconds: float) -> None:
        """Let it come so many seconds later."""
        self._at += seconds

    def leave(self, seconds: float) -> None:
        """Let it come no sooner than in so many seconds."""
        self._at = max(self._at, self._clock() + seconds)


def run_s(options: Options, nodes: int) -> float:
    """Return the seconds that a run of a model of so many nodes takes at most; tuning comes on top.

    Infinite where the user asks for all costs, or says how long each search, or a cost server, may take in a run that measures nothing.
    """
    if options.is_measured:
        return budget_s(options, nodes)
    return RUN_S if options.time_limit_s is None and options.budget_s is None else math.inf


def run_deadline(options: Options, nodes: int, elapsed_s: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
    """Return when a run should be over that began `elapsed_s` seconds ago and has its candidates."""
    whole_s = run_s(options, nodes)
    least_s = LEAST * whole_s if options.budget_s is None else 0.0
    return Deadline(max(whole_s - elapsed_s, least_s) + (options.tune_s or 0.0), clock)


def comparing_deadline(whole_run_s: float, run: Deadline, clock: Callable[[], float] = time.monotonic) -> Deadline:
    """Return the deadline of a comparison of whole plans that begins now, in a run that may take `whole_run_s` seconds in all."""
    return Deadline(min(max(run.left_s, GRACE * whole_run_s), MOST_COMPARING_S), clock)


def late_text(elapsed_s: float, whole_run_s: float, measuring_s: float) -> str:
    """Say why a run took longer than it may, and the least budget that would do; empty where it was in time.

    Args:
        measuring_s: The seconds of it in which costs were measured.
    """
    if elapsed_s <= (1 + LATE) * whole_run_s:
        return ""
    least = duration(max(0.0, elapsed_s - measuring_s), 2)
    return (
        f"the answer took {duration(elapsed_s, 2)}, more than its budget of {duration(whole_run_s, 2)}: loading the model, building, "
        f"checking and comparing plans took {least} of it, as busy as this machine is; a budget must be larger than that"
    )
