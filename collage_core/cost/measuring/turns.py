"""`Turns`: has contenders take turns in bursts, until they are apart or as well known as time allows.

Functions that time one burst of a contender enter, wherever it runs; the rounds leave, and why a contender failed. `paired_rounds`
says what the rounds tell.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from ...base.bursts import BURST_S, FEWEST_RUNS
from ...errors import CollageError
from .paired_rounds import FEWEST_ROUNDS, MOST_ROUNDS, Interval, Round, low_s, time_of, undecided

PASSES = 3
"""Bursts of each contender in a round, in turns: a disturbance of half a second hits them all, and not one contender alone."""
PRECISE = 0.01
"""No further round of a contender that has no rival where half of its interval is below this share of its time."""
SHORTEST_ROUNDS = 2
"""So many rounds there are, however little time is left."""
MOST_S = 40.0
"""No further round after that long."""

Burst = Callable[[], Sequence[float]]
"""Times some runs of one contender in a row, in seconds; raises CollageError where it fails."""


class Turns:
    """The rounds of some contenders. One that is clearly behind, or a tie, has no part in the later rounds.

    Args:
        bursts: Contender → its burst.
        may_win: Contender → whether it is the fastest of those for which this is true that others are compared with; all unless given.
        before_round: Called with the rounds so far, and the contenders that are open, before the next round begins.
        limit_s: Seconds that are left for them.

    Attributes:
        rounds: Those that are over.
        failed: Contender → the error with which it failed in its turn.
    """

    def __init__(
        self,
        bursts: Mapping[int, Burst],
        may_win: Sequence[bool] = (),
        before_round: Callable[[Sequence[Round], Sequence[int]], None] = lambda rounds, open_: None,
        clock: Callable[[], float] = time.monotonic,
        limit_s: float = math.inf,
    ):
        self.rounds: list[Round] = []
        self.failed: dict[int, CollageError] = {}
        self._bursts = bursts
        self._may_win = may_win or [True] * (max(bursts, default=0) + 1)
        self._before_round = before_round
        self._clock, self._began, self._took_s = clock, clock(), 0.0
        self._most_s = min(MOST_S, limit_s)
        self._open = list(bursts)

    def all_rounds(self, on_round: Callable[[int, int], None] = lambda done, total: None) -> list[Round]:
        """Take turns until nothing is undecided, and return the rounds.

        Args:
            on_round: Called before each round with the number of those that are over, and of all as far as is known.
        """
        while self._open and len(self.rounds) < MOST_ROUNDS:
            on_round(len(self.rounds), max(min(FEWEST_ROUNDS, MOST_ROUNDS), len(self.rounds) + 1))
            self._one_round()
            self._open = self._still_open()
            self._took_s = self._clock() - self._began
        return self.rounds

    @property
    def each_s(self) -> float:
        """Return how long a contender took in one round, on average."""
        return self._took_s / max(1, sum(map(len, self.rounds)))

    def left_s(self, turn_s: float) -> float:
        """Return about how long the rounds to come take; `turn_s` is the guess for one turn as long as no round is over."""
        took_s, done = self._clock() - self._began, len(self.rounds)
        each_s = took_s / done if done else turn_s * len(self._open)
        return min(each_s * (max(FEWEST_ROUNDS, done + 1) - done), max(each_s, self._most_s - took_s))

    def _one_round(self) -> None:
        self._before_round(self.rounds, self._open)
        seconds: dict[int, list[float]] = {index: [] for index in self._open}
        for number in range(PASSES):
            # Every other pass goes backwards, so that a machine that becomes slower and slower is fair to the first and to the last.
            for index in list(seconds)[:: -1 if (len(self.rounds) + number) % 2 else 1]:
                if sum(seconds[index]) < PASSES * BURST_S:  # of runs that take longer than a burst, one or two are a round
                    try:
                        seconds[index] += self._bursts[index]()
                    except CollageError as error:
                        self.failed[index] = error
                        del seconds[index]
        self.rounds.append({index: low_s(runs) for index, runs in seconds.items()})

    def _still_open(self) -> list[int]:
        able = [index for index in self._open if index not in self.failed]
        is_late = self._clock() - self._began > self._most_s and len(self.rounds) >= SHORTEST_ROUNDS
        if not able or is_late:
            return []
        still = undecided([{index: one[index] for index in able if index in one} for one in self.rounds], self._may_win)
        if len(still) > 1 or len(self.rounds) < FEWEST_ROUNDS:
            return still
        alone = time_of(self.rounds, still[0]) if len(self._bursts) == 1 else None
        return still if alone is not None and (alone.half is None or alone.half > PRECISE * alone.value) else []


def timed_alone(burst: Burst) -> tuple[Interval, list[float]]:
    """Return the seconds of one contender, which has no rival, and the seconds of each of its runs. Raises what `burst` raises."""
    seconds: list[float] = []

    def kept() -> Sequence[float]:
        runs = burst()
        seconds.extend(runs)
        return runs

    turns = Turns({0: kept})
    found = time_of(turns.all_rounds(), 0)
    if turns.failed or found is None:
        raise turns.failed[0]
    return found, seconds


def turn_s(seconds: float) -> float:
    """Return about how long one round takes of a contender whose run takes `seconds`."""
    return max(PASSES * BURST_S, (FEWEST_RUNS + 1 if seconds < BURST_S else 1) * float(seconds))
