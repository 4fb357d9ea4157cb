"""`Deadline`: a moment by which something should be over, and when that is for a run and for its comparison of whole plans.

`Options`, seconds and a clock enter; seconds leave. A deadline ends nothing by itself: whoever begins something long asks it first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ...options import Options

RUN_S = 135.0
"""A run is over about so long after its start, unless the user says how long measuring may take.

The goal is 150 s, and whatever is under way at that moment still ends.
"""
LEAST_S = 100.0
"""If loading and the search for candidates took long, so much time is left all the same."""
RESERVED_S = 45.0
"""Of that time so much is kept for building, comparing and profiling: then measuring ends, and searches do."""
COMPARING = 0.75
"""Comparing whole plans should take no more than this share of the seconds that measuring may take."""
LEAST_COMPARING_S, MOST_COMPARING_S = 10.0, 300.0
"""It has so many seconds in any case, and at most."""


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


def run_deadline(options: Options, elapsed_s: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
    """Return when a run should be over that began `elapsed_s` seconds ago and has its candidates.

    Never where the user says how long measuring, or where nothing is measured each search, may take, or asks for everything. Tuning
    comes on top.
    """
    is_users = options.budget_s is not None or options.measure_all or (not options.is_measured and options.time_limit_s is not None)
    return Deadline(math.inf if is_users else max(RUN_S - elapsed_s, LEAST_S) + (options.tune_s or 0.0), clock)


@dataclass(frozen=True)
class ComparingDeadlines:
    """When whole plans should be compared.

    Attributes:
        wanted: For plans that are worth a look.
        last: For those without which the plan may be slower than a single toolchain.
    """

    wanted: Deadline = field(default_factory=Deadline)
    last: Deadline = field(default_factory=Deadline)


def comparing_deadlines(measuring_s: float, run: Deadline, clock: Callable[[], float] = time.monotonic) -> ComparingDeadlines:
    """Return the deadlines of a comparison that begins now, in a run whose measuring may take `measuring_s` seconds.

    Some time there always is.
    """
    last_s = max(LEAST_COMPARING_S, min(MOST_COMPARING_S, run.left_s))
    wanted_s = max(LEAST_COMPARING_S, COMPARING * measuring_s)
    return ComparingDeadlines(Deadline(min(wanted_s, last_s), clock), Deadline(last_s, clock))
