"""`Budget`: the seconds that a run may spend on measuring, and how many it spent; `Deadline`: a moment by which something should be over.

The budget of a run (`budget_s`) is the time to its answer: building and timing whole plans have their part of it (`reserved_s`), and the
rest is for measuring. A `Budget` takes that rest and a clock, and says when it is over. It ends nothing before there is a first complete
plan: a run without any plan would help nobody. A deadline ends nothing by itself: whoever begins something long asks it first. There is
one for the run, and one for its comparison of whole plans.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...base.durations import duration
from ...options import Options
from ...search.searcher import never

LEAST_S, OF_A_NODE_S, MOST_S = 15.0, 0.5, 45.0
INFERENCES, MOST_FOR_INFERENCES_S = 75, 45.0
"""Measuring a slow model takes longer: so many runs of the whole model are added, but not more than those seconds."""
RESERVED, LEAST_RESERVED_S, MOST_RESERVED_S = 0.4, 4.0, 45.0
"""Of the time of a run so much is kept for the end: the last searches, building, verifying, and timing whole plans. That takes some seconds
however small the model is: a run of less than twice `LEAST_RESERVED_S` keeps half of its time."""


def budget_s(options: Options, nodes: int) -> float:
    """Return the seconds to the answer of a run of so many nodes: what the user says, or as many as its size suggests.

    The time for `INFERENCES` runs comes on top (`Budget.add_inferences`), unless the user says how long the run may take.

    Infinite where nothing is measured, or everything was asked for.
    """
    if not options.is_measured:
        return math.inf
    if options.budget_s is not None:
        return options.budget_s
    return math.inf if options.measure_all else min(LEAST_S + OF_A_NODE_S * nodes, MOST_S)


def reserved_s(run_s: float) -> float:
    """Return how many of the seconds of a run measuring leaves for its end."""
    return min(max(RESERVED * run_s, min(LEAST_RESERVED_S, 0.5 * run_s)), MOST_RESERVED_S)


class Budget:
    """The time for measuring in one run.

    Args:
        limit_s: Seconds; infinite for no limit.
        clock: Gives seconds that only go up.
        extend_run: `add_inferences` adds to the limit, and tells how many seconds the run may take longer; None where nothing is added.
        should_stop: Asked often; once it is True, nothing more is measured, whether there is a plan or not.

    Attributes:
        has_plan: Set once a complete plan is known, or cannot be had soon: from then on the time may be over.
        end_s: Returns about how long the run takes after measuring.
        added_s: Seconds that `add_inferences` added.
    """

    def __init__(
        self,
        limit_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        extend_run: Callable[[float], None] | None = None,
        should_stop: Callable[[], bool] = never,
    ):
        self.limit_s = limit_s
        self.should_stop = should_stop
        self.has_plan = False
        self.end_s: Callable[[], float] = lambda: 0.0
        self._clock = clock
        self._extend_run, self.added_s = extend_run, 0.0
        self._spent_s = 0.0
        self._shares_from_s = 0.0
        self._most_share = math.inf
        self._began: float | None = None

    def add_inferences(self, whole_s: float | None) -> None:
        """Add the time for `INFERENCES` runs of the whole model, which takes `whole_s` seconds; None where that is not known.

        A later call, where a faster whole is known, takes the place of an earlier one.
        """
        if self._extend_run is not None and whole_s is not None:
            more_s = min(INFERENCES * whole_s, MOST_FOR_INFERENCES_S) - self.added_s
            self.limit_s, self.added_s = self.limit_s + more_s, self.added_s + more_s
            self._extend_run(more_s)

    def extend(self, seconds: float) -> None:
        """Let measuring take so many seconds more than was left, or than it has taken already."""
        self.limit_s, self._extend_run = max(self.limit_s, self.spent_s) + seconds, None

    def begin_shares(self) -> None:
        """Count shares from now on: what was spent so far had to be spent."""
        self._shares_from_s = min(self.spent_s, self.limit_s)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the time meanwhile."""
        self._began = self._clock()
        try:
            yield
        finally:
            self._spent_s, self._began = self.spent_s, None

    @contextmanager
    def within(self, share: float) -> Iterator[None]:
        """Let measuring end meanwhile when this share is spent (`share_spent`), as it ends when all is; the rest is for what comes next."""
        self._most_share = share
        try:
            yield
        finally:
            self._most_share = math.inf

    @property
    def spent_s(self) -> float:
        """Seconds that were counted so far."""
        return self._spent_s + (0.0 if self._began is None else self._clock() - self._began)

    @property
    def share_spent(self) -> float:
        """The share that was spent of the limit, or of what was left of it (`begin_shares`); 0 where there is no limit.

        Infinite from the moment on when the user stops the run.
        """
        if self.should_stop():
            return math.inf
        if math.isinf(self.limit_s):
            return 0.0
        left_s = self.limit_s - self._shares_from_s
        return (self.spent_s - self._shares_from_s) / left_s if left_s > 0 else 1.0

    def left_s(self, trials_s: float | None) -> float | None:
        """About how long the run takes still, where the trials that are planned would take `trials_s`; None where nobody can tell.

        Args:
            trials_s: None where nothing is planned yet, or nobody knows how long a trial takes.
        """
        left_s = self.limit_s - self.spent_s
        if math.isinf(left_s) or (left_s <= 0 and not self.has_plan):
            return None if trials_s is None else trials_s + self.end_s()
        return max(0.0, left_s if trials_s is None else min(left_s, trials_s)) + self.end_s()

    def is_over(self) -> bool:
        """Return whether measuring must end, or what may take a share of it (`within`)."""
        return self.should_stop() or (self.has_plan and (self.spent_s >= self.limit_s or self.share_spent > self._most_share))


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
