"""`solve_for`: search a problem for the best plan by any objective; `k_best_for` lists the best plans.

Steps of an objective that are sums over candidates and transitions are packed side by side into one whole number, wide enough
that no sum overflows, which becomes the cost in a problem that every searcher solves as it is. `milp` minimises the steps one
after another instead, since packed numbers are wider than the numbers it computes with.

Peak memory is no sum. Plans are enumerated in the order of the rest of the objective, until no later plan can be better: each
needs at least the memory around some partition at every node. That may take long. Past `MOST_PLANS`, or when the run is stopped,
the best plan so far is returned, and it is not called optimal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..errors import CollageError
from ..graph.dataflow_graph import HOST
from .alternatives.k_best import plans_in_order
from .alternatives.within_budget import exceeds_budget, within_budget
from .alternatives.within_memory import within_memory
from .boundaries import boundaries_of
from .constraints.constraints import Constraint, allowed_indices, with_staying
from .copies import most_copied
from .memory import shortfall
from .objectives import TIME, Objective, is_moved, measures
from .plan_properties import plan_total
from .problem import FREE, HOST_NAME, SearchCandidate, SearchProblem, Transition
from .searcher import QUIET, Newest, SearchReporter, SearchResult, SearchRun, nothing
from .searchers.linear_program import Measure, bytes_measure, partitions_measure, priority_measure, time_measure, unknown_measures
from .searchers.milp import Program
from .solve import DEFAULT, infeasible, searcher_of, solve

MOST_PLANS = 100_000
"""Plans that are enumerated at most when the objective holds memory."""


def solve_for(
    problem: SearchProblem,
    objective: Objective = TIME,
    constraints: Sequence[Constraint] = (),
    search: str = DEFAULT,
    run: SearchRun = QUIET,
) -> SearchResult:
    """Return a best plan for `objective` within every constraint, the error budget and the locations; ``total`` is always its time.

    ``lower_bound`` is of the time too, and 0 when the objective does not begin with time. When the search is stopped before it
    has a plan, the plan that a search by time has by then is returned.

    Raises:
        CollageError: `search` names no searcher.
        InfeasibleError: there is no plan, or none was found; the message says which.
    """
    searcher_of(search)
    problem = with_staying(problem, constraints)
    if objective.is_time:
        return _solved(problem, constraints, search, run)
    usable = allowed_indices(problem, constraints)
    if not objective.is_additive:
        result = _with_memory(problem, usable, objective, run)
    elif search == "milp" and not problem.counts_errors and not problem.limits_memory:
        result = _by_program(problem, usable, objective, run)
    else:
        return _packed(problem, usable, objective, constraints, DEFAULT if search == "milp" else search, run)
    if not result.is_feasible:
        if not result.stopped and not problem.counts_errors and not problem.limits_memory:
            raise infeasible(problem, constraints)
        quick = _solved(problem, constraints, DEFAULT, replace(run, reporter=SearchReporter()))
        result = replace(result, chosen=quick.chosen, total=quick.total)
    run.reporter.end(result)
    return result


def _solved(problem: SearchProblem, constraints: Sequence[Constraint], search: str, run: SearchRun) -> SearchResult:
    """Return the plan that `search` finds, or where that is over a limit of errors or memory, the one that A* finds within them."""
    found = solve(problem, constraints, search, run)
    if not problem.counts_errors and not problem.limits_memory:
        return found
    if shortfall(problem, found.chosen) is not None:
        return within_memory(problem, allowed_indices(problem, constraints), found, run)
    within = within_budget(problem, constraints, found, lambda priced, quiet: solve(priced, constraints, DEFAULT, quiet), run)
    return within_memory(problem, allowed_indices(problem, constraints), within, run)


def k_best_for(
    problem: SearchProblem, objective: Objective, constraints: Sequence[Constraint], count: int, run: SearchRun = QUIET
) -> list[SearchResult]:
    """Return the `count` best plans for a sum, the best first; fewer when there are fewer, or when the run is stopped.

    Raises:
        CollageError: the objective holds memory, in whose order plans cannot be enumerated.
    """
    problem, usable = with_staying(problem, constraints), allowed_indices(problem, constraints)
    if objective.is_time:
        return _first(problem, plans_in_order(problem, usable, run), count)
    if not objective.is_additive:
        raise CollageError(
            f"the best {count} plans for the objective {objective.text!r} cannot be listed: memory does not add up",
            "leave memory out of the objective, or ask for one plan",
            "bad_objective",
        )
    packing = Packing(problem, usable, objective)
    plans = plans_in_order(packing.problem, usable, replace(run, reporter=SearchReporter()))
    return [packing.unpacked(plan) for plan in _first(problem, plans, count)]


def _first(problem: SearchProblem, plans: Iterator[SearchResult], count: int) -> list[SearchResult]:
    """Return the first `count` of `plans` that are within the error budget and fit into every location."""
    return list(islice((plan for plan in plans if _is_within(problem, plan.chosen)), count))


def _is_within(problem: SearchProblem, chosen: Sequence[int]) -> bool:
    return not exceeds_budget(problem, chosen) and shortfall(problem, chosen) is None


def _packed(
    problem: SearchProblem, usable: Sequence[int], objective: Objective, constraints: Sequence[Constraint], search: str, run: SearchRun
) -> SearchResult:
    packing = Packing(problem, usable, objective)
    found = _solved(packing.problem, constraints, search, replace(run, reporter=_Unpacking(run.reporter, packing)))
    return packing.unpacked(found)


class Packing:
    """The steps of an additive objective as the costs of a problem; memory in the objective is left out.

    Attributes:
        problem: The same nodes and candidates; a candidate's cost holds what it adds to every step, in one whole number.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], objective: Objective):
        self._original = problem
        has_unknown = any(problem.candidates[index].is_unknown for index in usable)
        most = _most(problem, usable)
        self._steps = [{name: factor for name, factor in step.items() if name != "memory"} for step in objective.steps]
        widths = [sum(factor * most[name] for name, factor in step.items()).bit_length() for step in self._steps]
        rank_width = (problem.nodes * (len(problem.priorities) + 1)).bit_length() if has_unknown else 0
        shifts = [rank_width + sum(widths[step + 1 :]) for step in range(len(widths))]
        self._time_shift = shifts[0] if dict(objective.steps[0]) == {"time": 1} and not has_unknown else None
        self._unknown = 1 << rank_width + sum(widths)
        self._factors = {name: sum(step.get(name, 0) << shift for step, shift in zip(self._steps, shifts, strict=True)) for name in most}
        self._ranks = {name: problem.priority(name) for name in {candidate.target for candidate in problem.candidates}}
        self.problem = replace(
            problem,
            candidates=tuple(replace(candidate, cost=self._own(candidate)) for candidate in problem.candidates),
            transitions=self._transitions(),
            copies={pair: _packed_transition(cost, self._factors["time"], 0) for pair, cost in problem.copies.items()},
        )

    def _own(self, candidate: SearchCandidate) -> int:
        cost = self._factors["time"] * (candidate.cost or 0) + self._factors["partitions"]
        if candidate.is_unknown:
            cost += len(candidate.inside) * (self._unknown + self._ranks[candidate.target])
        return cost

    def _transitions(self) -> dict[tuple[str, str], Transition]:
        ends = [*self._ranks, *([] if HOST_NAME in self._ranks else [HOST_NAME])]
        packed: dict[tuple[str, str], Transition] = {}
        for maker in ends:
            for reader in ends:
                for_time = self._original.transitions.get((maker, reader), FREE)
                for_bytes = self._factors["bytes"] if is_moved(maker, reader) else 0
                if for_time != FREE or for_bytes:
                    packed[maker, reader] = _packed_transition(for_time, self._factors["time"], for_bytes)
        return packed

    def unpacked(self, found: SearchResult) -> SearchResult:
        """Return `found` with the time of its plan in place of the packed sum."""
        bound = 0 if self._time_shift is None else found.lower_bound >> self._time_shift
        return replace(found, total=self.time_of(found.chosen) if found.chosen else 0, lower_bound=bound)

    def time_of(self, chosen: Sequence[int]) -> int:
        """Return the femtoseconds of a plan."""
        return plan_total(self._original, chosen)


