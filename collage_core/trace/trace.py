"""`trace`: repeats the searches of a run and records every step in a file, which the page replays. Nothing is measured or built.

A `RunRecord` enters; a file (`trace_file`) leaves. A traced search goes over the whole problem, without decomposition, which takes
longer. So the trace is made on demand after the run.

The record holds all that the searches need, so they are repeated as they were, one for each round of merging, with two exceptions:
costs are the final ones (during the run some were still bounds), and ties within measurement noise, which the run breaks by priority
after the last search, are left as they are. So is a plan that was chosen because it was the fastest when timed end to end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..events import ignore
from ..graph.index_set import IndexSet
from ..pipeline.loop.search_and_merge import Planned, SearchSettings, merge_rounds
from ..pipeline.record.record import CostedCandidate, RunRecord, search_candidates, usable
from ..search.constraints.constraints import allowed_indices, parse_constraints
from ..search.objective_search import solve_for
from ..search.problem import SearchProblem
from ..search.searcher import SearchRun, after
from ..search.weights import Weights
from .reporter import OnProgress, TraceReporter
from .trace_file import BOUND_BYTES, TraceWriter

TRACE_S = 60.0
"""Seconds after which a trace ends; the searches are recorded up to then."""


def trace(record: RunRecord, file: Path, on_progress: OnProgress = lambda steps: None, *, limit_s: float = TRACE_S) -> None:
    """Repeat the searches of `record`, and write every step into `file`.

    Args:
        on_progress: Called now and then with the number of steps so far.
        limit_s: Seconds after which the trace ends; the file says that its last search did not end.

    Raises:
        CollageError: this version does not know the record's constraints or searcher.
        InfeasibleError: no plan is found.
    """
    began = time.monotonic()
    with TraceWriter(file) as writer:
        reporter = TraceReporter(writer, on_progress, BOUND_BYTES)
        with suppress(_OutOfTime):
            _Searches(record, reporter, limit_s).run()
        writer.finish({**reporter.summary(), "nodes": len(record.graph), "seconds": time.monotonic() - began})


class _OutOfTime(Exception):
    """Raised when the time for tracing is over."""


class _Searches:
    """The first search and one for each round of merging, or the single search of a run over known costs."""

    def __init__(self, record: RunRecord, reporter: TraceReporter, limit_s: float):
        self._record = record
        self._reporter = reporter
        self._settings = SearchSettings.given(record.plan.options, after(limit_s))
        self._merged = {(item.target, item.inside): item for item in record.candidates if item.is_merged}
        self._done = 0

    def run(self) -> None:
        if self._record.document.phases.merge_s is None:
            self._search(self._record.candidates, "the search")
            return
        first = [item for item in self._record.candidates if not item.is_merged]
        merge_rounds(self._search(first, "the first search"), self._round, self._known, ignore)

    def _round(self, costed: list[CostedCandidate]) -> Planned:
        self._done += 1
        return self._search(costed, f"fusing adjacent partitions, round {self._done}")

    def _search(self, costed: list[CostedCandidate], title: str) -> Planned:
        problem = self._record.problem.with_candidates(search_candidates(costed, self._record.problem.lowered))
        constraints = parse_constraints([dict(item) for item in self._record.plan.constraints], problem)
        self._reporter.begin(title, problem, usable(costed), self._weights(problem, allowed_indices(problem, constraints)))
        run = SearchRun(self._reporter, self._settings.should_stop)
        result = solve_for(problem, self._settings.objective, constraints, self._settings.search, run)
        if result.stopped:
            raise _OutOfTime
        return Planned(result, result, problem, costed)

    def _weights(self, problem: SearchProblem, allowed: Sequence[int]) -> Weights | None:
        """Return the conversion from a state's weight to time; None where weights stand for more than time."""
        is_known = not any(problem.candidates[index].is_unknown for index in allowed)
        return Weights(problem, allowed) if is_known and self._settings.objective.is_time else None

    def _known(self, wanted: Sequence[tuple[str, int]]) -> list[CostedCandidate]:
        """Return those of the `wanted` merged partitions that the run has costed."""
        keys = [(target, IndexSet.from_bits(bits)) for target, bits in wanted]
        return [self._merged[key] for key in keys if key in self._merged]
