"""`search_again`: phase 3 alone, on the costs that a run knows, under other constraints. Nothing is measured or built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..cost.database.records import now
from ..events import Emit, ignore
from ..pipeline.discover import Phases
from ..pipeline.plan_documents import not_verified, plan_document, search_document
from ..pipeline.record import RunRecord
from ..pipeline.search_and_merge import regret_seconds
from .what_if import Terms, replanned


def search_again(record: RunRecord, constraints: Sequence[dict[str, Any]], emit: Emit = ignore, accuracy: float | None = None) -> RunRecord:
    """Phase 3 alone, on the costs that `record` knows, under other constraints. Nothing is measured or built.

    Args:
        accuracy: Candidates that err by more are left out; None for that of the run.

    Raises:
        CollageError: a constraint is malformed.
        InfeasibleError: no plan holds them.
    """
    phases = Phases(emit)
    with phases("search"):
        found = replanned(record, Terms(constraints, accuracy), emit)
    plan = found.plan
    document = {
        **record.document,
        "phases": phases.to_json(),
        "search": search_document(found.planned),
        "plan": plan_document(plan),
        "verify": not_verified(plan.accuracy),
    }
    return replace(found.record, document=document, plan=plan, regret_s=regret_seconds(found.planned, found.constraints), created=now())
