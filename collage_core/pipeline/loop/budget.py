"""`Budget`: the seconds that a run may spend on measuring, and how many it spent.

It takes a limit and a clock, and says when the time is over. It does not count while nothing is measured, and it ends nothing before
there is a first complete plan: a run without any plan would help nobody.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...options import Options
from ...search.searcher import never

LEAST_S, OF_A_NODE_S, MOST_S = 15.0, 0.1, 45.0
INFERENCES, MOST_FOR_INFERENCES_S = 75, 45.0
"""Measuring a slow model takes longer: so many runs of the whole model are added, but not more than those seconds."""


def budget_s(options: Options, nodes: int) -> float:
    """Return the seconds that measuring a model of so many nodes may take: what the user says, or as many as its size suggests.

    The time for `INFERENCES` runs comes on top (`Budget.add_inferences`), unless the user says how long measuring may take.

    Infinite where nothing is measured, or everything was asked for.
    """
    if not options.is_measured:
        return math.inf
    if options.budget_s is not None:
        return options.budget_s
    return math.inf if options.measure_all else min(LEAST_S + OF_A_NODE_S * nodes, MOST_S)


class Budget:
    """The time for measuring in one run.

    Args:
        limit_s: Seconds; infinite for no limit.
        clock: Gives seconds that only go up.
        grows: `add_inferences` adds to the limit.
        should_stop: Asked often; once it is True, nothing more is measured, whether there is a plan or not.
        most_s: The limit never grows above that: the rest of the run needs its time, too.

    Attributes:
        has_plan: Set once a complete plan is known, or cannot be had soon: from then on the time may be over.
    """

    def __init__(
        self,
        limit_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        grows: bool = False,
        should_stop: Callable[[], bool] = never,
        most_s: float = math.inf,
    ):
        self.limit_s = min(limit_s, most_s)
        self.should_stop = should_stop
        self.has_plan = False
        self._clock = clock
        self._least_s, self._most_s, self._grows = limit_s, most_s, grows
        self._spent_s = 0.0
        self._shares_from_s = 0.0
        self._most_share = math.inf
        self._began: float | None = None

    def add_inferences(self, whole_s: float | None) -> None:
        """Add the time for `INFERENCES` runs of the whole model, which takes `whole_s` seconds; None where that is not known.

        A later call, where a faster whole is known, takes the place of an earlier one.
        """
        if self._grows and whole_s is not None:
            self.limit_s = min(self._least_s + min(INFERENCES * whole_s, MOST_FOR_INFERENCES_S), self._most_s)

    def extend(self, seconds: float) -> None:
        """Let measuring take so many seconds more than was left, or than it has taken already."""
        self.limit_s, self._grows = max(self.limit_s, self.spent_s) + seconds, False

    def bound(self, most_s: float) -> None:
        """Let the limit be no more than `most_s`, and never grow above that: something else took of the run's time."""
        self._most_s = min(self._most_s, most_s)
        self.limit_s = min(self.limit_s, most_s)

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
        """About how long measuring takes still, where the trials that are planned would take `trials_s`; None where nobody can tell.

        Args:
            trials_s: None where nothing is planned yet, or nobody knows how long a trial takes.
        """
        left_s = self.limit_s - self.spent_s
        if math.isinf(left_s) or (left_s <= 0 and not self.has_plan):
            return trials_s
        return max(0.0, left_s if trials_s is None else min(left_s, trials_s))

    def is_over(self) -> bool:
        """Return whether measuring must end, or what may take a share of it (`within`)."""
        return self.should_stop() or (self.has_plan and (self.spent_s >= self.limit_s or self.share_spent > self._most_share))
