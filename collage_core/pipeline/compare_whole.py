"""The finalists built, verified, and timed in turns until the fastest is apart from the others: measuring decides which is the plan.

The built plan and other finalists enter. What is left: the winner's artifact in the place of the plan's, and every finalist's time.
Everything that touches a toolchain happens in worker processes.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass
from queue import SimpleQueue

from ..base.cores import usable_cores
from ..errors import Cancelled, CollageError
from ..events import ComparingPlans, Emit, Note
from ..rewrite.runtime.artifact import Profile
from .additive_error import additive_error_text, is_large
from .assemble_and_verify import (
    BUILD_TIMEOUT_S,
    FEWEST_IN_TURN,
    ROUND_S,
    RUN_TIMEOUT_S,
    Built,
    assemble_plan,
    errors_of,
    profile_plan,
    time_plan,
    verify_document,
)
from .finalists import Finalist, Round, WholeTime, undecided, whole_times, winner

ROUNDS = 5
"""How often each finalist is timed at least, turn by turn, so that a machine that drifts is fair to all."""
MOST_ROUNDS = 15
"""With those that do not count, because the core-to-core latency was high."""
LONGEST_S = 20.0
"""No further round after that long, once there are `ROUNDS`; none at all after twice that."""
BUILD_S = 120.0
"""Longest that building and checking one other finalist may take."""
BUILD_ALL_S = 300.0
"""After so many seconds of building no other finalist is begun."""
AT_ONCE = 2
"""Most finalists that are built at the same time, each in a worker of its own: nothing is timed meanwhile, but each needs memory."""
_START_S = 60.0
_HIGH_LATENCY = (
    "the core-to-core latency of this machine was high all the while whole plans were timed ({:.1f} times the lowest): what was measured "
    "end to end may be too high, and another run may measure less"
)


@dataclass(frozen=True)
class Comparison:
    """The outcome.

    Attributes:
        winner: The index of the finalist that is the plan now.
        times: Of all finalists.
        profile: The plan's, where its additive error is large.
    """

    winner: int
    times: list[WholeTime]
    profile: Profile | None = None


def compare_whole(built: Built, finalists: Sequence[Finalist], emit: Emit, lowest_core_latency_s: float = math.inf) -> Comparison:
    """Build every other finalist, time all of them in turns, and put the winner in the place of the plan in `built`.

    Args:
        finalists: The first is the plan that is built already. Others that were built before are not built again. Those that cannot
            be built, err too much or fail get their reason.
        lowest_core_latency_s: As `rounds_at_low_latency` takes it.

    Raises:
        CollageError: none of them runs.
        Cancelled: the user stopped the run; the plan in `built` is the one that it was.
    """
    finalists[0].folder, finalists[0].verify = built.folder, built.verify
    _build_all(built, [one for one in finalists[1:] if not one.reason and one.folder is None], emit)
    rounds = _rounds(built, finalists, emit, lowest_core_latency_s)
    best = winner(rounds, finalists)
    if finalists[best].reason:
        raise CollageError(finalists[best].reason, "veto the target that fails, or leave it out of --targets", "toolchain")
    times = whole_times(rounds, best, len(finalists))
    name = _worker_of(built, finalists[best])
    _ship(built, finalists[best], times[best])
    return Comparison(best, times, _explained(built, name, emit))


def _build_all(built: Built, open_: Sequence[Finalist], emit: Emit) -> None:
    """Build some finalists and compare them with the reference, as far as there is time, some at once."""
    began, timing_s, total = time.monotonic(), ROUNDS * (len(open_) + 1) * _turn_s(built), len(open_)
    assemblers = SimpleQueue[str]()
    at_once = max(1, min(AT_ONCE, usable_cores(), total))
    for number in range(at_once):
        assemblers.put(f"assemble-{number}" if number else "assemble")

    def build(one: Finalist, name: str) -> None:
        if time.monotonic() - began > BUILD_ALL_S:
            one.reason = f"building the other plans took over {BUILD_ALL_S:g} s"
            return
        assembler = assemblers.get()
        try:
            _build(built, one, name, assembler)
        finally:
            assemblers.put(assembler)

    def tell(one: Finalist, done: int) -> None:
        each_s = (time.monotonic() - began) / done if done else built.took_s / at_once
        emit(ComparingPlans("build", next(iter(one.names)), done, total, min(BUILD_ALL_S, each_s * (total - done)) + timing_s))

    with ThreadPoolExecutor(at_once) as threads:
        earlier = len(list(built.scratch.glob("finalist-*")))
        jobs = {threads.submit(build, one, f"finalist-{number}"): one for number, one in enumerate(open_, earlier)}
        try:
            while jobs:
                tell(next(iter(jobs.values())), total - len(jobs))
                for job in wait(jobs, return_when=FIRST_COMPLETED).done:
                    del jobs[job]
                    job.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _turn_s(built: Built) -> float:
    """About how long one turn of a finalist takes."""
    return max(ROUND_S, FEWEST_IN_TURN * float(built.verify["measured_s"]))


def _build(built: Built, one: Finalist, name: str, assembler: str) -> None:
    """Build a finalist in the worker `assembler` and compare it with the reference; nobody may have tried its parts before."""
    from ..cost.measuring.trial import TrialLimits

    limits, count, folder = TrialLimits.from_environment(), len(one.plan.partitions), built.scratch / name
    try:
        assemble_plan(built, one.plan, folder, min(BUILD_TIMEOUT_S, BUILD_S, limits.build_s * (count + 1)), assembler)
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
    names = [next(iter(one.names)) for one in finalists if not one.reason]
    name, turn_s = " and ".join(names) if len(names) <= 2 else "", _turn_s(built)

    def one_round() -> Round:
        emit(ComparingPlans("time", name, turns.done, max(ROUNDS, turns.done + 1), turns.left_s(turn_s)))
        return turns.one_round()

    is_single_threaded = built.plan.options.get("threads") == 1
    with closing(CoreLatencyProbe()) as probe:
        latency_s = (lambda: 0.0) if is_single_threaded else probe.round_trip_s
        counted, latency_ratio = rounds_at_low_latency(one_round, turns.is_enough, MOST_ROUNDS, latency_s, lowest_core_latency_s)
    if latency_ratio:
        emit(Note(_HIGH_LATENCY.format(latency_ratio)))
    return turns.all_in(counted)


class Turns:
    """The rounds of some finalists. One that is clearly behind, or a tie, has no part in the later rounds.

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

    @property
    def done(self) -> int:
        """How many rounds are over."""
        return len(self._rounds)

    def left_s(self, turn_s: float) -> float:
        """About how long the rounds to come take; `turn_s` is the guess for one turn as long as no round is over."""
        took_s = self._clock() - self._began
        each_s = took_s / self.done if self.done else turn_s * len(self._open)
        if self.done < ROUNDS:
            return min(each_s * (ROUNDS - self.done), max(each_s, 2 * LONGEST_S - took_s))
        return max(each_s, min(LONGEST_S - took_s, each_s * (MOST_ROUNDS - self.done)))

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


def _explained(built: Built, name: str, emit: Emit) -> Profile | None:
    """Tell why the plan takes longer than its parts, or less, if it does by much, and return the profile that says so.

    Args:
        name: That of the worker that holds the plan.
    """
    measured_s = built.verify["measured_s"]
    if is_large(built.plan, measured_s, built.verify["interval_s"] or 0.0):
        with suppress(CollageError, Cancelled):
            profile = profile_plan(built.pool, name, built.folder, built.inputs).of(measured_s)
            emit(Note(additive_error_text(built.plan, measured_s, profile)))
            return profile
    return None


def _time(built: Built, one: Finalist) -> float:
    assert one.folder is not None
    return statistics.median(time_plan(built.pool, _worker_of(built, one), one.folder, built.inputs))


def _worker_of(built: Built, one: Finalist) -> str:
    """Return the name of the worker that holds the artifact of `one`."""
    return "plan" if one.folder is None or one.folder == built.folder else one.folder.name
