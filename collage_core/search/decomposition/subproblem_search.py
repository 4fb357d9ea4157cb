"""`SubproblemSearch`: search from separator to separator; equal subproblems are solved once.

The cost of a subproblem depends on the makers of the tensors that enter it, and its effect on the next on the makers of those that
leave. So for each combination of makers that enter, the best plan for each combination that leaves is found by best-first
search of the subproblem alone, and these plans are put together from separator to separator. A combination that is dearer than
the best one by more than all its readers together could gain from it is not followed. Exact, like a search of the whole.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..boundaries import Boundary
from ..copies import HOST_LOCATION
from ..problem import NOWHERE, SearchProblem
from ..searcher import SearchRun
from ..searchers.best_first import BestFirstSearch
from ..searchers.cover import Cover
from ..weights import CopyWeights, TransitionClasses, Weights
from .separators import Separators
from .subproblem import SINK, Makers, Parent, SubproblemPlan, SubproblemSolver, TensorsBySubproblem, spread


class TooDear(Exception):
    """Raised when subproblems weigh more candidates than they may."""


@dataclass(slots=True)
class Tally:
    """Sums over the searches of all subproblems.

    Attributes:
        asked: States of the searches that were asked for; those of one that was known already count again.
        weighed: Candidates, once for each cover that they were weighed for.
    """

    states: int = 0
    asked: int = 0
    weighed: int = 0
    moves: int = 0
    subproblems: int = 0
    stopped: bool = False


@dataclass(slots=True)
class _Reached:
    """The lightest plan from the start to a separator, for one combination of makers of the tensors that are live there.

    Attributes:
        weight: Its weight.
        before: The separator, and the makers there, from which its last step leads here.
        chosen: Candidates of the last step.
    """

    weight: int
    before: tuple[int, Makers] | None = None
    chosen: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A step from one separator to a later one.

    Attributes:
        separator: Number of the separator that it leads to.
        makers: Makers of the tensors that are live there.
        weight: Weight of its candidates and of the transitions to them.
        chosen: Indices of its candidates.
    """

    separator: int
    makers: Makers
    weight: int
    chosen: tuple[int, ...]


