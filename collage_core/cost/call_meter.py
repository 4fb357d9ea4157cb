"""`CallMeter`: what the assembled module takes to call a partition, beyond what its kernel takes alone.

A kernel is timed as a Python call of `Kernel.run`. In the plan TVM's virtual machine calls it, allocates its outputs and
hands the tensors over. The difference belongs to each partition of the plan, whatever is in it, and is measured once for
each target in a worker process. It is kept in the database as the hand-over from `CALL` to the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from ..errors import CollageError
from ..events import Emit, Note
from ..isolation import Worker, WorkerError
from ..toolchains.base import Availability
from ..toolchains.reasons import one_line
from .database import CostDatabase
from .place import Caller, Place
from .records import MeasuredTransition, TransitionKey, machine_id
from .rounds import calm_rounds, sure_extra
from .steadiness import OwnSpeed
from .transition_trial import TIMEOUT_S
from .trial_child import GetToolchain

CALL = "call"
"""`TransitionKey.maker` of a call; its version is that of TVM, which assembles."""
ASSEMBLER = "tvm"

ROUNDS = 15
CallRounds = Callable[[str, int], AbstractContextManager[Callable[[], float]]]
"""(target, threads) → a round: seconds by which a call takes longer in an assembled module."""


class CallMeter:
    """Measures each target once, and keeps it in the database.

    Args:
        call_rounds: A module-level function that the worker calls: `rewrite.call_trial.call_rounds`.
        get_toolchain: Says which version of TVM there is.
        place: Where to measure; a worker process of this machine unless given.
    """

    def __init__(
        self,
        call_rounds: CallRounds,
        get_toolchain: GetToolchain,
        threads: int,
        database: CostDatabase,
        emit: Emit = lambda event: None,
        should_stop: Callable[[], bool] | None = None,
        timeout_s: float = TIMEOUT_S,
        place: Place | None = None,
    ):
        self._call_rounds = call_rounds
        self._get_toolchain = get_toolchain
        self._threads = threads
        self._database = database
        self._emit = emit
        self._should_stop = should_stop
        self._timeout_s = timeout_s
        self._place = place
        self._caller: Caller = place.caller() if place else Worker()
        self._calls: dict[str, float] = {}
        self._told: set[str] = set()

    def measure(self, versions: Mapping[str, str]) -> dict[str, float]:
        """Seconds of a call of each of the targets of these versions; 0, with a note, where it cannot be measured.

        A call is never credited: 0 also where the assembled module calls faster than Python does.

        Raises:
            Cancelled: the user stopped it.
        """
        assembler = self._assembler()
        if not assembler.usable:
            self._tell(f"without {ASSEMBLER} nothing can be assembled ({assembler.reason}): calls of partitions count as free")
            return dict.fromkeys(versions, 0.0)
        for target, version in versions.items():
            if target not in self._calls:
                key = TransitionKey(CALL, target, assembler.version, version, self._threads, self._machine())
                self._calls[target] = self._known_or_measured(key)
        return {target: self._calls[target] for target in versions}

    def close(self) -> None:
        """End the worker."""
        self._caller.close()

    def _known_or_measured(self, key: TransitionKey) -> float:
        found = self._database.get_transition(key)
        if found is None:
            found = self._measured(key.reader)
            self._database.put_transition(key, found)
        if found.note:
            self._tell(found.note)
        return found.fixed_s

    def _measured(self, target: str) -> MeasuredTransition:
        try:
            asked = measure_call, self._call_rounds, target, self._threads
            fixed_s: float = self._caller.call(*asked, timeout_s=self._timeout_s, should_stop=self._should_stop)
        except (CollageError, WorkerError) as error:
            why = one_line(error)
            return MeasuredTransition(note=f"calls of {target} in an assembled module cannot be measured and count as free: {why}")
        return MeasuredTransition(fixed_s=fixed_s)

    def _assembler(self) -> Availability:
        return self._place.availability(ASSEMBLER) if self._place else self._get_toolchain(ASSEMBLER).availability()

    def _machine(self) -> str:
        return self._place.machine if self._place else machine_id()

    def _tell(self, note: str) -> None:
        if note not in self._told:
            self._told.add(note)
            self._emit(Note(note))


def measure_call(call_rounds: CallRounds, target: str, threads: int) -> float:
    """In the worker: seconds of a call; 0 where it is not sure to take any."""
    with call_rounds(target, threads) as one_round:
        return sure_extra(calm_rounds(one_round, ROUNDS, OwnSpeed()))
