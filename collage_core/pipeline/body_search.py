"""`BodySearch`: searches the bodies of a run's model within their share of its budget, and measures their nodes on the host.

The run's candidates, options and budget enter, with a function that runs the search of one body; planned nodes leave.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from ..base.isolation.worker import Pool
from ..cost.cost import Cost
from ..cost.measuring.trial_backend import flushed_bytes
from ..errors import CollageError
from ..events import Emit, Event, Note
from ..model.body_runs import BodyRuns
from ..options import Options
from ..rewrite.plan import PlannedBody
from .budget import Budget
from .discover import CandidateSet
from .plan_bodies import NodeMeter, PlannedNode, plan_bodies
from .record import RunRecord

SHARE, LEAST_S = 0.5, 3.0
"""All bodies together may be measured for that share of what is left of the budget, and each of them for so many seconds."""
MOST_BODIES = 64
"""Nodes whose bodies come after so many stay whole."""

RunSearch = Callable[[str, BodyRuns, Options, Emit], RunRecord]
"""Searches one body under its own options."""


class BodySearch:
    """The searches over the bodies of one model."""

    def __init__(
        self,
        found: CandidateSet,
        options: Options,
        budget: Budget,
        inputs: Mapping[str, np.ndarray],
        emit: Emit,
        run: RunSearch,
        should_stop: Callable[[], bool],
    ):
        self._found, self._options, self._budget, self._inputs = found, options, budget, inputs
        self._emit, self._run, self._should_stop = emit, run, should_stop
        left_s = budget.left_s(None)
        self._end_s = math.inf if left_s is None else budget.spent_s + SHARE * left_s
        self._open = sum(len(node.flow.bodies) for node in found.body_runs.values() if not node.reason)
        self._done = 0

    def plan(self, times: int) -> dict[int, PlannedNode]:
        """Return the planned nodes by index; `times` is how often the model ran while the runs of its bodies were counted."""
        from .assemble_and_verify import BUILD_TIMEOUT_S, in_worker

        model, options = self._found.model, self._options
        with tempfile.TemporaryDirectory(prefix="collage-bodies-") as folder, Pool(should_stop=self._should_stop) as pool:
            call = partial(in_worker, pool, "bodies", timeout_s=BUILD_TIMEOUT_S, what="running its bodies")
            accuracy, flushed = self._found.accuracy(), flushed_bytes(model.graph)
            meter = NodeMeter(model, self._inputs, options.used_threads, accuracy, options.percentile, flushed, call, Path(folder))
            is_measured = options.is_measured and options.tracker is None
            return plan_bodies(model, self._found.body_runs, self._search, partial(self._measured, meter) if is_measured else None, times)

    @property
    def _is_over(self) -> bool:
        return self._should_stop() or self._budget.spent_s >= self._end_s

    def _measured(self, meter: NodeMeter, index: int, planned: Mapping[str, PlannedBody]) -> Cost | None:
        """Return what the node takes on the host; None where no time is left to measure it."""
        return None if self._is_over else meter(index, planned)

    def _search(self, name: str, body: BodyRuns) -> RunRecord:
        """Search a body in its share of the time that is left.

        Raises:
            CollageError: there is no plan, or no time left to look for one.
        """
        if self._is_over or self._done >= MOST_BODIES:
            why = "no time was left to search it" if self._is_over else f"{MOST_BODIES} bodies were searched before it"
            raise CollageError(why, "give the run more time with --budget", "no_time")
        left_s, open_ = self._end_s - self._budget.spent_s, max(1, self._open - self._done) + 1  # and one for measuring the node
        self._done += 1
        budget_s = max(LEAST_S, left_s / open_) if math.isfinite(left_s) else None
        vetoes = tuple(item for item in self._options.constraints if item.keys() == {"kind", "target"} and item["kind"] == "veto")
        own = replace(self._options, shapes={}, values={}, inputs=None, constraints=vetoes, out=None, ir=None, tune_s=None)

        def tell(event: Event) -> None:
            if isinstance(event, Note):
                self._emit(Note(f"{name}: {event.text}"))

        return self._run(name, body, replace(own, budget_s=budget_s), tell)
