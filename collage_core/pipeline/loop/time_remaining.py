"""`TimeRemaining`: how long trials take, and from that, how long those to come will take.

It takes the times at which trials begin and their costs are told, and gives seconds. A candidate that needs no trial takes no time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable

FEWEST = 3
"""Trials that must have ended before anything is said of those to come, but for `SLOW_S`."""
SLOW_S = 30.0
"""From that long after the first trial began, something is said all the same: where trials are slow, it is needed most."""
NEWEST = 12
"""Trials that the pace is taken from: the first ones are whole models, and much slower than the rest."""


class TimeRemaining:
    """How long the trials of a run take, several of which may go on at once, and how long the others will.

    Args:
        clock: Gives seconds that only go up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._began: dict[str, float] = {}
        self._ends: deque[float] = deque(maxlen=NEWEST + 1)
        """When the first trial began, and when the newest ones ended."""

    def begins(self, candidate: str) -> None:
        """A trial of `candidate` begins."""
        now = self._began[candidate] = self._clock()
        if not self._ends:
            self._ends.append(now)

    def ended(self, candidates: Iterable[str]) -> float | None:
        """How long the trial took whose outcome holds for all `candidates`; None where there was none."""
        known = [self._began.pop(candidate) for candidate in candidates if candidate in self._began]
        if not known:
            return None
        now = self._clock()
        self._ends.append(now)
        return now - min(known)

    def left_s(self, done: int, total: int) -> float | None:
        """About how long it takes until `total` costs are known, of which `done` are; None while too little is known of trials."""
        trials = len(self._ends) - 1
        if trials < FEWEST:
            began_s = self._clock() - self._ends[0] if self._ends else 0.0
            return began_s / max(1, trials) * max(0, total - done) if began_s >= SLOW_S else None
        return (self._ends[-1] - self._ends[0]) / trials * max(0, total - done)
