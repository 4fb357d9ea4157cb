"""Rounds of further repetitions: one more of each trial that may change a plan.

`RepetitionRounds` takes trials and their records so far, and gives records with one repetition more, each saved at once. Which
trials are worth it, and how many rounds, is the caller's to say.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from ...errors import Cancelled
from ..database.database import CostDatabase
from ..database.records import CostKey, Record
from .repetition_noise import RepetitionNoise
from .repetitions import is_precise, repetition_count, repetition_values, with_repetition
from .trial import TrialTask
from .trial_backend import TrialBackend

ROUND_EVERY_S = 0.3
"""From the begin of one round to that of the next at least: a virtual machine changes its speed for about so long."""
_TICK_S = 0.05

C = TypeVar("C")


class RepetitionRounds(Generic[C]):
    """Runs the rounds of one run.

    Args:
        backend: Runs the trials.
        database: Gets each repetition when it is over.
        task_of: (computation, number of the repetition) → its trial, or a record that says why there is none.
        percentile: Of a repetition's samples.
        should_stop: Asked often.
    """

    def __init__(
        self,
        backend: TrialBackend,
        database: CostDatabase,
        task_of: Callable[[C, int], TrialTask | Record],
        percentile: float,
        should_stop: Callable[[], bool] | None,
    ):
        self._backend = backend
        self._database = database
        self._task_of = task_of
        self._percentile = percentile
        self._should_stop = should_stop or (lambda: False)
        self._next_s = -math.inf

    def one_round(
        self, wanted: Mapping[CostKey, C], known: Mapping[CostKey, Record], plan_s: float | None
    ) -> Iterator[tuple[CostKey, Record]]:
        """Do one repetition of each of `wanted`, and yield its record with it; leave out what is precise, or cannot be tried now.

        Args:
            known: The records of at least these; what others say of the machine's noise counts, too.
            plan_s: As `is_precise` takes it.

        Raises:
            Cancelled: `should_stop` said so; all measurements so far are kept.
        """
        noise = RepetitionNoise.of(repetition_values(record, self._percentile) for record in known.values())
        open_ = {key: one for key, one in wanted.items() if not is_precise(known[key], self._percentile, plan_s, noise)}
        if not open_:
            return
        self._wait_until(self._next_s)
        self._next_s = time.monotonic() + ROUND_EVERY_S
        keys: dict[int, CostKey] = {}

        def tasks() -> Iterable[TrialTask]:
            for key, computation in open_.items():
                if self._should_stop():
                    raise Cancelled
                task = self._task_of(computation, repetition_count(known[key]) + 1)
                if isinstance(task, TrialTask):
                    keys[id(task)] = key
                    yield task

        for task, record in self._backend.run_all(tasks()):
            key = keys.pop(id(task))
            if record.is_lasting:
                repeated = with_repetition(known[key], record)
                self._database.put(key, repeated)
                yield key, repeated

    def _wait_until(self, moment: float) -> None:
        while (left_s := moment - time.monotonic()) > 0:
            if self._should_stop():
                raise Cancelled
            time.sleep(min(left_s, _TICK_S))
