"""Further repetitions of the trials that a plan rests on, in rounds over all of them, until each cost is precise enough.

`RepetitionRounds` takes trials and their records so far, and gives records with more repetitions, each saved at once.
"""

from __future__ import annotations

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
    """Runs the rounds of one request.

    Args:
        backend: Runs the trials.
        database: Gets each repetition when it is over.
        task_of: (computation, number of the repetition) → its trial, or a record that says why there is none.
        percentile: Of a repetition's samples.
        plan_s: As `is_precise` takes it.
        should_stop: Asked often.
        left_s: No further repetition begins after so many seconds.
    """

    def __init__(
        self,
        backend: TrialBackend,
        database: CostDatabase,
        task_of: Callable[[C, int], TrialTask | Record],
        percentile: float,
        plan_s: float | None,
        should_stop: Callable[[], bool] | None,
        left_s: float,
    ):
        self._backend = backend
        self._database = database
        self._task_of = task_of
        self._percentile = percentile
        self._plan_s = plan_s
        self._should_stop = should_stop or (lambda: False)
        self._left_s = left_s

    def rounds(self, wanted: Mapping[CostKey, C], known: Mapping[CostKey, Record]) -> Iterator[tuple[CostKey, Record]]:
        """Yield each computation with its record when it is precise or the time is over; with `known` where it cannot be tried any more.

        Raises:
            Cancelled: `should_stop` said so; all measurements so far are kept.
        """
        records = dict(known)
        noise = self._noise(records)
        waiting = {key: computation for key, computation in wanted.items() if not self._is_precise(records[key], noise)}
        deadline = time.monotonic() + self._left_s
        while waiting:
            began = time.monotonic()
            left = dict(waiting)
            for key, record in self._one_round(waiting, records, deadline):
                records[key] = record
                if not self._is_precise(record, noise) and time.monotonic() < deadline:
                    del left[key]
            for key in left:
                del waiting[key]
                yield key, records[key]
            noise = self._noise(records)
            if waiting:
                self._wait_until(began + ROUND_EVERY_S)

    def _noise(self, records: Mapping[CostKey, Record]) -> RepetitionNoise:
        return RepetitionNoise.of(repetition_values(record, self._percentile) for record in records.values())

    def _is_precise(self, record: Record, noise: RepetitionNoise) -> bool:
        return is_precise(record, self._percentile, self._plan_s, noise)

    def _one_round(
        self, waiting: Mapping[CostKey, C], records: Mapping[CostKey, Record], deadline: float
    ) -> Iterator[tuple[CostKey, Record]]:
        """Do one repetition of each, and yield the record with it; leave out what cannot be tried now, or comes after the deadline."""
        keys: dict[int, CostKey] = {}

        def tasks() -> Iterable[TrialTask]:
            for key, computation in waiting.items():
                if self._should_stop():
                    raise Cancelled
                if time.monotonic() >= deadline:
                    return
                task = self._task_of(computation, repetition_count(records[key]) + 1)
                if isinstance(task, TrialTask):
                    keys[id(task)] = key
                    yield task

        for task, record in self._backend.run_all(tasks()):
            key = keys.pop(id(task))
            if record.is_lasting:
                repeated = with_repetition(records[key], record)
                self._database.put(key, repeated)
                yield key, repeated

    def _wait_until(self, moment: float) -> None:
        while (left_s := moment - time.monotonic()) > 0:
            if self._should_stop():
                raise Cancelled
            time.sleep(min(left_s, _TICK_S))
