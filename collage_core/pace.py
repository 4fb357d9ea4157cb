"""`Pace`: how long trials take, and from that, how long those to come will take.

What enters is when trials begin and when their costs are told; what leaves are seconds. What needs no trial takes no time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable


class Pace:
    """The pace of a run's trials, several of which may go on at once.

    Args:
        clock: Gives seconds that only go up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._began: dict[str, float] = {}
        self._since: float | None = None
        self._trials = 0

    def begins(self, candidate: str) -> None:
        """A trial of `candidate` begins."""
        now = self._began[candidate] = self._clock()
        self._since = now if self._since is None else self._since

    def ended(self, candidates: Iterable[str]) -> float | None:
        """How long the trial took whose outcome holds for all `candidates`; None where there was none."""
        known = [self._began.pop(candidate) for candidate in candidates if candidate in self._began]
        if not known:
            return None
        self._trials += 1
        return self._clock() - min(known)

    def left_s(self, done: int, total: int) -> float | None:
        """About how long it takes until `total` costs are known, of which `done` are; None before the first trial has ended."""
        if self._since is None or self._trials == 0:
            return None
        return (self._clock() - self._since) / self._trials * max(0, total - done)
