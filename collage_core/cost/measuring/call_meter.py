"""`CallMeter`: measures the time that the assembled module takes to call a partition, beyond the time of its kernel alone.

A kernel is timed as a Python call of `Kernel.run`. In a plan of kernels alone the artifact calls it in the same way; a function of TVM is
called by the virtual machine. The difference belongs to each partition of the plan, whatever is in it, and is measured once for each
target in a worker process, in a plan of that target alone. The database keeps it as the transition from `CALL` to the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from ...base.isolation.worker_errors import WorkerError
from ...errors import CollageError
from ...toolchains.border import one_line
from ...toolchains.toolchain import Availability
from ..database.records import MeasuredTransition, TransitionKey
from .difference_rounds import significant_difference, undisturbed_rounds
from .meter import Meter
from .noise_filter import SpeedHistory

CALL = "call"
"""`TransitionKey.maker` of a call; its version is that of TVM, which assembles."""
ASSEMBLER = "tvm"

ROUNDS = 15
CallRounds = Callable[[str, int], AbstractContextManager[Callable[[], float]]]
"""(target, threads) → a function that measures the seconds by which a call takes longer in an assembled module."""


@dataclass(kw_only=True, eq=False)
class CallMeter(Meter):
    """Measures each target once.

    Attributes:
        call_rounds: A module-level function that the worker calls: `rewrite.call_trial.call_rounds`.
    """

    call_rounds: CallRounds

    def __post_init__(self) -> None:
        super().__post_init__()
        self._calls: dict[str, float] = {}

    def measure(self, versions: Mapping[str, str]) -> dict[str, float]:
        """Return the seconds of a call of each target (name → version); 0, with a note, where it cannot be measured.

        A call never counts as less than 0, also where the assembled module calls faster than Python does.

        Raises:
            Cancelled: the user stopped it.
        """
        missing = [target for target in versions if target not in self.recall(versions)]
        for target in missing:
            key = self._key(target, versions[target])
            measured = self._measured(target)
            self.database.put_transition(key, measured)
            self._keep(target, measured)
        return {target: self._calls[target] for target in versions}

    def recall(self, versions: Mapping[str, str]) -> dict[str, float]:
        """Return as `measure` does, for those targets alone of which it is known without measuring."""
        if not self._assembler.usable:
            self._tell(f"without {ASSEMBLER} nothing can be assembled ({self._assembler.reason}): calls of partitions count as free")
            self._calls.update(dict.fromkeys(versions, 0.0))
        for target, version in versions.items():
            found = None if target in self._calls else self.database.get_transition(self._key(target, version))
            if found is not None:
                self._keep(target, found)
        return {target: self._calls[target] for target in versions if target in self._calls}

    @property
    def _assembler(self) -> Availability:
        return self.backend.availability(ASSEMBLER)

    def _key(self, target: str, version: str) -> TransitionKey:
        return TransitionKey(CALL, target, self._assembler.version, version, self.threads, self.backend.machine)

    def _keep(self, target: str, measured: MeasuredTransition) -> None:
        self._calls[target] = measured.fixed_s
        self._tell(measured.note)

    def _measured(self, target: str) -> MeasuredTransition:
        try:
            fixed_s: float = self._call(measure_call, self.call_rounds, target, self.threads)
        except (CollageError, WorkerError) as error:
            why = one_line(error)
            return MeasuredTransition(note=f"calls of {target} in an assembled module cannot be measured and count as free: {why}")
        return MeasuredTransition(fixed_s=fixed_s)


def measure_call(call_rounds: CallRounds, target: str, threads: int) -> float:
    """Return, in the worker, the seconds of a call; 0 where the 95 % interval does not exclude 0."""
    with call_rounds(target, threads) as one_round:
        return significant_difference(undisturbed_rounds(one_round, ROUNDS, SpeedHistory()))
