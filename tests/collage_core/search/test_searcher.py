"""What a reporter hears of a search: every state and move when it asks for them, what counts when it does not."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given

from collage_core.search.constraints.constraints import allowed_indices
from collage_core.search.problem import SearchProblem
from collage_core.search.searcher import REASONS, SearchReporter, SearchResult, SearchRun
from collage_core.search.searchers.exact import astar, dijkstra
from tests.helpers.examples import examples
from tests.helpers.problems import problems


class Trace(SearchReporter):
    """Keeps everything."""

    traces = True

    def __init__(self) -> None:
        self.weight: dict[int, int] = {}
        self.came: dict[int, tuple[int, int]] = {}
        self.order: list[int] = []
        self.reasons: set[str] = set()
        self.tried = 0
        self.plans: list[tuple[tuple[int, ...], int]] = []
        self.ended: list[SearchResult] = []

    def pushed(self, state: int, parent: int, candidate: int, weight: int) -> None:
        assert state not in self.weight, "met for the first time"
        assert parent in self.order or (parent, candidate, weight) == (-1, -1, 0), "from a state that was taken"
        self.weight[state], self.came[state] = weight, (parent, candidate)
        self.tried += parent != -1

    def improved(self, state: int, parent: int, candidate: int, weight: int) -> None:
        assert weight <= self.weight[state]
        assert state not in self.order, "a state that was taken is settled"
        self.tried += 1
        self.weight[state], self.came[state] = weight, (parent, candidate)

    def popped(self, state: int, covered: int, weight: int) -> None:
        assert weight == self.weight[state]
        assert self.came[state][0] == -1 or self.weight[self.order[-1]] <= weight, "the lightest first, until it begins again"
        self.order.append(state)

    def considered(self, state: int, candidate: int, reason: str) -> None:
        self.reasons.add(reason)
        self.tried += 1

    def better_plan(self, chosen: Sequence[int], total: int) -> None:
        self.plans.append((tuple(chosen), total))

    def end(self, result: SearchResult) -> None:
        self.ended.append(result)

    def way(self) -> tuple[int, ...]:
        """The candidates on the way to the state that was taken last."""
        state, made = self.order[-1], []
        while self.came[state][0] != -1:
            state, candidate = self.came[state]
            made.append(candidate)
        return tuple(made[::-1])


@examples(150)
@given(problems())
def test_a_trace_is_the_search(problem: SearchProblem) -> None:
    problem = SearchProblem(**{**vars(problem), "exclusive": ()})
    usable = allowed_indices(problem, ())
    for search in (astar, dijkstra):
        trace = Trace()
        result = search(problem, usable, SearchRun(trace))
        assert trace.ended == [result]
        assert trace.reasons <= set(REASONS) - {"excluded"}
        assert trace.tried == result.transitions, "every move is told"
        assert not result.is_feasible or trace.way() == result.chosen, "the ways that it tells are the ways of the search"
        quiet = search(problem, usable)
        assert (quiet.chosen, quiet.total, quiet.optimal) == (result.chosen, result.total, result.optimal)
        totals = [total for _, total in trace.plans]
        assert all(total >= result.total for total in totals)


def test_nothing_is_numbered_when_nobody_traces() -> None:
    class Deaf(SearchReporter):
        def pushed(self, state: int, parent: int, candidate: int, weight: int) -> None:
            raise AssertionError("it did not ask for this")

        popped = improved = considered = pushed  # type: ignore[assignment]

    from tests.collage_core.search.decomposition.test_subproblem_search import repeated

    problem = repeated(3)
    assert astar(problem, allowed_indices(problem, ()), SearchRun(Deaf())).optimal