class SubproblemSearch:
    """A search of a problem from separator to separator. Subproblem k lies between separators k and k + 1.

    Args:
        separators: At least one of them lies inside the problem.

    Attributes:
        reached: For each separator the lightest plan to it for each combination of makers.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], separators: Separators, run: SearchRun):
        self.problem = problem
        self.separators = separators
        self.run = run
        self.tally = Tally()
        self.targets = [*dict.fromkeys(problem.candidates[index].target for index in usable), SINK]
        self.weights = Weights(problem, usable)
        with_sink = replace(problem, target_locations={**problem.target_locations, SINK: NOWHERE}) if problem.needs_copies else problem
        self.transitions = TransitionClasses(with_sink, self.targets, self.weights.total_shift)
        self.reached: list[dict[Makers, _Reached]] = [{} for _ in separators.positions]
        self._parent = Parent(with_sink, self.targets, self.weights, self.transitions)
        self._tensors = TensorsBySubproblem(problem, separators.positions)
        self._separator_at = {position: number for number, position in enumerate(separators.positions)}
        self._plans: dict[tuple[int, Makers, int | None], tuple[list[SubproblemPlan], int]] = {}
        self._solvers: dict[int, SubproblemSolver] = {}
        self._most_weighed: int | None = None

    def solve(self, most_weighed: int | None = None) -> tuple[int, ...] | None:
        """Return the candidates of a best plan; None when there is none, or when the run was stopped.

        Args:
            most_weighed: So many candidates may be weighed (`Tally.weighed`); None for any number.

        Raises:
            TooDear: they are more. The plans of the subproblems until then are kept for the next call.
        """
        self._most_weighed = most_weighed
        self.reached = [{} for _ in self.separators.positions]
        self.reached[0][()] = _Reached(0)
        for subproblem in range(len(self.separators.positions) - 1):
            for makers, reached in list(self.reached[subproblem].items()):
                for step in self.steps(subproblem, makers):
                    plan = _Reached(reached.weight + step.weight, (subproblem, makers), step.chosen)
                    self._relax(step.separator, step.makers, plan)
                if self.tally.stopped:
                    return None
            self._drop_dear(subproblem + 1)
            self._report(subproblem + 1)
        return self.chosen_to(len(self.separators.positions) - 1, ()) if () in self.reached[-1] else None

    def steps(self, subproblem: int, makers: Makers) -> Iterator[Step]:
        """Yield every step from the separator before `subproblem`: through it, or with a candidate that spans it and more."""
        yield from self._through(subproblem, makers, None)
        for index in self.separators.spanning[subproblem]:
            yield self._spanning(subproblem, makers, index)

    def steps_with(self, subproblem: int, makers: Makers, index: int) -> Iterator[Step]:
        """Yield those of `steps` that hold candidate `index`, which begins in `subproblem`."""
        if index in self.separators.spanning[subproblem]:
            yield self._spanning(subproblem, makers, index)
        else:
            yield from self._through(subproblem, makers, self.separators.within[subproblem].index(index))

    def subproblem_of(self, node: int) -> int:
        """Return the number of the subproblem that holds `node`."""
        return bisect.bisect_right(self.separators.positions, node) - 1

    def chosen_to(self, separator: int, makers: Makers) -> tuple[int, ...]:
        """Return the candidates of the lightest plan to a separator with these makers."""
        pieces: list[tuple[int, ...]] = []
        at: tuple[int, Makers] | None = (separator, makers)
        while at is not None:
            at = self._step_back(at, pieces)
        return tuple(index for piece in reversed(pieces) for index in piece)

    def _report(self, separator: int) -> None:
        """Report progress; every plan pays for the nodes up to a separator, so the least such payment is a lower bound."""
        reached = self.reached[separator]
        lightest = min(reached, key=lambda makers: reached[makers].weight, default=None)
        if lightest is None:
            return
        tally, covered, least = self.tally, self.separators.positions[separator], self.weights.total(reached[lightest].weight)
        newest = lambda: self.chosen_to(separator, lightest)  # noqa: E731
        self.run.reporter.progress(tally.states, tally.moves, len(reached), covered, least, None, newest)

    def _through(self, subproblem: int, makers: Makers, forced: int | None) -> Iterator[Step]:
        """Yield the steps through a subproblem; `forced` is the index in it of a candidate that they must hold."""
        tensors = self._tensors
        made_by = dict(zip(tensors.live[subproblem], makers, strict=True))
        entering = tuple(made_by[tensor] for tensor in tensors.entering[subproblem])
        within = self.separators.within[subproblem]
        for plan in self._plans_of(subproblem, entering, forced):
            made_by.update(zip(tensors.leaving[subproblem], plan.leaving, strict=True))
            after = tuple(made_by[tensor] for tensor in tensors.live[subproblem + 1])
            yield Step(subproblem + 1, after, plan.weight, tuple(within[index] for index in plan.chosen))

    def _spanning(self, subproblem: int, makers: Makers, index: int) -> Step:
        """Return the step with candidate `index`, which holds `subproblem` and at least the next one whole."""
        made_by = dict(zip(self._tensors.live[subproblem], makers, strict=True))
        candidate = self.problem.candidates[index]
        target = self.targets.index(candidate.target)
        end = self._separator_at[candidate.inside.last() + 1]
        boundary = self._tensors.boundaries.boundary(candidate.inside)
        weight = self.weights.of(candidate)
        weight += self.transitions.with_host(target, boundary.host_reads, [tensor for tensor, _, to_host in boundary.makes if to_host])
        reader = self.transitions.reader_class[target]
        weight += sum(self.transitions.between(tensor, made_by[tensor], reader) for tensor, _ in boundary.reads)
        if self.transitions.copies is not None:
            weight += self._copied_around(self.transitions.copies, target, boundary, made_by)
        maker = self.transitions.maker_class[target]
        after = tuple(made_by.get(tensor, maker) for tensor in self._tensors.live[end])
        return Step(end, after, weight, (index,))

    def _copied_around(self, copies: CopyWeights, target: int, boundary: Boundary, made_by: Mapping[int, int]) -> int:
        """Return the weight of the copies of what a candidate from separator to separator reads, and makes for the host."""
        at = copies.locations[target]
        assert at is not None
        weight = sum(copies.least(tensor, HOST_LOCATION, 1 << at) for tensor in boundary.host_reads)
        weight += sum(copies.least(tensor, self.transitions.maker_location[made_by[tensor]], 1 << at) for tensor, _ in boundary.reads)
        return weight + sum(copies.least(tensor, at, 1 << HOST_LOCATION) for tensor, _, to_host in boundary.makes if to_host)

    def _relax(self, separator: int, makers: Makers, plan: _Reached) -> None:
        known = self.reached[separator].get(makers)
        if known is None or plan.weight < known.weight or (plan.weight == known.weight and self._is_earlier(plan, known)):
            self.reached[separator][makers] = plan

    def _is_earlier(self, plan: _Reached, known: _Reached) -> bool:
        """Return whether `plan` precedes `known`, of equal weight, in the order of plans; their first steps apart decide."""
        left_pieces, right_pieces = [plan.chosen], [known.chosen]
        left, right = plan.before, known.before
        while left != right:
            if right is None or (left is not None and left[0] >= right[0]):
                assert left is not None
                left = self._step_back(left, left_pieces)
            else:
                right = self._step_back(right, right_pieces)
        return self._order(left_pieces) < self._order(right_pieces)

    def _step_back(self, at: tuple[int, Makers], pieces: list[tuple[int, ...]]) -> tuple[int, Makers] | None:
        """Append the candidates of the last step to `at` to `pieces`, and return where that step begins."""
        reached = self.reached[at[0]][at[1]]
        pieces.append(reached.chosen)
        return reached.before

    def _order(self, pieces: list[tuple[int, ...]]) -> list[tuple[int, int, int, tuple[int, ...]]]:
        """Return the key that decides between plans of equal weight; `pieces` are their steps, the last one first."""
        order = []
        for index in (index for piece in reversed(pieces) for index in piece):
            candidate = self.problem.candidates[index]
            rank = self.problem.priority(candidate.target), self.targets.index(candidate.target)
            order.append((candidate.inside.base, *rank, tuple(candidate.inside)))
        return order

    def _drop_dear(self, separator: int) -> None:
        """Drop the plans to a separator that another one beats, whoever reads what is live there."""
        reached = self.reached[separator]
        if len(reached) < 2:
            return
        least = min(plan.weight for plan in reached.values())
        most = least + sum(self._most_gained(tensor, separator) for tensor in self._tensors.live[separator])
        self.reached[separator] = {makers: plan for makers, plan in reached.items() if plan.weight <= most}

    def _most_gained(self, tensor: int, separator: int) -> int:
        """Return the most that all readers behind a separator gain together when the tensor has another maker."""
        behind = sum(reader >= self.separators.positions[separator] for reader in self.problem.tensors[tensor].readers)
        return behind * spread(self.transitions, tensor)

    def _plans_of(self, subproblem: int, entering: Makers, forced: int | None) -> list[SubproblemPlan]:
        number = self._tensors.number(subproblem, self.separators.within[subproblem], self.targets)
        key = (number, entering, forced)
        if key not in self._plans:
            if number not in self._solvers:
                self._solvers[number] = SubproblemSolver(self._tensors.distinct[number], self._parent, self._may_weigh)
                self.tally.subproblems += 1
            before = self.tally.states
            plans = self._solvers[number].plans(entering, self._search_to_end, forced)
            if self.tally.stopped:  # some may be missing: who asks again must not take them for all
                self.tally.asked += self.tally.states - before
                return plans
            self._plans[key] = plans, self.tally.states - before
        plans, states = self._plans[key]
        self.tally.asked += states
        return plans

    def _may_weigh(self, candidates: int) -> bool:
        self.tally.weighed += candidates
        if self._most_weighed is not None and self.tally.weighed > self._most_weighed:
            raise TooDear
        self.tally.stopped = self.tally.stopped or self.run.should_stop()
        return not self.tally.stopped

    def _search_to_end(self, cover: Cover) -> BestFirstSearch | None:
        search = BestFirstSearch(cover, SearchRun(should_stop=self.run.should_stop, most_states=self.run.most_states))
        found = search.to_end()
        self.tally.states += len(search.settled)
        self.tally.moves += search.moves
        self.tally.stopped = self.tally.stopped or search.stopped
        return search if found else None
