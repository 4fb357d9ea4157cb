"""A machine on which time goes by as it did in a recording (`tests/data/timing_noise`): contenders run on it without being run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from collage_core.base.bursts import BURST_S, FEWEST_RUNS

RECORDING = Path(__file__).parents[1] / "data" / "timing_noise" / "shared_machine.npz"
ROOM_S = 32.0
"""A comparison ends within so many seconds of the machine's time."""


class NoisyMachine:
    """Its clock begins at a time of the recording that `seed` draws.

    Args:
        drift: Share by which the machine becomes slower and faster besides, over two to eight seconds each time.
    """

    def __init__(self, seed: int, drift: float = 0.0):
        random = np.random.default_rng(seed)
        self._clock, self._work = _recording()
        if drift:
            turns = np.cumsum(random.uniform(2.0, 8.0, int(self._clock[-1])))
            slowdown = 1 + drift * np.interp(self._clock[1:], turns, random.uniform(0.0, 1.0, len(turns)))
            self._clock = np.concatenate([[0.0], np.cumsum(np.diff(self._clock) * slowdown)])
        self.now_s = random.uniform(0.0, self._clock[-1] - ROOM_S)

    def burst(self, run_s: float) -> list[float]:
        """Return the seconds of the runs of one burst, each of which takes `run_s` where nothing disturbs it."""
        done = float(np.interp(self.now_s, self._clock, self._work))
        ends = np.interp(done + run_s * np.arange(1, max(FEWEST_RUNS, int(BURST_S / run_s)) + 1), self._work, self._clock)
        ends = ends[: max(FEWEST_RUNS, int(np.searchsorted(ends, self.now_s + BURST_S)) + 1)]
        seconds = np.diff([self.now_s, *ends])
        self.now_s = float(ends[-1])
        return list(seconds)


@cache
def _recording() -> tuple[np.ndarray, np.ndarray]:
    """Return the times at which the recorded runs ended, and how many seconds of undisturbed work were done by then."""
    with np.load(RECORDING, allow_pickle=False) as data:
        seconds = data["durations"] * float(data["unit_s"])
    work = np.full(len(seconds), np.percentile(seconds, 1))
    return np.concatenate([[0.0], np.cumsum(seconds)]), np.concatenate([[0.0], np.cumsum(work)])
