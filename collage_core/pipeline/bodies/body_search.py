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

from ...base.isolation.worker import Pool
from ...cost.cost import Cost
from ...cost.measuring.trial_backend import RestOfModel
from ...errors import CollageError
from ...events import CandidateBuilding, CandidateCosted, Emit, Event, Note, SearchingBody
from ...model.body_runs import BodyRuns, NodeRuns
from ...options import Options
from ...rewrite.plan import PlannedBody
from ...search.constraints.inner_constraints import inner_constraints, names_in
from ..discover import CandidateSet
from ..loop.budget import Deadline, budget_s
from ..record.record import RunRecord
from .body_rows import named_nodes
from .plan_bodies import NodeMeter, PlannedNode, plan_bodies

SHARE = 0.5
"""All bodies together may be measured for that share of the time for measuring."""
LEAST_S = 3.0
"""Each of them may be measured for so many seconds in any case."""
MOST_BODIES = 64
"""Nodes whose bodies come after so many stay whole."""

KEPT_AWAY = "the constraints keep it away"
"""Why the host does not run a node that a pin or a veto gives to others: its bodies are not searched."""

RunSearch = Callable[[str, BodyRuns, Options, Emit], RunRecord]
"""Searches one body under its own options."""


def bodies_s(runs: Mapping[int, NodeRuns], options: Options, limit_s: float) -> float:
    """Return the seconds that searching all bodies may take, where measuring may take `limit_s` in all.

    As many as their sizes suggest unless the user gives a budget, and a share of it in any case.
    """
    if options.budget_s is not None:
        return SHARE * limit_s
    wished = (budget_s(options, len(body.model.graph)) for node in runs.values() if not node.reason for body in node.bodies.values())
    return min(sum(wished), SHARE * limit_s)


class BodySearch:
    """The searches over the bodies of one model.

    Args:
        limit_s: Seconds that all of them may take, with measuring their nodes.
    """

    def __init__(
        self,
        found: CandidateSet,
        options: Options,
        limit_s: float,
        inputs: Mapping[str, np.ndarray],
        emit: Emit,
        run: RunSearch,
        should_stop: Callable[[], bool],
    ):
        self._found, self._options, self._inputs = found, options, inputs
        self._emit, self._run, self._should_stop = emit, run, should_stop
        self._deadline = Deadline(limit_s)
        self._open = sum(len(node.flow.bodies) for node in found.body_runs.values() if not node.reason)
        self._done = 0

    def plan(self, times: int) -> dict[int, PlannedNode]:
        """Return the planned nodes by index; `times` is how often the model ran while the runs of its bodies were counted."""
        from ..whole.assemble_and_verify import in_worker

        model, options = self._found.model, self._options
        with tempfile.TemporaryDirectory(prefix="collage-bodies-") as folder, Pool(should_stop=self._should_stop) as pool:
            call = partial(in_worker, pool, "bodies", what="running its bodies")
            accuracy, flushed = self._found.accuracy(), RestOfModel(model.graph).flushed_bytes()
            meter = NodeMeter(
                model, self._inputs, options.used_threads, accuracy, options.percentile, flushed, call, Path(folder), options.value_policy
            )
            is_measured = options.is_measured and options.fleet is None
            self._tell_gone()
            return plan_bodies(model, self._found.body_runs, self._search, partial(self._measured, meter) if is_measured else None, times)

    def _tell_gone(self) -> None:
        """Say which nodes that constraints name were in a body of the file and are not in its folded graph."""
        graph, named = self._found.graph, names_in(self._options.constraints) - set(self._found.graph.index_by_name)
        for index, node in self._found.body_runs.items():
            there = {name for body in node.bodies.values() for name, _ in named_nodes(body.model.graph)}
            gone = sorted(named.intersection(name for name, _ in graph.nodes[index].inner) - there) if node.bodies else []
            if gone and not node.reason:
                self._emit(Note(f"{', '.join(gone)} in {graph.nodes[index].name} is folded away: constraints on it mean nothing there"))

    @property
    def _is_over(self) -> bool:
        return self._should_stop() or self._deadline.is_over()

    def _measured(self, meter: NodeMeter, index: int, planned: Mapping[str, PlannedBody]) -> Cost | None:
        """Return what the node takes on the host; None where no time is left to measure it."""
        if self._is_over:
            return None
        self._emit(SearchingBody("measure", self._found.graph.nodes[index].name, self._done, self._count))
        return meter(index, planned)

    @property
    def _count(self) -> int:
        """How many bodies are searched, if there is time."""
        return min(self._open, MOST_BODIES)

    def _search(self, name: str, body: BodyRuns) -> RunRecord:
        """Search a body in its share of the time that is left.

        Raises:
            CollageError: there is no plan, or no time left to look for one.
        """
        if self._is_over or self._done >= MOST_BODIES:
            why = "no time was left to search it" if self._is_over else f"{MOST_BODIES} bodies were searched before it"
            raise CollageError(why, "give the run more time with --budget", "no_time")
        left_s, open_ = self._deadline.left_s, max(1, self._open - self._done) + 1  # and one for measuring the node
        self._done += 1
        share_s = max(LEAST_S, left_s / open_) if math.isfinite(left_s) else None
        held = inner_constraints(
            self._options.constraints, self._found.graph.index_by_name, named_nodes(body.model.graph), self._options.targets
        )
        own = replace(self._options, shapes={}, values={}, inputs=None, constraints=held, out=None, ir=None, tune_s=None)

        progress = SearchingBody("search", name, self._done, self._count)
        self._emit(progress)
        return self._run(name, body, replace(own, budget_s=share_s), _Teller(progress, self._emit))


class _Teller:
    """Passes on of the events of the search of a body what the run around it tells: notes, and how far it is.

    Args:
        progress: As it was told last.
    """

    def __init__(self, progress: SearchingBody, emit: Emit):
        self._progress, self._emit = progress, emit

    def __call__(self, event: Event) -> None:
        name = self._progress.name
        if isinstance(event, Note):
            self._emit(Note(f"{name}: {event.text}"))
        elif isinstance(event, SearchingBody):
            self._emit(replace(self._progress, doing=event.doing, name=f"{event.name} in {name}", done=event.done, total=event.total))
        elif isinstance(event, CandidateBuilding | CandidateCosted) and event.done != self._progress.done:
            self._progress = replace(self._progress, done=event.done, total=event.total)
            self._emit(self._progress)
