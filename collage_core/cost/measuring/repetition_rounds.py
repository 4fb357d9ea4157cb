"""Further repetitions for costs that a plan rests on: rounds over all of them, apart in time, until each is sure enough.

What enters are trials, and what the database has of them; what leaves are records with more repetitions, each kept at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from ...errors import Cancelled
from ..database.database import CostDatabase
from ..database.records import CostKey, Record
from .repetitions import is_sure, repetition_count, with_repetition
from .trial import TrialTask
from .trial_backend import TrialBackend

APART_S = 0.3
"""From the begin of a round to that of the next at least: a virtual machine changes its speed for about so long."""
_TICK_S = 0.05

C = TypeVar("C")


class RepetitionRounds(Generic[C]):
    """The rounds of one request.

    Args:
        place: Where trials run.
        database: Gets each repetition as it is over.
        task_of: The trial of a computation, which is told the number of the repetition, or a record that says why there is none.
        percentile: Of a repetition's samples.
        whole_s: As `is_sure` takes it.
        should_stop: Asked often.
        left_s: No further repetition begins after so many seconds.
    """

    def __init__(
        self,
        place: TrialBackend,
        database: CostDatabase,
        task_of: Callable[[C, int], TrialTask | Record],
        percentile: float,
        whole_s: float | None,
        should_stop: Callable[[], bool] | None,
        left_s: float,
    ):
        self._place = place
        self._database = database
        self._task_of = task_of
        self._percentile = percentile
        self._whole_s = whole_s
        self._should_stop = should_stop or (lambda: False)
        self._left_s = left_s

    def rounds(self, open_: Mapping[CostKey, C], known: Mapping[CostKey, Record]) -> Iterator[tuple[CostKey, Record]]:
        """Each computation with its record, when it is sure or the time is over; one that cannot be tried any more with what was known.

        Raises:
            Cancelled: `should_stop` said so; what was measured is kept.
        """
        records = dict(known)
        waiting = {key: computation for key, computation in open_.items() if not self._is_sure(records[key])}
        deadline = time.monotonic() + self._left_s
        while waiting:
            began = time.monotonic()
            left = dict(waiting)
            for key, record in self.one_round(waiting, records, deadline):
                records[key] = record
                if not self._is_sure(records[key]) and time.monotonic() < deadline:
                    del left[key]
            for key in left:
                del waiting[key]
                yield key, records[key]
            if waiting:
                self._wait_until(began + APART_S)

    def _is_sure(self, record: Record) -> bool:
        return is_sure(record, self._percentile, self._whole_s)

    def one_round(
        self, waiting: Mapping[CostKey, C], records: Mapping[CostKey, Record], deadline: float = math.inf
    ) -> Iterator[tuple[CostKey, Record]]:
        """One repetition for each, and the record with it; none where it cannot be tried here and now, or the time is over."""
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

        for task, record in self._place.run_all(tasks()):
            key = keys.pop(id(task))
            if record.is_lasting:
                with_it = with_repetition(records[key], record)
                self._database.put(key, with_it)
                yield key, with_it

    def _wait_until(self, moment: float) -> None:
        while (left_s := moment - time.monotonic()) > 0:
            if self._should_stop():
                raise Cancelled
            time.sleep(min(left_s, _TICK_S))
