"""`search_again`: repeats phase 3 under other terms, on the costs that a run knows. Nothing is measured or built."""

from __future__ import annotations

from dataclasses import replace

from ..cost.database.records import now
from ..events import Emit, ignore
from ..pipeline.discover import Phases
from ..pipeline.loop.search_and_merge import regret_seconds
from ..pipeline.record.plan_documents import bodies_under, not_verified, plan_document, search_document
from ..pipeline.record.record import RunRecord
from .terms import Terms
from .what_if import replanned


def search_again(record: RunRecord, terms: Terms, emit: Emit = ignore) -> RunRecord:
    """Repeat phase 3 under `terms`, on the costs that `record` knows, and return the new record.

    Raises:
        CollageError: a constraint is malformed, or a target that is switched off is not known.
        InfeasibleError: no plan holds the terms.
    """
    phases = Phases(emit)
    with phases("search"):
        found = replanned(record, terms, emit)
    plan = found.plan
    document = {
        **{name: part for name, part in found.record.document.items() if name != "shapes"},
        "phases": phases.to_json(),
        "search": search_document(found.planned),
        "plan": plan_document(plan),
        "budget": None,
        "decided_by": "sum",
        "alternatives": [],
        "bodies": bodies_under(found.record.document.get("bodies") or [], plan),
        "verify": not_verified(plan.accuracy),
        "cancelled": None,
    }
    return replace(found.record, document=document, plan=plan, regret_s=regret_seconds(found.planned, found.constraints), created=now())
