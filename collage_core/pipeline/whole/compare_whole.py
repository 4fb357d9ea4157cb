"""The finalists built, verified, and timed in turns until the fastest is apart from the others: measuring decides which is the plan.

The built plan and other finalists enter. What is left: the winner's artifact in the place of the plan's, and every finalist's time.
Everything that touches a toolchain happens in worker processes.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue

from ...base.isolation.memory import available_bytes
from ...base.isolation.worker_errors import WorkerTimeout
from ...base.processor import usable_cores
from ...cost.measuring.paired_rounds import FAR, FEWEST_ROUNDS, Round
from ...cost.measuring.turns import SHORTEST_ROUNDS, Turns, turn_s
from ...errors import Cancelled, CollageError
from ...events import ComparingPlans, Emit, Note
from ...rewrite.runtime.artifact import Profile
from ...rules.partitionings import GREEDY, is_partitioning
from ..inside.additive_error import additive_error_text, is_confirmed, is_large
from ..loop.budget import Deadline
from .assemble_and_verify import (
    BUILD_TIMEOUT_S,
    RUN_TIMEOUT_S,
    Built,
    assemble_plan,
    errors_of,
    profile_plan,
    time_plan,
    verify_document,
)
from .errors_by_set import where_text
from .finalists import BASELINE, Finalist, WholeTime, near, whole_times, winner

RENEWED = (2, 4)
"""After so many rounds those that are near each other, and in whose order not all processes agree, go on in new ones: one may be several
per cent faster than the next."""
BUILD_S = 120.0
"""Longest that building and checking one other finalist may take."""
AT_ONCE = 2
"""Most finalists that are built at the same time, each in a worker of its own: nothing is timed meanwhile, but each needs memory."""
_START_S = 60.0
NO_MEMORY = "no memory was left to hold it beside the plan"
HELD = 1.3
"""Memory of a process that holds an artifact of a large model, as a multiple of its weights."""
_MEMORY_SHARE = 0.9


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


def compare_whole(
    built: Built,
    finalists: Sequence[Finalist],
    emit: Emit,
    deadline: Deadline | None = None,
) -> Comparison:
    """Build every other finalist, time all of them in turns, and put the winner in the place of the plan in `built`.

    Args:
        finalists: The first is the plan that is built already. Others that were built before are not built again. Those that cannot
            be built, err too much or fail get their reason.
        deadline: When it should be over. Those that would be ready too late (`by_promise`) are left out, and those for which a large
            model leaves no room.

    Raises:
        CollageError: none of them runs.
        Cancelled: the user stopped the run; the plan in `built` is the one that it was.
    """
    finalists[0].folder, finalists[0].verify = built.folder, built.verify
    deadline = deadline or Deadline()
    open_ = by_promise([one for one in finalists[1:] if not one.reason and one.folder is None], built.measured_s)
    _build_all(built, open_, emit, _Schedule(built, finalists, deadline))
    turns = _in_turns(built, finalists, emit, deadline)
    rounds = turns.rounds
    best = winner(rounds, finalists)
    if finalists[best].reason:
        raise CollageError(finalists[best].reason, "veto the target that fails, or leave it out of --targets", "toolchain")
    times = whole_times(rounds, best, len(finalists))
    name = _worker_of(built, finalists[best])
    _ship(built, finalists[best], times[best], 2 * turns.each_s)
    return Comparison(best, times, None if deadline.is_over() else _explained(built, name, emit))


def needed_s(built: Built, finalists: Sequence[Finalist]) -> float:
    """Return about how long it takes to time the plan in turns with `finalists`, and to build those that are not built yet."""
    builds = sum(one.folder is None for one in finalists)
    return builds * built.took_s + _rounds_s(built, finalists)


def _rounds_s(built: Built, finalists: Sequence[Finalist]) -> float:
    """Return about how long the rounds of the plan and of `finalists` take; those far behind sit most of them out."""
    plan_s, all_s = built.measured_s, FEWEST_ROUNDS * turn_s(built.measured_s)
    for one in finalists:
        seconds = one.guessed_s or plan_s
        far = (count for count, share in sorted(FAR.items()) if seconds > (1 + share) * plan_s)
        all_s += next(far, FEWEST_ROUNDS) * turn_s(seconds)
    return all_s


def by_promise(finalists: Sequence[Finalist], plan_s: float) -> list[Finalist]:
    """Return finalists beside a plan that takes `plan_s` seconds in the order in which they are built.

    Partitionings come first, then baselines that may be as fast as the plan, which must not be slower, and the best target that is no
    mix of many; then rivals, and baselines that are far behind. Of those that promise the same the least sum is first.
    """
    listed = sorted(finalists, key=lambda one: math.inf if one.guessed_s is None else one.guessed_s)
    baselines = [one for one in listed if BASELINE in one.names.values()]
    targets = [one for one in baselines if any(kind == BASELINE and name != GREEDY for name, kind in one.names.items())]
    near = [one for one in baselines if _is_partitioning(one) or one in targets[:1] or _may_take(one) <= (1 + min(FAR.values())) * plan_s]
    rivals = [one for one in listed if one not in baselines]
    far = [baseline for baseline in baselines if baseline not in near]
    return [*sorted(near, key=lambda baseline: not _is_partitioning(baseline)), *rivals, *far]


def _is_partitioning(one: Finalist) -> bool:
    return any(is_partitioning(name) for name in one.names)


def _may_take(one: Finalist) -> float:
    """Return the seconds that a finalist takes at least, by its predicted time and how sure that is."""
    return math.inf if one.guessed_s is None else one.guessed_s - (one.plan.total_interval_s or 0.0)


def _room(weight_bytes: int) -> float:
    """Return how many more artifacts of a model processes can hold at once beside those that they hold now."""
    return available_bytes() * _MEMORY_SHARE // (HELD * weight_bytes) if weight_bytes else math.inf


class _Schedule:
    """Which finalists there is time and memory to build, and to time once they are built.

    Args:
        finalists: All of them; those that are built already are timed in any case.
    """

    def __init__(self, built: Built, finalists: Sequence[Finalist], deadline: Deadline):
        self.deadline = deadline
        self._built = built
        self._begun = [one for one in finalists[1:] if one.folder is not None and not one.reason]
        self._took_s = [built.took_s]
        self._room = _room(built.weight_bytes)

    def takes_room(self) -> bool:
        """Return whether there is memory to hold one more; then it is taken."""
        self._room -= 1
        return self._room >= 0

    def begins(self, one: Finalist) -> bool:
        """Return whether `one` is to be built; then it counts as begun.

        A run that timed no other plan has no verdict: the first of them needs time for the fewest rounds that there can be, no more.
        """
        seconds = _rounds_s(self._built, [*self._begun, one])
        rounds_s = seconds if self._begun else seconds * SHORTEST_ROUNDS / FEWEST_ROUNDS
        if self.deadline.left_s < max(self._took_s) + rounds_s:
            return False
        self._begun.append(one)
        return True

    def ended(self, took_s: float) -> None:
        """Note how long building one took."""
        self._took_s.append(took_s)

    def left_s(self, open_: int, at_once: int) -> float:
        """Return about how long building `open_` others and timing all takes yet."""
        builds_s = statistics.fmean(self._took_s) * math.ceil(open_ / at_once)
        return min(self.deadline.left_s, builds_s + _rounds_s(self._built, self._begun))


def _build_all(built: Built, open_: Sequence[Finalist], emit: Emit, schedule: _Schedule) -> None:
    """Build some finalists and compare them with the reference, as far as there is time, some at once."""
    total = len(open_)
    assemblers = SimpleQueue[str]()
    at_once = max(1, min(AT_ONCE, usable_cores(), total))
    for number in range(at_once):
        assemblers.put(f"assemble-{number}" if number else "assemble")

    def build(one: Finalist, name: str) -> None:
        if not schedule.takes_room():
            one.reason = NO_MEMORY
            return
        if not schedule.begins(one):
            one.leave_for_time()
            return
        assembler, began = assemblers.get(), time.monotonic()
        try:
            _build(built, one, name, assembler, schedule.deadline)
            schedule.ended(time.monotonic() - began)
        finally:
            assemblers.put(assembler)

    def tell(one: Finalist, done: int) -> None:
        emit(ComparingPlans("build", next(iter(one.names)), done, total, schedule.left_s(total - done, at_once)))

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


def _build(built: Built, one: Finalist, name: str, assembler: str, deadline: Deadline) -> None:
    """Build a finalist in the worker `assembler` and compare it with the reference; nobody may have tried its parts before."""
    from ...cost.measuring.trial import TrialLimits

    limits, count, folder = TrialLimits.from_environment(), len(one.plan.partitions), built.scratch / name
    try:
        most_s = min(BUILD_TIMEOUT_S, BUILD_S, limits.build_s * (count + 1), deadline.left_s)
        assemble_plan(built, one.plan, folder, most_s, assembler)
        most_s = min(RUN_TIMEOUT_S, BUILD_S, _START_S + limits.run_s * count, deadline.left_s)
        by_set = errors_of(built, name, folder, most_s)
    except CollageError as error:
        if deadline.is_over() and isinstance(error.__cause__, WorkerTimeout):
            one.leave_for_time()
        else:
            one.reason = error.message
        return
    one.folder, one.verify = folder, verify_document(one.plan, by_set, math.nan, moves=built.verify.moves)
    worst = one.verify.max_rel_error
    is_right = worst is not None and worst <= one.plan.accuracy
    one.reason = "" if is_right else f"it errs by {worst:.3g}{where_text(one.verify)}, {one.plan.accuracy:g} is allowed"


def _ship(built: Built, finalist: Finalist, time_: WholeTime, round_s: float) -> None:
    """Put a timed finalist in the place of the plan; `round_s` are the seconds of a round of two."""
    assert finalist.folder is not None
    assert finalist.verify is not None
    assert time_.measured_s is not None
    built.plan, built.folder = finalist.plan, finalist.folder
    verify = verify_document(finalist.plan, finalist.verify.sets, time_.measured_s, built.precision, built.verify.moves)
    built.verify = replace(verify, interval_s=time_.interval_s, rounds=time_.rounds, round_s=round_s)


def _in_turns(built: Built, finalists: Sequence[Finalist], emit: Emit, deadline: Deadline) -> Turns:
    """Time the finalists turn by turn, until they are apart or the time is over; one that fails gets its reason."""
    able = {index: one for index, one in enumerate(finalists) if not one.reason}
    names = [next(iter(one.names)) for one in able.values()]
    began_anew: dict[int, list[int]] = {}

    def renew(rounds: Sequence[Round], open_: Sequence[int]) -> None:
        if len(rounds) in RENEWED:
            new = near(rounds, open_, began_anew)
            _renew(built, [finalists[index] for index in new])
            for index in new:
                began_anew.setdefault(index, []).append(len(rounds))

    bursts = {index: partial(_time, built, one) for index, one in able.items()}
    turns = Turns(bursts, [one.may_ship for one in finalists], renew, limit_s=deadline.left_s)
    name, guess_s = " and ".join(names) if len(names) <= 2 else "", turn_s(built.measured_s)
    turns.all_rounds(lambda done, total: emit(ComparingPlans("time", name, done, total, turns.left_s(guess_s))))
    for index, error in turns.failed.items():
        finalists[index].reason = error.message
    return turns


def _explained(built: Built, name: str, emit: Emit) -> Profile | None:
    """Tell why the plan takes longer than its parts, or less, if it does by much, and return the profile that says so.

    Args:
        name: That of the worker that holds the plan.
    """
    measured_s = built.measured_s
    if not is_large(built.plan, measured_s):
        return None
    with suppress(CollageError, Cancelled):
        found = profile_plan(built.pool, name, built.folder, built.inputs)
        if is_confirmed(built.plan, measured_s, built.verify.interval_s or 0.0, found):
            profile = found.of(measured_s)
            emit(Note(additive_error_text(built.plan, measured_s, profile)))
            return profile
    return None


def _time(built: Built, one: Finalist) -> Sequence[float]:
    assert one.folder is not None
    return time_plan(built.pool, _worker_of(built, one), one.folder, built.inputs)


def _renew(built: Built, some: Sequence[Finalist]) -> None:
    """End the processes that hold finalists, and begin new ones. Who fails there fails in his next turn."""

    def begin(one: Finalist) -> None:
        assert one.folder is not None
        name = _worker_of(built, one)
        built.pool.worker(name).close()
        with suppress(CollageError):
            time_plan(built.pool, name, one.folder, built.inputs)

    with ThreadPoolExecutor(max(1, min(AT_ONCE, usable_cores()))) as threads:
        list(threads.map(begin, some))


def _worker_of(built: Built, one: Finalist) -> str:
    """Return the name of the worker that holds the artifact of `one`."""
    return "plan" if one.folder is None or one.folder == built.folder else one.folder.name
