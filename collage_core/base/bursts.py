"""`burst`: run something back to back for a tenth of a second, as a contender does when its turn comes.

A function to call enters; the seconds of each run leave. What the runs of several bursts say is judged elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .garbage import no_collector

BURST_S = 0.1
"""A machine that others use changes its speed within seconds: a burst is short beside that, and long beside a time slice of the system."""
FEWEST_RUNS = 3
"""Of a run that takes a large part of a burst."""
WARM_UP_S = 0.01


def burst(
    run: Callable[[], object], seconds: float = BURST_S, clock: Callable[[], float] = time.perf_counter, fewest: int = FEWEST_RUNS
) -> list[float]:
    """Return the seconds of each run in a burst that lasts `seconds` and has at least `fewest` runs.

    The runs of the first hundredth of a second, one at least, are not counted: the contender before left its own data in the caches.
    To a run that takes longer than the burst this makes no difference: it is the only one.
    """
    taken: list[float] = []
    with no_collector():
        begin = clock()
        run()
        before = clock()
        if before - begin >= seconds > 0:
            return [before - begin]
        while before - begin < WARM_UP_S:
            run()
            before = clock()
        begin = before
        while len(taken) < fewest or before - begin < seconds:
            run()
            now = clock()
            taken.append(now - before)
            before = now
    return taken
