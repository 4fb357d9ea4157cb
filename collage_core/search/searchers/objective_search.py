"""`solve_for`: the best plan for an objective other than time.

Requirement 59. Steps that add up over candidates and hand-overs are packed side by side into one whole number, wide enough
that no sum spills over, and become the costs of a problem that every searcher solves as it is. `milp` takes the steps one
after another instead: packed numbers are wider than what it computes with.

Peak memory does not add up. Plans are gone through in the order of what else the objective says, until no plan that is still
to come can be better: each has at least the memory that some partition around every node needs. That may take long. Past
`MOST_PLANS`, or where the run is stopped, the best so far is given, and it is not called optimal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...errors import CollageError
from ...graph.dataflow_graph import HOST
from ..alternatives.k_best import k_best, plans_in_order
from ..boundaries import boundaries_of
from ..constraints.constraints import Constraint, allowed_indices
from ..objectives import TIME, Objective, is_moved, measures
from ..problem import FREE, HOST_NAME, SearchCandidate, SearchProblem, Transition
from ..result import plan_total
from ..searcher import QUIET, Newest, SearchReporter, SearchResult, SearchRun, nothing
from ..solve import DEFAULT, SEARCHERS, infeasible, solve
from .linear_program import Measure
from .milp import Program, partitions_measure, priority_measure, time_measure, unknown_measures

MOST_PLANS = 100_000
"""Plans that are gone through at most where memory is asked for."""


def solve_for(
    problem: SearchProblem,
    objective: Objective = TIME,
    constraints: Sequence[Constraint] = (),
    search: str = DEFAULT,
    run: SearchRun = QUIET,
) -> SearchResult:
    """A best plan for `objective` that holds every constraint, as `solve` gives it; ``total`` is its time in any case.

    ``lower_bound`` is of the time too: 0 where the objective does not begin with it. Where it is stopped before there is any
    plan, the one that is at hand for time is given.

    Raises:
        CollageError: `search` is no searcher.
        InfeasibleError: there is no plan.
    """
    if objective.is_time or search not in SEARCHERS:
        return solve(problem, constraints, search, run)
    usable = allowed_indices(problem, constraints)
    if not objective.is_additive:
        result = _with_memory(problem, usable, objective, run)
    elif search == "milp":
        result = _by_program(problem, usable, objective, run)
    else:
        return _packed(problem, usable, objective, constraints, search, run)
    if not result.is_feasible:
        if not result.stopped:
            raise infeasible(problem, constraints)
        quick = solve(problem, constraints, DEFAULT, replace(run, reporter=SearchReporter()))
        result = replace(result, chosen=quick.chosen, total=quick.total)
    run.reporter.end(result)
    return result


def k_best_for(
    problem: SearchProblem, objective: Objective, constraints: Sequence[Constraint], count: int, run: SearchRun = QUIET
) -> list[SearchResult]:
    """The `count` best plans for an objective that adds up, the best first; fewer where there are fewer, or it is stopped.

    Raises:
        CollageError: the objective asks for memory, for which plans have no order that can be followed.
    """
    usable = allowed_indices(problem, constraints)
    if objective.is_time:
        return k_best(problem, usable, count, run)
    if not objective.is_additive:
        raise CollageError(
            f"the best {count} plans for the objective {objective.text!r} cannot be listed: memory does not add up",
            "leave memory out of the objective, or ask for one plan",
            "bad_objective",
        )
    packing = Packing(problem, usable, objective)
    return [packing.unpacked(plan) for plan in k_best(packing.problem, usable, count, replace(run, reporter=SearchReporter()))]


def _packed(
    problem: SearchProblem, usable: Sequence[int], objective: Objective, constraints: Sequence[Constraint], search: str, run: SearchRun
) -> SearchResult:
    packing = Packing(problem, usable, objective)
    found = solve(packing.problem, constraints, search, replace(run, reporter=_Unpacking(run.reporter, packing)))
    return packing.unpacked(found)


class Packing:
    """The sums of an additive objective as the costs of a problem.

    Attributes:
        problem: The same nodes and candidates; a candidate costs what it adds to every step, in one whole number.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], objective: Objective):
        self._original = problem
        has_unknown = any(problem.candidates[index].is_unknown for index in usable)
        most = _most(problem, usable)
        self._steps = [{name: factor for name, factor in step.items() if name != "memory"} for step in objective.steps]
        widths = [sum(factor * most[name] for name, factor in step.items()).bit_length() for step in self._steps]
        rank_width = (problem.nodes * (len(problem.priorities) + 1)).bit_length() if has_unknown else 0
        shifts = [rank_width + sum(widths[place + 1 :]) for place in range(len(widths))]
        self._time_shift = shifts[0] if dict(objective.steps[0]) == {"time": 1} and not has_unknown else None
        self._unknown = 1 << rank_width + sum(widths)
        self._factors = {name: sum(step.get(name, 0) << shift for step, shift in zip(self._steps, shifts, strict=True)) for name in most}
        self._ranks = {name: problem.priority(name) for name in {candidate.target for candidate in problem.candidates}}
        self.problem = replace(
            problem,
            candidates=tuple(replace(candidate, cost=self._own(candidate)) for candidate in problem.candidates),
            transitions=self._transitions(),
        )

    def _own(self, candidate: SearchCandidate) -> int:
        cost = self._factors["time"] * (candidate.cost or 0) + self._factors["partitions"]
        if candidate.is_unknown:
            cost += len(candidate.inside) * (self._unknown + self._ranks[candidate.target])
        return cost

    def _transitions(self) -> dict[tuple[str, str], Transition]:
        ends = [*self._ranks, *([] if HOST_NAME in self._ranks else [HOST_NAME])]
        made: dict[tuple[str, str], Transition] = {}
        for maker in ends:
            for reader in ends:
                for_time = self._original.transitions.get((maker, reader), FREE)
                for_bytes = self._factors["bytes"] if is_moved(maker, reader) else 0
                if for_time != FREE or for_bytes:
                    made[maker, reader] = _packed_transition(for_time, self._factors["time"], for_bytes)
        return made

    def unpacked(self, found: SearchResult) -> SearchResult:
        """`found`, with the time of its plan in place of the packed sum."""
        bound = 0 if self._time_shift is None else found.lower_bound >> self._time_shift
        return replace(found, total=self.time_of(found.chosen) if found.chosen else 0, lower_bound=bound)

    def time_of(self, chosen: Sequence[int]) -> int:
        """Femtoseconds of a plan."""
        return plan_total(self._original, chosen)


