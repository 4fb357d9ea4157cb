"""`keeps_plan`: whether constraints change nothing, since they only ask for what the plan of a run has already.

The plan of a run need not be the one of the least sum: plans are timed end to end, and the fastest is the plan. A search on the costs would
then answer a pin to where a node already runs with another plan. The record of a run and constraints enter; a truth value leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..documents.statements import NOT_KNOWN
from ..pipeline.record.record import RunRecord, usable
from ..rewrite.plan import Plan
from ..rules.spec import HOST_TARGET
from ..search.alternatives.within_budget import exceeds_budget
from ..search.constraints.constraints import Constraint, parse_constraints, violations
from ..search.problem import SearchProblem
from ..search.searcher import SearchResult
from .replan_bodies import constraints_of_body


def keeps_plan(record: RunRecord, constraints: Sequence[Constraint], listed: Sequence[Mapping[str, Any]], in_use: bool = True) -> bool:
    """Return whether the plan of `record` is the best one under constraints, too, since they forbid nothing of it.

    They have to forbid all that those of the run forbid: without one of these there may be a better plan.

    Args:
        listed: The same constraints as JSON, for bodies.
        in_use: The record is that of the model, or of a body that the host runs by its plan.
    """
    refused = violations(record.problem, constraints).keys()
    chosen = chosen_of(record.problem, record.plan)
    if chosen is None or not restricts(record, constraints) or (in_use and not refused.isdisjoint(chosen)):
        return False
    on_host = {name for part in record.plan.partitions if part.target == HOST_TARGET for name in part.names}
    for name, bodies in record.bodies.items():
        for body in bodies.values():
            inner = constraints_of_body(body, listed, record.graph.index_by_name)
            if not keeps_plan(body, parse_constraints(list(inner), body.problem), inner, in_use and name in on_host):
                return False
    return True


def restricts(record: RunRecord, constraints: Sequence[Constraint]) -> bool:
    """Return whether constraints forbid all that those of the run forbid: then no plan that holds them is better than the run's."""
    of_run = parse_constraints([dict(item) for item in record.plan.constraints], record.problem)
    return violations(record.problem, of_run).keys() <= violations(record.problem, constraints).keys()


def chosen_of(problem: SearchProblem, plan: Plan) -> tuple[int, ...] | None:
    """Return the indices of the partitions of `plan` among the candidates; None where `problem` lacks one of them."""
    index_of = {candidate.id: index for index, candidate in enumerate(problem.candidates)}
    chosen = tuple(index_of.get(part.id, -1) for part in plan.partitions)
    return None if -1 in chosen else chosen


def is_accurate(record: RunRecord, judged: RunRecord) -> bool:
    """Return whether the plan of `record` is as accurate as `judged` asks for, which is the record under an accuracy.

    So each of its partitions has to be, their sum where it counts, and the whole where it was measured.
    """
    accuracy, chosen = judged.plan.accuracy, chosen_of(judged.problem, record.plan)
    if accuracy == record.plan.accuracy:
        return True
    if accuracy > record.plan.accuracy or chosen is None or exceeds_budget(judged.problem, chosen) or record.bodies:
        return False
    error = record.document.verify.max_rel_error
    return error is None or error <= accuracy


def fastest_of_ties(record: RunRecord, problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult) -> SearchResult:
    """Return `best`, or the plan that `record` timed end to end as the fastest of those whose sum is no greater.

    Sums do not tell such plans apart, and the run has. Of plans beside a `best` one of unknown costs, sums tell nothing at all.

    Args:
        problem: That of `record`, or less of it: what errs too much is left out.
        best: What a search over `problem` found under `constraints`, on the costs of the run.
    """
    if record.plan.options.get("objective", "time") != "time" or problem.counts_errors:
        return best
    index_of = {candidate.id: index for index, candidate in enumerate(problem.candidates)}
    refused = violations(problem, constraints).keys()
    own = record.problem.candidates
    sources = [item.cost.source for item in usable(record.candidates)]
    ids = {problem.candidates[index].id for index in best.chosen}
    is_open = any(source in NOT_KNOWN and candidate.id in ids for candidate, source in zip(own, sources, strict=True))
    rivals = [rival for rival in record.timed_rivals if is_open or rival.ties_with(best.total)]
    for rival in sorted(rivals, key=lambda one: one.measured_s):
        chosen = tuple(sorted(index_of.get(own[index].id, -1) for index in rival.chosen))
        if -1 not in chosen and refused.isdisjoint(chosen):
            return replace(best, chosen=chosen, total=rival.total)
    return best
