"""The events that a reporter gets of a search: every state and move when it traces, plans and progress when it does not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given

from collage_core.search.constraints.constraints import allowed_indices
from collage_core.search.decomposition.exact import astar, dijkstra
from collage_core.search.problem import SearchProblem, Transition
from collage_core.search.searcher import REASONS, Newest, SearchReporter, SearchResult, SearchRun, nothing
from collage_core.search.searchers import best_first
from collage_core.search.weights import Weights
from tests.helpers.examples import examples
from tests.helpers.problems import problems
from tests.helpers.tiny_problems import small


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

    def path(self) -> tuple[int, ...]:
        """Return the candidates on the path to the state that was taken last."""
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
        assert trace.tried == result.moves, "every move is reported"
        assert not result.is_feasible or trace.path() == result.chosen, "the paths that it reports are the paths of the search"
        quiet = search(problem, usable)
        assert (quiet.chosen, quiet.total, quiet.optimal) == (result.chosen, result.total, result.optimal)
        totals = [total for _, total in trace.plans]
        assert all(total >= result.total for total in totals)


def test_what_is_found_again_at_less_is_improved_where_it_waits() -> None:
    """The first node is free on b, and then the second takes 5 and a transition of 10; on a it takes 3, and the second 5."""

    class Queue(SearchReporter):
        traces = True

        def __init__(self) -> None:
            self.told: list[tuple[str, int, int]] = []

        def pushed(self, state: int, parent: int, candidate: int, weight: int) -> None:
            self.told.append(("found", state, weight // shift))

        def improved(self, state: int, parent: int, candidate: int, weight: int) -> None:
            self.told.append(("improved", state, weight // shift))

        def popped(self, state: int, covered: int, weight: int) -> None:
            self.told.append(("taken", state, weight // shift))

    sets: list[tuple[tuple[int, ...], str, int | None]] = [((0,), "a", 3), ((0,), "b", 0), ((1,), "a", 5)]
    problem = small([(0, (1,), 1), (1, (), 1)], sets, transitions={("b", "a"): Transition(10)})
    shift = 1 << Weights(problem, range(3)).total_shift
    queue = Queue()
    assert dijkstra(problem, range(3), SearchRun(queue)).chosen == (0, 2)
    (state,) = {state for kind, state, _ in queue.told if kind == "improved"}
    assert [(kind, weight) for kind, one, weight in queue.told if one == state] == [("found", 15), ("improved", 8), ("taken", 8)]


@examples(100)
@given(problems())
def test_the_newest_state_is_a_plan_in_the_making(problem: SearchProblem) -> None:
    """Its candidates do not overlap, and leave open node `covered` and none before."""

    class Listener(SearchReporter):
        told = 0

        def progress(
            self, states: int, transitions: int, frontier: int, covered: int, lower_bound: int, best: int | None, newest: Newest = nothing
        ) -> None:
            placed = [node for index in newest() for node in problem.candidates[index].inside]
            assert len(placed) == len(set(placed))
            assert set(range(covered)) <= set(placed)
            assert covered not in placed
            self.told += 1

    usable = allowed_indices(problem, ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_first, "REPORT_EVERY", 1)
        for search in (astar, dijkstra):
            listener = Listener()
            result = search(problem, usable, SearchRun(listener))
            assert listener.told or result.states < 2 or not result.is_feasible


def test_nothing_is_numbered_when_nobody_traces() -> None:
    class Deaf(SearchReporter):
        def pushed(self, state: int, parent: int, candidate: int, weight: int) -> None:
            raise AssertionError("it did not ask for this")

        popped = improved = considered = pushed  # type: ignore[assignment]

    from tests.collage_core.search.decomposition.test_subproblem_search import repeated

    problem = repeated(3)
    assert astar(problem, allowed_indices(problem, ()), SearchRun(Deaf())).optimal
