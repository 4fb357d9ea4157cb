"""`Budget`: the seconds that a run may spend on measuring, and how many it spent.

It takes a limit and a clock, and says when the time is over. It does not count while nothing is measured, and it ends nothing before
there is a first complete plan: a run without any plan would help nobody.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..options import Options

LEAST_S, OF_A_NODE_S, MOST_S = 15.0, 0.1, 45.0


def budget_s(options: Options, nodes: int) -> float:
    """Return the seconds that measuring a model of so many nodes may take: what the user says, or as many as its size suggests.

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

    Attributes:
        has_plan: Set once a complete plan is known, or cannot be had soon: from then on the time may be over.
    """

    def __init__(self, limit_s: float = math.inf, clock: Callable[[], float] = time.monotonic):
        self.limit_s = limit_s
        self.has_plan = False
        self._clock = clock
        self._spent_s = 0.0
        self._began: float | None = None

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the time meanwhile."""
        self._began = self._clock()
        try:
            yield
        finally:
            self._spent_s, self._began = self.spent_s, None

    @property
    def spent_s(self) -> float:
        """Seconds that were counted so far."""
        return self._spent_s + (0.0 if self._began is None else self._clock() - self._began)

    @property
    def share_spent(self) -> float:
        """The share of the limit that was spent; 0 where there is no limit."""
        return self.spent_s / self.limit_s

    def is_over(self) -> bool:
        """Return whether measuring must end."""
        return self.has_plan and self.spent_s >= self.limit_s
