"""`search_again`: repeats phase 3 under other terms, on the costs that a run knows. Nothing is measured or built."""

from __future__ import annotations

from dataclasses import replace

from ..base.durations import now
from ..documents.run import RunDocument
from ..documents.verify import Verify
from ..events import Emit, ignore
from ..pipeline.discover import Phases
from ..pipeline.loop.search_and_merge import regret_seconds
from ..pipeline.plan_documents import bodies_under, plan_document, search_document
from ..pipeline.record.record import RunRecord, unknown_costs
from ..search.constraints.constraints import allowed_indices
from .terms import Terms
from .what_if import WhatIfResult, replanned


def search_again(record: RunRecord, terms: Terms, emit: Emit = ignore, own: RunRecord | None = None) -> RunRecord:
    """Repeat phase 3 under `terms`, on the costs that `record` knows, and return the new record.

    Where the plan stays (`keeps_plan`), the new record says of it what the run found out: what was measured, and what is undecided.

    Args:
        own: As in `replanned`.

    Raises:
        CollageError: a constraint is malformed, or a target that is switched off is not known.
        InfeasibleError: no plan holds the terms.
    """
    phases = Phases(emit)
    with phases("search"):
        found = replanned(record, terms, emit, own=own)
    unknown = unknown_costs(found.record.candidates)
    known = replace(found.record.document, shapes=None, phases=phases.info, plan=plan_document(found.plan), unknown_costs=unknown)
    document = (_new if found.kept is None else _kept)(known, found)
    regret_s = regret_seconds(found.planned, found.constraints) if found.kept is None else {}
    return replace(found.record, document=document, plan=found.plan, regret_s=regret_s, created=now(), has_newer_costs=False)


def _new(document: RunDocument, found: WhatIfResult) -> RunDocument:
    """Return a document that speaks of a plan that nobody has built."""
    return replace(
        document,
        search=search_document(found.planned),
        budget=None,
        decided_by="sum",
        alternatives=(),
        bodies=bodies_under(document.bodies, found.plan),
        verify=Verify(accuracy=found.plan.accuracy, value_policy=found.plan.value_policy),
        cancelled=None,
    )


def _kept(document: RunDocument, found: WhatIfResult) -> RunDocument:
    """Return a document under terms where the plan stays: rivals that they forbid are none."""
    problem, budget = found.planned.problem, document.budget
    allowed = {problem.candidates[index].id for index in allowed_indices(problem, found.constraints)}
    if budget is not None:
        rivals = tuple(rival for rival in budget.rivals if allowed.issuperset(part.id for part in rival.instead))
        undecided = {id for rival in rivals for id in rival.partitions}
        budget = replace(budget, rivals=rivals, undecided=tuple(id for id in budget.undecided if id in undecided))
    return replace(document, verify=replace(document.verify, accuracy=found.plan.accuracy), budget=budget)
