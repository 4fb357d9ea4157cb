"""`with_bodies_replanned`: the bodies of a run planned under constraints that speak of their nodes, on the costs that the run knows.

The record of a run and constraints enter; a record leaves whose nodes with bodies cost on the host what they would with these plans.
Nothing is measured, so such a cost is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..cost.cost import Cost
from ..documents.run import NodeWithBodies, RunDocument
from ..errors import InfeasibleError
from ..pipeline.bodies.body_rows import named_nodes
from ..pipeline.plan_documents import plan_document
from ..pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from ..rules.spec import HOST_TARGET
from ..search.constraints.constraints import allowed_indices, parse_constraints
from ..search.constraints.inner_constraints import inner_constraints, speaks_of_nodes

Replan = Callable[[RunRecord, tuple[dict[str, Any], ...], int], RunRecord]
"""Finds the best plan of a body under constraints; the number says how often the body ran while the runs of bodies in it were counted."""

WHY = "its bodies planned anew, on known costs"


def with_bodies_replanned(record: RunRecord, constraints: Sequence[Mapping[str, Any]], replan: Replan, times: int = 1) -> RunRecord:
    """Return `record` with the bodies whose nodes `constraints`, or those of the run itself, select planned anew.

    Args:
        times: How often the model ran while the runs of its bodies were counted.
    """
    for name, bodies in record.bodies.items():
        around = record.graph.index_by_name
        held = {attribute: constraints_of_body(body, constraints, around) for attribute, body in bodies.items()}
        if any(map(speaks_of_nodes, [item for attribute, body in bodies.items() for item in (*held[attribute], *body.plan.constraints)])):
            record = _with_node(record, name, held, replan, times)
    return record


def refused_in_bodies(record: RunRecord, constraints: Sequence[Mapping[str, Any]]) -> int:
    """Return how many candidates in the bodies of a run are forbidden by those of `constraints` that select nodes of bodies."""
    count = 0
    for body in (body for bodies in record.bodies.values() for body in bodies.values()):
        held = [item for item in constraints_of_body(body, constraints, record.graph.index_by_name) if speaks_of_nodes(item)]
        allowed = allowed_indices(body.problem, parse_constraints(held, body.problem))
        count += len(body.problem.candidates) - len(allowed) + refused_in_bodies(body, held)
    return count


def constraints_of_body(body: RunRecord, constraints: Sequence[Mapping[str, Any]], around: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
    """Return `constraints` of a model as they are for `body`; `around` has the nodes around it by name."""
    return inner_constraints(constraints, around, named_nodes(body.graph), [target.name for target in body.plan.targets])


def _with_node(record: RunRecord, name: str, held: Mapping[str, tuple[dict[str, Any], ...]], replan: Replan, times: int) -> RunRecord:
    """Return `record` with the bodies of the node `name` planned under the constraints `held`, and the node's cost on the host by that."""
    known = record.plan.bodies[name]
    try:
        made = {attribute: replan(body, held[attribute], max(known[attribute].runs, 1)) for attribute, body in record.bodies[name].items()}
    except InfeasibleError as error:
        return _with_cost(record, name, Cost.invalid("predicate", f"its bodies have no plan: {error.message}"))
    planned = {attribute: known[attribute].model_copy(update={"plan": body.plan}) for attribute, body in made.items()}
    before = record.bodies[name]
    more_s = sum(known[attribute].runs / times * (body.plan.total_s - before[attribute].plan.total_s) for attribute, body in made.items())
    record = replace(
        record,
        plan=record.plan.model_copy(update={"bodies": {**record.plan.bodies, name: planned}}),
        bodies={**record.bodies, name: made},
        document=_with_rows(record, [_row(row, made, more_s) if row.name == name else row for row in record.document.bodies]),
    )
    cost = _host_cost(record, name)
    if not more_s or cost is None or cost.seconds is None:
        return record
    return _with_cost(record, name, Cost(max(0.0, cost.seconds + more_s), "estimate", reason=WHY))


def _with_rows(record: RunRecord, rows: Iterable[NodeWithBodies]) -> RunDocument:
    return replace(record.document, bodies=tuple(rows))


def _row(row: NodeWithBodies, made: Mapping[str, RunRecord], more_s: float) -> NodeWithBodies:
    """Return the row of a node in the document with other plans of its bodies, which take that much more."""
    bodies = tuple(
        replace(old, **vars(plan_document(body.plan)), bodies=body.document.bodies) for old in row.bodies for body in [made[old.attribute]]
    )
    return replace(row, bodies=bodies, predicted_s=None if row.predicted_s is None else row.predicted_s + more_s)


def _host_cost(record: RunRecord, name: str) -> Cost | None:
    index = record.graph.index_by_name[name]
    return next((item.cost for item in record.candidates if item.target == HOST_TARGET and index in item.inside), None)


def _with_cost(record: RunRecord, name: str, cost: Cost) -> RunRecord:
    """Return `record` with another cost of the node `name` where the host runs it."""
    index = record.graph.index_by_name[name]
    costed = [
        CostedCandidate(item.held, cost) if item.target == HOST_TARGET and index in item.inside else item for item in record.candidates
    ]
    rows = [replace(row, host=cost.info) if row.name == name else row for row in record.document.bodies]
    problem = record.problem.with_candidates(search_candidates(costed, record.problem.lowered))
    return replace(record, candidates=costed, problem=problem, document=_with_rows(record, rows))