@dataclass(frozen=True)
class _PackedTransition(Transition):
    """A hand-over's time and bytes, each with its factor; ``fixed`` and ``per_byte`` are bounds from above."""

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
    """The most that any plan has of each measure that adds up."""
    dearest = [transition for transition in problem.transitions.values() if transition != FREE]
    paid = sum((len(t.readers) + 1) * max((each.cost(t.bytes) for each in dearest), default=0) for t in problem.tensors)
    return {
        "time": sum(problem.candidates[index].cost or 0 for index in usable) + paid,
        "bytes": sum(tensor.bytes * len(tensor.readers) for tensor in problem.tensors),
        "partitions": problem.nodes,
    }


class _Unpacking(SearchReporter):
    """Passes a search's news on, with times in place of packed sums; its bounds are of no use to anybody."""

    def __init__(self, reporter: SearchReporter, packing: Packing):
        self._reporter = reporter
        self._packing = packing
        self.traces = reporter.traces
        self.pushed = reporter.pushed  # type: ignore[method-assign]
        self.popped = reporter.popped  # type: ignore[method-assign]
        self.improved = reporter.improved  # type: ignore[method-assign]
        self.considered = reporter.considered  # type: ignore[method-assign]

    def progress(
        self, states: int, transitions: int, frontier: int, covered: int, lower_bound: int, best: int | None, newest: Newest = nothing
    ) -> None:
        self._reporter.progress(states, transitions, frontier, covered, 0, None, newest)

    def better_plan(self, chosen: Sequence[int], total: int) -> None:
        self._reporter.better_plan(chosen, self._packing.time_of(chosen))

    def end(self, result: SearchResult) -> None:
        self._reporter.end(self._packing.unpacked(result))


def bytes_measure() -> Measure:
    """Bytes moved between targets."""
    return Measure(lambda index: 0, lambda maker, reader, size: size if is_moved(maker, reader) else 0)


def _step_measure(problem: SearchProblem, step: Mapping[str, int]) -> Measure:
    parts = {"time": time_measure(problem), "bytes": bytes_measure(), "partitions": partitions_measure()}
    used = [(factor, parts[name]) for name, factor in step.items()]
    return Measure(
        lambda index: sum(factor * part.own(index) for factor, part in used),
        lambda maker, reader, size: sum(factor * part.handed(maker, reader, size) for factor, part in used),
    )


def _by_program(problem: SearchProblem, usable: Sequence[int], objective: Objective, run: SearchRun) -> SearchResult:
    began = time.perf_counter()
    steps = [_step_measure(problem, step) for step in objective.steps]
    first = unknown_measures(problem, usable)
    listed = [*first, *steps, priority_measure(problem), partitions_measure()]
    program = Program(problem, usable, listed, run)
    solutions = program.in_order(insist=True)
    chosen = solutions[-1].chosen
    is_best = program.proves(solutions)
    starts_with_time = dict(objective.steps[0]) == {"time": 1} and len(solutions) > len(first)
    bound = solutions[len(first)].bound if starts_with_time else 0
    total = plan_total(problem, chosen) if chosen else 0
    stopped = not all(solution.is_over for solution in solutions)
    seconds = time.perf_counter() - began
    return SearchResult("milp", chosen, total, is_best, bound, program.relaxations, program.columns, seconds, stopped)


def _with_memory(problem: SearchProblem, usable: Sequence[int], objective: Objective, run: SearchRun) -> SearchResult:
    """The best of the plans in the order of all but the memory, until none to come can be better."""
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
    """`plans`, and None in place of the one after `most`."""
    for number, plan in enumerate(plans):
        yield plan if number < most else None


def _least_memory(problem: SearchProblem, usable: Sequence[int]) -> int:
    """No plan holds less at its peak: its inputs at the start, its outputs at the end, and around every node a partition's own."""
    frame, tensors = boundaries_of(problem), problem.tensors
    at_start = sum(tensor.bytes for tensor in tensors if tensor.maker == HOST)
    at_end = sum(tensor.bytes for tensor in tensors if tensor.is_output)
    around: list[int | None] = [None] * problem.nodes
    for index in usable:
        inside = problem.candidates[index].inside
        boundary = frame.boundary(inside)
        crossing = [*boundary.host_reads, *(tensor for tensor, _ in boundary.reads), *(tensor for tensor, _, _ in boundary.makes)]
        needs = sum(tensors[tensor].bytes for tensor in crossing if tensor < len(tensors))
        for node in inside:
            known = around[node]
            around[node] = needs if known is None else min(known, needs)
    return max(at_start, at_end, *(needs or 0 for needs in around))
