"""`search_again`: repeats phase 3 under other terms, on the costs that a run knows. Nothing is measured or built."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..cost.database.records import now
from ..events import Emit, ignore
from ..pipeline.discover import Phases
from ..pipeline.loop.search_and_merge import regret_seconds
from ..pipeline.plan_documents import bodies_under, not_verified, plan_document, search_document
from ..pipeline.record.record import RunRecord
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
    known = {name: part for name, part in found.record.document.items() if name != "shapes"}
    document = {**known, "phases": phases.to_json(), "plan": plan_document(found.plan), **(_new if found.kept is None else _kept)(found)}
    regret_s = regret_seconds(found.planned, found.constraints) if found.kept is None else {}
    return replace(found.record, document=document, plan=found.plan, regret_s=regret_s, created=now(), has_newer_costs=False)


def _new(found: WhatIfResult) -> dict[str, Any]:
    """Return the parts of a document that speak of a plan that nobody has built."""
    return {
        "search": search_document(found.planned),
        "budget": None,
        "decided_by": "sum",
        "alternatives": [],
        "bodies": bodies_under(found.record.document["bodies"], found.plan),
        "verify": not_verified(found.plan.accuracy, found.plan.value_policy),
        "cancelled": None,
    }


def _kept(found: WhatIfResult) -> dict[str, Any]:
    """Return the parts of a document that other terms change where the plan stays: rivals that they forbid are none."""
    document = found.record.document
    verify, budget = document["verify"], document["budget"]
    problem = found.planned.problem
    allowed = {problem.candidates[index].id for index in allowed_indices(problem, found.constraints)}
    rivals = [rival for rival in (budget or {}).get("rivals", []) if allowed.issuperset(part["id"] for part in rival["instead"])]
    undecided = {id for rival in rivals for id in rival["partitions"]}
    return {
        "verify": {**verify, "accuracy": found.plan.accuracy},
        "budget": budget and {**budget, "rivals": rivals, "undecided": [id for id in budget["undecided"] if id in undecided]},
    }
