"""`with_typed`: a run in which some costs are what the user typed in, to ask what the best plan would be then.

A record and costs by candidate enter; a record leaves whose costs of these, and of all equal computations, have the source `TYPED`. No cost
database learns of it, and nothing that was measured is forgotten: the given record stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ..cost.cost import Cost
from ..documents.what_if import TypedCost
from ..errors import CollageError
from ..graph.computation import Computations
from ..pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from ..rules.spec import HOST_TARGET

TYPED = "typed"
"""Source of a cost that the user typed in."""
_MOST_S = 1e6


def with_typed(record: RunRecord, costs: Mapping[str, float]) -> RunRecord:
    """Return `record` with `costs`, seconds by candidate id; candidates of the same computation and target cost as much.

    Raises:
        CollageError: there is no such candidate, or no candidate can have such a cost.
    """
    if not costs:
        return record
    typed = {id: seconds for wanted, seconds in costs.items() for id in _equal_ids(record, wanted, seconds)}
    costed = [CostedCandidate(item.held, _typed(typed[item.id])) if item.id in typed else item for item in record.candidates]
    problem = record.problem.with_candidates(search_candidates(costed, record.problem.lowered))
    return replace(record, candidates=costed, problem=problem, has_newer_costs=True)


def typed_costs(record: RunRecord, costs: Mapping[str, float]) -> tuple[TypedCost, ...]:
    """Return what is typed in: each candidate with its cost before, and how many candidates cost as much as it does."""
    by_id = {item.id: item for item in record.candidates}
    rows = []
    for id, seconds in costs.items():
        item = by_id[id]
        equal = len(_equal_ids(record, id, seconds))
        rows.append(TypedCost(id, item.target, item.candidate["label"], tuple(item.inside), seconds, item.cost, equal))
    return tuple(rows)


def _typed(seconds: float) -> Cost:
    return Cost(seconds, TYPED, reason="typed in by hand")


def _equal_ids(record: RunRecord, wanted: str, seconds: float) -> list[str]:
    item = next((item for item in record.candidates if item.id == wanted), None)
    if item is None or item.target == HOST_TARGET:
        which = f"the run has no candidate {wanted!r}" if item is None else f"{wanted!r} is of the host, which runs no kernel"
        raise CollageError(which, "`collage explain RUN --node N` lists the ids", "unknown_candidate")
    if not 0 <= seconds <= _MOST_S or math.isnan(seconds):
        raise CollageError(
            f"the cost of {wanted!r} is {seconds!r}, it must be seconds from 0 to {_MOST_S:g}", "such as 1.2ms", "bad_option"
        )
    of, size = record.graph.derive(Computations).of, len(item.inside)
    same = [other for other in record.candidates if other.target == item.target and len(other.inside) == size]
    return [other.id for other in same if of(other.inside) == of(item.inside)]
