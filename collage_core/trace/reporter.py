"""`TraceReporter`: records the steps of a search in chunks, each of which can be read without the others.

It receives the calls of a `SearchReporter` and gives chunks (docs/files.md, "A trace") to a `TraceWriter`. It does not influence the
search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..pipeline.record.record import CostedCandidate
from ..search.plan_properties import plan_total
from ..search.problem import FEMTOSECONDS, SearchProblem
from ..search.searcher import REASONS, SearchReporter, SearchResult
from ..search.weights import Weights
from .trace_file import CHUNK_STEPS, TraceWriter

OnProgress = Callable[[int], None]
"""A function that is called now and then with the number of steps so far."""

BEGIN, TAKEN, FOUND, IMPROVED, REFUSED, PLAN, SKIPPED, END = "btnixpse"
_REASON = {reason: number for number, reason in enumerate(REASONS)}


class _Chunk:
    """Steps as columns, and the state of the trace before the first of them."""

    def __init__(self, first: int, start: dict[str, Any]):
        self.first = first
        self.start = start
        self.kinds: list[str] = []
        self.states: list[int] = []
        self.parents: list[int] = []
        self.candidates: list[int] = []
        self.values: list[int] = []
        self.plans: list[list[int]] = []

    def add(self, kind: str, state: int, parent: int, candidate: int, value: int) -> None:
        self.kinds.append(kind)
        self.states.append(state)
        self.parents.append(parent)
        self.candidates.append(candidate)
        self.values.append(value)

    def path_ends(self) -> Iterable[int]:
        """Yield the states whose paths are needed to draw the steps."""
        for kind, state, parent in zip(self.kinds, self.states, self.parents, strict=True):
            if kind in (TAKEN, REFUSED):
                yield state
            elif kind in (FOUND, IMPROVED):
                yield parent


class TraceReporter(SearchReporter):
    """Records several searches; `begin` is called before each, `summary` after the last.

    Args:
        bound_bytes: Size of the file from which on only decisions are written: beginnings, better plans, ends.
    """

    traces = True

    def __init__(self, writer: TraceWriter, on_progress: OnProgress, bound_bytes: int):
        self._writer = writer
        self._on_progress = on_progress
        self._bound_bytes = bound_bytes
        self._is_thinned = False
        self._has_skipped = False
        self._searches: list[dict[str, Any]] = []
        self._parents: list[int] = []
        self._placed: list[int] = []
        self._offset = 0
        self._items: list[CostedCandidate] = []
        self._number: dict[str, int] = {}
        self._numbers: list[int] = []
        self._problem_index: dict[int, int] = {}
        self._taken = self._found = self._improved = self._refused = 0
        self._best: int | None = None
        self._newest = (-1, 0)
        self._chunk = _Chunk(0, self._start())

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return self._chunk.first + len(self._chunk.kinds)

    def begin(self, title: str, problem: SearchProblem, usable: Sequence[CostedCandidate], weights: Weights | None) -> None:
        """Begin a search.

        Args:
            usable: The problem's candidates, in its order.
            weights: Converts weights to time; None where they stand for more than time.
        """
        self._problem, self._weights = problem, weights
        self._numbers = [self._number_of(item) for item in usable]
        self._problem_index = {number: index for index, number in enumerate(self._numbers)}
        self._offset = len(self._parents)
        self._best = None
        self._open(title, is_again=False)

    def summary(self) -> dict[str, Any]:
        """Write the last chunk, and return the facts on the whole trace."""
        self._flush()
        return {
            "steps": self._chunk.first,
            "chunk_steps": CHUNK_STEPS,
            "is_thinned": self._is_thinned,
            "bound_bytes": self._bound_bytes,
            "reasons": list(REASONS),
            "searches": self._searches,
        }

    def pushed(self, state: int, parent: int, candidate: int, weight: int) -> None:
        state += self._offset
        if parent == -1:
            if state > self._offset:
                self._close_attempt(self._total_of_newest())
                self._open(self._searches[-1]["title"], is_again=True)
            self._parents.append(-1)
            self._placed.append(-1)
            self._add(BEGIN, state, -1, -1, 0)
            return
        parent, number = parent + self._offset, self._numbers[candidate]
        self._parents.append(parent)
        self._placed.append(number)
        self._found += 1
        self._add(FOUND, state, parent, number, self._time(weight))

    def popped(self, state: int, covered: int, weight: int) -> None:
        self._newest = (state + self._offset, weight)
        self._taken += 1
        self._add(TAKEN, state + self._offset, -1, -1, self._time(weight))

    def improved(self, state: int, parent: int, candidate: int, weight: int) -> None:
        state, parent, number = state + self._offset, parent + self._offset, self._numbers[candidate]
        self._parents[state] = parent
        self._placed[state] = number
        self._improved += 1
        self._add(IMPROVED, state, parent, number, self._time(weight))

    def considered(self, state: int, candidate: int, reason: str) -> None:
        self._refused += 1
        self._add(REFUSED, state + self._offset, -1, self._numbers[candidate], _REASON[reason])

    def better_plan(self, chosen: Sequence[int], total: int) -> None:
        self._best = total if self._best is None else min(self._best, total)
        self._decide(PLAN, chosen, total)

    def end(self, result: SearchResult) -> None:
        if result.stopped:
            self._close_attempt(result.lower_bound or None)
        else:
            self._close_attempt(self._total_of_newest() if result.optimal else None)
        self._searches[-1]["result"] = {
            "algorithm": result.algorithm,
            "optimal": result.optimal,
            "stopped": result.stopped,
            "total_s": result.total / FEMTOSECONDS if result.chosen else None,
            "lower_bound_s": result.lower_bound / FEMTOSECONDS,
            "states": result.states,
            "transitions": result.moves,
            "seconds": result.seconds,
        }
        self._decide(END, result.chosen, result.total)

    def _open(self, title: str, *, is_again: bool) -> None:
        """Begin an attempt: a search has another one where its best plan had a cycle."""
        self._newest = (-1, 0)
        candidates = len(self._numbers)
        attempt = {"title": title, "is_again": is_again, "first": self.steps, "candidates": candidates, "before": self._start()}
        self._searches.append({**attempt, "bound_s": None, "result": None})

    def _close_attempt(self, total: int | None) -> None:
        """Record a lower bound on the totals of all plans of the attempt, to which the weight of a state adds the rest.

        Args:
            total: Lower bound in femtoseconds on plans over the state that was taken last; None where it is not known.
        """
        _, weight = self._newest
        if total is not None and self._weights is not None:
            self._searches[-1]["bound_s"] = (total - self._weights.total(weight)) / FEMTOSECONDS

    def _total_of_newest(self) -> int | None:
        """Return the total in femtoseconds of the plan that leads to the last taken state; None where the searcher has no states."""
        state, chosen = self._newest[0], []
        if state < 0:
            return None
        while self._parents[state] >= 0:
            chosen.append(self._problem_index[self._placed[state]])
            state = self._parents[state]
        return plan_total(self._problem, chosen[::-1])

    def _time(self, weight: int) -> int:
        """Return the femtoseconds in `weight`, without the bound of the attempt."""
        return 0 if self._weights is None else self._weights.total(weight)

    def _number_of(self, item: CostedCandidate) -> int:
        """Return the number of a candidate in the trace, which is the same in every search."""
        number = self._number.setdefault(item.id, len(self._items))
        if number == len(self._items):
            self._items.append(item)
        return number

    def _decide(self, kind: str, chosen: Sequence[int], total: int) -> None:
        """Add a step that is never left out."""
        plan = len(self._chunk.plans)
        self._chunk.plans.append([self._numbers[index] for index in chosen])
        self._add(kind, -1, -1, plan, total)

    def _add(self, kind: str, state: int, parent: int, candidate: int, value: int) -> None:
        if self._is_thinned:
            if kind in (TAKEN, FOUND, IMPROVED, REFUSED):
                self._has_skipped = True
                return
            if self._has_skipped:
                self._has_skipped = False
                self._chunk.add(SKIPPED, self._taken, self._found, self._improved, self._refused)
        self._chunk.add(kind, state, parent, candidate, value)
        if len(self._chunk.kinds) >= CHUNK_STEPS:
            self._flush()

    def _start(self) -> dict[str, Any]:
        """Return the counts and the best total before the next step."""
        best_s = None if self._best is None else self._best / FEMTOSECONDS
        counts = {"taken": self._taken, "found": self._found, "improved": self._improved, "refused": self._refused}
        return {**counts, "best_s": best_s}

    def _flush(self) -> None:
        """Write the chunk and begin the next one."""
        chunk = self._chunk
        if chunk.kinds:
            self._writer.add(self._chunk_json(chunk))
            self._is_thinned = self._is_thinned or self._writer.bytes > self._bound_bytes
            self._on_progress(self.steps)
        self._chunk = _Chunk(self.steps, self._start())

    def _chunk_json(self, chunk: _Chunk) -> dict[str, Any]:
        paths = self._paths(chunk.path_ends())
        shown = {number for number, kind in zip(chunk.candidates, chunk.kinds, strict=True) if kind in (FOUND, IMPROVED, REFUSED)}
        shown.update(paths[2::3], *chunk.plans)
        return {
            "first": chunk.first,
            "kinds": "".join(chunk.kinds),
            "states": chunk.states,
            "parents": chunk.parents,
            "candidates": chunk.candidates,
            "values": chunk.values,
            "ways": paths,
            "plans": chunk.plans,
            "shown": [_row(number, self._items[number]) for number in sorted(shown - {-1})],
            "start": chunk.start,
        }

    def _paths(self, states: Iterable[int]) -> list[int]:
        """Return (state, its parent, the candidate placed there) for `states` and all their ancestors, in one flat list."""
        known: set[int] = set()
        paths: list[int] = []
        for state in states:
            while state >= 0 and state not in known:
                known.add(state)
                paths += (state, self._parents[state], self._placed[state])
                state = self._parents[state]
        return paths


def _row(number: int, item: CostedCandidate) -> dict[str, Any]:
    """Return a candidate as the page shows it."""
    return {
        "number": number,
        "target": item.target,
        "label": item.candidate["label"],
        "spans": item.inside.spans(),
        "cost_s": item.cost.seconds,
        "source": item.cost.source,
    }
