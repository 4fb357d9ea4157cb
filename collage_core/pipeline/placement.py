"""`placement`: where a plan has its tensors, as the documents say it: copies, memory, and the bound of parallel running.

A problem and the indices of a plan enter; records leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ..documents.placement_text import link_text, parallel_text
from ..documents.plan import PlanCopy, PlanMemory, PlanParallel
from ..search.memory import plan_memory
from ..search.parallel_bound import parallel_bound
from ..search.plan_properties import plan_copies
from ..search.problem import FEMTOSECONDS, SearchProblem


class Placement(TypedDict):
    """The fields of a plan that say where its tensors are."""

    copies: tuple[PlanCopy, ...] | None
    memory: tuple[PlanMemory, ...]
    parallel: PlanParallel


def placement(problem: SearchProblem, chosen: Sequence[int]) -> Placement:
    """Return where the plan `chosen`, which has no cycle, has its tensors; no copies where all targets are at the host."""
    return Placement(
        copies=_copies(problem, chosen) if problem.needs_copies else None,
        memory=tuple(
            PlanMemory(
                location=location,
                weights=held.weights,
                peak=held.peak,
                limit=problem.locations.get(location),
                at_node=held.at_node,
                node=problem.names[held.at_node] if problem.names else str(held.at_node),
            )
            for location, held in plan_memory(problem, chosen).items()
        ),
        parallel=_parallel(problem, chosen),
    )


def _copies(problem: SearchProblem, chosen: Sequence[int]) -> tuple[PlanCopy, ...]:
    made = []
    for copy in plan_copies(problem, chosen):
        tensor, link = problem.tensors[copy.tensor], problem.copies[copy.source, copy.destination]
        made.append(
            PlanCopy(
                source=copy.source,
                destination=copy.destination,
                tensor=tensor.name,
                bytes=tensor.bytes,
                cost_s=copy.cost / FEMTOSECONDS,
                basis=f"stated, not measured: {link_text(link.fixed / FEMTOSECONDS, link.per_byte / FEMTOSECONDS)}",
            )
        )
    return tuple(made)


def _parallel(problem: SearchProblem, chosen: Sequence[int]) -> PlanParallel:
    bound = parallel_bound(problem, chosen)
    work_s = {resource: work / FEMTOSECONDS for resource, work in bound.work.items()}
    return PlanParallel(
        total_s=bound.total / FEMTOSECONDS,
        critical_path_s=bound.critical_path / FEMTOSECONDS,
        work_s=work_s,
        least_s=bound.least / FEMTOSECONDS,
        gain_at_most=bound.gain_at_most,
        text=parallel_text(bound.gain_at_most, work_s),
    )
