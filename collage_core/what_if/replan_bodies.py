"""`with_bodies_replanned`: the bodies of a run planned under constraints that speak of their nodes, on the costs that the run knows.

The record of a run and constraints enter; a record leaves whose nodes with bodies cost on the host what they would with these plans.
Nothing is measured, so such a cost is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..cost.cost import Cost
from ..errors import InfeasibleError
from ..pipeline.body_rows import named_nodes
from ..pipeline.record import CostedCandidate, RunRecord, search_candidates
from ..rewrite.plan import Plan, PlannedBody
from ..rules.spec import HOST_TARGET
from ..search.constraints.inner_constraints import inner_constraints, speaks_of_nodes

Replan = Callable[[RunRecord, tuple[dict[str, Any], ...], int], Plan]
"""Finds the best plan of a body under constraints; the number says how often the body ran while the runs of bodies in it were counted."""

WHY = "its bodies planned anew, on known costs"


def with_bodies_replanned(record: RunRecord, constraints: Sequence[Mapping[str, Any]], replan: Replan, times: int = 1) -> RunRecord:
    """Return `record` with the bodies whose nodes `constraints`, or those of the run itself, select planned anew.

    Args:
        times: How often the model ran while the runs of its bodies were counted.
    """
    for name, bodies in record.bodies.items():
        around = record.graph.index_by_name
        held = {attribute: _held(body, constraints, around) for attribute, body in bodies.items()}
        if any(map(speaks_of_nodes, [item for attribute, body in bodies.items() for item in (*held[attribute], *body.plan.constraints)])):
            record = _with_node(record, name, held, replan, times)
    return record


def _held(body: RunRecord, constraints: Sequence[Mapping[str, Any]], around: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
    return inner_constraints(constraints, around, named_nodes(body.graph), [target.name for target in body.plan.targets])


def _with_node(record: RunRecord, name: str, held: Mapping[str, tuple[dict[str, Any], ...]], replan: Replan, times: int) -> RunRecord:
    """Return `record` with the bodies of the node `name` planned under the constraints `held`, and the node's cost on the host by that."""
    planned, more_s = dict[str, PlannedBody](), 0.0
    try:
        for attribute, body in record.bodies[name].items():
            known = record.plan.bodies[name][attribute]
            plan = replan(body, held[attribute], max(known.runs, 1))
            planned[attribute] = known.model_copy(update={"plan": plan})
            more_s += known.runs / times * (plan.total_s - body.plan.total_s)
    except InfeasibleError as error:
        why = error.message
        return _with_cost(record, name, lambda cost: Cost.invalid("predicate", f"its bodies have no plan: {why}"))
    record = replace(record, plan=record.plan.model_copy(update={"bodies": {**record.plan.bodies, name: planned}}))
    if not more_s:
        return record
    return _with_cost(
        record, name, lambda cost: cost if cost.seconds is None else Cost(max(0.0, cost.seconds + more_s), "estimate", reason=WHY)
    )


def _with_cost(record: RunRecord, name: str, changed: Callable[[Cost], Cost]) -> RunRecord:
    """Return `record` with another cost of the node `name` where the host runs it."""
    index = record.graph.index_by_name[name]
    costed = [
        CostedCandidate(item.held, changed(item.cost)) if item.target == HOST_TARGET and index in item.inside else item
        for item in record.candidates
    ]
    return replace(record, candidates=costed, problem=record.problem.with_candidates(search_candidates(costed, record.problem.lowered)))