@dataclass(frozen=True)
class _PackedTransition(Transition):
    """A transition's time and bytes, each with its factor; ``fixed`` and ``per_byte`` are upper bounds."""

    for_time: Transition = FREE
    time_factor: int = 0
    byte_factor: int = 0

    def cost(self, size: int) -> int:
        return self.for_time.cost(size) * self.time_factor + size * self.byte_factor


def _packed_transition(for_time: Transition, time_factor: int, byte_factor: int) -> _PackedTransition:
    fixed = time_factor * (math.ceil(for_time.fixed) + 1)
    per_byte = time_factor * math.ceil(for_time.per_byte) + byte_factor
    return _PackedTransition(fixed, per_byte, for_time, time_factor, byte_factor)


def _most(problem: SearchProblem, usable: Sequence[int]) -> dict[str, int]:
    """Return an upper bound of each additive measure of any plan."""
    charged = [transition for transition in problem.transitions.values() if transition != FREE]
    paid = sum((len(t.readers) + 1) * max((transition.cost(t.bytes) for transition in charged), default=0) for t in problem.tensors)
    return {
        "time": sum(problem.candidates[index].cost or 0 for index in usable) + paid + most_copied(problem),
        "bytes": sum(tensor.bytes * len(tensor.readers) for tensor in problem.tensors),
        "partitions": problem.nodes,
    }


