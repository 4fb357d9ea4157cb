"""The finalists built, verified, and timed in turns until the fastest is apart from the others: measuring decides which is the plan.

The built plan and other finalists enter. What is left: the winner's artifact in the place of the plan's, and every finalist's time.
Everything that touches a toolchain happens in worker processes.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from ..errors import CollageError
from ..events import Emit, Note
from .assemble_and_verify import BUILD_TIMEOUT_S, RUN_TIMEOUT_S, Built, assemble_plan, errors_of, time_plan, verify_document
from .finalists import Finalist, Round, WholeTime, undecided, whole_times, winner

ROUNDS = 5
"""How often each finalist is timed at least, turn by turn, so that a machine that drifts is fair to all."""
MOST_ROUNDS = 15
"""With those that do not count, because the core-to-core latency was high."""
LONGEST_S = 30.0
"""No further round after that long, once there are `ROUNDS`; none at all after twice that."""
BUILD_S = 120.0
"""Longest that building and checking one other finalist may take."""
BUILD_ALL_S = 300.0
"""After so many seconds of building no other finalist is begun."""
_START_S = 60.0
_HIGH_LATENCY = (
    "the core-to-core latency of this machine was high all the while whole plans were timed ({:.1f} times the lowest): what was measured "
    "end to end may be too high, and another run may measure less"
)


@dataclass(frozen=True)
class Comparison:
    """The outcome: the index of the finalist that is the plan now, and the times of all."""

    winner: int
    times: list[WholeTime]


def compare_whole(built: Built, finalists: Sequence[Finalist], emit: Emit, lowest_core_latency_s: float = math.inf) -> Comparison:
    """Build every other finalist, time all of them in turns, and put the winner in the place of the plan in `built`.

    Args:
        finalists: The first is the plan that is built already. Those that cannot be built, err too much or fail get their reason.
        lowest_core_latency_s: As `rounds_at_low_latency` takes it.

    Raises:
        CollageError: none of them runs.
    """
    finalists[0].folder, finalists[0].verify = built.folder, built.verify
    began = time.monotonic()
    for number, one in enumerate(finalists[1:]):
        if one.reason:
            continue
        if time.monotonic() - began > BUILD_ALL_S:
            one.reason = f"building the other plans took over {BUILD_ALL_S:g} s"
        else:
            _build(built, one, f"finalist-{number}")
    rounds = _rounds(built, finalists, emit, lowest_core_latency_s)
    best = winner(rounds, finalists)
    if finalists[best].reason:
        raise CollageError(finalists[best].reason, "veto the target that fails, or leave it out of --targets", "toolchain")
    times = whole_times(rounds, best, len(finalists))
    _ship(built, finalists[best], times[best])
    return Comparison(best, times)


def _build(built: Built, one: Finalist, name: str) -> None:
    """Build a finalist and compare it with the reference; nobody may have tried its parts before."""
    from ..cost.measuring.trial import TrialLimits

    limits, count, folder = TrialLimits.from_environment(), len(one.plan.partitions), built.scratch / name
    try:
        assemble_plan(built, one.plan, folder, min(BUILD_TIMEOUT_S, BUILD_S, limits.build_s * (count + 1)))
        errors = errors_of(built, name, folder, min(RUN_TIMEOUT_S, BUILD_S, _START_S + limits.run_s * count))
    except CollageError as error:
        one.reason = error.message
        return
    worst = max(errors.values(), default=0.0)
    one.reason = "" if worst <= one.plan.accuracy else f"it errs by {worst:.3g}, {one.plan.accuracy:g} is allowed"
    one.folder, one.verify = folder, verify_document(one.plan, errors, math.nan)


def _ship(built: Built, one: Finalist, time_: WholeTime) -> None:
    """Put a timed finalist in the place of the plan."""
    assert one.folder is not None
    assert one.verify is not None
    assert time_.measured_s is not None
    built.plan, built.folder = one.plan, one.folder
    verify = verify_document(one.plan, one.verify["errors"], time_.measured_s)
    built.verify = {**verify, "interval_s": time_.interval_s, "rounds": time_.rounds}


def _rounds(built: Built, finalists: Sequence[Finalist], emit: Emit, lowest_core_latency_s: float) -> Sequence[Round]:
    """Time the finalists turn by turn while the core-to-core latency is low, until they are apart or the time is over."""
    from ..cost.measuring.core_latency import CoreLatencyProbe, rounds_at_low_latency

    turns = Turns(finalists, lambda one: _time(built, one))
    is_single_threaded = built.plan.options.get("threads") == 1
    with closing(CoreLatencyProbe()) as probe:
        latency_s = (lambda: 0.0) if is_single_threaded else probe.round_trip_s
        counted, latency_ratio = rounds_at_low_latency(turns.one_round, turns.is_enough, MOST_ROUNDS, latency_s, lowest_core_latency_s)
    if latency_ratio:
        emit(Note(_HIGH_LATENCY.format(latency_ratio)))
    return turns.all_in(counted)


class Turns:
    """The rounds of some finalists. One that is clearly behind, or a tie, sits the later rounds out.

    Args:
        time_one: Returns the median seconds of a finalist in one turn. Raises CollageError where it fails.
    """

    def __init__(self, finalists: Sequence[Finalist], time_one: Callable[[Finalist], float], clock: Callable[[], float] = time.monotonic):
        self._finalists = finalists
        self._time_one = time_one
        self._clock = clock
        self._began = clock()
        self._rounds: list[Round] = []
        self._open = [index for index, one in enumerate(finalists) if not one.reason]

    def one_round(self) -> Round:
        seconds = {}
        for index in self._open:
            try:
                seconds[index] = self._time_one(self._finalists[index])
            except CollageError as error:
                self._finalists[index].reason = error.message
        self._rounds.append(seconds)
        return seconds

    def is_enough(self, counted: Sequence[Round]) -> bool:
        """Return whether no further round is worth its time; `counted` are those at low latency."""
        took_s = self._clock() - self._began
        able = [index for index in self._open if not self._finalists[index].reason]
        if counted and able and all(index in counted[-1] for index in able):
            still = undecided([_of(able, one) for one in counted], [one.may_ship for one in self._finalists])
            self._open = [index for index in able if index in still]
        else:
            self._open = able
        is_apart = len(counted) >= ROUNDS and len(self._open) <= 1
        return not self._open or is_apart or (took_s > LONGEST_S and len(counted) >= ROUNDS) or took_s > 2 * LONGEST_S

    def all_in(self, counted: Sequence[Round]) -> Sequence[Round]:
        """Return the counted rounds; all rounds where some finalist was in none of those."""
        able = [index for index, one in enumerate(self._finalists) if not one.reason]
        return counted if all(any(index in one for one in counted) for index in able) else self._rounds


def _of(indices: Sequence[int], seconds: Round) -> Round:
    return {index: seconds[index] for index in indices if index in seconds}


def _time(built: Built, one: Finalist) -> float:
    assert one.folder is not None
    name = "plan" if one.folder == built.folder else one.folder.name
    return statistics.median(time_plan(built.pool, name, one.folder, built.inputs))
