"""`trace`: the searches of a run once more, with every state and move on record.

What enters is a `RunRecord`; what leaves is one file (`trace_file`), which the page replays. Nothing is measured or built.
A search that is traced walks over the whole problem where otherwise parts are solved apart, so it is not done during a run,
whose time it would take, but afterwards, for those who ask.

The record knows all that the searches were about, so they come out as they were, one for each round of merging, but for two
things: costs are the final ones (while a run measures, some are bounds yet), and what measurements cannot tell apart is given
out by priority only after the last search.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..events import ignore
from ..graph.index_set import IndexSet
from ..pipeline.planning import Planned, SearchSettings, merge_rounds
from ..pipeline.record import CostedCandidate, RunRecord, search_candidates, usable
from ..search.constraints.constraints import allowed_indices, parse_constraints
from ..search.objective_search import solve_for
from ..search.problem import SearchProblem
from ..search.searcher import SearchRun, after
from ..search.weights import Weights
from .reporter import Told, TraceReporter
from .trace_file import BOUND_BYTES, TraceWriter

TRACE_S = 60.0
"""Searches that take longer are on record up to here."""


def trace(
    record: RunRecord, file: Path, told: Told = lambda steps: None, *, limit_s: float = TRACE_S, bound_bytes: int = BOUND_BYTES
) -> None:
    """Search again what `record` is of, and write every step into `file`.

    Args:
        told: Hears now and then how many steps there are.
        limit_s: The trace ends here; that its last search did not is in the file.
        bound_bytes: When the file is so large, only decisions are written from then on.

    Raises:
        CollageError: the record's constraints or searcher are not known here.
        InfeasibleError: no plan is found.
    """
    began = time.monotonic()
    with TraceWriter(file) as writer:
        reporter = TraceReporter(writer, told, bound_bytes)
        with suppress(_OutOfTime):
            _Searches(record, reporter, limit_s).run()
        writer.finish({**reporter.over(), "nodes": len(record.graph), "seconds": time.monotonic() - began})


class _OutOfTime(Exception):
    """The time for tracing is over."""


class _Searches:
    """The first search and one for each round of merging; or the one search of a run over known costs."""

    def __init__(self, record: RunRecord, reporter: TraceReporter, limit_s: float):
        self._record = record
        self._reporter = reporter
        self._how = SearchSettings.given(record.plan.options, after(limit_s))
        self._merged = {(item.target, item.inside): item for item in record.candidates if _is_merged(item)}
        self._done = 0

    def run(self) -> None:
        if self._record.document["phases"].get("merge_s") is None:
            self._search(self._record.candidates, "the search")
            return
        first = [item for item in self._record.candidates if not _is_merged(item)]
        merge_rounds(self._search(first, "the first search"), self._round, self._known, ignore)

    def _round(self, costed: list[CostedCandidate]) -> Planned:
        self._done += 1
        return self._search(costed, f"merging, round {self._done}")

    def _search(self, costed: list[CostedCandidate], title: str) -> Planned:
        problem = self._record.problem.with_candidates(search_candidates(costed))
        constraints = parse_constraints([dict(item) for item in self._record.plan.constraints], problem)
        self._reporter.begin(title, problem, usable(costed), self._weights(problem, allowed_indices(problem, constraints)))
        run = SearchRun(self._reporter, self._how.should_stop)
        result = solve_for(problem, self._how.objective, constraints, self._how.search, run)
        if result.stopped:
            raise _OutOfTime
        return Planned(result, result, problem, costed)

    def _weights(self, problem: SearchProblem, allowed: Sequence[int]) -> Weights | None:
        """What turns a state's weight into time; None where weights are of more than time."""
        is_known = not any(problem.candidates[index].is_unknown for index in allowed)
        return Weights(problem, allowed) if is_known and self._how.objective.is_time else None

    def _known(self, wanted: Sequence[tuple[str, int]]) -> list[CostedCandidate]:
        """The merged partitions that the run has costed, of those that a plan suggests."""
        places = [(target, IndexSet.from_bits(bits)) for target, bits in wanted]
        return [self._merged[place] for place in places if place in self._merged]


def _is_merged(item: CostedCandidate) -> bool:
    return bool(item.candidate["rule"] == f"{item.target}.merged")