class _Unpacking(SearchReporter):
    """Passes the news of a packed search on, with times in place of packed sums; bounds are left out, since they are packed."""

    def __init__(self, reporter: SearchReporter, packing: Packing):
        self._reporter = reporter
        self._packing = packing
        self.traces = reporter.traces
        self.pushed = reporter.pushed  # type: ignore[method-assign]
        self.popped = reporter.popped  # type: ignore[method-assign]
        self.improved = reporter.improved  # type: ignore[method-assign]
        self.considered = reporter.considered  # type: ignore[method-assign]

    def progress(
        self, states: int, moves: int, frontier: int, covered: int, lower_bound: int, best: int | None, newest: Newest = nothing
    ) -> None:
        self._reporter.progress(states, moves, frontier, covered, 0, None, newest)

    def better_plan(self, chosen: Sequence[int], total: int) -> None:
        self._reporter.better_plan(chosen, self._packing.time_of(chosen))

    def end(self, result: SearchResult) -> None:
        self._reporter.end(self._packing.unpacked(result))


def _step_measure(problem: SearchProblem, step: Mapping[str, int]) -> Measure:
    """Return the weighted sum of measures that `step` states."""
    by_name = {"time": time_measure(problem), "bytes": bytes_measure(), "partitions": partitions_measure()}
    used = [(factor, by_name[name]) for name, factor in step.items()]
    return Measure(
        lambda index: sum(factor * measure.own(index) for factor, measure in used),
        lambda maker, reader, size: sum(factor * measure.transition(maker, reader, size) for factor, measure in used),
        sum(factor * measure.copy for factor, measure in used),
    )


def _by_program(problem: SearchProblem, usable: Sequence[int], objective: Objective, run: SearchRun) -> SearchResult:
    """Return a best plan found by minimising the steps one after another as a mixed-integer program."""
    began = time.perf_counter()
    steps = [_step_measure(problem, step) for step in objective.steps]
    unknown = unknown_measures(problem, usable)
    listed = [*unknown, *steps, priority_measure(problem), partitions_measure()]
    program = Program(problem, usable, listed, run)
    solutions = program.in_order(accept_unproven=True)
    chosen = solutions[-1].chosen
    is_best = program.proves(solutions)
    starts_with_time = dict(objective.steps[0]) == {"time": 1} and len(solutions) > len(unknown)
    bound = solutions[len(unknown)].bound if starts_with_time else 0
    total = plan_total(problem, chosen) if chosen else 0
    stopped = not all(solution.is_over for solution in solutions)
    seconds = time.perf_counter() - began
    return SearchResult("milp", chosen, total, is_best, bound, program.relaxations, program.columns, seconds, stopped)


def _with_memory(problem: SearchProblem, usable: Sequence[int], objective: Objective, run: SearchRun) -> SearchResult:
    """Return the best of the plans, enumerated in the order of all but the memory until no later one can be better."""
    began = time.perf_counter()
    packing = Packing(problem, usable, objective)
    least_memory = _least_memory(problem, usable)
    best: tuple[int, ...] = ()
    least: tuple[int, ...] | None = None
    tried, is_over = 0, True
    for plan in _until(plans_in_order(packing.problem, usable, replace(run, reporter=SearchReporter())), MOST_PLANS):
        if plan is None:
            is_over = False
            break
        tried += 1
        if not _is_within(problem, plan.chosen):
            continue
        has = measures(problem, plan.chosen)
        if least is not None and objective.value(replace(has, memory=least_memory)) >= least:
            break
        if least is None or objective.value(has) < least:
            best, least = plan.chosen, objective.value(has)
            run.reporter.better_plan(best, has.time)
    stopped = not is_over or run.should_stop()
    total = plan_total(problem, best) if best else 0
    seconds = time.perf_counter() - began
    return SearchResult("plans_in_order", best, total, bool(best) and not stopped, 0, tried, tried, seconds, stopped)


def _until(plans: Iterator[SearchResult], most: int) -> Iterator[SearchResult | None]:
    """Yield `plans`, and None in place of the one after `most`."""
    for number, plan in enumerate(plans):
        yield plan if number < most else None


def _least_memory(problem: SearchProblem, usable: Sequence[int]) -> int:
    """Return a lower bound of the peak memory: the inputs at the start, the outputs at the end, the partition around each node."""
    boundaries, tensors = boundaries_of(problem), problem.tensors
    at_start = sum(tensor.bytes for tensor in tensors if tensor.maker == HOST)
    at_end = sum(tensor.bytes for tensor in tensors if tensor.is_output)
    around: list[int | None] = [None] * problem.nodes
    for index in usable:
        inside = problem.candidates[index].inside
        boundary = boundaries.boundary(inside)
        crossing = [*boundary.host_reads, *(tensor for tensor, _ in boundary.reads), *(tensor for tensor, _, _ in boundary.makes)]
        needs = sum(tensors[tensor].bytes for tensor in crossing if tensor < len(tensors))
        for node in inside:
            known = around[node]
            around[node] = needs if known is None else min(known, needs)
    return max(at_start, at_end, *(needs or 0 for needs in around))
